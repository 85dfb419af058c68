#include "attractor/training/diagonal_factors.hpp"

#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"

namespace attractor::training {

DiagonalFactorFlow::DiagonalFactorFlow(const Objective& objective, double log_start)
    : objective_(objective),
      log_half_square_(2 * log_start - std::numbers::ln2),
      space_(objective.dim()) {
  if (objective.trained().attention != AttentionPart::prompt || objective.trained().head)
    throw Error("diagonal factors are those of a prompt p, with v frozen: train p");
}

// sinh is e^|y| / 2 long before a^2 has been made up for, and exact below.
std::vector<double> DiagonalFactorFlow::weights(std::span<const double> state) const {
  constexpr double kLarge = 20;  // e^-40 is below rounding
  std::vector<double> p;
  for (const double y : state) {
    const double size = std::abs(y) > kLarge ? std::exp(std::abs(y) + log_half_square_) / 2
                                             : std::sinh(std::abs(y)) * std::exp(log_half_square_);
    p.push_back(std::copysign(size, y));
  }
  return p;
}

void DiagonalFactorFlow::drift(std::span<const double> state, double log_unit,
                               std::span<double> out) const {
  objective_.evaluate(weights(state), evaluation_);
  const double factor = 2 * std::exp(log_unit + evaluation_.log_scale[0]);
  for (std::size_t a = 0; a < out.size(); ++a) out[a] = factor * evaluation_.descent[a];
}

double DiagonalFactorFlow::fitting_log_unit(std::span<const double> state, double present) const {
  objective_.evaluate(weights(state), evaluation_);
  const double size = norm(evaluation_.descent);
  return size > 0 ? -evaluation_.log_scale[0] - std::log(2 * size) : present;
}

}  // namespace attractor::training
