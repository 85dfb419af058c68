// The way of one experiment: parameters -> initial tokens -> attention flow -> run() with its
// observers -> FlowRecord. With a place for checkpoints the run can be interrupted or killed at any
// moment and resumed; it ends with the same bytes.
#pragma once

#include <memory>
#include <string>

#include "attractor/lab/context.hpp"
#include "attractor/lab/flow/flow_record.hpp"
#include "attractor/observe/observables.hpp"

namespace attractor::lab {

struct FlowSize {
  std::size_t tokens, dim;
};

/// A run that has been checked: its tokens are made, its weights read, and it waits for run().
class FlowRun {
 public:
  /// All that can be refused is refused here. `distributed`: the ranks share the tokens
  /// (flow_distributed.hpp); only rank 0 is given a directory and gets a whole record.
  explicit FlowRun(const FlowSetup& setup, bool distributed = false);
  /// Measures this as well, at every output. The name must be new.
  void observe(observe::Observable own);
  FlowRun(FlowRun&&) noexcept;
  FlowRun& operator=(FlowRun&&) noexcept;
  ~FlowRun();

  FlowSize size() const;
  /// Once.
  FlowRecord run(const Context& context) &&;

 private:
  class Experiment;
  std::unique_ptr<Experiment> experiment_;
};

FlowRecord run_flow(const FlowSetup& setup, const Context& context);

}  // namespace attractor::lab
