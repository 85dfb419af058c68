// A run of `attractor meanfield`, from its start to what it leaves behind: modes are doubled when
// they no longer hold the density, and a finer twin says how wrong it is (meanfield_errors.hpp).
#pragma once

#include "attractor/commands/density/meanfield_record.hpp"
#include "attractor/lab/context.hpp"
#include "attractor/lab/pieces.hpp"

namespace attractor::lab {

/// The run and its twin are pieces.
MeanfieldRecord run_meanfield(const MeanfieldSetup& p, const MeanfieldKind& kind, Pieces& pieces,
                              const Context& context);

/// Labels of the density at the end of the run, made anew where the run was spectral.
struct EndLabels {
  meanfield::WeightedPoints points{};
  bool complete = true;
  double order_error = 0;  // of their order parameter
};
EndLabels labels_at_end(const MeanfieldSetup& p, const MeanfieldKind& kind,
                        const MeanfieldRecord& record, Pieces& pieces, const Context& context);

}  // namespace attractor::lab
