// Two clusters of masses m1, m2 at angle delta, all others too far to be felt. With the place
// y = ln tan(delta/2) and x = beta (1 - cos delta) the flow is  y' = -R(x),
//
//   SA   R = r/(e^x + r) + 1/(r e^x + 1),  r = m2/m1        USA  R = (m1 + m2) e^{beta - x}
//
// so times are integrals of 1/R > 0 over y, and beta = 0 is exact: y falls at unit speed. 1/R grows
// like e^{slope x}; everything is kept relative to its value at the start, so that no beta
// overflows; below beta = 0 (to -20) it falls, and two clusters hurry apart from pi. Gauss's rule
// on pieces over which x changes by at most 4 and y by at most 1: the singularities of 1/R stay so
// far away that 20 nodes give rounding accuracy. About 20 pieces for a time, independent of beta;
// relative error of a time 1e-14, and besides it that of e^{slope x}: |ln T| times 1e-16. Large
// beta: Geshkovski et al., "Dynamic metastability" (2024).
#pragma once

#include <functional>

#include "attractor/attention/attention.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/flow/time.hpp"

namespace attractor::meanfield {

/// z' = -e^{-wait(x)} at x = reach / (1 + e^{-2z}), where wait(x) = slope x + rest(x) increases and
/// `rest` is bounded for large x; or, with a reach from -40, is bounded itself. Every symmetric
/// merger of clusters is one.
struct MergeClock {
  double reach = 0;
  double slope = 1;
  std::function<double(double)> rest;

  double depth(double place) const;  // x
  double wait_at(double x) const { return slope * x + rest(x); }
  double wait(double place) const { return wait_at(depth(place)); }  // ln of time per unit of z
};

/// Time from place `from` down to `to`; zero if it is there already, infinite from z = infinity.
flow::Time travel_time(const MergeClock& clock, double from, double to);
/// Where it is after that time; the inverse of travel_time. -infinity once merged beyond the range
/// of double precision.
double place_after(const MergeClock& clock, double from, const flow::Time& time);

/// An angle in [0, pi] as ln tan(angle/2), which resolves both ends.
struct PairAngle {
  double log_tangent = 0;

  static PairAngle of(double angle);                  // radians; pi itself: antipodal
  static PairAngle of_supplement(double supplement);  // pi - angle
  static PairAngle of_degrees(double degrees);
  static PairAngle of_cosine(double cosine);
  double angle() const;
  double supplement() const;
  double cosine() const;
  double gap() const;  // 1 - cosine, to full relative accuracy
  double log_sine() const;
  bool antipodal() const { return log_tangent == kInfinity; }
};

struct ClusterPair {
  Rule rule = Rule::softmax;
  double beta = 1;                  // -20 to 1e6
  double mass1 = 0.5, mass2 = 0.5;  // shares of the total mass 1; SA needs their ratio only
};

inline constexpr double kMergeCosine = 0.999;

MergeClock clock(const ClusterPair& pair);  // z = ln tan(delta/2); throws Error on a bad pair

flow::Time merge_time(const ClusterPair& pair, PairAngle from,
                      PairAngle to = PairAngle::of_cosine(kMergeCosine));
double log_merge_time(const ClusterPair& pair, PairAngle from,
                      PairAngle to = PairAngle::of_cosine(kMergeCosine));
PairAngle angle_after(const ClusterPair& pair, PairAngle from, const flow::Time& time);
/// ln |delta'|.
double log_speed(const ClusterPair& pair, PairAngle at);

/// c of the lifetime e^{c beta}: 1 - cos delta for SA, -cos delta for USA.
double lifetime_exponent(const ClusterPair& pair, PairAngle from);
/// ln of e^{c beta} / (beta sin^2 delta M), M = m1/m2 + m2/m1 (SA), m1 + m2 (USA); infinite where
/// that formula is (beta = 0, antipodal) or has no meaning (beta < 0).
double log_asymptotic_time(const ClusterPair& pair, PairAngle from);
/// merge_time over it = 1 + 2 cos / (beta sin^2) + O(beta^-2); at 90 degrees 1 + 2/beta^2 + ...
/// No cancellation however long the times. NaN for an antipodal pair and for beta < 0.
double ratio_to_asymptotic(const ClusterPair& pair, PairAngle from,
                           PairAngle to = PairAngle::of_cosine(kMergeCosine));
/// Near delta = pi the supplement grows like e^{rate t}; ln rate.
double log_escape_rate(const ClusterPair& pair);

}  // namespace attractor::meanfield
