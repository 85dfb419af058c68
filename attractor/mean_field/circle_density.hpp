// The continuity (noise = 0) or Fokker-Planck equation of attention on the circle,
//
//   d rho/dt + d(rho v[rho])/d theta = kappa d^2 rho/d theta^2,   v of circle_tokens.hpp,
//
// by a Fourier-Galerkin method: the state is m_1 .. m_K (real, imaginary part), m_k = E e^{ik
// theta}, and
//
//   m_k' = ik E[v e^{ik theta}] - kappa k^2 m_k
//
// with E taken on a grid of more than 4K points (USA, quadratic: free of aliasing up to 2K). The
// mass m_0 = 1 cannot change. Errors fall faster than any power of K until the density becomes
// narrower than the grid: then modes beyond K are fed (truncation.hpp), their number is doubled up
// to max_modes, and beyond that unresolved() turns true: labels (circle_tokens.hpp) go on where
// this ends. Cost O(K log K) a drift; explicit steps are at most about 3/(kappa K^2).
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "attractor/flow/flow.hpp"
#include "attractor/mean_field/circle_tokens.hpp"
#include "attractor/mean_field/truncation.hpp"

namespace attractor::meanfield {

class CircleDensity final : public flow::Flow {
 public:
  /// attention.noise is kappa: part of the drift here, so that noise() stays 0.
  CircleDensity(const CircleAttention& attention, const ModePlan& modes);
  ~CircleDensity() override;

  const Space& space() const override { return space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;
  double log_unit() const override { return log_unit_; }
  bool simplify(const flow::Time& now, std::vector<double>& state) override;

  /// The state of a law whose moments are known: m_0 .. m_K at least; further ones are dropped.
  std::vector<double> state(std::span<const std::complex<double>> moments) const;
  std::size_t modes() const { return truncation_.modes(); }
  const Truncation& truncation() const { return truncation_; }
  bool unresolved() const { return truncation_.unresolved(); }
  /// The feed of the missing modes (truncation.hpp) per unit e^log_unit of time.
  double feed(std::span<const double> state, double log_unit) const;

 private:
  class Grid;
  void make_grid();
  void flux(std::span<const double> state) const;
  double speed(double log_unit) const;

  CircleAttention attention_;
  Truncation truncation_;
  Euclidean space_{2};
  double log_unit_;
  SphereSpectrum spectrum_;
  std::unique_ptr<Grid> grid_;
};

/// m_0 = 1, m_1, ... of a state.
std::vector<std::complex<double>> moments_of(std::span<const double> state);

/// The density relative to uniform at the angles 2 pi j / count - pi (count > 2K).
std::vector<double> density_values(std::span<const double> state, std::size_t count);

struct DensityMeasures {
  double mass = 0;                   // mean on the grid
  double smallest = 0, largest = 0;  // to rounding
  double entropy = 0;                // E ln(rho / uniform) >= 0; values below 0 count as 0
};
DensityMeasures measure_density(std::span<const double> state);

}  // namespace attractor::meanfield
