// Att-SVM: the max-margin solution of a token choice alpha, and whether training can stay there.
//
//   p^mm(alpha) = argmin |p|    subject to  <p, k_{i,alpha_i} - k_it> >= 1          for all t !=
//   alpha_i W^mm(alpha) = argmin |W|    subject to  <W, (x_{i,alpha_i} - x_it) q_i^T> >= 1  for all
//   t != alpha_i
//
// The norm is the one training prefers: Euclidean (Frobenius for W) for gradient descent, nuclear
// for W = K Q^T, l_q for mirror descent, and others (margin_norm.hpp). Inputs may be relaxed: their
// bound is 0 instead of 1.
//
// Tokens whose constraint is tight are alpha's neighbours; alpha is locally optimal if moving
// weight to any of them costs to first order (for a linear head: each has a smaller score than the
// chosen token; vacuous without neighbours), and globally optimal if every chosen token is the best
// of its input. Gradient descent converges in direction to locally optimal solutions only.
//
// The least norm lies between `lower` and `upper`, which are rounded outwards and are about X, W
// and z as given. An infeasible choice carries a Farkas vector; in floating point it proves that no
// solution is shorter than `lower`, which is infinite if it cancels exactly.
// solve/exact/exact_margin.hpp decides the rest for p.
//
// W = K Q^T has at most as many singular values as K has columns. If the nuclear solution has more,
// training cannot reach its direction; `reach` is the largest cosine of such a product to it
// (Eckart and Young, Psychometrika 1, 1936).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/solve/exact/exact_margin.hpp"
#include "attractor/solve/hard_margin.hpp"
#include "attractor/solve/margin_proof.hpp"
#include "attractor/training/margins/margin_norm.hpp"
#include "attractor/training/objective.hpp"

namespace attractor::training {

struct TokenMargin {
  std::size_t input, token;
  double margin;  // of the solution, at least 1 (relaxed inputs: at least 0)
};

struct MaxMargin {
  std::vector<std::size_t> chosen{};
  std::vector<bool> relaxed{};  // empty: none
  solve::MarginStatus status = solve::MarginStatus::infeasible;
  std::vector<double> solution{};  // p: d, or W: d x d
  double norm = 0;                 // of the solution, in the norm minimised
  double lower = 0, upper = 0;     // proved bounds on the least norm; upper may be infinite
  bool upper_is_proved = true;     // false: to first order only
  double relative_gap = 1;         // (upper - lower) / upper
  double smallest_slack = 0;       // of the solution as the doubles it is given in
  double farkas_residual = 0;      // of an infeasible choice
  std::vector<solve::Multiplier> support{};  // or, of an infeasible choice, its Farkas vector
  bool exact = false;                        // all of this is what exact arithmetic says
  std::size_t rank = 0;                      // of W; 0 for p
  std::size_t factor_rank = 0;               // columns of K and Q; 0 if they are not trained
  double reach = 1;                          // largest cosine that trained weights can have to it
  std::vector<TokenMargin>
      neighbours{};  // tight: exactly, or to within 1e-9 or what the gap allows
  /// Better tokens just outside the tight set (margin below 1.1): they may take over late in
  /// training.
  std::vector<TokenMargin> rivals{};
  bool locally_optimal = false, globally_optimal = false;

  bool feasible() const { return status != solve::MarginStatus::infeasible; }
  /// Infeasible at any norm, not only below `lower`.
  bool proved_infeasible() const;
  bool in_reach() const { return reach == 1; }
  double margin() const { return 1 / norm; }
};

class AttSvm {
 public:
  /// A view of the objective, whose attention must be trained. Throws Error if it is a vector p and
  /// the norm one of matrices.
  AttSvm(const Objective& objective, MarginNorm norm);
  /// What gradient descent prefers, or mirror descent with this power.
  explicit AttSvm(const Objective& objective, double power = 2);

  /// v: the head's weights that decide which tokens are better; empty: the problem's.
  MaxMargin solve(std::vector<std::size_t> chosen, std::span<const double> v = {},
                  std::vector<bool> relaxed = {}) const;
  /// Whether the first inputs alone can make this choice.
  bool feasible(std::span<const std::size_t> prefix) const;
  /// The Euclidean margin of p in rational arithmetic: `found` is corrected where it is wrong. What
  /// could not be proved stays as it was.
  solve::ExactMargin prove(MaxMargin& found, std::span<const double> v = {}) const;

 private:
  using Point = std::vector<long double>;  // a solution with digits that doubles lose

  template <class Use>
  auto with_keys(std::size_t inputs, const solve::TokenChoice& choice, const Use& use) const;
  Point solve_rows(const solve::Constraints& rows, MaxMargin& result) const;
  Point solve_schatten(MaxMargin& result) const;
  Point expand(const Point& point, const solve::QueryDifferences& rows, MaxMargin& result) const;
  template <class Rows>
  void compare(const Rows& rows, const Point& point, std::span<const double> v, MaxMargin& result,
               const std::vector<std::size_t>* tight = nullptr) const;

  const Objective& objective_;
  MarginNorm norm_;
  std::vector<double> keys_{};   // of a trained prompt with a W of its own
  std::vector<double> basis_{};  // d x k, orthonormal, spans the queries of a trained W if k < d
  std::vector<double> coordinates_{};  // of the queries in it: n x k or k
  std::size_t query_dim_ = 0;          // k
};

/// The best single token of each input (ties: the first), for the head's weights v.
std::vector<std::size_t> best_tokens(const Objective& objective, std::span<const double> v = {});

/// How much input i gains to first order from weight moved onto token t while it selects chosen_i:
/// n x T, up to a positive factor for each input.
std::vector<double> first_order_scores(const Objective& objective,
                                       std::span<const std::size_t> chosen,
                                       std::span<const double> v = {});

/// v^mm = argmin |v| subject to Y_i <v, feature_i> >= 1: the label margin. Labels are +1 or -1;
/// features: n x units.
struct LabelMargin {
  solve::HardMargin svm{};
  std::vector<bool>
      support{};  // inputs whose constraint is tight to within 1e-9, or what the gap allows
  double margin() const { return 1 / svm.norm; }
};
LabelMargin label_margin(const Problem& problem, std::span<const double> features);
/// sigma(U x_{i,chosen_i} + b): n x units.
std::vector<double> token_features(const Problem& problem, std::span<const std::size_t> chosen);

}  // namespace attractor::training
