#include "attractor/kernels/dense/logit_panels.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/support/random_rows.hpp"
#include "tests/support/row_data.hpp"
#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

using Real = long double;

std::vector<double> gaussian(const char* name, std::size_t n, std::size_t dim, double size) {
  std::vector<double> x = normals_of(name, 4, n, dim);
  for (double& c : x) c *= size;
  return x;
}

struct Problem {
  std::size_t n, dim;
  std::vector<double> q, k, v, m;
  Problem(std::size_t count, std::size_t d)
      : n(count),
        dim(d),
        q(gaussian("q", n, d, 1)),
        k(gaussian("k", n, d, 1 / std::sqrt(static_cast<double>(d)))),
        v(gaussian("v", n, d, 1)),
        m(n) {
    for (std::size_t i = 0; i < n; ++i) m[i] = 0.5 + static_cast<double>(i % 3);
  }
  LogitSources sources(double beta) const { return {dim, q, k, v, m, beta}; }
};

// Row i in long double, relative to the given peak.
struct Row {
  Real weight = 0, moment = 0, moved = 0;
  std::vector<Real> pull;
};

Row exact_row(const LogitSources& in, std::size_t i, double peak) {
  const std::size_t dim = in.dim;
  Row row;
  row.pull.resize(dim);
  for (std::size_t j = 0; j < in.masses.size(); ++j) {
    if (j == i) continue;
    Real logit = 0, length = 0;
    for (std::size_t a = 0; a < dim; ++a)
      logit += static_cast<Real>(in.queries[i * dim + a]) * in.keys[j * dim + a];
    logit *= in.beta;
    const Real w = in.masses[j] * std::exp(logit - peak);
    row.weight += w;
    row.moment += w * logit;
    for (std::size_t a = 0; a < dim; ++a) {
      const Real step = static_cast<Real>(in.values[j * dim + a]) - in.values[i * dim + a];
      row.pull[a] += w * step;
      length += step * step;
    }
    row.moved += w * std::sqrt(length);
  }
  return row;
}

class PanelsOnEveryTarget : public OnOneTarget {};

TEST_P(PanelsOnEveryTarget, EqualLongDoubleSumsAtOddSizes) {
  for (const std::size_t dim : {8, 13, 16, 40, 131, 261})
    for (const std::size_t n : {32, 49, 300})
      for (const double beta : {0.0, 1.0, 200.0}) {
        const Problem problem(n, dim);
        const LogitSources in = problem.sources(beta);
        ASSERT_TRUE(logit_panels_apply(in));
        Sums sums(n, dim);
        logit_panels(in, {}, sums.view());
        // Logits reach about 5 beta; their rounding moves the weights.
        const double slack = 1e-14 + 1e-15 * 5 * beta;
        for (std::size_t i = 0; i < n; i += 7) {
          const Row row = exact_row(in, i, sums.peak[i]);
          const double size = static_cast<double>(row.weight);
          ASSERT_NEAR(sums.weight[i], size, slack * size) << dim << " " << n << " " << beta;
          ASSERT_NEAR(sums.moment[i], static_cast<double>(row.moment), slack * 5 * beta * size);
          for (std::size_t a = 0; a < dim; ++a)
            ASSERT_NEAR(sums.pull[i * dim + a], static_cast<double>(row.pull[a]),
                        slack * static_cast<double>(row.moved));
        }
      }
}

TEST_P(PanelsOnEveryTarget, RowProductsAreMatrixTimesRow) {
  for (const std::size_t dim : {1, 3, 8, 16, 37, 131, 256})
    for (const std::size_t outputs : {1, 16, 21})
      for (const std::size_t n : {1, 12, 50}) {
        const auto x = gaussian("x", n, dim, 1), matrix = gaussian("matrix", outputs, dim, 1);
        std::vector<double> out(n * outputs);
        row_products(x, matrix, dim, out);
        for (std::size_t i = 0; i < n; ++i)
          for (std::size_t o = 0; o < outputs; ++o) {
            Real exact = 0, size = 0;
            for (std::size_t a = 0; a < dim; ++a) {
              const Real term = static_cast<Real>(matrix[o * dim + a]) * x[i * dim + a];
              exact += term;
              size += std::abs(term);
            }
            ASSERT_NEAR(out[i * outputs + o], static_cast<double>(exact),
                        1e-16 * static_cast<double>((dim + 1) * size));
          }
      }
}

INSTANTIATE_TEST_SUITE_P(Kernels, PanelsOnEveryTarget, testing::ValuesIn(every_target()),
                         target_name);

TEST(LogitPanels, BitsDoNotDependOnThreadsRowsOrTheVectorLengthWithFma) {
  const Problem problem(403, 24);
  const LogitSources in = problem.sources(3.0);
  const auto sums = [&] {
    Sums s(problem.n, problem.dim);
    logit_panels(in, {}, s.view());
    return s;
  };
  expect_bits_of_threads_and_vectors(sums);
  const std::vector<std::uint32_t> rows = {402, 7, 7, 0, 255, 256, 31, 30, 29, 28, 27, 26, 25};
  Sums some(rows.size(), problem.dim);
  logit_panels(in, rows, some.view());
  expect_chosen_rows(some, rows, sums(), problem.dim);
}

TEST(LogitPanels, PullsAmongNearlyEqualValuesKeepTheirRelativeAccuracy) {
  Problem problem(100, 16);
  for (std::size_t i = 0; i < problem.n; ++i)
    for (std::size_t a = 0; a < 16; ++a) problem.v[i * 16 + a] = 1 + 1e-9 * problem.v[i * 16 + a];
  const LogitSources in = problem.sources(2.0);
  Sums sums(problem.n, 16);
  logit_panels(in, {}, sums.view());
  for (std::size_t i = 0; i < problem.n; i += 9) {
    const Row row = exact_row(in, i, sums.peak[i]);
    for (std::size_t a = 0; a < 16; ++a)
      EXPECT_NEAR(sums.pull[i * 16 + a], static_cast<double>(row.pull[a]),
                  2e-14 * static_cast<double>(row.moved));
  }
}

// Chunks of 256 sources: within the cluster, half of it, light tokens elsewhere, the cluster again.
TEST(LogitPanels, RowsThatMeetNearAndFarValuesInTurnKeepTheirRelativeAccuracy) {
  constexpr std::size_t kDim = 24;
  Problem problem(1200, kDim);
  for (std::size_t i = 0; i < problem.n; ++i) {
    if (i >= 400 && i < 800) {
      problem.m[i] = 1e-12;
    } else {
      for (std::size_t a = i * kDim; a < (i + 1) * kDim; ++a)
        problem.v[a] = 1 + 1e-7 * problem.v[a];
    }
  }
  const LogitSources in = problem.sources(2.0);
  Sums sums(problem.n, kDim);
  logit_panels(in, {}, sums.view());
  for (std::size_t i = 0; i < problem.n; i += 7) {
    const Row row = exact_row(in, i, sums.peak[i]);
    for (std::size_t a = 0; a < kDim; ++a)
      EXPECT_NEAR(sums.pull[i * kDim + a], static_cast<double>(row.pull[a]),
                  2e-14 * static_cast<double>(row.moved));
  }
}

TEST(LogitPanels, ThePeakIsTheLargestOtherLogitAndFarLogitsDoNotOverflow) {
  Problem problem(600, 8);
  const LogitSources in = problem.sources(1e5);
  Sums sums(problem.n, 8);
  logit_panels(in, {}, sums.view());
  for (std::size_t i = 0; i < problem.n; ++i) {
    double most = -std::numeric_limits<double>::infinity();
    for (std::size_t j = 0; j < problem.n; ++j) {
      double logit = 0;
      for (std::size_t a = 0; a < 8; ++a) logit += problem.q[i * 8 + a] * problem.k[j * 8 + a];
      if (j != i) most = std::max(most, 1e5 * logit);
    }
    EXPECT_NEAR(sums.peak[i], most, 1e-15 * 1e6);
    EXPECT_GE(sums.weight[i], 0.5);  // the smallest mass at the peak
    EXPECT_TRUE(std::isfinite(sums.weight[i]) && std::isfinite(sums.moment[i]));
  }
}

}  // namespace
}  // namespace attractor::kernels
