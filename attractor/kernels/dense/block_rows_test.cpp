#include "attractor/kernels/dense/block_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "attractor/base/threads.hpp"
#include "attractor/kernels/dense/attention_rows.hpp"
#include "tests/support/random_rows.hpp"
#include "tests/support/row_data.hpp"

namespace attractor::kernels {
namespace {

std::vector<double> unit_tokens(std::size_t n, std::size_t dim, std::uint64_t seed) {
  return unit_rows(normals_of("block rows test", seed, n, dim), dim);
}

std::vector<double> joined(std::vector<double> a, const std::vector<double>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Sizes around the number of targets that are taken together, and of a SIMD tile.
struct Size {
  std::size_t targets, sources, dim;
};
constexpr Size kSizes[] = {{1, 1, 2},   {1, 9, 3},    {5, 1, 4},     {37, 70, 3},
                           {513, 8, 2}, {40, 33, 16}, {1030, 67, 9}, {512, 40, 5}};

// The definition, in long double.
TEST(BlockRows, DistancesEqualTheDefinition) {
  for (const Size& s : kSizes)
    for (const double beta : {0.0, 4.0, 200.0})
      for (const bool own_values : {false, true}) {
        const auto x = unit_tokens(s.targets, s.dim, 1), y = unit_tokens(s.sources, s.dim, 2);
        const auto v = own_values ? unit_tokens(s.targets, s.dim, 3) : std::vector<double>{};
        const auto w = own_values ? unit_tokens(s.sources, s.dim, 4) : std::vector<double>{};
        std::vector<double> masses(s.sources);
        for (std::size_t j = 0; j < s.sources; ++j) masses[j] = 1 + static_cast<double>(j % 3);
        const double shift = 0.3;
        Sums sums(s.targets, s.dim);
        distance_rows_between({x, {}, v}, {s.dim, y, w, masses, beta, shift}, sums.view());
        const auto& from = own_values ? v : x;
        const auto& to = own_values ? w : y;
        for (std::size_t i = 0; i < s.targets; ++i) {
          long double weight = 0, moment = 0;
          std::vector<long double> pull(s.dim, 0);
          for (std::size_t j = 0; j < s.sources; ++j) {
            long double squared = 0;
            for (std::size_t a = 0; a < s.dim; ++a)
              squared += std::pow(static_cast<long double>(x[i * s.dim + a]) - y[j * s.dim + a], 2);
            const long double logit = shift - 0.5L * beta * squared;
            const long double m = masses[j] * std::exp(logit);
            weight += m;
            moment += m * logit;
            for (std::size_t a = 0; a < s.dim; ++a)
              pull[a] += m * (static_cast<long double>(to[j * s.dim + a]) - from[i * s.dim + a]);
          }
          const double slack = 1e-15 * (20 + beta) * static_cast<double>(weight);
          ASSERT_NEAR(sums.weight[i], static_cast<double>(weight), slack);
          ASSERT_NEAR(sums.moment[i], static_cast<double>(moment), slack * (1 + 2 * beta));
          for (std::size_t a = 0; a < s.dim; ++a)
            ASSERT_NEAR(sums.pull[i * s.dim + a], static_cast<double>(pull[a]), 2 * slack);
        }
      }
}

// sum e^{peak} against the definition relative to the largest logit of the row.
TEST(BlockRows, LogitsEqualTheDefinition) {
  for (const Size& s : kSizes)
    for (const double beta : {0.0, 3.0, 100.0}) {
      const auto q = unit_tokens(s.targets, s.dim, 5), own = unit_tokens(s.targets, s.dim, 6);
      const auto v = unit_tokens(s.targets, s.dim, 7);
      const auto k = unit_tokens(s.sources, s.dim, 8), w = unit_tokens(s.sources, s.dim, 9);
      const std::vector<double> masses(s.sources, 2.0);
      Sums sums(s.targets, s.dim);
      logit_rows_between({q, own, v}, {s.dim, {}, k, w, masses, beta}, sums.view());
      for (std::size_t i = 0; i < s.targets; ++i) {
        long double weight = 0;
        std::vector<long double> pull(s.dim, 0);
        for (std::size_t j = 0; j < s.sources; ++j) {
          long double product = 0;
          for (std::size_t a = 0; a < s.dim; ++a)
            product += static_cast<long double>(q[i * s.dim + a]) * k[j * s.dim + a];
          ASSERT_LE(beta * static_cast<double>(product), sums.peak[i] + 1e-13 * (1 + beta));
          const long double m = masses[j] * std::exp(beta * product - sums.peak[i]);
          weight += m;
          for (std::size_t a = 0; a < s.dim; ++a)
            pull[a] += m * (static_cast<long double>(w[j * s.dim + a]) - v[i * s.dim + a]);
        }
        const double slack = 1e-15 * (20 + 3 * beta) * static_cast<double>(weight);
        ASSERT_NEAR(sums.weight[i], static_cast<double>(weight), slack);
        for (std::size_t a = 0; a < s.dim; ++a)
          ASSERT_NEAR(sums.pull[i * s.dim + a], static_cast<double>(pull[a]), 2 * slack);
      }
    }
}

// Two blocks make the rows of both together: what a ring of ranks relies on.
TEST(BlockRows, TwoBlocksAddUpToTheRowsOfBoth) {
  const std::size_t n = 40, m = 55, dim = 10;
  auto q = unit_tokens(n + m, dim, 10);
  for (double& c : q) c *= 6;  // logits far apart: peaks differ from block to block
  const auto k = unit_tokens(n + m, dim, 11), v = unit_tokens(n + m, dim, 12);
  const std::vector<double> ones(n + m, 1.0);
  const auto head = [&](const std::vector<double>& x) { return std::span(x).first(n * dim); };
  const auto tail = [&](const std::vector<double>& x) { return std::span(x).last(m * dim); };
  for (const double beta : {1.0, 50.0}) {
    Sums all(n + m, dim), own(n, dim), more(n, dim);
    logit_rows({dim, q, k, v, ones, beta}, {}, all.view());
    logit_rows({dim, head(q), head(k), head(v), std::span(ones).first(n), beta}, {}, own.view());
    logit_rows_between({head(q), head(k), head(v)},
                       {dim, {}, tail(k), tail(v), std::span(ones).first(m), beta}, more.view());
    add_rows(more.view(), dim, own.view());
    for (std::size_t i = 0; i < n; ++i) {
      const double scale = std::exp(own.peak[i] - all.peak[i]);
      const double slack = 1e-14 * (1 + 6 * beta) * all.weight[i];
      EXPECT_NEAR(scale * own.weight[i], all.weight[i], slack);
      for (std::size_t a = 0; a < dim; ++a)
        EXPECT_NEAR(scale * own.pull[i * dim + a], all.pull[i * dim + a], 2 * slack);
    }
  }
}

TEST(BlockRows, NothingSummedYetHasNoPart) {
  const double lowest = std::numeric_limits<double>::lowest();
  std::vector<double> pull = {0, 0}, weight = {0}, peak = {lowest};
  std::vector<double> more_pull = {1, -2}, more_weight = {3}, more_peak = {-700};
  add_rows({more_pull, more_weight, {}, more_peak}, 2, {pull, weight, {}, peak});
  EXPECT_EQ(pull, more_pull);
  EXPECT_EQ(weight, more_weight);
  EXPECT_EQ(peak, more_peak);
}

TEST(BlockRows, PullBetweenNearTokensKeepsItsRelativeAccuracy) {
  const double offset = 0x1p-30;
  const std::vector<double> x = {1, 0, 0}, y = {1, offset, 0}, mass = {3};
  Sums sums(1, 3);
  distance_rows_between({x, {}, {}}, {3, y, {}, mass, 40.0, 0}, sums.view());
  EXPECT_NEAR(sums.pull[1], 3 * offset, 1e-15 * offset);
}

TEST(BlockRows, BitsDoNotDependOnThreadsAndTheCallerIsAskedBetween) {
  const std::size_t n = 1100, m = 300, dim = 6;
  const auto x = unit_tokens(n, dim, 13), y = unit_tokens(m, dim, 14);
  const std::vector<double> ones(m, 1.0);
  int asked = 0;
  const auto sums = [&] {
    Sums s(n, dim);
    distance_rows_between({x, {}, {}}, {dim, y, {}, ones, 5.0, 0}, s.view(), [&] { ++asked; });
    return joined(s.pull, s.weight);
  };
  set_threads(1);
  const auto first = sums();
  EXPECT_GE(asked, 2);
  for (std::size_t count : {2, 3, 5}) {
    set_threads(count);
    EXPECT_EQ(sums(), first) << count << " threads";
  }
  set_threads(0);
}

}  // namespace
}  // namespace attractor::kernels
