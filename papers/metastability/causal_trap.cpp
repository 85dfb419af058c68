#include "papers/metastability/causal_trap.hpp"

#include <boost/numeric/interval.hpp>

namespace attractor::papers {
namespace {

using Interval = boost::numeric::interval<Rational>;
using Vector = std::array<Interval, 2>;

/// e^x for |x| <= 1/2: a partial sum, and 1 of the last term for all that follow.
Interval small_exponential(const Rational& x) {
  Rational sum = 1, term = 1;
  for (int k = 1; k <= 16; ++k) {
    term *= x / k;
    sum += term;
  }
  const Rational rest = abs(term);
  return {Rational(sum - rest), Rational(sum + rest)};
}

Interval exponential(const Rational& x) {
  Rational part = x;
  int halved = 0;
  for (; abs(part) > Rational(1, 2); ++halved) part /= 2;
  Interval e = small_exponential(part);
  for (; halved > 0; --halved) e = square(e);
  return e;
}

Interval exponential(const Interval& x) {
  return {exponential(x.lower()).lower(), exponential(x.upper()).upper()};
}

/// The unit vector whose half angle has this tangent.
Vector at(const Interval& tangent) {
  const Interval one(Rational(1)), size = one + square(tangent);
  return {(one - square(tangent)) / size, Interval(Rational(2)) * tangent / size};
}

Interval product(const Vector& a, const std::array<Rational, 4>& m, const Vector& b) {
  return a[0] * (Interval(m[0]) * b[0] + Interval(m[1]) * b[1]) +
         a[1] * (Interval(m[2]) * b[0] + Interval(m[3]) * b[1]);
}

Vector tangent_of(const Vector& x) { return {-x[1], x[0]}; }

bool positive(const Interval& x) { return x.lower() > 0; }
bool negative(const Interval& x) { return x.upper() < 0; }

}  // namespace

int inward_sides(const CausalPair& pair, const AngleBox& box) {
  const auto first = [&](const Rational& tangent) {
    const Vector x = at(Interval(tangent));
    return product(tangent_of(x), pair.value, x);
  };
  const Vector first_token = at(Interval(Rational(-box.first), box.first));
  const auto second = [&](const Rational& tangent) {
    const Vector x = at(Interval(tangent));
    const Interval lead =
        exponential(product(x, pair.logits, x) - product(x, pair.logits, first_token));
    return product(tangent_of(x), pair.value, first_token) +
           lead * product(tangent_of(x), pair.value, x);
  };
  return int{positive(first(Rational(-box.first)))} + int{negative(first(box.first))} +
         int{positive(second(box.from))} + int{negative(second(box.to))};
}

}  // namespace attractor::papers
