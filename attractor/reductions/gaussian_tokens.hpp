// Gaussian tokens in R^d without normalisation stay Gaussian (Castin et al. 2501.18322). Attention
// to a law N(m, S) tilts it by e^{beta <Qx, Ky>}, which moves its mean to m + beta S K^T Q x, so
// that every token moves by the same affine map, and with noise sqrt(2 kappa) dB
//
//   m' = V m + A m,   S' = A S + S A^T + 2 kappa I,   A = beta V S K^T Q.
//
// With Q = K = I, V = I and no noise, for each eigenvalue s of S and the mean along it:
//
//   s(t) = s/(1 - 2 beta s t),   m(t) = e^t (1 - 2 beta s t)^{-1/2} m:
//
// tokens diverge at t = 1/(2 beta max s). V = -I: signs of t and e^t turned; they collapse like
// 1/(2 beta t), or with noise to sqrt(kappa/beta).
#pragma once

#include <span>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/flow/time.hpp"

namespace attractor::meanfield {

struct GaussianLaw {
  std::vector<double> mean{};        // d
  std::vector<double> covariance{};  // d x d, symmetric
};

/// The state is the mean, then the covariance, row by row.
class GaussianTokens final : public flow::Flow {
 public:
  /// Softmax attention in R^d (attention.on_sphere does not matter); throws Error on another rule
  /// or shapes that do not fit. noise: kappa, part of the drift of the law.
  explicit GaussianTokens(Attention attention, double noise = 0);

  const Space& space() const override { return space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;

  std::vector<double> state(const GaussianLaw& law) const;
  GaussianLaw law(std::span<const double> state) const;

 private:
  Attention attention_;
  double noise_;
  Euclidean space_;
};

/// The law after a time, to about the tolerance; throws Error if it diverges before.
GaussianLaw gaussian_after(const Attention& attention, double noise, const GaussianLaw& start,
                           double time, double tolerance = 1e-12);

}  // namespace attractor::meanfield
