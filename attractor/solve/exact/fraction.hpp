// Whole numbers and fractions of any size, without rounding. A fraction is in lowest terms with a
// positive denominator; str() writes it as "n/d", or "n" where d = 1. Fraction(n, d) takes d > 0
// (Boost 1.74 throws for d < 0).
//
// Boost.Multiprecision computes with them, by itself or through GMP (ATTRACTOR_GMP in CMake): the
// same values and the same text.
#pragma once

#ifndef ATTRACTOR_GMP
#error "sources that include this header get ATTRACTOR_GMP from CMake (0 or 1)"
#elif ATTRACTOR_GMP
#include <boost/multiprecision/gmp.hpp>
#else
#include <boost/multiprecision/cpp_int.hpp>
#endif

namespace attractor::solve {

#if ATTRACTOR_GMP
using Integer = boost::multiprecision::mpz_int;
using Fraction = boost::multiprecision::mpq_rational;
#else
using Integer = boost::multiprecision::cpp_int;
using Fraction = boost::multiprecision::cpp_rational;
#endif

/// x becomes x / y, of which it is known that it is whole.
inline void divide_exactly(Integer& x, const Integer& y) {
#if ATTRACTOR_GMP
  mpz_divexact(x.backend().data(), x.backend().data(), y.backend().data());
#else
  x /= y;
#endif
}

/// Binary digits of x > 0.
inline long bits(const Integer& x) { return static_cast<long>(msb(x)) + 1; }

/// The double next to x that is not further from 0; infinity if x is beyond all doubles.
double towards_zero(const Fraction& x);

}  // namespace attractor::solve
