#include "attractor/solve/enclosed_sum.hpp"

#include <limits>

#include "attractor/base/numbers.hpp"

namespace attractor::solve {
namespace {}  // namespace

long double EnclosedSum::error() const {
  constexpr long double epsilon = std::numeric_limits<long double>::epsilon();
  const long double underflow = 0x1p-1073L * static_cast<long double>(underflows_);
  if (count_ == 0) return std::isfinite(sum_) ? underflow : kInfinity;
  const long double found =
      epsilon * (std::abs(value()) + static_cast<long double>(2 * count_) * size_) + underflow;
  return std::isfinite(found) ? found : kInfinity;  // an overflow leaves NaN
}

double rounded_down(long double x) {
  const auto nearest = static_cast<double>(x);
  return nearest > x ? std::nextafter(nearest, -kInfinity) : nearest;
}

double rounded_up(long double x) {
  const auto nearest = static_cast<double>(x);
  return nearest < x ? std::nextafter(nearest, kInfinity) : nearest;
}

}  // namespace attractor::solve
