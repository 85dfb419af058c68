#include "papers/heads/values_and_keys.hpp"

#include <utility>

namespace attractor::papers {

training::Problem values_and_keys(std::span<const std::array<double, 4>> tokens,
                                  training::Head head) {
  training::Problem p{.inputs = 1,
                      .tokens = tokens.size(),
                      .dim = 4,
                      .labels = {1},
                      .head = std::move(head),
                      .weights = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
                      .prompt = {0, 0, 0, 0}};
  for (const auto& token : tokens) p.x.insert(p.x.end(), token.begin(), token.end());
  return p;
}

}  // namespace attractor::papers
