#include "attractor/training/max_margin.hpp"

#include <algorithm>
#include <utility>

namespace attractor::training {
namespace {

constexpr double kTight = 1e-9;  // relative to a margin of one
constexpr double kRival = 0.1;

}  // namespace

std::vector<std::size_t> best_tokens(const Prompt& prompt) {
  std::vector<std::size_t> best(prompt.inputs());
  for (std::size_t i = 0; i < best.size(); ++i) {
    const auto gamma = prompt.scores().subspan(i * prompt.tokens(), prompt.tokens());
    best[i] =
        static_cast<std::size_t>(std::max_element(gamma.begin(), gamma.end()) - gamma.begin());
  }
  return best;
}

MaxMargin max_margin(const Prompt& prompt, std::vector<std::size_t> chosen) {
  MaxMargin result{.chosen = std::move(chosen)};
  const solve::TokenDifferences rows(prompt.keys(), prompt.tokens(), prompt.dim(),
                                     {.chosen = result.chosen});
  result.svm = solve::hard_margin(rows);
  const auto score = [&](std::size_t input, std::size_t token) {
    return prompt.scores()[input * prompt.tokens() + token];
  };
  result.globally_optimal = true;
  for (std::size_t i = 0; i < prompt.inputs(); ++i)
    for (std::size_t t = 0; t < prompt.tokens(); ++t)
      if (score(i, t) > score(i, result.chosen[i])) result.globally_optimal = false;
  if (!result.feasible()) return result;
  std::vector<double> margins(rows.size());
  rows.products(result.svm.p, margins);
  result.locally_optimal = true;
  for (std::size_t j = 0; j < margins.size(); ++j) {
    const TokenMargin token{rows.group(j), rows.token(j), margins[j]};
    const double ahead =
        score(token.input, token.token) - score(token.input, result.chosen[token.input]);
    if (margins[j] <= 1 + kTight) {
      result.neighbours.push_back(token);
      if (ahead >= 0) result.locally_optimal = false;
    } else if (ahead > 0 && margins[j] <= 1 + kRival) {
      result.rivals.push_back(token);
    }
  }
  return result;
}

}  // namespace attractor::training
