// What a run of `attractor meanfield` leaves behind: the history of its measures, the density over
// time, and how far it can be trusted.
#pragma once

#include <tuple>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/density/meanfield_system.hpp"
#include "attractor/flow/status.hpp"
#include "attractor/mean_field/particle_comparison.hpp"

namespace attractor::lab {

/// Bounds of the errors of all that is in the history (meanfield_errors.hpp). NaN: not known.
struct MeanfieldErrors {
  double order = kNan;    // of the order parameter
  double energy = kNan;   // relative to the energy; at beta = 0 to its largest value
  double entropy = kNan;  // spectral
  double density = kNan;  // relative to its peak
  double growth = kNan;   // of the measured growth
};

struct MeanfieldRecord {
  std::vector<MeanfieldMoment> history{};      // at the outputs that were reached
  std::vector<double> angles{};                // of the density; empty: none is known
  std::vector<std::vector<double>> density{};  // one row for each moment
  std::vector<double> moments{};               // at the end
  meanfield::WeightedPoints labels{};          // at the end; empty: spectral
  std::size_t first_modes = 0, modes = 0;      // at the start, at the end
  std::vector<flow::Time> doublings{};         // of the modes
  MeanfieldErrors errors{};
  double worst_error = 0;    // that decided
  double start_lost = 0;     // the part of the start that modes or grid cannot hold
  double modes_lost = 0;     // size of the largest missing mode, an estimate
  bool twin_failed = false;  // errors are not known
  double growth_measured = 0, growth_linear = 0;  // of the perturbed mode; NaN for other starts
  flow::Status status = flow::Status::complete;
  bool resolved = true;
  double reached = 0;          // time
  double reached_natural = 0;  // in units of the flow: 1, or e^-beta for unnormalised attention
  double steps_missing = 0;    // more than there are, at the step that was reached: given up

  bool complete() const { return resolved && !twin_failed && flow::delivered(status); }
};
inline auto fields(MeanfieldRecord& value) {
  auto& [history, angles, density, moments, labels, first_modes, modes, doublings, errors,
         worst_error, start_lost, modes_lost, twin_failed, growth_measured, growth_linear, status,
         resolved, reached, reached_natural, steps_missing] = value;
  return std::tie(history, angles, density, moments, labels, first_modes, modes, doublings, errors,
                  worst_error, start_lost, modes_lost, twin_failed, growth_measured, growth_linear,
                  status, resolved, reached, reached_natural, steps_missing);
}

}  // namespace attractor::lab
