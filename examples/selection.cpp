// Attention flows: a prompt p trained by gradient descent with steps of fixed length selects one
// token of each input, and turns to the shortest p that does so with margin one (arXiv 2306.13596).
#include <fmt/format.h>

#include "attractor/attractor.hpp"

int main() {
  using namespace attractor;
  const training::Problem problem = training::example({.name = "authors-like"});
  const training::Objective objective(problem, training::Loss::logistic, {});
  const training::MaxMargin margin =
      training::AttSvm(objective).solve(training::best_tokens(objective));
  fmt::print("{} inputs of {} tokens; |p| = {:.13f}, margin {:.4f}, gap {:.1e}\n", problem.inputs,
             problem.tokens, margin.norm, margin.margin(), margin.relative_gap);

  training::DescentFlow descent(objective, {.rule = training::Update::normalised});
  flow::Progress progress{.state = descent.state(objective.start())};
  double angle = 1;
  flow::Hooks hooks;
  hooks.output = [&](const flow::Time& time, std::span<const double> state) {
    const std::vector<double> p = descent.weights(state);
    angle = 1 - dot(p, margin.solution) / (norm(p) * norm(margin.solution));
    fmt::print("step {:6.0f}   |p| = {:8.2f}   1 - cosine to the widest margin {:.2e}\n",
               10 * time.value(), norm(p), angle);
  };
  flow::Plan plan{.end = flow::Time(1000), .step = 0.1};
  for (const double t : {1.0, 10.0, 100.0, 1000.0}) plan.outputs.emplace_back(t);
  flow::run(descent, flow::euler(), plan, progress, hooks);
  // The length stands in training/examples.hpp; the angle falls like 1 / |p|^2.
  return std::abs(margin.norm - 0.7351361561944) < 1e-12 && angle < 1e-5 ? 0 : 1;
}
