#include "attractor/training/problem.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "attractor/base/eigen.hpp"
#include "attractor/base/error.hpp"
#include "attractor/space/space.hpp"

namespace attractor::training {
namespace {

constexpr double kLargest = 1e150;  // products of two such numbers are finite

void require_length(const std::vector<double>& values, std::size_t expected, const char* what) {
  if (values.size() != expected)
    throw Error(fmt::format("{} has {} numbers; {} are needed", what, values.size(), expected));
}

void require_finite(const std::vector<double>& values, const char* what) {
  for (std::size_t k = 0; k < values.size(); ++k)
    if (!std::isfinite(values[k]))
      throw Error(
          fmt::format("{}: number {} (from 0) is {}; all must be finite", what, k, values[k]));
}

void check_shapes(const Problem& p) {
  if (p.inputs < 1) throw Error("a problem needs at least one input");
  if (p.tokens < 2)
    throw Error(fmt::format("inputs have {} token; at least 2 are needed to select one", p.tokens));
  if (p.dim < 1) throw Error("tokens need at least one dimension");
  require_length(p.x, p.inputs * p.tokens * p.dim, "X");
  require_length(p.labels, p.inputs, "Y");
  require_length(p.prompt, p.dim, "p0");
  if (!p.weights.empty()) require_length(p.weights, p.dim * p.dim, "W");
  if (!p.queries.empty()) require_length(p.queries, p.inputs * p.dim, "z");
  if (p.key_factor.empty() != p.query_factor.empty())
    throw Error("K and Q are factors of one matrix: give both or none");
  if (p.key_factor.size() % p.dim != 0 || p.key_factor.size() != p.query_factor.size())
    throw Error(
        fmt::format("K and Q must both be d x rank with d = {}; they have {} and {} numbers", p.dim,
                    p.key_factor.size(), p.query_factor.size()));
  if (p.head.hidden.empty())
    require_length(p.head.v, p.dim, "v");
  else
    require_length(p.head.hidden, p.head.units() * p.dim, "U (of the head)");
  if (p.head.activation.each.size() != 1 && p.head.activation.each.size() != p.head.units())
    throw Error(
        fmt::format("the head names {} activations; 1 or {} are needed, one for each entry of v",
                    p.head.activation.each.size(), p.head.units()));
  if (!p.head.bias.empty()) require_length(p.head.bias, p.head.units(), "b (of the head)");
}

void check_numbers(const Problem& p) {
  require_finite(p.x, "X");
  require_finite(p.labels, "Y");
  require_finite(p.head.v, "v");
  require_finite(p.prompt, "p0");
  require_finite(p.weights, "W");
  require_finite(p.queries, "z");
  require_finite(p.key_factor, "K");
  require_finite(p.query_factor, "Q");
  require_finite(p.head.hidden, "U (of the head)");
  require_finite(p.head.bias, "b (of the head)");
  if (!std::isfinite(p.head.penalty)) throw Error("lambda (of the head) must be finite");
  const auto in_range = [](const std::vector<double>& derived) {
    return std::all_of(derived.begin(), derived.end(),
                       [](double x) { return std::abs(x) < kLargest; });
  };
  const bool keys_fit = p.weights.empty() ? in_range(p.x) : in_range(keys(p));
  if (!keys_fit || !in_range(scores(p)) || !in_range(p.prompt) || !in_range(p.queries))
    throw Error("a key W^T x, a score Y psi(x) or a query exceeds 1e150; scale X, W or v down");
}

}  // namespace

void check(const Problem& problem) {
  check_shapes(problem);
  check_numbers(problem);
}

void check_labels(const Problem& p, Loss loss) {
  for (std::size_t i = 0; i < p.inputs; ++i) {
    const double y = p.labels[i];
    if (needs_signs(loss) && std::abs(y) != 1)
      throw Error(fmt::format("Y: the label of input {} is {}; the {} loss needs +1 or -1", i, y,
                              name(loss)));
    if (is_margin_loss(loss) && y == 0)
      throw Error(
          fmt::format("Y: the label of input {} is 0; the {} loss cannot use it", i, name(loss)));
  }
}

std::vector<double> keys(const Problem& p) {
  if (p.weights.empty()) return p.x;
  std::vector<double> k(p.x.size());
  const auto rows = static_cast<Eigen::Index>(p.inputs * p.tokens);
  const auto d = static_cast<Eigen::Index>(p.dim);
  Eigen::Map<RowMajor>(k.data(), rows, d).noalias() =
      Eigen::Map<const RowMajor>(p.x.data(), rows, d) *
      Eigen::Map<const RowMajor>(p.weights.data(), d, d);
  return k;
}

std::vector<double> token_outputs(const Problem& p) {
  std::vector<double> outputs(p.inputs * p.tokens);
  for (std::size_t row = 0; row < outputs.size(); ++row) {
    const auto x = std::span(p.x).subspan(row * p.dim, p.dim);
    outputs[row] = p.head.linear() ? dot(x, p.head.v) : p.head.value(x, p.head.v);
  }
  return outputs;
}

std::vector<double> scores(const Problem& p) {
  std::vector<double> gamma = token_outputs(p);
  for (std::size_t row = 0; row < gamma.size(); ++row) gamma[row] *= p.labels[row / p.tokens];
  return gamma;
}

void require_distinct_keys(const Problem& p, std::span<const double> keys) {
  // Equal keys are neighbours when the tokens of an input are sorted.
  for (std::size_t i = 0; i < p.inputs; ++i) {
    std::vector<std::size_t> order(p.tokens);
    for (std::size_t t = 0; t < p.tokens; ++t) order[t] = t;
    const auto key = [&](std::size_t t) { return keys.subspan((i * p.tokens + t) * p.dim, p.dim); };
    std::sort(order.begin(), order.end(), [&](std::size_t s, std::size_t t) {
      return std::lexicographical_compare(key(s).begin(), key(s).end(), key(t).begin(),
                                          key(t).end());
    });
    for (std::size_t r = 1; r < p.tokens; ++r) {
      if (!std::equal(key(order[r]).begin(), key(order[r]).end(), key(order[r - 1]).begin()))
        continue;
      const auto [s, t] = std::minmax(order[r], order[r - 1]);
      const bool same =
          std::equal(p.token(i, s).begin(), p.token(i, s).end(), p.token(i, t).begin());
      throw Error(fmt::format("input {}: tokens {} and {} {}, so nothing trained separates them", i,
                              s, t,
                              same ? "are the same"
                                   : "differ only where W is rank-deficient: their keys W^T x are "
                                     "the same"));
    }
  }
}

}  // namespace attractor::training
