// An exact reduction: tokens with one common cosine g keep it, and it obeys one ordinary equation,
//
//   g' = 2 (1 - g) (1 + (n-1) g) / (e^{beta (1-g)} + n - 1)      (softmax attention).
//
// Four tokens flow through attention beside its solution; then 10^12 of them, which only that can
// do.
#include <fmt/format.h>

#include <cmath>

#include "attractor/attractor.hpp"

int main() {
  using namespace attractor;
  const meanfield::EquiangularFlow reduced({.tokens = 4, .beta = 1});

  depth::AttentionFlow flow({.rule = Rule::softmax, .beta = 1, .dim = 4}, 4, 0);
  flow::Progress progress{.state = equiangular(4, 4, 0).data};
  double worst = 0, at_one = 0;
  flow::Hooks hooks;
  hooks.output = [&](const flow::Time& time, std::span<const double> x) {
    const double cosine = dot(x.first(4), x.last(4)), exact = reduced.at(time.log()).cosine;
    fmt::print("t = {:4}   cosine of tokens {:.12f}   reduced {:.12f}\n", time.value(), cosine,
               exact);
    worst = std::max(worst, std::abs(cosine - exact));
    if (time == flow::Time(1)) at_one = exact;
  };
  flow::Plan plan{.end = flow::Time(8), .tolerance = 1e-12};
  for (const double t : {0.25, 1.0, 3.0, 8.0}) plan.outputs.emplace_back(t);
  flow::run(flow, flow::dormand_prince(), plan, progress, hooks);

  const meanfield::EquiangularFlow many({.tokens = 1e12, .beta = 20});
  fmt::print("10^12 tokens at beta = 20 are halfway to consensus at t = {:.6f}\n",
             many.half_collapse().time());
  // 0.479486782185420 is the cosine at t = 1 as the equation gives it with 25 digits.
  return worst < 1e-10 && std::abs(at_one - 0.479486782185420) < 1e-14 ? 0 : 1;
}
