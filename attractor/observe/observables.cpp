#include "attractor/observe/observables.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

constexpr double kCheap = 1e8;  // multiply-adds at every output

/// tr C^2 = sum_ab C_ab^2, C = sum_i m_i x_i x_i^T.
double squares_by_axes(const TokenView& v) {
  std::vector<double> moments(v.dim * v.dim, 0.0);  // a <= b
  for (std::size_t i = 0; i < v.masses.size(); ++i) {
    const auto x = v.tokens.subspan(i * v.dim, v.dim);
    for (std::size_t a = 0; a < v.dim; ++a)
      for (std::size_t b = a; b < v.dim; ++b) moments[a * v.dim + b] += v.masses[i] * x[a] * x[b];
  }
  double sum = 0;
  for (std::size_t a = 0; a < v.dim; ++a)
    for (std::size_t b = a; b < v.dim; ++b)
      sum += (a == b ? 1 : 2) * moments[a * v.dim + b] * moments[a * v.dim + b];
  return sum;
}

/// The same as sum_ij m_i m_j <x_i, x_j>^2.
double squares_by_pairs(const TokenView& v) {
  const auto token = [&](std::size_t i) { return v.tokens.subspan(i * v.dim, v.dim); };
  double sum = 0;
  for (std::size_t i = 0; i < v.masses.size(); ++i)
    for (std::size_t j = i; j < v.masses.size(); ++j) {
      const double c = dot(token(i), token(j));
      sum += (i == j ? 1 : 2) * v.masses[i] * v.masses[j] * c * c;
    }
  return sum;
}

/// (tr C)^2 / tr C^2 of C = sum_i m_i x_i x_i^T: the number of directions that tokens spread over,
/// from 1 (a line) to dim (alike in all). Not changed when tokens are repeated or all made longer.
/// Cost: n dim min(n, dim).
double participation_ratio(const TokenView& v) {
  const std::size_t n = v.masses.size();
  const auto cost =
      static_cast<double>(n) * static_cast<double>(v.dim) * static_cast<double>(std::min(n, v.dim));
  if (!v.thorough && cost > kCheap) return kNan;
  double trace = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = v.tokens.subspan(i * v.dim, v.dim);
    trace += v.masses[i] * dot(x, x);
  }
  const double squares = n < v.dim ? squares_by_pairs(v) : squares_by_axes(v);
  return squares > 0 ? trace * trace / squares : kNan;
}

}  // namespace

const std::vector<Observable>& observables() {
  static const std::vector<Observable> list = {
      {"participation_ratio", "(tr C)^2 / tr C^2 of the tokens' second moments C",
       participation_ratio},
  };
  return list;
}

}  // namespace attractor::observe
