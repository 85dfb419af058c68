// The continuity (noise = 0) or Fokker-Planck equation of attention on the circle,
//
//   d rho/dt + d(rho v[rho])/d theta = kappa d^2 rho/d theta^2,   v of circle_tokens.hpp,
//
// by a Fourier-Galerkin method: the state is m_1 .. m_K (real, imaginary part), m_k = E e^{ik
// theta}, and
//
//   m_k' = ik E[v e^{ik theta}] - kappa k^2 m_k
//
// with E taken on a grid of at least 3K (USA, quadratic: free of aliasing) or 4K points (SA). The
// mass m_0 = 1 cannot change. Errors fall faster than any power of K until the density becomes
// narrower than the grid: then the last modes grow, the number of modes is doubled up to max_modes,
// and beyond that unresolved() turns true: labels (circle_tokens.hpp) go on where this ends.
// Cost O(K log K) a drift; explicit steps are at most about 3/(kappa K^2).
#pragma once

#include <complex>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "attractor/flow/flow.hpp"
#include "attractor/meanfield/circle_tokens.hpp"

namespace attractor::meanfield {

struct CircleModes {
  std::size_t modes = 64;          // K at the start
  std::size_t max_modes = 64;      // K is doubled up to this
  double double_above = 1e-13;     // size of the last modes that asks for more of them
  double unresolved_above = 1e-8;  // size at which the answer is given up
};

class CircleDensity final : public flow::Flow {
 public:
  /// attention.noise is kappa: part of the drift here, so that noise() stays 0.
  CircleDensity(const CircleAttention& attention, const CircleModes& modes);
  ~CircleDensity() override;

  const Space& space() const override { return space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;
  double log_unit() const override { return log_unit_; }
  bool simplify(const flow::Time& now, std::vector<double>& state) override;

  /// The state of a law whose moments are known: m_0 .. m_K at least; further ones are dropped.
  std::vector<double> state(std::span<const std::complex<double>> moments) const;
  std::size_t modes() const { return modes_; }
  /// The last modes were too large even at max_modes: the state is no answer any more.
  bool unresolved() const { return unresolved_; }

 private:
  class Grid;
  void set_modes(std::size_t modes);

  CircleAttention attention_;
  CircleModes limits_;
  Euclidean space_{2};
  double log_unit_;
  std::size_t modes_ = 0;
  SphereSpectrum spectrum_;
  std::unique_ptr<Grid> grid_;
  bool unresolved_ = false;
};

/// m_0 = 1, m_1, ... of a state.
std::vector<std::complex<double>> moments_of(std::span<const double> state);

/// The largest |m_k| among the last eighth of the modes.
double resolution(std::span<const double> state);

/// The density relative to uniform at the angles 2 pi j / count - pi (count > 2K).
std::vector<double> density_values(std::span<const double> state, std::size_t count);

struct DensityMeasures {
  double mass = 0;      // mean on the grid
  double smallest = 0;  // on the grid
  double entropy = 0;   // E ln(rho / uniform) >= 0; values below 0 count as 0
};
DensityMeasures measure_density(std::span<const double> state);

}  // namespace attractor::meanfield
