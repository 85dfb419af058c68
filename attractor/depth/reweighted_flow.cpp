#include "attractor/depth/reweighted_flow.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attractor/attention/attention.hpp"
#include "attractor/base/error.hpp"

namespace attractor::depth {

void WeightedSphere::retract(std::span<double> point) const {
  sphere_.retract(point.first(sphere_.dim()));
}

void WeightedSphere::project(std::span<const double> point, std::span<double> vector) const {
  sphere_.project(point.first(sphere_.dim()), vector.first(sphere_.dim()));
}

double WeightedSphere::distance(std::span<const double> a, std::span<const double> b) const {
  const std::size_t d = sphere_.dim();
  return std::hypot(sphere_.distance(a.first(d), b.first(d)), a[d] - b[d]);
}

ReweightedFlow::ReweightedFlow(const Reweighting& setup) : setup_(setup), space_(setup.dim) {
  const auto require = [](const char* what, double value, bool good, const char* allowed) {
    if (!good)
      throw Error(fmt::format("{} = {} is not allowed; allowed: {}", what, value, allowed));
  };
  require("beta", setup.beta, setup.beta > 0 && setup.beta <= 700, "above 0 to 700");
  require("rate", setup.rate, setup.rate >= 0 && setup.rate <= 1e6, "0 to 1e6");
  require("dim", static_cast<double>(setup.dim), setup.dim >= 2, "2 or more");
}

std::vector<double> ReweightedFlow::state_of(std::span<const double> tokens,
                                             std::span<const double> weights) const {
  const std::size_t dim = setup_.dim;
  if (weights.empty() || tokens.size() != weights.size() * dim)
    throw Error(
        fmt::format("{} weights for {} numbers of tokens in dimension {}; allowed: one a "
                    "token",
                    weights.size(), tokens.size(), dim));
  double total = 0;
  for (const double w : weights) {
    if (!(w > 0 && std::isfinite(w)))
      throw Error(fmt::format("weight = {} is not allowed; allowed: above 0", w));
    total += w;
  }
  std::vector<double> state;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const auto x = tokens.subspan(i * dim, dim);
    state.insert(state.end(), x.begin(), x.end());
    state.push_back(std::log(weights[i] / total));
  }
  return state;
}

/// Tokens, weights and the sums of unnormalised attention over them.
struct ReweightedFlow::Fields {
  std::vector<double> tokens, weights;
  AttentionSums sums{};
};

ReweightedFlow::Fields ReweightedFlow::fields(std::span<const double> state) const {
  const std::size_t dim = setup_.dim;
  Fields f;
  for (std::size_t at = 0; at < state.size(); at += dim + 1) {
    f.tokens.insert(f.tokens.end(), &state[at], &state[at + dim]);
    f.weights.push_back(std::exp(state[at + dim]));
  }
  attend({.rule = Rule::unnormalised, .beta = setup_.beta, .dim = dim}, f.tokens, f.weights, {},
         f.sums);
  return f;
}

void ReweightedFlow::drift(std::span<const double> state, double log_unit,
                           std::span<double> out) const {
  const std::size_t dim = setup_.dim, row = dim + 1;
  const Fields f = fields(state);
  double mean = 0, total = 0;
  for (std::size_t i = 0; i < f.weights.size(); ++i) {
    const double scale = std::exp(f.sums.offset + f.sums.peak[i] + log_unit);
    for (std::size_t a = 0; a < dim; ++a) out[i * row + a] = scale * f.sums.pull[i * dim + a];
    space_.project(state.subspan(i * row, row), out.subspan(i * row, row));
    const double field = std::exp(f.sums.log_partition(i, f.weights[i]) + log_unit) / setup_.beta;
    out[i * row + dim] = field;
    mean += f.weights[i] * field;
    total += f.weights[i];
  }
  for (std::size_t k = dim; k < out.size(); k += row)
    out[k] = setup_.rate * (out[k] - mean / total);
}

double ReweightedFlow::energy(std::span<const double> state) const {
  const Fields f = fields(state);
  double sum = 0;
  for (std::size_t i = 0; i < f.weights.size(); ++i)
    sum += f.weights[i] * std::exp(f.sums.log_partition(i, f.weights[i]));
  return sum / (2 * setup_.beta);
}

}  // namespace attractor::depth
