#include "attractor/training/descent_flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace attractor::training {
namespace {

// sign(x) |x|^power.
double signed_power(double x, double power) {
  return std::copysign(std::pow(std::abs(x), power), x);
}

}  // namespace

DescentFlow::DescentFlow(const Objective& objective, const DescentOptions& options)
    : objective_(objective),
      options_(options),
      space_(objective.dim() * (options.momentum > 0 ? 2 : 1)) {}

std::vector<double> DescentFlow::state(std::span<const double> weights) const {
  std::vector<double> state(space_.dim(), 0.0);
  std::copy(weights.begin(), weights.end(), state.begin());
  if (options_.mirror != 2)
    for (const Block& b : objective_.blocks())
      for (std::size_t k = b.begin; k < b.begin + b.size && b.name != "v"; ++k)
        state[k] = signed_power(state[k], options_.mirror - 1);
  return state;
}

std::vector<double> DescentFlow::weights(std::span<const double> state) const {
  const auto own = state.first(objective_.dim());
  std::vector<double> weights(own.begin(), own.end());
  if (options_.mirror != 2)
    for (const Block& b : objective_.blocks())
      for (std::size_t k = b.begin; k < b.begin + b.size && b.name != "v"; ++k)
        weights[k] = signed_power(weights[k], 1 / (options_.mirror - 1));
  return weights;
}

void DescentFlow::look(std::span<const double> state) const {
  if (options_.mirror == 2) {
    objective_.evaluate(state.first(objective_.dim()), evaluation_);
  } else {
    weights_ = weights(state);
    objective_.evaluate(weights_, evaluation_);
  }
}

// ln |g| over all blocks.
double DescentFlow::log_norm() const {
  double top = -std::numeric_limits<double>::infinity(), sum = 0;
  for (std::size_t k = 0; k < objective_.blocks().size(); ++k)
    top = std::max(top, evaluation_.log_scale[k]);
  for (std::size_t k = 0; k < objective_.blocks().size(); ++k) {
    const double part = norm(objective_.blocks()[k].of(evaluation_.descent)) *
                        std::exp(evaluation_.log_scale[k] - top);
    sum += part * part;
  }
  return sum > 0 ? top + std::log(sum) / 2 : -std::numeric_limits<double>::infinity();
}

void DescentFlow::velocity(double log_unit, std::span<double> out) const {
  double polyak = 0;
  if (options_.rule == Rule::polyak)
    polyak = objective_.log_excess(evaluation_, objective_.best()) - 2 * log_norm();
  for (std::size_t k = 0; k < objective_.blocks().size(); ++k) {
    const Block& b = objective_.blocks()[k];
    const double length = norm(b.of(evaluation_.descent)), scale = evaluation_.log_scale[k];
    double factor = 0;
    switch (options_.rule) {
      case Rule::gradient:
        factor = std::exp(log_unit + scale);
        break;
      case Rule::normalised:
        factor = std::exp(log_unit) / length;
        break;
      case Rule::published:
        factor =
            std::exp(log_unit + scale) /
            (std::exp(scale) * length + (b.name == "v" ? options_.head_epsilon : options_.epsilon));
        break;
      case Rule::polyak:
        factor = std::exp(log_unit + scale + polyak);
        break;
    }
    for (std::size_t j = b.begin; j < b.begin + b.size; ++j)
      out[j] = length > 0 ? factor * evaluation_.descent[j] : 0.0;
  }
}

void DescentFlow::drift(std::span<const double> state, double log_unit,
                        std::span<double> out) const {
  look(state);
  const std::size_t dim = objective_.dim();
  velocity(log_unit, out.first(dim));
  if (options_.momentum == 0) return;
  for (std::size_t j = 0; j < dim; ++j) {
    const double u = state[dim + j];
    out[j] += options_.momentum * u;
    out[dim + j] = (out[j] - u) / options_.step;
  }
}

double DescentFlow::fitting_log_unit(std::span<const double> state, double present) const {
  if (options_.rule != Rule::gradient) return present;
  look(state);
  const double size = log_norm();
  return std::isfinite(size) ? -size : present;
}

bool DescentFlow::at_rest(std::span<const double> state) const {
  if (options_.rest_steps == 0 || ++rest_.steps_since < options_.rest_steps) return false;
  const bool rests = rest_.seen.size() == state.size() &&
                     squared_distance(rest_.seen, state) < 1e-14 * std::max(1.0, dot(state, state));
  rest_.seen.assign(state.begin(), state.end());
  if (!rests) rest_.steps_since = 0;
  return rests;
}

}  // namespace attractor::training
