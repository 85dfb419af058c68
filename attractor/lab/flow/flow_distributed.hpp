// `attractor flow` on several ranks (ranks/ranks.hpp): each holds a block of the tokens
// (depth/distributed_flow.hpp); rank 0 gathers them at output times, observes and writes as it does
// alone. All functions but those that check are called by all ranks together.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attractor/flow/run.hpp"
#include "attractor/lab/flow/flow_setup.hpp"

namespace attractor::lab {

/// Throws Error unless several ranks can share this run: sa or usa summed densely, no coalescence,
/// a token for each rank at least.
void check_distributed(const FlowSetup& p, std::size_t tokens, std::size_t dim, double merge_radius,
                       std::size_t ranks);

/// This rank's tokens of all.
std::vector<double> own_tokens(std::span<const double> tokens, std::size_t dim);

/// On rank 0 with the tokens of all ranks; elsewhere without tokens.
flow::Progress gathered(const flow::Progress& mine);
/// The reverse: what rank 0 passes, everywhere, with this rank's tokens of it.
flow::Progress scattered(flow::Progress whole, std::size_t dim);

}  // namespace attractor::lab
