// The way of `attractor select`: problem -> objective -> gradient method -> which tokens were
// selected, and the max-margin theory of that choice. With a place for checkpoints,
// training can be interrupted or killed at any moment and resumed; the run ends with the same
// bytes.
#pragma once

#include <string>

#include "attractor/lab/context.hpp"
#include "attractor/lab/select/select_record.hpp"

namespace attractor::lab {

/// The problem as a run needs it: K and Q drawn where they are trained and not given. All that can
/// be refused is refused here; throws Error. `data` of the setup is not looked at.
training::Problem prepared(const SelectSetup& setup, training::Problem problem);
/// The same with the problem in `data`.
training::Problem prepared(const SelectSetup& setup);

/// Of a prepared problem.
SelectRecord run_select(const SelectSetup& setup, training::Problem problem,
                        const Context& context);
/// Prepares and runs.
SelectRecord run_select(const SelectSetup& setup, const Context& context);

}  // namespace attractor::lab
