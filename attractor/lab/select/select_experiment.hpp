// The way of `attractor select`: problem -> objective -> gradient method -> which tokens were
// selected, and the max-margin theory of that choice. With a directory, training can be interrupted
// or killed at any moment and resumed; the run ends with the same bytes.
#pragma once

#include <string>

#include "attractor/lab/context.hpp"
#include "attractor/lab/select/select_record.hpp"

namespace attractor::lab {

/// The problem as a run needs it: K and Q drawn where they are trained and not given. All that can
/// be refused is refused here; throws Error. `data` of the parameters is not read.
training::Problem prepared(const SelectParameters& parameters, training::Problem problem);
/// The same with the problem that `data` names, a relative file meant from `files_from`.
training::Problem prepared_problem(const SelectParameters& parameters,
                                   const std::string& files_from);

/// Of a prepared problem.
SelectRecord run_select(const SelectParameters& parameters, training::Problem problem,
                        const Context& context);
/// Reads, prepares and runs.
SelectRecord run_select(const SelectParameters& parameters, const Context& context);

}  // namespace attractor::lab
