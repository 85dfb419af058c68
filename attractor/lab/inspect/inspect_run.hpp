// An inspection as one call without files: models/readings on every text, their means with
// intervals over texts, baselines, nulls and the errors of three predictions.
#pragma once

#include "attractor/lab/context.hpp"
#include "attractor/lab/inspect/inspect_record.hpp"
#include "attractor/lab/inspect/inspect_setup.hpp"

namespace attractor::lab {

InspectRecord run_inspect(const InspectSetup& setup, const Context& context);

/// A mean over some numbers and the interval that drawing them again gives; NaN are left out.
models::Band mean_band(const std::vector<double>& values, double level, std::uint64_t seed);

}  // namespace attractor::lab
