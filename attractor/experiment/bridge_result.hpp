// A BridgeRecord as files: result.h5, summary.json, and the page.
//
//   /             attributes: format, version, command, parameters (JSON), status, svm_norm, slope,
//                 transition_norm, transition_log_time, half_log_time
//   /training     log_time, norm, margin, softmax_min, bound: one entry a moment; weights: moments
//                 x weights; svm: the max-margin solution; selected: token of each input
//   /checkpoints  the same five numbers, cluster_cosine, first_merge (NaN: none), and start and end
//                 of the tokens: start_NAME, end_NAME for every column of /series of `attractor
//                 flow`; weights: checkpoints x weights
//   /tokens       start: n x d; end: checkpoints x n x d; clusters: checkpoints x n
#pragma once

#include <filesystem>

#include "attractor/experiment/bridge_experiment.hpp"
#include "attractor/experiment/json.hpp"

namespace attractor::experiment {

/// What --json prints. Numbers that do not exist are null.
Json summary(const BridgeRecord& record, double wall_seconds);

/// Bytes that depend on the problem and the parameters only.
void write_result_file(const BridgeRecord& record, const std::filesystem::path& file);

/// result.h5, figures, page, and last summary.json, which marks the run as ended.
void write_bridge_result(const BridgeRecord& record, double wall_seconds,
                         const std::filesystem::path& directory);

}  // namespace attractor::experiment
