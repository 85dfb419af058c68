// What a run of `attractor meanfield` leaves behind: the history of its measures, the density over
// time, and how far it can be trusted.
#pragma once

#include <vector>

#include "attractor/experiment/meanfield_system.hpp"
#include "attractor/flow/status.hpp"
#include "attractor/meanfield/particle_comparison.hpp"

namespace attractor::experiment {

struct MeanfieldRecord {
  std::vector<MeanfieldMoment> history;      // at the outputs that were reached
  std::vector<double> angles;                // of the density; empty: none is known
  std::vector<std::vector<double>> density;  // one row for each moment
  std::vector<double> moments;               // at the end
  meanfield::WeightedPoints labels;          // at the end; empty: spectral
  std::size_t modes = 0;
  /// Spectral: the size of the last modes. Labels: change of the order parameter against half as
  /// many. NaN: given tokens, which are what they are.
  double resolution = 0;
  double growth_measured = 0, growth_linear = 0;  // of the perturbed mode; NaN for other starts
  flow::Status status = flow::Status::complete;
  bool resolved = true;
  double reached = 0;          // time
  double reached_natural = 0;  // in units of the flow: 1, or e^-beta for unnormalised attention
  double steps_missing = 0;    // more than there are, at the step that was reached: given up

  bool complete() const { return resolved && flow::delivered(status); }
};

MeanfieldRecord run_meanfield(const MeanfieldParameters& p, const MeanfieldKind& kind,
                              const AskContext& context);

/// Labels of the density at the end of the run, made anew where the run was spectral.
meanfield::WeightedPoints labels_at_end(const MeanfieldParameters& p, const MeanfieldKind& kind,
                                        const MeanfieldRecord& record, const AskContext& context);

}  // namespace attractor::experiment
