// A BridgeRecord as numbers: the values of its summary and the arrays of its result.h5.
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

#include "attractor/lab/json.hpp"
#include "attractor/lab/select/bridge_experiment.hpp"
#include "attractor/report/archive.hpp"

namespace attractor::lab {

/// Numbers that do not exist are null.
Json bridge_values(const BridgeRecord& record);

void write_arrays(const BridgeRecord& record, Archive& file);

}  // namespace attractor::lab
