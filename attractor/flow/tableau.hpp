// A Runge-Kutta method is its numbers:  k_s = f(x + h sum_r a_sr k_r),  x(t + h) = x + h sum_s b_s
// k_s. `order` is checked by the order test, and decides how steps follow errors: `error` holds b -
// b_hat of the embedded method (empty: fixed step), whose difference is of size h^order. With a
// second one of lower order the estimate is e^2 / sqrt(e^2 + e_low^2 / 100) (Hairer, Norsett,
// Wanner, II.10). dense(theta) gives the weights of x(t + theta h), 0 <= theta <= 1, to within one
// order of the method; the stages of `dense_a` are made for it alone, after a step is accepted.
//
// A linearly implicit method (Rosenbrock's; gamma > 0) solves for each stage but the first, which
// is the drift and has no weight,
//
//   (1/gamma - h J) k_s = f(x + h sum_r a_sr k_r) + sum_r c_sr k_r,      J = df/dx at x
//
// (Hairer and Wanner IV.7): steps are as long as the solution is smooth, however fast what has died
// out would contract. For flows that know their Jacobian, are autonomous and live in R^d.
#pragma once

#include <string_view>
#include <vector>

#include "attractor/base/named.hpp"
#include "attractor/flow/noise_law.hpp"

namespace attractor::flow {

struct Tableau {
  std::string_view name;
  int order = 0;
  std::vector<std::vector<double>> a;  // row s has s entries
  std::vector<double> b, error, error_low = {};
  std::vector<double> (*dense)(double theta) = nullptr;  // null: only step ends are defined
  std::vector<std::vector<double>> dense_a = {};
  bool layer_map = false;  // stage 1 is the layer's increment, not the projected drift
  bool first_same_as_last = false;
  bool stochastic = false;  // the step ends with the flow's noise, if it is additive
  bool clocked = false;     // each point has its own step, if noise is multiplicative
  double gamma = 0;         // above 0: linearly implicit
  std::vector<std::vector<double>> c = {};

  std::size_t stages() const { return b.size(); }
  /// The array each stage (those of dense_a last) is kept in: stages that are never needed together
  /// share one. The first has its own.
  std::vector<std::size_t> places() const;
  bool adaptive() const { return !error.empty(); }
  /// Noise of this kind moves points.
  bool takes(const NoiseLaw& law) const {
    return law.present() && (law.kind == NoiseKind::additive ? stochastic : clocked);
  }
};

/// x <- retract(x + h attention(x)): the discrete layers that published codes iterate. Order 1.
Tableau layers();
/// Explicit Euler with retraction. Order 1.
Tableau euler();
/// The classical method of Kutta (1901). Order 4; on a random clock too.
Tableau rk4();
/// Dormand and Prince (1980), 5(4), with Shampine's continuous extension of order 4.
Tableau dormand_prince();

/// Bogacki and Shampine (1989), 3(2), with the Hermite cubic: few stages, for coarse tolerances.
Tableau bogacki_shampine();
/// Dormand and Prince, 8(5,3): for fine tolerances (dormand_prince_8.cpp).
Tableau dormand_prince_8();

/// Rodas of Hairer and Wanner (1996), 4(3), linearly implicit and L-stable (rodas.cpp).
Tableau rodas();

/// x <- retract(x + h drift + P sqrt(2 kappa h) xi), xi standard normal. Weak order 1.
Tableau euler_maruyama();

using attractor::name;

/// All of them, by the names of their tableaux.
enum class Method { adaptive, adaptive3, adaptive8, layers, euler, rk4, euler_maruyama };
std::span<const std::string_view> names(Method);
Tableau tableau(Method method);

}  // namespace attractor::flow
