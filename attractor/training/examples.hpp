// Training problems of the papers (arXiv 2306.13596, 2308.16898, 2306.03435), of our theory
// reference and of our own, by name. n inputs of T tokens in R^d; every random number is a pure
// function of the seed and its place. "Free" sizes may be given; the others are part of the
// example.
//
//   single-equal    1 x 3, keys (-.1,1), (1,0), (0,0), scores 1, .9, .9: one limit for any start
//   single-local    the same keys, scores 1, .9, 0: a second, local limit
//   multi           n (free) x 7: keys N(0, noise^2) around (1,0), three times (-1,1), three times
//                   (-.5,-.5); scores 1 for the first, .5 for the others
//   authors-like    the same centres, sines instead of noise: |p^mm| = 0.7351361561944
//   counterexample  3 x 4, keys in R^6, scores 1 and .5: descent from 0 misses the best tokens
//   joint-tight     3 x 2 for training v and p together; every input is a support vector of v
//   joint-relaxed   the same with input 2 no support vector: p follows the relaxed problem
//   losses          2 x 2, the first input's score is `score`: losses differ on the way, not in the
//                   limit
//   random          unit tokens and unit v, labels +-1, all uniform; unit queries on request
//   self-attention  random, with the first token of each input as its query
//   contextual      relevant tokens q* + Y w*, the others -delta q*, each + N(0, noise^2 / d); q*
//                   and w* orthonormal, v = w*. The paper leaves relevant tokens without noise;
//                   here they have it, or two of them would be one.
//   multi-token     unit keys; the relevant tokens of an input all have score 1, the others 0
//   selectable      unit keys orthogonal to a planted unit u; the best token of each input lies
//                   `margin` higher along u, so |p^mm| <= 1 / margin. Scores: 1 the best, the
//                   others uniform in (0, 0.9); labels +-1
//
// Where keys and scores are stated, the score (times the label) is a last coordinate of the token
// that W = diag(1, .., 1, 0) does not see, and v is its unit vector. Relevant and best tokens stand
// at random places.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attractor/training/problem.hpp"

namespace attractor::training {

/// Fields that an example does not use are ignored, but a size it cannot have is refused.
struct ExampleOptions {
  std::string name = "random";
  std::uint64_t inputs = 0, tokens = 0, dim = 0;  // n, T, d; 0: the example's own
  std::uint64_t seed = 0;
  double noise = 0.2;            // multi, contextual
  double score = 1;              // losses: the authors' C
  double relevant = 0.2;         // contextual, multi-token: fraction of relevant tokens
  double delta = 1;              // contextual
  double margin = 0.5;           // selectable
  std::string queries = "none";  // random: none or unit
};

struct ExampleInfo {
  std::string name, help;
  std::size_t inputs, tokens, dim;               // by default
  bool free_inputs = false, free_shape = false;  // n; T and d
};

/// Of an example: n T d, and d, because W is d x d.
inline constexpr std::uint64_t kMostExampleNumbers = std::uint64_t{1} << 28;
inline constexpr std::uint32_t kMostExampleDim = std::uint32_t{1} << 14;

std::vector<ExampleInfo> examples();
/// Passes check(); throws Error on an unknown name and on options that are impossible.
Problem example(const ExampleOptions& options);

}  // namespace attractor::training
