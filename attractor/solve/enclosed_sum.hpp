// A sum of products of doubles together with a proof of its rounding error.
//
// Every product splits exactly into a double and its rounding (fma), every addition into a long
// double and its rounding (Knuth); the roundings are added up beside, as in the compensated dot
// product of Ogita, Rump and Oishi (SIAM J. Sci. Comput. 26, 2005). What is lost after that is at
// most n eps times the sum of their sizes, where eps is that of long double: known, not estimated.
// If no rounding happened the sum is exact and its error 0.
#pragma once

#include <cmath>
#include <cstddef>

namespace attractor::solve {

class EnclosedSum {
 public:
  void add(double a) { add_part(a); }
  void add(double a, double b) {
    const double product = a * b;
    add_part(product);
    lose(std::fma(a, b, -product));
    if (std::abs(product) < kTiny && a != 0 && b != 0) ++underflows_;
  }

  /// The sum to the nearest long double, about.
  long double value() const { return sum_ + rest_; }
  /// |sum - value()| is at most this; infinite after an overflow.
  long double error() const;

 private:
  static constexpr double kTiny = 0x1p-960;  // of a smaller product the rounding may underflow

  void add_part(double x) {
    const long double total = sum_ + x, part = total - sum_;
    lose((sum_ - (total - part)) + (x - part));
    sum_ = total;
  }
  void lose(long double lost) {
    if (lost == 0) return;
    rest_ += lost;
    size_ += std::abs(lost);
    ++count_;
  }

  long double sum_ = 0, rest_ = 0, size_ = 0;
  std::size_t count_ = 0, underflows_ = 0;
};

/// The nearest double on this side.
double rounded_down(long double x);
double rounded_up(long double x);

}  // namespace attractor::solve
