#include "attractor/mean_field/sphere_labels.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/stability/gegenbauer.hpp"

namespace attractor::meanfield {

WeightedTokens::WeightedTokens(std::size_t dim, Rule rule, double beta, std::vector<double> weights)
    : attention_{.rule = rule, .beta = beta, .dim = dim},
      space_(dim),
      log_unit_(rule == Rule::unnormalised ? -beta : 0.0),
      weights_(std::move(weights)) {
  double sum = 0;
  for (double w : weights_) {
    if (!(w > 0 && std::isfinite(w)))
      throw Error(fmt::format("weight = {} is not allowed; allowed: positive and finite", w));
    sum += w;
  }
  if (weights_.empty()) throw Error("0 tokens are not allowed; allowed: at least 1");
  for (double& w : weights_) w /= sum;
}

void WeightedTokens::drift(std::span<const double> state, double log_unit,
                           std::span<double> out) const {
  const std::size_t dim = attention_.dim;
  assert(state.size() == weights_.size() * dim);
  attend(attention_, state, weights_, {.lift = log_unit - log_unit_}, sums_);
  const bool softmax = attention_.rule == Rule::softmax;
  parallel_for(weights_.size(), std::max<std::size_t>(1, 4096 / dim),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const auto z = sums_.partition(i, weights_[i]);
                   const double factor = softmax
                                             ? std::exp(log_unit + sums_.peak[i] - z.top) / z.scaled
                                             : std::exp(log_unit + sums_.offset + sums_.peak[i]);
                   const auto row = out.subspan(i * dim, dim);
                   for (std::size_t a = 0; a < dim; ++a) {
                     // A factor that underflows meets a pull of zero: keep 0, not 0 * inf.
                     const double pull = sums_.pull[i * dim + a];
                     row[a] = pull == 0 ? 0 : factor * pull;
                   }
                   space_.project(state.subspan(i * dim, dim), row);
                 }
               });
}

std::vector<double> WeightedTokens::mean(std::span<const double> state) const {
  std::vector<double> sum(attention_.dim, 0.0);
  for (std::size_t i = 0; i < weights_.size(); ++i)
    for (std::size_t a = 0; a < sum.size(); ++a) sum[a] += weights_[i] * state[i * sum.size() + a];
  return sum;
}

double WeightedTokens::log_energy(std::span<const double> state) const {
  if (attention_.beta == 0) {
    const std::vector<double> m = mean(state);
    return std::log(0.5 * dot(m, m));
  }
  attend(attention_, state, weights_, {.pull = false}, sums_);
  double sum = 0;  // relative to e^beta, the largest partition function there is
  for (std::size_t i = 0; i < weights_.size(); ++i)
    sum += weights_[i] * std::exp(sums_.log_partition(i, weights_[i]) - attention_.beta);
  return attention_.beta + std::log(sum / (2 * attention_.beta));
}

WeightedPoints sphere_grid(std::size_t heights,
                           const std::function<double(std::span<const double>)>& density) {
  const GaussRule rule = gauss_rule(3, heights);
  const std::size_t around = 2 * heights;
  WeightedPoints grid;
  double total = 0;
  for (std::size_t q = 0; q < heights; ++q) {
    const double t = rule.nodes[q], radius = std::sqrt((1 - t) * (1 + t));
    for (std::size_t j = 0; j < around; ++j) {
      const double angle =
          2 * std::numbers::pi * (static_cast<double>(j) + 0.5) / static_cast<double>(around);
      const double point[3] = {t, radius * std::cos(angle), radius * std::sin(angle)};
      const double weight = rule.weights[q] * density(point);
      if (!(weight > 1e-300)) continue;
      grid.points.insert(grid.points.end(), point, point + 3);
      grid.weights.push_back(weight);
      total += weight;
    }
  }
  for (double& w : grid.weights) w /= total;
  grid.mass = total / static_cast<double>(around);
  return grid;
}

}  // namespace attractor::meanfield
