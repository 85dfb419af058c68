#include "attractor/commands/architect/turning_band.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/commands/forecast_experiment.hpp"
#include "attractor/commands/forecast_turn.hpp"
#include "attractor/reductions/equiangular_layers.hpp"

namespace attractor::lab {

std::vector<double> cosines(const Stack& s) {
  const ForecastSetup setup{.depth = s.depth,
                            .norm = s.norm,
                            .beta = std::min(s.beta, 1e6),
                            .tokens = s.tokens,
                            .rho0 = s.rho,
                            .step = s.step};
  std::vector<double> all;
  for (const meanfield::EquiangularLayer& l :
       meanfield::layers(stack_of(setup, s.norm), s.step, s.depth, s.dimension))
    all.push_back(l.cosine);
  return all;
}

double collapse_layer(const std::vector<double>& cosine, double level) {
  const auto at = std::find_if(cosine.begin(), cosine.end(), [&](double c) { return c >= level; });
  return at == cosine.end() ? kNan : static_cast<double>(at - cosine.begin());
}

std::optional<double> turn_of(Stack s, double level) {
  const double beta = s.beta;
  return turning_beta(
      [&](double b) {
        s.beta = b;
        return cosines(s).back() >= level;
      },
      beta);
}

TurningBand turning_band(const Stack& stack, double level, double rho_error) {
  TurningBand band{.turn = turn_of(stack, level)};
  if (!band.turn) return band;
  const auto end = [&](double share) {
    Stack off = stack;
    off.rho = std::clamp(stack.rho + share * kNinety * rho_error, 0.0, 0.999);
    const std::optional<double> turn = turn_of(off, level);
    if (!turn) return kNan;
    const double by_rho = std::log(*turn / *band.turn);
    return *band.turn * std::exp(share * std::hypot(by_rho, kLawError / stack.dimension));
  };
  band.low = end(-1);
  band.high = end(1);
  return band;
}

TurningBand TurningBand::over(double beta, double beta_error) const {
  if (!turn) return {};
  const auto end = [&](double at, double share) {
    return *turn / beta * std::exp(share * std::hypot(std::log(at / *turn), kNinety * beta_error));
  };
  return {.turn = *turn / beta, .low = end(low, -1), .high = end(high, 1)};
}

}  // namespace attractor::lab
