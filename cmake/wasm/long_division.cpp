// Division of 113-bit numbers for WebAssembly. That of Debian's emscripten (compiler-rt 14) makes
// 1 / (1 - eps/2) two: a bound that is proved with long doubles must not depend on it. This one
// stands before the library's in the link, and rounds to nearest, ties to even.
#include <cstdint>
#include <cstring>

namespace {

using Bits = unsigned __int128;
constexpr int kMantissa = 112, kBias = 16383, kLargest = 32767;
constexpr Bits kOne = Bits{1} << kMantissa, kSign = Bits{1} << 127,
               kInfinite = Bits{kLargest} << kMantissa;

Bits bits_of(long double x) {
  Bits bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

long double number(Bits bits) {
  long double x;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

// A finite number that is not 0 as mantissa 2^(exponent - bias), 1 <= mantissa / kOne < 2.
struct Parts {
  Bits mantissa;
  int exponent;
  explicit Parts(Bits bits) : mantissa(bits % kOne), exponent(static_cast<int>(bits >> kMantissa)) {
    if (exponent > 0)
      mantissa += kOne;
    else
      for (exponent = 1; mantissa < kOne; --exponent) mantissa <<= 1;
  }
};

long double finite_quotient(Bits sign, Parts a, Parts b) {
  int exponent = a.exponent - b.exponent + kBias;
  if (a.mantissa < b.mantissa) a.mantissa <<= 1, --exponent;
  // One bit at a time: 1 <= a / b < 2, with one bit beyond the last.
  Bits quotient = 0, rest = a.mantissa;
  for (int bit = 0; bit <= kMantissa + 1; ++bit) {
    quotient <<= 1;
    if (rest >= b.mantissa) rest -= b.mantissa, quotient |= 1;
    rest <<= 1;
  }
  bool more = rest != 0;
  for (; exponent <= 0 && quotient != 0; ++exponent) more |= (quotient & 1) != 0, quotient >>= 1;
  const bool half = (quotient & 1) != 0;
  quotient >>= 1;
  // A number without its leading bit has exponent 0; a carry leads to the next exponent.
  Bits found = quotient >= kOne
                   ? (Bits(static_cast<unsigned>(exponent)) << kMantissa) + (quotient - kOne)
                   : quotient;
  if (half && (more || (found & 1) != 0)) ++found;
  return number(sign | (exponent >= kLargest || found > kInfinite ? kInfinite : found));
}

}  // namespace

extern "C" long double __divtf3(long double x, long double y) {
  const Bits sign = (bits_of(x) ^ bits_of(y)) & kSign, a = bits_of(x) & ~kSign,
             b = bits_of(y) & ~kSign;
  if (a > kInfinite || b > kInfinite) return x + y;  // not a number
  const bool undefined = (a == kInfinite && b == kInfinite) || (a == 0 && b == 0);
  if (undefined) return number(kInfinite | (kOne >> 1));
  if (a == kInfinite || b == 0) return number(sign | kInfinite);
  if (b == kInfinite || a == 0) return number(sign);
  return finite_quotient(sign, Parts(a), Parts(b));
}
