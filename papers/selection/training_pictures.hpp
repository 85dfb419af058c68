// Pictures of training: paths and max-margin directions in the plane, columns against steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "papers/select_run.hpp"

namespace attractor::papers {

/// A path of two coordinates in a trajectory of weights, up to a step; starts with an open dot and
/// has a dot every ten steps.
struct PlanePath {
  std::vector<double> x, y;
  report::Colour colour = report::kVermillion;
  std::string title{};
};
PlanePath plane_path(const SelectRecord& record, std::span<const double> trajectory,
                     std::size_t stride, std::size_t begin, std::uint64_t last_step);

/// The first two coordinates of p in R^3, from the start itself and from all others.
std::vector<PlanePath> paths_of_starts(const SelectRecord& record, std::uint64_t last_step);

struct PlaneRay {
  std::vector<double> to;
  report::Colour colour = report::kVermillion;
  std::string title{};
};
report::Panel plane_panel(std::string title, const std::vector<PlanePath>& paths,
                          const std::vector<PlaneRay>& rays);

/// A column of a run against its steps, from step 1.
report::Series against_steps(const SelectRecord& record, double SelectMoment::*column,
                             report::Colour colour, std::string title);

}  // namespace attractor::papers
