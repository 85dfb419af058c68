#include "attractor/flow/time.hpp"

#include <cmath>

namespace attractor::flow {

double Time::value() const { return in_unit(0); }

double Time::log() const { return std::log(mantissa_) + exponent_; }

double Time::in_unit(double unit) const {
  if (mantissa_ == 0 || unit == exponent_) return mantissa_;
  // In two factors: e^{exponent - unit} alone may overflow where the product does not.
  const double half = std::exp(0.5 * (exponent_ - unit));
  return mantissa_ * half * half;
}

Time Time::after(double h, double unit) const {
  if (h == 0) return *this;
  if (mantissa_ == 0) return Time(h, unit);
  const double sum = mantissa_ + Time(h, unit).in_unit(exponent_);
  if (sum < 1e280) return Time(sum, exponent_);
  return Time(h + in_unit(unit), unit);
}

bool operator<(const Time& a, const Time& b) {
  if (a.exponent_ == b.exponent_) return a.mantissa_ < b.mantissa_;
  const double converted = b.in_unit(a.exponent_);
  if (converted > 1e-280 && converted < 1e280 && a.mantissa_ < 1e280)
    return a.mantissa_ < converted;
  return a.log() < b.log();
}

}  // namespace attractor::flow
