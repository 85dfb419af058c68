// Att-SVM: the max-margin direction of a token choice, and whether training can stay there.
//
//   p^mm(alpha) = argmin |p|  subject to  <p, k_{i,alpha_i} - k_it> >= 1 for all i, t != alpha_i
//
// Tokens whose constraint is tight are alpha's neighbours; alpha is locally optimal if each of them
// has a smaller score than the chosen token of its input (vacuous without neighbours), and globally
// optimal if every chosen token has the largest score. Gradient descent converges in direction to
// locally optimal p^mm only. The solution carries its duality gap; an infeasible choice carries a
// Farkas certificate.
#pragma once

#include <cstddef>
#include <vector>

#include "attractor/solve/hard_margin.hpp"
#include "attractor/training/prompt.hpp"

namespace attractor::training {

struct TokenMargin {
  std::size_t input, token;
  double margin;  // <p^mm, k_chosen - k_token>, at least 1
};

struct MaxMargin {
  std::vector<std::size_t> chosen;
  solve::HardMargin svm;
  std::vector<TokenMargin> neighbours;  // margin 1 to within 1e-9
  /// Tokens with a larger score than the chosen one just outside the tight set (margin below 1.1):
  /// they may take over late in training.
  std::vector<TokenMargin> rivals;
  bool locally_optimal = false, globally_optimal = false;

  bool feasible() const { return svm.status != solve::HardMarginStatus::infeasible; }
  double margin() const { return 1 / svm.norm; }
};

MaxMargin max_margin(const Prompt& prompt, std::vector<std::size_t> chosen);

/// The token of largest score in each input; ties go to the first.
std::vector<std::size_t> best_tokens(const Prompt& prompt);

}  // namespace attractor::training
