// Stationary zonal states of noisy attention dX = drift dt + sqrt(2 kappa) dB on S^{d-1}. With t
// the height along the axis, q_l = p_l / p_l(1) the Gegenbauer polynomials that are 1 at the pole,
// and the moments y_l = E[q_l], a density f (with respect to uniform) rests if f = e^U / mass,
//
//   S = sum_{l>=1} G_l y_l q_l,  G_l = N(d,l) lambda_l / lambda_1,  s = kappa / kappa_#,
//   U = S / s (USA),   U = ln(1 + b S) / (b s), b = lambda_1 / lambda_0 (SA: f ~ Z^{1/(beta
//   kappa)}).
//
// kappa_# = lambda_1/beta (SA: divided by lambda_0) is where the uniform state loses stability;
// beta = 0 is Kuramoto for both rules. The branch of ordered states that begins there is a curve
// of points (ln s, y_1, y_2, ...), y_1 = E[t] = R the order parameter; a point on it is singled out
// by one more linear equation (R given, or arc length) and found by Newton's method with the exact
// Jacobian. Integrals use the Gauss rule of the uniform law moved by a Moebius map u -> (u + a) /
// (1 + a u), which follows f as it concentrates; nodes are doubled until the residual on twice as
// many is below 1e-13.
//
// Stability against zonal perturbations f (1 + psi): psi' = -kappa D (1 - T) psi with D = -(1/f)
// div f grad and T the derivative of the fixed-point map, T psi = (1/s) h K[f psi] - its mean,
// where K has kernel sum G_l q_l q_l and h = 1 (USA) or 1/(1 + b S) (SA). The `gain` is T's largest
// eigenvalue. USA: T is symmetric in L^2(f), as D is, and 1 - T is the second variation of the free
// energy: gain < 1 if and only if the state is stable. SA: b s T is the attention matrix psi -> int
// e^{beta <x,y>} f psi / Z modulo constants, reversible with respect to f Z, so T again has real
// non-negative eigenvalues; gain = 1 is where the linearised Fokker-Planck operator gets a zero
// mode. (That it gets no complex pair first is observed, not proved.) Cost O(nodes degrees^2).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/stability/gegenbauer.hpp"

namespace attractor::meanfield {

struct NoisyAttention {
  Rule rule = Rule::unnormalised;
  std::size_t dim = 2;
  double beta = 1;
  /// On the circle, k > 1: states of k-fold symmetry, with lambda_k for lambda_1, t = cos(k theta),
  /// and stability against perturbations of that symmetry only.
  std::size_t mode = 1;
};

/// ln kappa_#.
double log_critical_noise(const NoisyAttention& model);

struct StationaryState {
  double order = 0;               // R
  double noise_ratio = 1;         // s = kappa / kappa_#
  double entropy = 0;             // int f ln f, 0 when uniform
  double excess_energy = 0;       // (F - F_uniform) / kappa_#; NaN for SA, which has no F
  double gain = 1;                // below 1: stable
  double log_mass = 0;            // ln int e^U
  double residual = 0;            // max |E[q_l] - y_l| on twice the nodes
  std::vector<double> moments{};  // y_0 = 1, y_1 = R, ...
  std::vector<double> tangent{};  // along the branch: d ln s, dy_1, dy_2, ... by arc length
  bool stable() const { return gain < 1; }
  /// ds/dR along the branch.
  double slope() const { return noise_ratio * tangent[0] / tangent[1]; }
};
inline auto fields(StationaryState& value) {
  auto& [order, noise_ratio, entropy, excess_energy, gain, log_mass, residual, moments, tangent] =
      value;
  return std::tie(order, noise_ratio, entropy, excess_energy, gain, log_mass, residual, moments,
                  tangent);
}

class StationarySolver {
 public:
  /// Throws Error on a model out of range, or one that asks for more than 1200 degrees.
  /// Where `stop` is given and says so, no state is found any more.
  explicit StationarySolver(const NoisyAttention& model, std::function<bool()> stop = {});

  const NoisyAttention& model() const { return model_; }
  double log_critical_noise() const { return log_critical_; }
  std::size_t degrees() const { return coupling_.size(); }
  /// lambda_2 / lambda_1 and b, which decide how the branch begins.
  double second_ratio() const;
  double share() const { return share_; }

  StationaryState uniform(double noise_ratio) const;

  // Each gives nothing if Newton's method does not converge, or was stopped.

  /// A state so close to uniform that no guess is needed: the begin of the branch.
  std::optional<StationaryState> first();
  /// The next state of the branch, `length` of arc further.
  std::optional<StationaryState> step(const StationaryState& from, double length);
  /// The state on the way from one state of the branch to another close to it, 0 <= part <= 1.
  std::optional<StationaryState> between(const StationaryState& from, const StationaryState& to,
                                         double part);
  /// The first state of the branch with order 0 < R <= kMostOrder.
  std::optional<StationaryState> at_order(double order);

  /// F = kappa int f ln f - (1/2) int int W f f, W = e^{beta <x,y>}/beta (<x,y> at beta = 0), both
  /// integrals with respect to the uniform probability. NaN for SA: its flow descends no free
  /// energy in the Wasserstein metric.
  double free_energy(const StationaryState& state) const;

  /// ln f at height t.
  double log_density(const StationaryState& state, double t) const;

  /// Rounding of R takes its share beyond: the relative error of s is about 1e-15 / (1 - R).
  static constexpr double kMostOrder = 1 - 1e-6;

 private:
  struct Table;
  struct Law;
  struct Newton;
  struct Target;
  Table table(std::size_t nodes, double shrink);
  Law law(const Table& table, const std::vector<double>& point) const;
  Newton linearised(const Table& table, const Law& law, const std::vector<double>& point) const;
  bool converge(const Table& table, const Target& target, std::vector<double>& point) const;
  StationaryState describe(const Table& table, const Target& target,
                           const std::vector<double>& point) const;
  std::optional<StationaryState> solve(const Target& target, std::vector<double> guess);
  std::vector<double> metric(const std::vector<double>& point) const;

  bool stopped() const { return stop_ && stop_(); }

  NoisyAttention model_;
  std::function<bool()> stop_;
  Gegenbauer basis_;
  double log_critical_ = 0;
  double share_ = 0;              // b; 0 for USA
  std::vector<double> coupling_;  // G_l, G_0 = 0
  std::vector<double> at_pole_;   // p_l(1)
  std::map<std::size_t, GaussRule> rules_;
};

}  // namespace attractor::meanfield
