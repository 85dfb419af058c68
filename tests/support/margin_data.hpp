// Data of margin problems, for tests of their solvers.
#pragma once

#include <cmath>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/solve/constraints.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor::solve {

struct Dense {
  std::vector<double> rows, bounds;
  std::size_t dim;
  DenseConstraints constraints() const { return {rows, bounds, dim}; }
};

/// g_j of the data as given: what a bound is about.
inline std::vector<long double> whole_row(const Constraints& constraints, std::size_t j) {
  std::vector<double> row(constraints.dim()), tail(constraints.dim());
  constraints.row(j, row);
  constraints.tail(j, tail);
  std::vector<long double> whole(row.begin(), row.end());
  for (std::size_t a = 0; a < whole.size(); ++a) whole[a] += tail[a];
  return whole;
}

/// The token choice that a direction makes: the largest product with it.
inline TokenChoice choice_of(std::span<const double> direction, std::span<const double> keys,
                             std::size_t tokens) {
  const std::size_t dim = direction.size();
  TokenChoice choice;
  for (std::size_t i = 0; i < keys.size() / (tokens * dim); ++i) {
    std::size_t best = 0;
    double most = -INFINITY;
    for (std::size_t t = 0; t < tokens; ++t) {
      const double* key = &keys[(i * tokens + t) * dim];
      const double product = std::inner_product(key, key + dim, direction.begin(), 0.0);
      if (product > most) most = product, best = t;
    }
    choice.chosen.push_back(best);
  }
  return choice;
}

/// The same with every other input relaxed.
inline TokenChoice half_relaxed(TokenChoice choice) {
  for (std::size_t i = 0; i < choice.chosen.size(); ++i) choice.relaxed.push_back(i % 2 == 1);
  return choice;
}

/// Each input's keys by a power of ten of its own, 10^-decades .. 10^(decades - 1).
inline void spread_sizes(std::vector<double>& keys, std::size_t per_input, std::uint64_t seed,
                         int decades) {
  const Stream sizes(seed, "test.sizes");
  for (std::size_t k = 0; k < keys.size(); ++k)
    keys[k] *= std::pow(10.0, std::floor(2 * decades * sizes.uniform(k / per_input, 0)) - decades);
}

/// bdata(n, T, d, s) of the theory reference.
inline std::vector<double> sines(int n, int tokens, int dim, int s) {
  std::vector<double> keys;
  for (int i = 0; i < n; ++i)
    for (int t = 0; t < tokens; ++t)
      for (int a = 0; a < dim; ++a)
        keys.push_back(std::sin(1.0 + 2 * i + 5 * t + 3 * a + i * t + t * a + 7 * s + i * a * a));
  return keys;
}

}  // namespace attractor::solve
