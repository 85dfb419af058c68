#include "attractor/kernels/dense/single_rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/dense/attention_rows.hpp"
#include "attractor/kernels/dense/logit_lanes.hpp"
#include "attractor/kernels/dense/logit_panels.hpp"
#include "attractor/kernels/dense/symmetric_rows.hpp"
#include "tests/support/row_data.hpp"
#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

std::vector<double> single_tokens(std::size_t n, std::size_t dim, std::size_t centres,
                                  double radius) {
  return tokens_around("single test", n, dim, centres, radius);
}

double length(std::span<const double> x) {
  double squares = 0;
  for (const double c : x) squares += c * c;
  return std::sqrt(squares);
}

// Largest errors against plain double sums, relative to the sum of the sizes of the terms, which
// for pulls are w |x_j - x_i|.
struct SingleErrors {
  double pull = 0, weight = 0, moment = 0;
};

SingleErrors distance_errors(const DistanceSources& in, bool moments) {
  const std::size_t n = in.masses.size(), dim = in.dim;
  std::vector<std::uint32_t> rows;
  for (std::uint32_t i = 0; i < n; i += 11) rows.push_back(i);
  Sums fast(n, dim), plain(rows.size(), dim);
  RowSums out = fast.view();
  if (!moments) out.moment = {};
  symmetric_rows(in, out, Precision::f32);
  distance_rows_reference(in, rows, plain.view());
  SingleErrors worst;
  std::vector<double> step(dim);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const std::size_t i = rows[k];
    double moved = 0;
    for (std::size_t j = 0; j < n; ++j) {
      for (std::size_t a = 0; a < dim; ++a)
        step[a] = in.points[j * dim + a] - in.points[i * dim + a];
      const double r = length(step);
      moved += in.masses[j] * std::exp(-0.5 * in.beta * r * r) * r;
    }
    // Floats end at 1e-38.
    const auto raise = [](double& to, double error, double size) {
      if (size > 1e-30) to = std::max(to, std::abs(error) / size);
    };
    raise(worst.weight, fast.weight[i] - plain.weight[k], plain.weight[k]);
    if (moments) raise(worst.moment, fast.moment[i] - plain.moment[k], -plain.moment[k]);
    for (std::size_t a = 0; a < dim; ++a)
      raise(worst.pull, fast.pull[i * dim + a] - plain.pull[k * dim + a], moved);
  }
  return worst;
}

struct Shape {
  std::size_t centres;
  double radius;
};

TEST(SingleRows, SymmetricErrorsStayWithinTheBound) {
  constexpr std::size_t kCount = 311;
  for (const Shape shape : {Shape{0, 0}, {3, 0.1}, {3, 1e-2}, {1, 1e-2}, {1, 1e-5}})
    for (const std::size_t dim : {2, 3, 4, 5, 16, 64, 200})
      for (const double beta : {0.0, 1e-3, 1.0, 9.0, 100.0, 1e4})
        for (const bool even : {true, false}) {
          const auto x = single_tokens(kCount, dim, shape.centres, shape.radius);
          const auto m = even ? std::vector<double>(kCount, 2.0) : uneven_masses(kCount);
          const SingleErrors e = distance_errors({dim, x, {}, m, beta, 0}, !even);
          const std::string where = "dim " + std::to_string(dim) + " beta " + std::to_string(beta) +
                                    " centres " + std::to_string(shape.centres) + " radius " +
                                    std::to_string(shape.radius);
          const double bound = single_error(2 * beta, dim);
          EXPECT_LT(e.weight, bound) << where;
          EXPECT_LT(e.moment, bound) << where;
          // The rounding of the tokens, 2^-25 of their largest coordinate, against separations.
          const double separation = shape.centres > 1 ? 1.2e-7 / shape.radius : 0;
          EXPECT_LT(e.pull, bound + separation) << where;
        }
}

TEST(SingleRows, SymmetricBitsDoNotDependOnThreadsNorOnTheVectorLengthWithFma) {
  expect_symmetric_bits("single test", {2, 3, 5, 16, 40}, Precision::f32);
}

TEST(SingleRows, TokensInOnePlaceHaveWeightOneAndNoPull) {
  constexpr std::size_t kCount = 140;
  for (const std::size_t dim : {2, 3, 16, 64})
    for (const double beta : {0.0, 1.0, 1e4, 1e300}) {
      std::vector<double> x;
      const auto one = single_tokens(1, dim, 0, 0);
      for (std::size_t i = 0; i < kCount; ++i) x.insert(x.end(), one.begin(), one.end());
      const std::vector<double> m(kCount, 1.0);
      const Sums sums = symmetric_sums({dim, x, {}, m, beta, 0}, Precision::f32);
      EXPECT_EQ(sums.weight, std::vector<double>(kCount, kCount - 1.0));
      EXPECT_EQ(sums.pull, std::vector<double>(kCount * dim, 0.0));
      EXPECT_EQ(sums.moment, std::vector<double>(kCount, 0.0));
    }
}

TEST(SingleRows, MassesThatFloatsCannotHoldAreTakenInDouble) {
  constexpr std::size_t kCount = 150;
  const auto x = single_tokens(kCount, 3, 0, 0);
  std::vector<double> m(kCount, 1.0);
  m[7] = 1e40;
  const DistanceSources in{3, x, {}, m, 2.0, 0};
  const Sums single = symmetric_sums(in, Precision::f32);
  Sums full(kCount, 3);
  symmetric_rows(in, full.view());
  EXPECT_EQ(single.weight, full.weight);
  EXPECT_EQ(single.pull, full.pull);
}

// Queries, keys and values with logits within beta * 2.2.
struct SingleProblem {
  std::size_t n, dim;
  std::vector<double> q, k, v, m;
  SingleProblem(std::size_t count, std::size_t d, bool even) : n(count), dim(d) {
    q = single_tokens(n, dim, 0, 0);
    k = single_tokens(n, dim, 4, 0.3);
    v = single_tokens(n, dim, 7, 0.5);
    m = even ? std::vector<double>(n, 3.0) : uneven_masses(n);
    for (double& c : q) c *= 2.2;
  }
  LogitSources sources(double beta) const { return {dim, q, k, v, m, beta}; }
};

void compare_logits(const LogitSources& in, Precision precision, double slack) {
  const std::size_t n = in.masses.size(), dim = in.dim;
  Sums fast(n, dim), plain(n, dim);
  logit_rows(in, {}, fast.view(), precision);
  logit_rows_reference(in, {}, plain.view());
  for (std::size_t i = 0; i < n; ++i) {
    const std::string where = "dim " + std::to_string(dim) + " n " + std::to_string(n) + " beta " +
                              std::to_string(in.beta) + " row " + std::to_string(i);
    // Both peaks are allowed: compare at the plain one.
    const double unit = std::exp(fast.peak[i] - plain.peak[i]), size = plain.weight[i];
    ASSERT_NEAR(fast.peak[i], plain.peak[i], slack * (1 + 2.2 * in.beta)) << where;
    ASSERT_NEAR(unit * fast.weight[i], size, slack * size) << where;
    ASSERT_NEAR(unit * fast.moment[i], plain.moment[i], slack * (1 + 2.2 * in.beta) * size)
        << where;
    for (std::size_t a = 0; a < dim; ++a)
      ASSERT_NEAR(unit * fast.pull[i * dim + a], plain.pull[i * dim + a], slack * 2 * size)
          << where;
  }
}

class SingleOnEveryTarget : public OnOneTarget {};

TEST_P(SingleOnEveryTarget, LogitErrorsStayWithinTheBound) {
  for (const std::size_t dim : {2, 3, 4, 5, 16, 33})
    for (const std::size_t n : {33, 130})
      for (const double beta : {0.0, 1.0, 9.0, 100.0})
        for (const bool even : {true, false}) {
          const SingleProblem problem(n, dim, even);
          compare_logits(problem.sources(beta), Precision::f32, single_error(2.2 * beta, dim));
        }
}

TEST_P(SingleOnEveryTarget, LanesInDoubleEqualPlainLoops) {
  for (const std::size_t dim : {2, 3, 4})
    for (const std::size_t n : {32, 67, 301})
      for (const double beta : {0.0, 9.0, 100.0})
        for (const bool even : {true, false}) {
          const SingleProblem problem(n, dim, even);
          ASSERT_TRUE(logit_lanes_apply(problem.sources(beta), Precision::f64));
          compare_logits(problem.sources(beta), Precision::f64, 1e-14 + 1e-15 * 2.2 * beta);
        }
}

TEST_P(SingleOnEveryTarget, SymmetricRowsEqualPlainLoopsAtOddSizes) {
  for (const std::size_t dim : {1, 2, 3, 4, 5, 16, 17, 33})
    for (const std::size_t n : {128, 143, 195}) {
      const auto x = single_tokens(n, dim, 0, 0);
      const auto m = uneven_masses(n);
      const SingleErrors e = distance_errors({dim, x, {}, m, 4.0, 0}, true);
      EXPECT_LT(std::max({e.weight, e.pull}), single_error(8, dim)) << dim << " " << n;
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, SingleOnEveryTarget, testing::ValuesIn(every_target()),
                         target_name);

TEST(LogitLanes, ApplyOnlyToBoundedLogitsAndFewCoordinates) {
  const SingleProblem problem(100, 3, true);
  EXPECT_TRUE(logit_lanes_apply(problem.sources(136), Precision::f64));  // 136 * 2.2 < 300
  EXPECT_FALSE(logit_lanes_apply(problem.sources(137), Precision::f64));
  EXPECT_TRUE(logit_lanes_apply(problem.sources(18), Precision::f32));
  EXPECT_FALSE(logit_lanes_apply(problem.sources(19), Precision::f32));
  EXPECT_FALSE(logit_lanes_apply(SingleProblem(100, 5, true).sources(1), Precision::f64));
  EXPECT_FALSE(logit_lanes_apply(SingleProblem(31, 3, true).sources(1), Precision::f64));
}

TEST(LogitLanes, BitsDoNotDependOnThreadsRowsOrTheVectorLengthWithFma) {
  for (const Precision precision : {Precision::f64, Precision::f32})
    for (const std::size_t dim : {2, 3, 4, 24}) {
      const SingleProblem problem(1203, dim, false);
      const LogitSources in = problem.sources(3.0);
      const auto sums = [&] {
        Sums s(problem.n, dim);
        logit_rows(in, {}, s.view(), precision);
        return s;
      };
      expect_bits_of_threads_and_vectors(sums);
      const std::vector<std::uint32_t> rows = {1202, 7, 7, 0, 255, 256, 31};
      Sums some(rows.size(), dim);
      logit_rows(in, rows, some.view(), precision);
      expect_chosen_rows(some, rows, sums(), dim);
    }
}

TEST(LogitLanes, PullsAmongNearlyEqualValuesKeepTheirRelativeAccuracy) {
  SingleProblem problem(200, 3, true);
  for (double& c : problem.v) c = 1 + 1e-9 * c;
  const LogitSources in = problem.sources(2.0);
  Sums fast(problem.n, 3), plain(problem.n, 3);
  logit_rows(in, {}, fast.view());
  logit_rows_reference(in, {}, plain.view());
  for (std::size_t i = 0; i < problem.n; ++i)
    for (std::size_t a = 0; a < 3; ++a)
      EXPECT_NEAR(fast.pull[i * 3 + a], plain.pull[i * 3 + a], 2e-14 * 2e-9 * plain.weight[i]);
}

}  // namespace
}  // namespace attractor::kernels
