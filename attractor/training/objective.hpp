// The training loss as a function of what is trained, and its gradient at any norm.
//
//   L = (1/n) sum_i l(f_i, Y_i),   f_i = psi(o_i),   o_i = sum_t s_it x_it,   s_i = softmax(X_i
//   u_i)
//
// with u_i = W q_i the query as the tokens see it. Everything trained acts through the u_i and v:
//
//   -dL/du_i = (pull_i / n) sum_{t != a} s_it (g_it - mean_i) (x_it - x_ia)       pull = -dl/df
//   -dL/dp = W^T sum_i,   -dL/dW = sum_i (.) q_i^T,   -dL/dK = (-dL/dW) Q,   -dL/dQ = (-dL/dW)^T K
//   -dL/dv = (1/n) sum_i pull_i sigma(U o_i + b)
//
// where a is the token of largest weight, g_it = <psi'(o_i), x_it> and mean_i = sum_u s_iu g_iu.
// Only weights of the other tokens and differences to token a appear, so nothing cancels as softmax
// saturates, and every block carries the logarithm of its scale: the direction is right at any |p|,
// where plain arithmetic gives 0/0 beyond |p| ~ 700/margin. One pass over the tokens: O(n T d).
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attractor/kernels/dense/single_rows.hpp"
#include "attractor/training/problem.hpp"

namespace attractor::training {

enum class AttentionPart { none, prompt, weights, factors };  // p, W, (K, Q)

enum class Train { p, W, KQ, v, v_p, v_W, v_KQ };
std::span<const std::string_view> names(Train);  // "v,p"

/// The same, part by part.
struct Trained {
  AttentionPart attention = AttentionPart::prompt;
  bool head = false;  // v as well

  Trained() = default;
  Trained(AttentionPart part, bool with_head) : attention(part), head(with_head) {}
  Trained(Train train);
};

/// A part of the state: "p", "W", "K", "Q" or "v".
struct Block {
  std::string name;
  std::size_t begin, size;
  std::span<const double> of(std::span<const double> state) const {
    return state.subspan(begin, size);
  }
};

/// What one look at a state tells. Kept between looks, so that they take no memory.
struct Evaluation {
  std::vector<double> weight{};       // s: n x T
  std::vector<std::size_t> chosen{};  // a_i, the token of largest weight: n
  std::vector<double> output{};       // f_i: n
  std::vector<double> descent{};      // -grad L, block by block, each divided by e^{log_scale}
  std::vector<double> log_scale{};    // one for each block

  // Steps on the way.
  std::vector<double> query{};             // u_i: n x d, or d if all inputs share it
  std::vector<double> score{};             // g_it: n x T
  std::vector<double> coefficient{};       // n x T
  std::vector<double> mean, log_weight{};  // mean_i - g_ia = mean e^{log_weight}
  std::vector<double> move{};              // -dL_i/du_i = e^{log_size} move: n x d
  std::vector<double> log_size{}, pull_sign{}, pull_log{};
  std::vector<double> feature{};  // sigma(U o + b), if v is trained: n x units
  std::vector<double> hidden{};   // U o + b, if the head has kinks: n x units
};

/// A smooth piece of the loss of a head with kinks: which ReLUs are on, n x units (head.hpp).
/// Empty: the piece that the state lies in.
using Piece = std::vector<signed char>;

class Objective {
 public:
  /// A view: the problem must outlive it. Throws Error if the problem cannot be trained this way.
  /// stored f32: a fixed linear head only; attention sees the floats nearest to x (relative error
  /// 6e-8 each), half the memory to read, while sums, scores and all else are of doubles: evaluate
  /// is exact for keys moved that little, so logits are off by 6e-8 sum_b |x_tb u_b| at most.
  Objective(const Problem& problem, Loss loss, Trained trained,
            kernels::Precision stored = kernels::Precision::f64);

  const Problem& problem() const { return problem_; }
  Loss loss() const { return loss_; }
  Trained trained() const { return trained_; }
  std::size_t dim() const { return dim_; }
  std::span<const Block> blocks() const { return blocks_; }
  /// The problem's p, W, K, Q and v.
  std::vector<double> start() const;

  void evaluate(std::span<const double> state, Evaluation& e, const Piece& piece = {}) const;
  double loss(const Evaluation& e) const;
  /// ln L, accurate where the losses of all inputs are e^{-f} with huge f.
  double log_loss(const Evaluation& e) const;
  /// ln (L - L'), L' the loss of one token alone in every input, accurate however close they are;
  /// NaN if L < L'. Margin losses with v fixed only.
  double log_excess(const Evaluation& e, std::span<const std::size_t> tokens) const;
  /// The best token of each input, for a margin loss and the problem's v.
  std::span<const std::size_t> best() const { return best_; }

  /// The v of a state.
  std::span<const double> head_weights(std::span<const double> state) const;
  /// What attention trains, as one vector: p or W = K Q^T. Empty if attention is frozen.
  std::vector<double> attention_weights(std::span<const double> state) const;
  /// grad <direction, o_i> with respect to what attention trains, for a state that `e` has seen:
  /// a unit vector (0 on v), or 0, and ln of its length.
  double output_slope(std::size_t input, std::span<const double> direction,
                      std::span<const double> state, const Evaluation& e,
                      std::span<double> unit) const;
  /// q_i as given: n x d or d. Not for a trained prompt.
  std::span<const double> given_queries() const;

 private:
  const Block* block(std::string_view name) const;
  std::span<const double> of(std::string_view name, std::span<const double> state,
                             std::span<const double> fixed) const;
  void size(Evaluation& e) const;
  void find_queries(std::span<const double> state, Evaluation& e) const;
  void read_head(std::size_t i, std::span<const double> v, const Piece& piece, Evaluation& e) const;
  template <class T>
  void look_at(std::size_t i, bool next, std::span<const T> x, std::span<const double> v,
               const Piece& piece, Evaluation& e) const;
  void pull_back(std::size_t i, std::span<const double> move, std::span<const double> state,
                 std::span<double> out) const;
  void collect_attention(std::span<const double> state, Evaluation& e) const;
  void collect_head(Evaluation& e) const;
  std::span<const double> query(std::size_t i, const Evaluation& e) const;
  double log_deficit(std::size_t i, std::size_t token, const Evaluation& e) const;

  const Problem& problem_;
  Loss loss_;
  Trained trained_;
  bool simple_head_;  // linear and frozen: scores never change
  bool kinked_;       // the head has ReLUs
  std::size_t dim_ = 0, rank_ = 0;
  std::vector<Block> blocks_;
  std::vector<double> outputs_;  // psi(x_it): n x T
  std::vector<float> single_{};  // x as stored, if not as doubles
  std::vector<std::size_t> best_{};
};

}  // namespace attractor::training
