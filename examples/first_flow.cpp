// Twelve tokens on the circle under softmax attention: watch them cluster, then collapse.
#include <fmt/format.h>

#include "attractor/attractor.hpp"

int main() {
  using namespace attractor;
  const TokenSet tokens = make_tokens({.tokens = 12, .dim = 2, .seed = 1});

  // x_i' = P_i sum_j softmax_j(beta <x_i, x_j>) x_j; tokens closer than 1e-6 become one.
  depth::AttentionFlow flow({.rule = Rule::softmax, .beta = 9, .dim = 2}, tokens.count(), 1e-6);

  flow::Plan plan{.end = flow::kForever, .tolerance = 1e-10};
  for (double t = 0.1; t < 1e6; t *= 10) plan.outputs.emplace_back(t);

  flow::Hooks hooks;
  hooks.output = [&](const flow::Time& time, std::span<const double> state) {
    const auto mean = observe::mean_cosine(state, 2, flow.groups().masses());
    fmt::print("t = {:8.1f}   distinct tokens {:2}   mean cosine {:.6f}\n", time.value(),
               flow.groups().masses().size(), mean.mean_cosine);
  };

  flow::Progress progress{.state = tokens.data};
  const flow::Status status = flow::run(flow, flow::dormand_prince(), plan, progress, hooks);
  fmt::print("{} at t = {:.6g} after {} steps\n", flow::name(status), progress.time.value(),
             progress.steps);
  return status == flow::Status::collapsed ? 0 : 1;
}
