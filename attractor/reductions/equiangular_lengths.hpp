// Equiangular tokens whose attention sees their common length r: logits beta r^2 cos. With the
// position x, the gap w and s of equiangular_clock.hpp and E = e^{beta r^2 w} - 1, layers that add
// normalised attention, x_i' = N(A), move
//
//   dx / d ln r = 2n / (E + s),    dt / d ln r = r sqrt(E^2 + 2 E s + n s) / (E + s)
//
// u = r^2 w obeys du / d ln r = 2u (e^{beta u} - 1) / (e^{beta u} + n - 1) once w is small: it
// grows without end, attention ends up at the token itself, and tokens stop turning at a gap above
// 0, after ln r ~ n / (2 beta u). The solution is integrated once along dx + d ln r (Dormand and
// Prince 8(5,3), tolerance 1e-14) up to that stop, or to r = e^{10,000}; every question is one more
// step from the knot before it. Cost: some hundred knots; about ten microseconds for a question.
#pragma once

#include <array>
#include <functional>
#include <vector>

#include "attractor/reductions/equiangular_clock.hpp"

namespace attractor::meanfield {

class LengthClock {
 public:
  /// From r = 1 at x = start; beta above 0.
  LengthClock(const EquiangularCurve& curve, double start);

  /// How far x has moved, and ln r, at this time. Throws Error beyond the last knot of a flow that
  /// has not stopped.
  double moved(double log_time) const;
  double log_norm(double log_time) const;
  /// ln t; infinity where x never comes.
  double log_time(double moved) const;
  /// How far x moves in all; infinity if it had not stopped at the last knot.
  double limit() const;
  /// ln(dt/dx) at this distance and length.
  double log_pace(double moved, double log_norm) const;

 private:
  /// x - start, ln r, t / r.
  using State = std::array<double, 3>;
  struct Knot {
    double at;  // of x + ln r, from 0
    State state;
    double log_time() const;
  };
  class Motion;
  State after(const Knot& knot, double further) const;
  State solve(std::size_t knot, const std::function<double(const State&)>& excess) const;
  State at(double log_time) const;

  EquiangularCurve curve_;
  double start_;
  bool stopped_ = false;
  std::vector<Knot> knots_;
};

}  // namespace attractor::meanfield
