// Phase diagrams: shares of close pairs over beta and time, side by side and at single times.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attractor/experiment/phase_experiment.hpp"
#include "papers/entry.hpp"

namespace attractor::papers {

using experiment::PhaseParameters;

/// Row (beta, time, fraction, error) of a phase answer's diagram at its last beta. Throws Error if
/// the time is no output.
const std::vector<double>& phase_at(const Answer& answer, double time);

/// One diagram for each dimension, titled "d = 8"; the diagrams' tables go into the answer as
/// diagram_8. Empty if it was stopped.
struct Diagrams {
  std::vector<Answer> answers;
  std::vector<std::string> titles;
};
Diagrams diagrams_over(const std::vector<std::uint64_t>& dims, PhaseParameters parameters,
                       const Effort& effort, Answer& answer);

/// The heat maps of several phase answers as one figure of two columns.
PageFigure phase_figure(std::string id, const std::vector<Answer>& diagrams,
                        const std::vector<std::string>& titles, std::string caption);

}  // namespace attractor::papers
