// Training the prompt p of f(X) = <Xv, softmax(XWp)> with v and W frozen: loss, attention and
// gradient.
//
//   L(p) = (1/n) sum_i l(sum_t s_it gamma_it),     s_i = softmax(K_i p)
//   -grad L = (1/n) sum_i |l'_i| sum_{t != a} s_it (gamma_it - mean_i) (k_it - k_ia)
//
// with a the token of largest weight and mean_i = sum_u s_iu gamma_iu: only weights of the other
// tokens and differences to token a appear, so nothing cancels as softmax saturates. The sum is
// scaled by its largest log-weight: the direction is right at any |p|, where plain arithmetic gives
// 0/0 beyond |p| ~ 700/margin. Cost O(n T d).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/flow/flow.hpp"
#include "attractor/training/loss.hpp"
#include "attractor/training/problem.hpp"

namespace attractor::training {

/// e^{log_scale} * vector.
struct ScaledVector {
  double log_scale = 0;
  std::vector<double> vector;
};

class Prompt {
 public:
  Prompt(const Problem& problem, Loss loss);

  std::size_t inputs() const { return inputs_; }
  std::size_t tokens() const { return tokens_; }
  std::size_t dim() const { return dim_; }
  std::span<const double> keys() const { return keys_; }      // n x T x d
  std::span<const double> scores() const { return scores_; }  // n x T

  double loss(std::span<const double> p) const;
  /// Softmax weights: n x T.
  std::vector<double> attention(std::span<const double> p) const;
  /// -grad L; the vector's largest term is of order one, or zero if the gradient is.
  ScaledVector descent(std::span<const double> p) const;
  /// The token of largest weight in each input.
  std::vector<std::size_t> selected(std::span<const double> p) const;

 private:
  std::vector<double> log_attention(std::size_t input, std::span<const double> p) const;

  std::size_t inputs_, tokens_, dim_;
  std::vector<double> keys_, scores_;
  Loss loss_;
};

/// How the descent direction becomes a velocity.
enum class Descent {
  gradient,    // -grad L
  normalised,  // -grad L / |grad L|, exact at any |p|
  published,   // -grad L / (|grad L| + epsilon), as the authors' code
};

/// dp/dt; explicit Euler on it is gradient descent with that step (flow/tableau.hpp).
class PromptFlow final : public flow::Flow {
 public:
  PromptFlow(const Prompt& prompt, Descent kind, double epsilon = 1e-9);
  const Space& space() const override { return space_; }
  void drift(std::span<const double> p, double log_unit, std::span<double> out) const override;
  double fitting_log_unit(std::span<const double> p, double present) const override;

 private:
  const Prompt& prompt_;
  Descent kind_;
  double epsilon_;
  Euclidean space_;
};

}  // namespace attractor::training
