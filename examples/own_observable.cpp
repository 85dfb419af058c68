// A whole run with an observable of one's own beside those that every run measures: the largest
// cosine of a pair. Of equiangular tokens all cosines are equal, so it must be their mean, and what
// the exact reduction says.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/attractor.hpp"

int main() {
  using namespace attractor;
  lab::FlowSetup setup;
  setup.init = Arrangement::equiangular;
  setup.tokens = setup.dim = 8;
  setup.beta = 3;
  setup.time = 6;
  setup.tolerance = 1e-12;
  setup.outputs = 12;

  lab::FlowRun run(setup);
  run.observe({"largest_cosine", "of all pairs of tokens", [](const observe::TokenView& view) {
                 const std::size_t n = view.masses.size();
                 double largest = -1;
                 for (std::size_t i = 0; i < n; ++i)
                   for (std::size_t j = 0; j < i; ++j)
                     largest = std::max(largest, dot(view.tokens.subspan(i * view.dim, view.dim),
                                                     view.tokens.subspan(j * view.dim, view.dim)));
                 return largest;
               }});
  const lab::FlowRecord record = std::move(run).run({});

  const meanfield::EquiangularFlow exact({.tokens = 8, .beta = 3});
  double worst = 0;
  for (const observe::Observation& o : record.series) {
    const double reduced = exact.at(o.log10_time * std::log(10.0)).cosine;
    fmt::print("t = {:5.2f}   largest {:.10f}   mean {:.10f}   reduced {:.10f}\n",
               std::pow(10, o.log10_time), o.more.back(), o.mean_cosine, reduced);
    worst = std::max({worst, std::abs(o.more.back() - reduced), std::abs(o.mean_cosine - reduced)});
  }
  return record.observables.back().name == "largest_cosine" && worst < 1e-9 ? 0 : 1;
}
