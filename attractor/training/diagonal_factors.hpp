// Gradient flow of attention weights that are a product of two diagonal factors, p = k q entry by
// entry (K = diag k, Q = diag q; arXiv 2403.08699). With g = -dL/dp,
//
//   dk/dt = q g,   dq/dt = k g,   so that   k^2 - q^2 is constant   and   dp/dt = (k^2 + q^2) g.
//
// From k = a, q = 0 in all entries the state is one number y for each of them:
//
//   k = a cosh(y / 2),   q = a sinh(y / 2),   p = (a^2 / 2) sinh y,   dy/dt = 2 g.
//
// That is gradient flow of p itself while |p| << a^2, and growth of each entry at a rate of its own
// beyond. The sum |p|_1 of the moduli is the nuclear norm of K Q^T, whose margin the flow
// approaches late. a may be e^{-300}, since y has no scale; g enters with the logarithm of its own.
#pragma once

#include <span>
#include <vector>

#include "attractor/flow/flow.hpp"
#include "attractor/training/objective.hpp"

namespace attractor::training {

class DiagonalFactorFlow final : public flow::Flow {
 public:
  /// A view; the objective trains a prompt p alone, or Error is thrown. log_start: ln a.
  DiagonalFactorFlow(const Objective& objective, double log_start);

  /// p of a state y; y = 0 is the start.
  std::vector<double> weights(std::span<const double> state) const;

  const Space& space() const override { return space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;
  double fitting_log_unit(std::span<const double> state, double present) const override;

 private:
  const Objective& objective_;
  double log_half_square_;  // ln(a^2 / 2)
  Euclidean space_;
  mutable Evaluation evaluation_;
};

}  // namespace attractor::training
