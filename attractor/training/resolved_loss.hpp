// L in the form that a minimiser can resolve: the logarithm of what it exceeds by a base that moves
// along (the loss of the tokens selected there, or 0), or L itself where there is no such base.
// Full relative accuracy at any |w|, where L itself stops moving at |w| ~ 40/margin.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "attractor/solve/ball_minimum.hpp"
#include "attractor/training/objective.hpp"

namespace attractor::training {

class ResolvedLoss {
 public:
  /// A view: the objective must outlive it.
  explicit ResolvedLoss(const Objective& objective) : objective_(objective) {}

  /// Takes the base of these weights.
  void rebase(std::span<const double> w);
  /// The value for the present base, and its gradient.
  double value(std::span<const double> w, std::span<double> gradient);

 private:
  double log_value() const;

  const Objective& objective_;
  Evaluation e_;
  std::vector<std::size_t> base_;
  double base_loss_ = 0;
  bool logarithmic_ = false;
};

/// A local minimum of it in the ball |w| <= radius, for a loss without kinks near the way.
solve::BallMinimum smooth_minimum(const Objective& objective, std::span<const double> start,
                                  double radius, const solve::BallOptions& options);

/// Is a lower than b? Losses first; where they agree to rounding, what they exceed the same tokens
/// by, or their logarithms.
bool lower(const Objective& objective, std::span<const double> a, std::span<const double> b);

}  // namespace attractor::training
