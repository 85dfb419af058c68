#include "papers/clustering/hardening_rate.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/space/space.hpp"
#include "papers/clustering/euclidean_tokens.hpp"
#include "papers/points.hpp"
#include "papers/token_walk.hpp"

namespace attractor::papers {
namespace {

/// Logits of a token with all, the largest first, and where they come from.
std::vector<std::pair<double, std::size_t>> ranked_logits(const std::vector<double>& tokens,
                                                          std::size_t dim, std::size_t index) {
  std::vector<std::pair<double, std::size_t>> logits;
  for (std::size_t j = 0; j < tokens.size() / dim; ++j)
    logits.emplace_back(dot(row(tokens, dim, index), row(tokens, dim, j)), j);
  std::sort(logits.begin(), logits.end(), std::greater<>());
  return logits;
}

}  // namespace

HardeningRate hardening_rate(const std::vector<double>& tokens, std::size_t dim,
                             const Effort& effort) {
  HardeningRate result;
  std::size_t chosen = 0;
  double clear = -1;
  for (std::size_t i = 0; i < tokens.size() / dim; ++i) {
    const auto logits = ranked_logits(tokens, dim, i);
    const double gap = logits[0].first - logits[1].first;
    if (gap < 0.2 || gap > 0.4 || logits[1].first - logits[2].first <= clear) continue;
    clear = logits[1].first - logits[2].first;
    chosen = i;
    result.gap = gap;
  }
  if (clear < 0) throw Error("no token has a gap of logits between 0.2 and 0.4");
  const auto logits = ranked_logits(tokens, dim, chosen);
  const auto way = [&](std::size_t k) {
    return std::sqrt(
        squared_distance(row(tokens, dim, logits[k].second), row(tokens, dim, logits[0].second)));
  };
  // Rounding of positions, of size 1e-16 against e^{-80 gap}, and ln(1 + s)/40 < s/40.
  result.allowance = 1e-15 * std::exp(80 * result.gap) / 40;
  for (std::size_t k = 2; k < logits.size(); ++k)
    result.allowance += std::exp(40 * (logits[k].first - logits[1].first)) * way(k) / way(1) / 40;
  Walk walk{.architecture = plane(dim, depth::Geometry::attracted, 1),
            .tokens = tokens,
            .times = {0.5},
            .stepper = flow::Method::euler,
            .step = 0.5};
  walk.architecture.layer.rule = Rule::hardmax;
  const std::vector<double> hard = states_of(walk, effort).back();
  walk.architecture.layer.rule = Rule::softmax;
  std::vector<double> logs;
  for (const double beta : {40.0, 80.0}) {
    walk.architecture.layer.beta = beta;
    const std::vector<double> soft = states_of(walk, effort).back();
    logs.push_back(0.5 *
                   std::log(squared_distance(row(hard, dim, chosen), row(soft, dim, chosen))));
  }
  result.rate = (logs[0] - logs[1]) / 40;
  return result;
}

}  // namespace attractor::papers
