// Problems of the theory, for tests.
#pragma once

#include <cmath>
#include <vector>

#include "attractor/training/examples.hpp"

namespace attractor::training {

// K[i][t][a] = sin(1 + 2i + 5t + 3a + i t + t a + 7 salt + i a^2): the theory's deterministic data.
inline std::vector<double> deterministic(std::size_t n, std::size_t tokens, std::size_t dim,
                                         double salt) {
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t a = 0; a < dim; ++a) {
        const auto di = static_cast<double>(i), dt = static_cast<double>(t),
                   da = static_cast<double>(a);
        x.push_back(
            std::sin(1 + 2 * di + 5 * dt + 3 * da + di * dt + dt * da + 7 * salt + di * da * da));
      }
  return x;
}

// A problem with given keys and scores: the score is an extra coordinate that W does not see.
inline Problem with_scores(std::size_t n, std::size_t tokens, std::size_t dim,
                           const std::vector<double>& keys, const std::vector<double>& scores) {
  Problem p{.inputs = n, .tokens = tokens, .dim = dim + 1, .labels = std::vector<double>(n, 1.0)};
  for (std::size_t row = 0; row < n * tokens; ++row) {
    p.x.insert(p.x.end(), &keys[row * dim], &keys[row * dim] + dim);
    p.x.push_back(scores[row % scores.size()]);
  }
  p.head.v.assign(dim + 1, 0.0);
  p.head.v.back() = 1;
  p.weights.assign((dim + 1) * (dim + 1), 0.0);
  for (std::size_t a = 0; a < dim; ++a) p.weights[a * (dim + 1) + a] = 1;
  p.prompt.assign(dim + 1, 0.0);
  check(p);
  return p;
}

inline Problem authors_like() { return example({.name = "authors-like"}); }

inline Problem single_input(const std::vector<double>& scores) {
  return with_scores(1, 3, 2, {-0.1, 1, 1, 0, 0, 0}, scores);
}

// Everything at once: three inputs, given W, queries, K, Q and v; labels +1, -1.
inline Problem general(std::size_t rank = 2) {
  Problem p{.inputs = 3,
            .tokens = 4,
            .dim = 5,
            .x = deterministic(3, 4, 5, 0),
            .labels = {1, -1, 1},
            .weights = deterministic(1, 5, 5, 4),
            .queries = deterministic(3, 1, 5, 6)};
  for (int a = 0; a < 5; ++a) {
    p.head.v.push_back(std::sin(a + 0.5));
    p.prompt.push_back(std::cos(1.3 * a));
  }
  p.key_factor = deterministic(1, 5, rank, 7);
  p.query_factor = deterministic(1, 5, rank, 8);
  check(p);
  return p;
}

}  // namespace attractor::training
