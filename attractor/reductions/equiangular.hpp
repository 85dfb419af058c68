// Equiangular tokens, solved exactly. n tokens with one common cosine g keep it (n <= d, or the
// simplex); attention turns them by one ordinary differential equation,
//
//   SA    g' = (2/S) p (1-g)(1 + (n-1) g),       p = 1 / (e^{beta (1-g)} + n - 1)
//   USA   g' = (2/n) e^{beta g} (1-g)(1 + (n-1) g)
//
// where S and the norm r of the tokens follow the normalisation (attention/normalisation.hpp). It
// is solved by quadrature (equiangular_clock.hpp) in logarithms: 1-g far below 1e-300 and times far
// beyond e^{beta} have full relative accuracy. Late, with a terminal constant K of scheme and
// start, 1-g goes like
//
//   post        n K e^{-2t}               USA         n K^n e^{-2 e^beta t}
//   ngpt        n K e^{-2 alpha t}        deepnorm    n K e^{-2t/a}
//   damped-post n K e^{-4(sqrt(1+t)-1)}   pre, peri, sandwich   K / t^2
//   ln-scaling  K / (4t)                  mix         K / (t - switch)^2
//
// With x_0 = ln((1 + (n-1) g_0)/(1 - g_0)), J of equiangular_clock.hpp from there to consensus, and
// r = 1 at the start, K = e^{2J - x_0} for post, deepnorm and damped-post, (1 - g_0) e^{2J} for
// growing norms (mix: g_0 where it switches), K^n = e^{2nJ - x_0} for USA; for nGPT 2J is the
// same limit of 2t - (x - x_0) on its own clock. From orthogonal tokens all but ngpt and mix have
// the one K(n, beta) of the theory.
//
// Theory: arXiv 2312.10794, 2510.22026. Cost: about 0.1 ms for a flow, microseconds for a state.
#pragma once

#include <cmath>
#include <memory>

#include "attractor/attention/attention.hpp"
#include "attractor/attention/normalisation.hpp"

namespace attractor::meanfield {

/// The largest cosine whose time may be asked for: beyond, 1 - cosine has no digits.
inline constexpr double kLargestLevel = 1 - 1e-15;

struct Equiangular {
  double tokens = 2;   // any real number from 2 to 1e30
  double beta = 1;     // -20 to 1e6; where lengths grow and cosine0 < 0, or are seen: from 0
  double cosine0 = 0;  // from -1/(n-1), where nothing ever moves, to below 1
  Rule rule = Rule::softmax;
  Normalisation norm = Normalisation::post;  // USA: post only
  double alpha = 1;                          // ngpt, above 0 to 1e6
  double switch_time = 1;                    // mix, 0 to 1e15: post before, pre after
  double deepnorm_scale = 1;                 // deepnorm, 1e-6 to 1e6
};

/// Throws Error with the value and what is allowed.
void check(const Equiangular& e);

/// At one moment. Logarithms are natural; -infinity where not even they fit a double.
struct EquiangularState {
  double cosine = 0, log_gap = 0;  // ln(1 - cosine)
  double log_norm = 0;             // ln r
  double log_speed = 0;            // ln of d cosine / dt; -infinity where nothing moves
  double gap() const { return std::exp(log_gap); }
  double norm() const { return std::exp(log_norm); }
  double speed() const { return std::exp(log_speed); }
};

/// When a cosine is reached.
struct Arrival {
  enum class Status {
    reached,
    never,         // it lies behind the start, or nothing moves
    beyond_range,  // ln t itself does not fit a double: pre- and peri-norm at large beta
  };
  Status status = Status::never;
  double log_time = 0;  // ln t; infinity unless reached
  double time() const { return std::exp(log_time); }
};

/// How answers change with the attention. NaN where the moment is not reached.
struct Sensitivity {
  double log_time_by_beta = 0, log_time_by_log_tokens = 0;  // of ln t at a fixed cosine
  double cosine_by_beta = 0, cosine_by_log_tokens = 0;      // at the fixed time of that cosine
};

class EquiangularFlow {
 public:
  explicit EquiangularFlow(const Equiangular& e);
  ~EquiangularFlow();
  EquiangularFlow(EquiangularFlow&&) noexcept;

  const Equiangular& problem() const;
  /// ln t from -infinity (the start) to 1e300; throws Error outside.
  EquiangularState at(double log_time) const;
  Arrival arrival(double cosine) const;          // cosine below 1
  Arrival arrival_at_gap(double log_gap) const;  // ln(1 - cosine), finite
  /// When 1 - cosine is half of what it was.
  Arrival half_collapse() const;
  /// ln of the late law of 1 - cosine, from this start; NaN before mix has switched
  /// and where the constant does not fit.
  double log_tail(double log_time) const;
  /// ln K of that law; infinity where it does not fit, NaN at the simplex and where mix never
  /// switches within the range of doubles.
  double log_terminal_constant() const;
  /// At the moment when ln(1 - cosine) is reached; about 1e-9 relative.
  Sensitivity sensitivity(double log_gap) const;

 private:
  struct Solution;
  std::unique_ptr<const Solution> solution_;
};

/// ln K(n, beta) of post-norm from orthogonal tokens; infinity where it does not fit.
double log_terminal_constant(double tokens, double beta);

/// Energy of the family over that of consensus, e^beta / (2 beta): (1 + (n-1) e^{-beta (1-g)}) / n.
double energy_ratio(double tokens, double beta, double log_gap);

}  // namespace attractor::meanfield
