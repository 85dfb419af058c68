#include "attractor/kernels/dense/attention_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/random_rows.hpp"
#include "tests/support/row_data.hpp"
#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

std::vector<double> sphere_points(std::size_t n, std::size_t dim, std::uint64_t seed) {
  return unit_rows(normals_of("test points", seed, n, dim), dim);
}

std::vector<double> some_masses(std::size_t n) {
  std::vector<double> m(n);
  for (std::size_t i = 0; i < n; ++i) m[i] = 1 + static_cast<double>(i % 5);
  return m;
}

// Sums of n positive terms: the order of summation moves them by a few ulp.
void expect_close(const std::vector<double>& a, const std::vector<double>& b, double scale_floor,
                  const char* what) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k)
    EXPECT_NEAR(a[k], b[k], 4e-14 * std::max(std::abs(b[k]), scale_floor)) << what << " " << k;
}

void compare_distance(const DistanceSources& in, std::span<const std::uint32_t> rows) {
  const std::size_t count = rows.empty() ? in.masses.size() : rows.size();
  Sums fused(count, in.dim), plain(count, in.dim);
  distance_rows(in, rows, fused.view());
  distance_rows_reference(in, rows, plain.view());
  double largest = 0;
  for (double w : plain.weight) largest = std::max(largest, w);
  expect_close(fused.weight, plain.weight, 0, "weight");
  expect_close(fused.moment, plain.moment, largest * std::max(1.0, in.beta), "moment");
  expect_close(fused.pull, plain.pull, largest, "pull");
}

class EveryTarget : public OnOneTarget {};

TEST_P(EveryTarget, DistanceRowsEqualPlainLoopsAtOddSizes) {
  for (std::size_t dim : {2, 3, 4, 5, 7, 16, 33, 64})
    for (std::size_t n : {1, 2, 3, 5, 8, 13, 67}) {
      const auto x = sphere_points(n, dim, 1);
      const auto m = some_masses(n);
      for (double beta : {0.0, 1.0, 40.0}) compare_distance({dim, x, {}, m, beta, 0}, {});
    }
}

TEST_P(EveryTarget, DistanceRowsTakeValuesRowsAndLift) {
  const std::size_t n = 37, dim = 6;
  const auto x = sphere_points(n, dim, 2), v = sphere_points(n, dim, 3);
  const auto m = some_masses(n);
  const std::vector<std::uint32_t> rows = {36, 0, 5, 5, 17};
  compare_distance({dim, x, v, m, 9.0, 0}, rows);
  compare_distance({dim, x, v, m, 400.0, 30.0}, rows);
}

TEST_P(EveryTarget, LogitRowsEqualPlainLoopsAtOddSizes) {
  for (std::size_t dim : {2, 3, 4, 5, 16, 33})
    for (std::size_t n : {1, 2, 5, 8, 67}) {
      auto q = sphere_points(n, dim, 4), k = sphere_points(n, dim, 5), v = sphere_points(n, dim, 6);
      for (double& c : q) c *= 7;  // logits far apart: the peak moves along the row
      const auto m = some_masses(n);
      for (double beta : {0.0, 1.0, 300.0}) {
        Sums fused(n, dim), plain(n, dim);
        const LogitSources in{dim, q, k, v, m, beta};
        logit_rows(in, {}, fused.view());
        logit_rows_reference(in, {}, plain.view());
        expect_close(fused.peak, plain.peak, 1, "peak");
        // e^{l - peak} amplifies the rounding of a logit of size 7 beta.
        const double slack = 1 + 7 * beta;
        for (std::size_t i = 0; i < n; ++i) {
          EXPECT_NEAR(fused.weight[i], plain.weight[i], 1e-15 * slack * (1 + plain.weight[i]));
          for (std::size_t a = 0; a < dim; ++a)
            EXPECT_NEAR(fused.pull[i * dim + a], plain.pull[i * dim + a],
                        2e-15 * slack * (1 + plain.weight[i]));
        }
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Kernels, EveryTarget, testing::ValuesIn(every_target()), target_name);

TEST(AttentionRows, BitsDoNotDependOnThreadsNorOnTheVectorLengthWithFma) {
  const std::size_t n = 301, dim = 5;
  const auto x = sphere_points(n, dim, 7);
  const auto m = some_masses(n);
  expect_bits_of_threads_and_vectors([&] {
    Sums s(n, dim);
    distance_rows({dim, x, {}, m, 12.0, 0}, {}, s.view());
    return s;
  });
}

// A source at distance r on a line through the target: weight = e^{shift - beta r^2/2} to the last
// digits, over the whole range of the exponential.
TEST(AttentionRows, WeightsFollowTheExponentialFromUnderflowToOverflow) {
  for (double logit = -707; logit < 709; logit += 0.37) {
    const std::vector<double> x = {1, 0, 1, 1}, m = {1, 1};  // squared distance 1
    Sums s(2, 2);
    const double beta = 2 * (710 - logit), shift = 710;
    distance_rows({2, x, {}, m, beta, shift}, {}, s.view());
    const double exact =
        static_cast<double>(std::exp(static_cast<long double>(shift - 0.5 * beta)));
    EXPECT_NEAR(s.weight[0] / exact, 1, 5e-16) << logit;
  }
  for (double logit : {-720.0, -745.0, -1e5, -1e300}) {
    const std::vector<double> x = {1, 0, 1, 1}, m = {1, 1};
    Sums s(2, 2);
    distance_rows({2, x, {}, m, -2 * logit, 0}, {}, s.view());
    EXPECT_EQ(s.weight[0], 0) << logit;
    EXPECT_EQ(s.pull[1], 0) << logit;
  }
}

TEST(AttentionRows, PullInsideATinyClusterKeepsItsRelativeAccuracy) {
  // Two tokens 1e-9 apart: the pull is their difference times a weight of one, not a cancelled sum.
  const double offset = 0x1p-30;
  const std::vector<double> x = {1, 0, 0, 1, offset, 0}, m = {1, 3};
  Sums s(2, 3);
  distance_rows({3, x, {}, m, 40.0, 0}, {}, s.view());
  EXPECT_NEAR(s.pull[1], 3 * offset, 1e-15 * offset);
}

}  // namespace
}  // namespace attractor::kernels
