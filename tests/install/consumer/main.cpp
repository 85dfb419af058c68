// A user's program: only installed headers and the installed library.
#include <attractor/base/version.hpp>
#include <attractor/depth/attention_flow.hpp>
#include <attractor/flow/run.hpp>
#include <attractor/tokens/generators.hpp>
#include <cstdio>

int main() {
  using namespace attractor;
  depth::AttentionFlow flow({.rule = Rule::softmax, .beta = 1, .dim = 4}, 4, 1e-8);
  flow::Progress progress{.state = equiangular(4, 4, 0).data};
  const auto status = flow::run(flow, flow::dormand_prince(),
                                {.end = flow::Time(1), .tolerance = 1e-12}, progress, {});
  const double cosine = dot(std::span(progress.state).first(4), std::span(progress.state).last(4));
  std::printf("attractor %s: cosine %.12f\n", kVersion, cosine);
  const double exact = 0.479486782185420;  // the equiangular reduction
  return status == flow::Status::complete && cosine > exact - 1e-10 && cosine < exact + 1e-10 ? 0
                                                                                              : 1;
}
