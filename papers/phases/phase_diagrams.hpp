// Phase diagrams: shares of close pairs over beta and time, side by side and at single times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "attractor/commands/phase_experiment.hpp"
#include "attractor/reductions/equiangular.hpp"
#include "papers/entry.hpp"

namespace attractor::papers {

using lab::PhaseSetup;

/// Share of close pairs by the published scheme with its standard error, and by the flow (RK4).
struct Shares {
  double published, error, flow;
};
struct Schemes {
  Result published, flow;
  /// At the last beta. Throws Error if the time is no output.
  Shares at(double time) const;
};
Schemes both_schemes(PhaseSetup parameters, const Effort& effort);

/// The first layer of step 0.1 at which equiangular tokens have cosine 0.999, as a time; NaN: none
/// of so many.
double layer_time(const meanfield::Equiangular& problem, std::size_t layers);

/// One diagram for each dimension, titled "d = 8"; the diagrams' tables go into the answer as
/// diagram_8. Empty if it was stopped.
struct Diagrams {
  std::vector<Result> answers;
  std::vector<std::string> titles;
};
Diagrams diagrams_over(const std::vector<std::uint64_t>& dims, PhaseSetup parameters,
                       const Effort& effort, Result& answer);

/// Draws their heat maps as one figure of two columns.
std::function<std::vector<PageFigure>()> drawn(const Diagrams& diagrams, std::string caption);

}  // namespace attractor::papers
