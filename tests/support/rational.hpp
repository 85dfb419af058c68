// A long double as a rational number: its double, and that of what is left, until nothing is (64
// bits are two doubles, 113 bits three).
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

namespace attractor {

inline boost::multiprecision::cpp_rational rational(long double x) {
  using boost::multiprecision::cpp_rational;
  cpp_rational sum = 0;
  for (; x != 0; x -= static_cast<double>(x)) sum += cpp_rational(static_cast<double>(x));
  return sum;
}

}  // namespace attractor
