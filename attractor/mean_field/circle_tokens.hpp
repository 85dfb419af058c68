// Attention on the circle, all tokens with all tokens in O(nK) instead of O(n^2). With the moments
// m_k = sum_j w_j e^{ik theta_j} and q_k = m_k e^{-ik theta_i},
//
//   USA  theta_i' = sum_k (2k I_k(beta)/beta) Im q_k,
//   SA   theta_i' = the same / (I_0 + 2 sum_k I_k Re q_k),
//
// where K grows like 9 sqrt(beta): the neglected terms are below rounding. Errors are of size 1e-16
// relative to the fastest possible motion (1 for SA, e^beta for USA), not to the motion itself.
//
// With equal weights and random angles this is the particle system. With angles theta(u_i), u_i =
// (i + 1/2)/n, of a quantile function it is the density in its labels: the sums are trapezoid rules
// on a periodic function, exact to rounding once n resolves it, also after the density has
// concentrated beyond any fixed grid.
//
// With noise > 0: d theta_i = drift dt + sqrt(2 noise) dB_i under a stochastic method.
//
// Why this is no depth::TokenFlow: its state is angles, its points carry weights and may be labels
// of a density, and nothing coalesces; depth/circle_flow.hpp has the engine for tokens.
#pragma once

#include <complex>
#include <cstddef>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/stability/sphere_spectrum.hpp"

namespace attractor::meanfield {

struct CircleAttention {
  Rule rule = Rule::softmax;
  double beta = 1;
  double noise = 0;  // kappa
};

/// A state is n angles (radians, of any size). The result does not depend on the threads.
class CircleTokens final : public flow::Flow {
 public:
  /// Equal weights 1/tokens.
  CircleTokens(const CircleAttention& attention, std::size_t tokens);
  /// Positive weights of any sum; they are divided by it.
  CircleTokens(const CircleAttention& attention, std::vector<double> weights);

  const Space& space() const override { return space_; }
  void drift(std::span<const double> angles, double log_unit, std::span<double> out) const override;
  double log_unit() const override { return log_unit_; }
  flow::NoiseLaw noise() const override { return {.own = attention_.noise}; }

  /// Asked within evaluations, from several threads: one of 10^7 tokens at beta = 10^6 takes
  /// minutes. Once it says so, sums are left unfinished and every drift is NaN.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }
  bool stopped() const { return stop_ && stop_(); }

  std::span<const double> weights() const { return weights_; }
  /// m_0 = 1, m_1, ..., m_{count-1}.
  std::vector<std::complex<double>> moments(std::span<const double> angles,
                                            std::size_t count) const;
  /// ln of E = (1/2 beta) sum_ij w_i w_j e^{beta cos(theta_i - theta_j)}; at beta = 0 of |m_1|^2/2.
  double log_energy(std::span<const double> angles) const;

 private:
  CircleAttention attention_;
  Euclidean space_{1};
  SphereSpectrum spectrum_;
  double log_unit_;
  std::vector<double> weights_;
  std::function<bool()> stop_{};
};

/// ln E of a law on the circle with these moments (m_0 = 1 first).
double circle_log_energy(const SphereSpectrum& spectrum,
                         std::span<const std::complex<double>> moments);

}  // namespace attractor::meanfield
