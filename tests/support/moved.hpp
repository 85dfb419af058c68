// The state of a flow after a time.
#pragma once

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "attractor/flow/run.hpp"

namespace attractor {

/// By original number where the flow sorts it.
template <class AnyFlow>
std::vector<double> moved(AnyFlow& flow, std::vector<double> state, double time,
                          double tolerance = 1e-12) {
  flow::Progress progress{.state = std::move(state)};
  const flow::Plan plan{.end = flow::Time(time), .tolerance = tolerance};
  EXPECT_EQ(run(flow, flow::dormand_prince(), plan, progress, {}), flow::Status::complete);
  if constexpr (requires { flow.expand(progress.state); }) return flow.expand(progress.state);
  return progress.state;
}

}  // namespace attractor
