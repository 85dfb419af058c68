// Gradient flow of a prompt p and of the map W that its keys go through, both trained at once
// (arXiv 2409.17625): logits are <x, W p> = <x, u>, u = W p. With g = -dL/du,
//
//   dW/dt = g p^T,   dp/dt = W^T g,   so that   W^T W - p p^T is constant.
//
// From p = 0 and W W^T = c I that makes W W^T = c I + |p|^2 u u^T / |u|^2, and u alone is left of
// d^2 + d numbers:
//
//   du/dt = (c + r) g + r <u, g> u / |u|^2,   r = |p|^2,   |u|^2 = r (c + r).
//
// The state is u. g enters with the logarithm of its scale.
#pragma once

#include <span>
#include <vector>

#include "attractor/flow/flow.hpp"
#include "attractor/training/objective.hpp"

namespace attractor::training {

class PromptAndMapFlow final : public flow::Flow {
 public:
  /// A view; the objective trains a prompt, which u stands for, alone, and its problem has no W of
  /// its own. Throws Error if not, or if c is not above 0.
  PromptAndMapFlow(const Objective& objective, double c);

  /// |p|^2 of u.
  double prompt_square(std::span<const double> u) const;
  /// What the latest call of drift saw.
  const Evaluation& latest() const { return evaluation_; }

  const Space& space() const override { return space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;

 private:
  const Objective& objective_;
  double c_;
  Euclidean space_;
  mutable Evaluation evaluation_;
};

}  // namespace attractor::training
