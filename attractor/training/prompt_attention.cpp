#include "attractor/training/prompt_attention.hpp"

#include <utility>

#include "attractor/training/objective.hpp"

namespace attractor::training {

PromptAttention prompt_attention(std::span<const double> x, std::size_t tokens,
                                 std::span<const double> prompt, std::span<const double> v) {
  const std::size_t dim = prompt.size(), inputs = x.size() / (tokens * dim);
  Problem problem{.inputs = inputs, .tokens = tokens, .dim = dim};
  problem.x.assign(x.begin(), x.end());
  problem.labels.assign(inputs, 1.0);
  problem.prompt.assign(prompt.begin(), prompt.end());
  problem.head.v.assign(v.begin(), v.end());
  Evaluation seen;
  Objective(problem, Loss::logistic, Train::p).evaluate(problem.prompt, seen);
  return {std::move(seen.weight), std::move(seen.output)};
}

}  // namespace attractor::training
