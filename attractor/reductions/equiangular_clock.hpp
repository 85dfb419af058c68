// The one curve that equiangular tokens follow, and the clocks on it. n tokens with the common
// cosine g stay equiangular. With the gap w = 1 - g and s = 1 + (n-1) g the position
//
//   x = ln(s / w),   w = n / (e^x + n - 1),   g = (e^x - 1) / (e^x + n - 1)
//
// runs from -infinity (simplex) through 0 (orthogonal) to +infinity (consensus), and every flow
// moves it by a positive smooth rate. With E = e^{beta w} - 1 the times are quadratures,
//
//   softmax       dt = (n + E) / (2n) dx                          post-norm
//   unnormalised  dt = e^{-beta} (1 + E) / 2 dx
//   unit          dt = sqrt(E^2 + 2 E s + n s) / (2n) dx          nGPT
//   growing       dt = r times softmax (pre-norm) or times unit (peri-norm),  r^2 = (w_0 / w)
//   e^{2J}
//
// J = (1 / 2n) int E dx. Sums have positive terms only: full relative accuracy, no exponential
// integrals that cancel. Times are kept in units e^{log_unit}, so that no beta overflows. Cost: up
// to some hundred panels of 15 points to build a clock, one panel to read it.
#pragma once

#include <vector>

namespace attractor::meanfield {

struct EquiangularCurve {
  double tokens = 2, beta = 0;

  double position(double cosine) const;
  double position_at_gap(double log_gap) const;
  double cosine(double x) const;
  double log_gap(double x) const;
  double gap(double x) const;
  double sigma(double x) const;      // s = 1 + (n-1) g
  double log_sigma(double x) const;  // finite where s underflows
};

enum class Clock { softmax, unnormalised, unit };

/// ln(dt/dx).
double log_pace(const EquiangularCurve& curve, Clock clock, double x);

class EquiangularClock {
 public:
  EquiangularClock(const EquiangularCurve& curve, double start, Clock clock);

  /// ln of the time from x = start to start + moved; -infinity at 0.
  double log_time(double moved) const;
  /// The inverse: how far x moves in this time; infinity where it does not fit a double.
  double moved(double log_time) const;
  /// J of the softmax clock; infinity where it does not fit.
  double excess(double moved) const;

 private:
  struct Knot {
    double moved, integral, time;  // of the part that is summed; of all, both in units
  };
  double density(double x) const;
  double summed(const Knot& knot, double further) const;
  const Knot& knot_before(double moved) const;
  void build();

  EquiangularCurve curve_;
  double start_;
  Clock clock_;
  double unit_ = 0;              // ln of the factor taken out of the density
  double weight_ = 0;            // 1 / 2n or 1 / 2
  bool whole_ = false;           // dt/dx is summed whole, not without its constant part
  double floor_ = 0, tail_ = 0;  // constant part of dt/dx; the limit of the summed part, in units
  double log_factor_ = 0;        // ln of what turns the sum into time
  std::vector<Knot> knots_;
};

/// Time where the norm r grows along the way, from r = 1 at x = start. Doubly exponential times are
/// no harder than others: only the last stretch, where r is not negligible, is summed.
class GrowingClock {
 public:
  /// clock: softmax (pre-norm) or unit (peri-norm).
  GrowingClock(const EquiangularCurve& curve, double start, Clock clock);

  /// ln r at this distance, which is passed at this time.
  double log_norm(double moved, double log_time) const;
  double log_time(double moved) const;  // infinity where it does not fit
  double moved(double log_time) const;
  /// ln of the limit of w r^2.
  double log_constant() const;

 private:
  double log_norm(double moved) const;
  bool frozen(double moved) const;

  EquiangularCurve curve_;
  double start_;
  Clock clock_;
  EquiangularClock post_;
  double log_spread_;  // ln of the largest t' / r'
};

}  // namespace attractor::meanfield
