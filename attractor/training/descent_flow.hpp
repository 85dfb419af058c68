// Gradient methods as flows: explicit Euler on them with step h is the method with that step, and
// an adaptive integrator is the gradient flow itself. With g = -grad L, block by block,
//
//   gradient    dw/dt = g                                normalised   dw/dt = g / |g|
//   published   dw/dt = g / (|g| + epsilon)              polyak       dw/dt = (L - L*) g / |g|^2
//
// exact at any |w|: g enters with the logarithm of its scale. Two things combine with all of them:
//
//   momentum mu: w' = w + h u', u' = mu u + g (heavy ball); the state is (w, u)
//   mirror q:    the state is theta = |w|^{q-1} sign w and g moves theta, not w (mirror descent
//                with potential |w|_q^q / q on the attention weights); the limit is an l_q margin
//
// adam, sign and muon rescale averages of g, which their state holds beside w
// (averaged_gradient.hpp); momentum is that of the average there, and nothing is mirrored. Steps
// may shrink: decay a makes the k-th one h k^-a, k = 1, 2, ...
//
// A loss with kinks (a ReLU head) is followed as gradient flow piece by piece (sliding.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "attractor/flow/flow.hpp"
#include "attractor/training/averaged_gradient.hpp"
#include "attractor/training/kinks/sliding.hpp"
#include "attractor/training/objective.hpp"
#include "attractor/training/update.hpp"

namespace attractor::training {

struct DescentOptions {
  Update rule = Update::gradient;
  double epsilon = 1e-9;       // published: attention blocks; adam: all
  double head_epsilon = 1e-9;  // published: v
  double momentum = 0;
  double beta1 = 0.9, beta2 = 0.999;  // adam
  double step = 1;                    // h, which momentum, averages and decay need to know
  double decay = 0;
  double mirror = 2;  // q > 1
  /// An adaptive run of the gradient rule: it meets kinks of the loss as events, slides along
  /// valleys, and rests where judge() of standstill.hpp says that it is within rest_distance
  /// max(1, |w|) of a stationary point. That is asked every 1000 steps, if they moved it by less.
  bool flows = false;
  double rest_distance = 1e-7;
};

class DescentFlow final : public flow::Flow {
 public:
  DescentFlow(const Objective& objective, const DescentOptions& options);

  /// The flow's state for given weights (of Objective::start's layout), at rest.
  std::vector<double> state(std::span<const double> weights) const;
  /// The weights of a state.
  std::vector<double> weights(std::span<const double> state) const;
  /// How at_rest() judges; part of what a run needs to go on with the same bits.
  struct Rest {
    std::vector<double> seen;  // the state some steps ago
    std::uint64_t steps_since = 0;
    std::vector<signed char> sides;  // the piece of the loss
  };
  Rest rest() const;
  /// False, and nothing changed, if it is not one of this flow.
  bool set_rest(const Rest& rest);
  /// The weights of a flow's state are at a minimum of the loss.
  bool at_minimum(std::span<const double> state) const;
  /// What the latest call of drift saw.
  const Evaluation& latest() const { return evaluation_; }

  const Space& space() const override { return space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;
  void drift_at(const flow::Time& now, std::span<const double> state, double log_unit,
                std::span<double> out) const override;
  double fitting_log_unit(std::span<const double> state, double present) const override;
  /// Minus the Hessian, by central differences; of the gradient rule alone.
  bool jacobian(std::span<const double> state, double log_unit,
                std::span<double> out) const override;
  bool simplify(const flow::Time& now, std::vector<double>& state) override;
  double share_in_piece(
      const std::function<void(double theta, std::span<double> state)>& along) override;
  bool at_rest(std::span<const double> state) const override;

 private:
  void look(std::span<const double> state) const;
  void velocity(double log_unit, std::span<double> out) const;
  void average(std::span<const double> state, double log_unit, std::span<double> out) const;
  void slide(std::span<const double> state, double log_unit, std::span<double> out) const;
  std::vector<double> metric(std::span<const double> weights) const;
  bool pieces() const { return options_.flows && sliding_.needed(); }

  const Objective& objective_;
  DescentOptions options_;
  std::optional<AveragedGradient> averages_;
  Euclidean space_;
  mutable Evaluation evaluation_;
  mutable std::vector<double> weights_, kept_;
  Sliding sliding_;
  mutable std::vector<double> seen_;
  mutable std::uint64_t steps_since_ = 0;
};

}  // namespace attractor::training
