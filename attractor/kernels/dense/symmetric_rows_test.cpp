#include "attractor/kernels/dense/symmetric_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "tests/support/row_data.hpp"
#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

using Real = long double;

std::vector<double> symmetric_tokens(std::size_t n, std::size_t dim, std::size_t centres,
                                     double radius) {
  return tokens_around("symmetric test", n, dim, centres, radius);
}

// Errors against plain long double sums, relative to the sum of the terms' sizes in each row.
struct Errors {
  double pull = 0, weight = 0, moment = 0;
};

Errors errors(const DistanceSources& in, const Sums& sums, bool moments) {
  Errors worst;
  const std::size_t n = in.masses.size(), dim = in.dim;
  const auto raise = [](double& to, Real error, Real scale) {
    if (scale > 1e-290L) to = std::max(to, static_cast<double>(std::abs(error) / scale));
  };
  for (std::size_t i = 0; i < n; i += 5) {
    std::vector<Real> pull(dim, 0), step(dim);
    Real weight = 0, moment = 0, moved = 0;
    for (std::size_t j = 0; j < n; ++j) {
      if (j == i) continue;
      Real squared = 0;
      for (std::size_t a = 0; a < dim; ++a) {
        step[a] = static_cast<Real>(in.points[j * dim + a]) - in.points[i * dim + a];
        squared += step[a] * step[a];
      }
      const Real logit = -0.5L * in.beta * squared, w = in.masses[j] * std::exp(logit);
      weight += w;
      moment += w * logit;
      moved += w * std::sqrt(squared);
      for (std::size_t a = 0; a < dim; ++a) pull[a] += w * step[a];
    }
    raise(worst.weight, sums.weight[i] - weight, weight);
    if (moments) raise(worst.moment, sums.moment[i] - moment, -moment);
    for (std::size_t a = 0; a < dim; ++a)
      raise(worst.pull, sums.pull[i * dim + a] - pull[a], moved);
  }
  return worst;
}

class SymmetricOnEveryTarget : public OnOneTarget {};

TEST_P(SymmetricOnEveryTarget, EqualsLongDoubleSumsAtOddSizes) {
  for (const std::size_t dim : {1, 2, 3, 4, 5, 6, 7, 8, 9, 16, 33})
    for (const std::size_t n : {128, 129, 143, 195}) {
      const auto x = symmetric_tokens(n, dim, 0, 0);
      const auto uneven = uneven_masses(n);
      const std::vector<double> even(n, 2.0);
      for (const auto& m : {even, uneven}) {
        const DistanceSources in{dim, x, {}, m, 4.0, 0};
        ASSERT_TRUE(symmetric_rows_apply(in));
        Sums sums(n, dim);
        symmetric_rows(in, sums.view());
        const Errors e = errors(in, sums, true);
        const std::string where = "dim " + std::to_string(dim) + " n " + std::to_string(n);
        EXPECT_LT(e.weight, 5e-15) << where;
        EXPECT_LT(e.moment, 5e-15) << where;
        EXPECT_LT(e.pull, 5e-15) << where;
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SymmetricOnEveryTarget, testing::ValuesIn(every_target()),
                         target_name);

// Rounding of a logit of size 2 beta moves a weight by a few 1e-16 beta, whatever the method.
double tolerance(double beta) { return 5e-15 + 1e-15 * beta; }

TEST(SymmetricRows, KeepRelativeAccuracyForSpreadClusteredAndCollapsedTokens) {
  struct Spread {
    std::size_t centres;
    double radius;
  };
  constexpr std::size_t kCount = 130;
  for (const Spread shape : {Spread{0, 0}, {3, 0.1}, {3, 1e-3}, {2, 1e-9}, {1, 1e-2}, {1, 1e-13}})
    for (const std::size_t dim : {2, 3, 5, 7, 16, 64})
      for (const double beta : {0.0, 1e-3, 1.0, 9.0, 100.0, 1e3, 1e4}) {
        const auto x = symmetric_tokens(kCount, dim, shape.centres, shape.radius);
        const std::vector<double> m(kCount, 1.0);
        const DistanceSources in{dim, x, {}, m, beta, 0};
        Sums sums(kCount, dim);
        symmetric_rows(in, {sums.pull, sums.weight, {}, {}});
        const Errors e = errors(in, sums, false);
        const std::string where = "dim " + std::to_string(dim) + " beta " + std::to_string(beta) +
                                  " radius " + std::to_string(shape.radius);
        EXPECT_LT(e.weight, tolerance(beta)) << where;
        EXPECT_LT(e.pull, tolerance(beta)) << where;
        // Inside one tight cluster all weights are near 1: beta costs nothing.
        if (shape.centres == 1 && beta * shape.radius * shape.radius < 1e-6) {
          EXPECT_LT(e.pull, 5e-15) << where;
        }
      }
}

TEST(SymmetricRows, TokensInOnePlaceHaveWeightOneAndNoPull) {
  constexpr std::size_t kCount = 140;
  for (const std::size_t dim : {2, 3, 16, 64}) {
    std::vector<double> x;
    const auto one = symmetric_tokens(1, dim, 0, 0);
    for (std::size_t i = 0; i < kCount; ++i) x.insert(x.end(), one.begin(), one.end());
    const std::vector<double> m(kCount, 1.0);
    Sums sums(kCount, dim);
    symmetric_rows({dim, x, {}, m, 1e4, 0}, sums.view());
    EXPECT_EQ(sums.weight, std::vector<double>(kCount, kCount - 1.0));
    EXPECT_EQ(sums.pull, std::vector<double>(kCount * dim, 0.0));
    EXPECT_EQ(sums.moment, std::vector<double>(kCount, 0.0));
  }
}

TEST(SymmetricRows, WeightsFollowTheExponentialDownToUnderflow) {
  // Half of the tokens at one pole, half at the other: squared distance 4, logit -2 beta.
  constexpr std::size_t kHalf = 64;
  for (const std::size_t dim : {2, 3, 16}) {
    std::vector<double> x(2 * kHalf * dim, 0.0);
    for (std::size_t i = 0; i < 2 * kHalf; ++i) x[i * dim] = i < kHalf ? 1 : -1;
    const std::vector<double> m(2 * kHalf, 1.0);
    for (double beta = 0.1; beta < 360; beta += 0.83) {
      Sums sums(2 * kHalf, dim);
      symmetric_rows({dim, x, {}, m, beta, 0}, sums.view());
      const double w = 2 * beta < 708 ? std::exp(-2 * beta) : 0;
      const double slack = 1e-15 * (5 + 2 * beta) * w * kHalf;
      ASSERT_NEAR(sums.pull[0], -2 * w * kHalf, slack) << beta;
      ASSERT_NEAR(sums.pull[kHalf * dim], 2 * w * kHalf, slack) << beta;
    }
    for (const double beta : {355.0, 1e3, 1e8, 1e300}) {
      Sums sums(2 * kHalf, dim);
      symmetric_rows({dim, x, {}, m, beta, 0}, sums.view());
      EXPECT_EQ(sums.weight[0], kHalf - 1.0) << beta;
      EXPECT_EQ(sums.pull[0], 0) << beta;
      EXPECT_EQ(sums.moment[0], 0) << beta;
    }
  }
}

TEST(SymmetricRows, BitsDoNotDependOnThreadsNorOnTheVectorLengthWithFma) {
  expect_symmetric_bits("symmetric test", {2, 3, 5, 7, 16, 40}, Precision::f64);
}

TEST(SymmetricRows, WhatIsNotAskedForChangesNoBit) {
  const std::size_t n = 200;
  for (const std::size_t dim : {3, 16}) {
    const auto x = symmetric_tokens(n, dim, 0, 0);
    for (const double mass : {1.0, 3.0}) {
      const std::vector<double> m(n, mass);
      const DistanceSources in{dim, x, {}, m, 7.0, 0};
      const Sums full = symmetric_sums(in, Precision::f64);
      Sums lean(n, dim);
      symmetric_rows(in, {{}, lean.weight, {}, {}});
      EXPECT_EQ(lean.weight, full.weight);
      symmetric_rows(in, {lean.pull, lean.weight, {}, {}});
      EXPECT_EQ(lean.pull, full.pull);
    }
  }
}

TEST(SymmetricRows, ApplyOnlyToWhatTheyCanDo) {
  const std::size_t n = 100;
  const auto x = symmetric_tokens(n, 3, 0, 0);
  std::vector<double> m(n, 1.0);
  EXPECT_TRUE(symmetric_rows_apply({3, x, {}, m, 1, 0}));
  EXPECT_FALSE(symmetric_rows_apply({3, x, x, m, 1, 0}));
  EXPECT_FALSE(symmetric_rows_apply({3, x, {}, m, 1, 0.5}));
  EXPECT_FALSE(symmetric_rows_apply({3, std::span(x).first(30), {}, std::span(m).first(10), 1, 0}));
  const auto wide = symmetric_tokens(n, 5, 0, 0);
  EXPECT_FALSE(symmetric_rows_apply({5, wide, {}, m, 1, 0}));
  m[7] = 0;
  EXPECT_FALSE(symmetric_rows_apply({3, x, {}, m, 1, 0}));
  m[7] = 1e-101;
  EXPECT_FALSE(symmetric_rows_apply({3, x, {}, m, 1, 0}));
}

}  // namespace
}  // namespace attractor::kernels
