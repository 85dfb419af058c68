// The way of one experiment: parameters -> initial tokens -> attention flow -> run() with its
// observers -> FlowRecord. With a directory the run can be interrupted or killed at any moment and
// resumed; it ends with the same bytes.
#pragma once

#include <filesystem>
#include <functional>

#include "attractor/experiment/flow_record.hpp"

namespace attractor::experiment {

struct FlowProgress {
  double fraction;  // of the requested time; negative when the end is not known
  flow::Time time;
  std::size_t distinct_tokens;
  std::uint64_t steps;
};

struct RunContext {
  std::filesystem::path directory;  // for checkpoints; empty: none
  std::string files_from;           // relative input files are meant from here; empty: from here
  double checkpoint_seconds = 10;
  std::function<bool()> stop;
  std::function<void(const FlowProgress&)> report;
};

/// All that can be refused is refused here, before anything is written: makes the tokens and reads
/// the weights. Returns the number of tokens and their dimension.
struct FlowSize {
  std::size_t tokens, dim;
};
FlowSize validate(const FlowParameters& parameters, const std::string& files_from);

FlowRecord run_flow(const FlowParameters& parameters, const RunContext& context);

}  // namespace attractor::experiment
