#include "papers/token_walk.hpp"

#include <fmt/format.h>

#include "attractor/base/error.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/flow/tableau.hpp"

namespace attractor::papers {

std::vector<std::vector<double>> states_of(const Walk& walk, const Effort& effort,
                                           double* reached) {
  depth::validate(walk.architecture);
  depth::LayerFlow flow(walk.architecture, walk.tokens.size() / walk.architecture.layer.dim);
  flow::Plan plan{.end = flow::Time(walk.times.back()),
                  .tolerance = walk.tolerance,
                  .step = walk.step,
                  .max_steps = walk.max_steps};
  for (const double time : walk.times) plan.outputs.emplace_back(time);
  flow::Progress progress{.state = walk.tokens};
  std::vector<std::vector<double>> states;
  flow::Hooks hooks{.stop = effort.context.stop};
  hooks.output = [&](const flow::Time&, std::span<const double> state) {
    states.emplace_back(state.begin(), state.end());
  };
  const flow::Status status = flow::run(flow, flow::tableau(walk.stepper), plan, progress, hooks);
  const bool short_of = reached && status == flow::Status::too_many_steps;
  if (reached) *reached = short_of ? progress.time.value() : walk.times.back();
  if (status != flow::Status::complete && !short_of && !effort.context.stopped())
    throw Error(
        fmt::format("a flow ended with '{}': {}", flow::name(status), flow::remedy(status)));
  states.resize(walk.times.size(), progress.state);  // a flow at rest has no more outputs
  return states;
}

}  // namespace attractor::papers
