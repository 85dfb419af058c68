// Tokens for kernels of attention rows, and what their tests look at.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/dense/row_sums.hpp"
#include "attractor/kernels/dense/symmetric_rows.hpp"

namespace attractor::kernels {

struct Sums {
  std::vector<double> pull, weight, moment, peak;
  Sums(std::size_t n, std::size_t dim) : pull(n * dim), weight(n), moment(n), peak(n) {}
  RowSums view() { return {pull, weight, moment, peak}; }
};

inline void normalise(std::span<double> row) {
  long double squares = 0;
  for (const double c : row) squares += static_cast<long double>(c) * c;
  for (double& c : row) c = static_cast<double>(c / std::sqrt(squares));
}

/// Unit tokens around `centres` directions at distances of about `radius`; 0 centres: anywhere.
inline std::vector<double> tokens_around(std::string_view stream_name, std::size_t n,
                                         std::size_t dim, std::size_t centres, double radius) {
  const Stream stream(dim, stream_name);
  std::vector<double> x(n * dim), centre(dim);
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = std::span(x).subspan(i * dim, dim);
    stream.normals(i, row);
    if (centres > 0) {
      stream.normals(1'000'000 + i % centres, centre);
      normalise(centre);
      for (std::size_t a = 0; a < dim; ++a) row[a] = centre[a] + radius * row[a];
    }
    normalise(row);
  }
  return x;
}

inline std::vector<double> uneven_masses(std::size_t n) {
  std::vector<double> m(n);
  for (std::size_t i = 0; i < n; ++i) m[i] = 0.25 + static_cast<double>(i % 7);
  return m;
}

inline void expect_same_bits(const Sums& a, const Sums& b) {
  EXPECT_EQ(a.pull, b.pull);
  EXPECT_EQ(a.weight, b.weight);
  EXPECT_EQ(a.moment, b.moment);
}

/// Sums of some rows alone are those of all.
inline void expect_chosen_rows(const Sums& some, std::span<const std::uint32_t> rows,
                               const Sums& all, std::size_t dim) {
  for (std::size_t r = 0; r < rows.size(); ++r) {
    EXPECT_EQ(some.weight[r], all.weight[rows[r]]);
    EXPECT_EQ(some.moment[r], all.moment[rows[r]]);
    EXPECT_EQ(some.peak[r], all.peak[rows[r]]);
    for (std::size_t a = 0; a < dim; ++a)
      EXPECT_EQ(some.pull[r * dim + a], all.pull[rows[r] * dim + a]);
  }
}

/// compute() gives the same bits on 1, 2 and 5 threads, and with vectors of AVX2.
template <class Compute>
void expect_bits_of_threads_and_vectors(const Compute& compute) {
  const Sums first = compute();
  for (const std::size_t count : {1, 2, 5}) {
    set_threads(count);
    SCOPED_TRACE(count);
    expect_same_bits(first, compute());
  }
  set_threads(0);
#ifdef HWY_AVX2
  if (hwy::SupportedTargets() & HWY_AVX2) {
    hwy::SetSupportedTargetsForTest(HWY_AVX2);
    const Sums narrow = compute();
    hwy::SetSupportedTargetsForTest(0);
    SCOPED_TRACE("AVX2");
    expect_same_bits(first, narrow);
  }
#endif
}

inline Sums symmetric_sums(const DistanceSources& in, Precision precision) {
  Sums sums(in.masses.size(), in.dim);
  symmetric_rows(in, sums.view(), precision);
  return sums;
}

/// For tokens anywhere and around five directions.
inline void expect_symmetric_bits(std::string_view stream_name,
                                  std::initializer_list<std::size_t> dims, Precision precision) {
  for (const std::size_t dim : dims)
    for (const double radius : {0.0, 0.05}) {
      const std::size_t n = 1163;
      const auto x = tokens_around(stream_name, n, dim, radius > 0 ? 5 : 0, radius);
      const auto m = uneven_masses(n);
      const DistanceSources in{dim, x, {}, m, 12.0, 0};
      SCOPED_TRACE(dim);
      expect_bits_of_threads_and_vectors([&] { return symmetric_sums(in, precision); });
    }
}

}  // namespace attractor::kernels
