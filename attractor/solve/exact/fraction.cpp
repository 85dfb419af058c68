#include "attractor/solve/exact/fraction.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "attractor/base/numbers.hpp"

namespace attractor::solve {

double towards_zero(const Fraction& x) {
  Integer n = abs(numerator(x)), d = denominator(x);
  if (n == 0) return 0;
  // |x| = 2^shift n / d with n / d between 2^62 and 2^64, of which q is the whole part.
  const long shift = bits(n) - bits(d) - 63;
  if (shift > 0)
    d <<= shift;
  else
    n <<= -shift;
  n /= d;
  const auto q = static_cast<std::uint64_t>(n);
  const long top = shift + std::bit_width(q) - 1;  // of the leading digit
  const long last = std::max(top - 52, -1074L);    // digit that a double has
  if (top < -1074) return 0;
  const double size =
      top > 1023 ? kInfinity
                 : std::ldexp(static_cast<double>(q >> (last - shift)), static_cast<int>(last));
  return x.sign() < 0 ? -size : size;
}

}  // namespace attractor::solve
