// Time that neither overflows nor vanishes: t = mantissa * e^exponent.
//
// Metastable lifetimes grow like e^{c beta}; at beta = 10^6 no double holds them, nor the e^{-beta}
// of unnormalised attention. In ordinary runs the exponent is fixed and the mantissa is the plain
// time.
#pragma once

namespace attractor::flow {

class Time {
 public:
  Time() = default;
  /// t = mantissa * e^exponent, mantissa >= 0 (infinity allowed).
  explicit Time(double mantissa, double exponent = 0) : mantissa_(mantissa), exponent_(exponent) {}

  /// The time as a double; 0 or infinity where it does not fit.
  double value() const;
  /// ln t; -infinity at t = 0.
  double log() const;
  /// t / e^unit.
  double in_unit(double unit) const;
  /// t + h e^unit, h >= 0.
  Time after(double h, double unit) const;

  double mantissa() const { return mantissa_; }
  double exponent() const { return exponent_; }

  friend bool operator<(const Time& a, const Time& b);
  friend bool operator==(const Time& a, const Time& b) { return !(a < b) && !(b < a); }
  friend bool operator<=(const Time& a, const Time& b) { return !(b < a); }

 private:
  double mantissa_ = 0, exponent_ = 0;
};

}  // namespace attractor::flow
