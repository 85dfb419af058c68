// A long double as a rational number: its double and what is left, which is a double too.
#pragma once

#include <boost/multiprecision/cpp_int.hpp>

namespace attractor {

inline boost::multiprecision::cpp_rational rational(long double x) {
  using boost::multiprecision::cpp_rational;
  const auto high = static_cast<double>(x);
  return cpp_rational(high) + cpp_rational(static_cast<double>(x - high));
}

}  // namespace attractor
