// All fields of what margins give, for those that keep them (lab/pieces.hpp).
#pragma once

#include <tuple>

#include "attractor/training/margins/basins.hpp"
#include "attractor/training/margins/choices.hpp"
#include "attractor/training/margins/max_margin.hpp"
#include "attractor/training/margins/regularisation_path.hpp"

namespace attractor::training {

inline auto fields(MaxMargin& value) {
  auto& [chosen, relaxed, status, solution, norm, lower, upper, upper_is_proved, relative_gap,
         smallest_slack, farkas_residual, support, exact, rank, factor_rank, reach, neighbours,
         rivals, locally_optimal, globally_optimal] = value;
  return std::tie(chosen, relaxed, status, solution, norm, lower, upper, upper_is_proved,
                  relative_gap, smallest_slack, farkas_residual, support, exact, rank, factor_rank,
                  reach, neighbours, rivals, locally_optimal, globally_optimal);
}

inline auto fields(LocalChoices& value) {
  auto& [found, complete, examined] = value;
  return std::tie(found, complete, examined);
}

inline auto fields(PathPoint& value) {
  auto& [radius, head_radius, weights, head, loss, log10_ridge, selected, on_boundary, residual,
         evaluations] = value;
  return std::tie(radius, head_radius, weights, head, loss, log10_ridge, selected, on_boundary,
                  residual, evaluations);
}

inline auto fields(BasinStart& value) {
  auto& [start, end, limit, at_minimum, velocity_cosine, log10_time] = value;
  return std::tie(start, end, limit, at_minimum, velocity_cosine, log10_time);
}

inline auto fields(BasinEnd& value) {
  auto& [chosen, settled] = value;
  return std::tie(chosen, settled);
}

inline auto fields(BasinProgress& value) {
  auto& [done, starts, ends] = value;
  return std::tie(done, starts, ends);
}

}  // namespace attractor::training
