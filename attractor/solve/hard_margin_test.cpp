#include "attractor/solve/hard_margin.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "tests/support/margin_data.hpp"

namespace attractor::solve {
namespace {

std::vector<double> hard_normals(std::uint64_t seed, std::size_t count, std::size_t dim) {
  return normals_of("test.hard_margin", seed, count, dim);
}

// Token choices that a random direction makes.
TokenChoice hard_choice(std::span<const double> keys, std::size_t tokens, std::size_t dim,
                        std::uint64_t seed) {
  return choice_of(hard_normals(seed + 1000000, 1, dim), keys, tokens);
}

struct Sums {
  std::vector<long double> rows;  // G^T lambda
  long double bounds = 0, lengths = 0;
};

Sums combine(const Constraints& constraints, std::span<const Multiplier> lambda) {
  Sums sums{.rows = std::vector<long double>(constraints.dim(), 0)};
  for (const auto& [j, value] : lambda) {
    EXPECT_LT(j, constraints.size());
    EXPECT_GT(value, 0);
    const std::vector<long double> row = whole_row(constraints, j);
    long double square = 0;
    for (std::size_t a = 0; a < row.size(); ++a) {
      sums.rows[a] += static_cast<long double>(value) * row[a];
      square += static_cast<long double>(row[a]) * row[a];
    }
    sums.bounds += static_cast<long double>(value) * constraints.bound(j);
    sums.lengths += value * std::sqrt(square);
  }
  return sums;
}

long double extended_length(std::span<const long double> x) {
  long double square = 0;
  for (const long double value : x) square += value * value;
  return std::sqrt(square);
}

// The conditions of Karush, Kuhn and Tucker, or those of Farkas, without the solver's own sums.
void expect_proved(const HardMargin& found, const Constraints& constraints) {
  if (found.status == MarginStatus::infeasible) {
    const Sums sums = combine(constraints, found.farkas);
    EXPECT_GT(sums.bounds, 0);
    EXPECT_LE(extended_length(sums.rows), 2e-15L * sums.lengths);
    const long double residual = sums.lengths > 0 ? extended_length(sums.rows) / sums.lengths : 0;
    EXPECT_NEAR(found.farkas_residual, static_cast<double>(residual), 1e-18);
    return;
  }
  ASSERT_EQ(found.status, MarginStatus::optimal);
  EXPECT_LE(found.relative_gap, 1e-12);
  EXPECT_TRUE(found.farkas.empty());
  ASSERT_EQ(found.p.size(), constraints.dim());
  const Sums sums = combine(constraints, found.support);
  const long double unit = 1e-14L * (sums.lengths + found.norm);
  for (std::size_t a = 0; a < found.p.size(); ++a)
    EXPECT_NEAR(static_cast<double>(sums.rows[a] - found.p[a]), 0, static_cast<double>(unit));
  long double smallest = INFINITY;
  double largest = 0;
  std::vector<double> slacks(constraints.size());
  for (std::size_t j = 0; j < constraints.size(); ++j) {
    const std::vector<long double> row = whole_row(constraints, j);
    const long double slack = extended_product(found.p, row) - constraints.bound(j);
    const double size =
        static_cast<double>(extended_length(row)) * found.norm + std::abs(constraints.bound(j));
    EXPECT_GE(slack, -1e-14L * size) << j;
    slacks[j] = static_cast<double>(slack / (size > 0 ? size : 1));
    smallest = std::min(smallest, slack);
    largest = std::max(largest, size);
  }
  for (const auto& [j, value] : found.support) EXPECT_NEAR(slacks[j], 0, 1e-14) << j;
  if (constraints.size() > 0) {
    EXPECT_NEAR(found.smallest_slack, static_cast<double>(smallest), 1e-17 * largest);
  }
}

void expect_point(const HardMargin& found, std::span<const double> p, double tolerance) {
  EXPECT_EQ(found.status, MarginStatus::optimal);
  ASSERT_EQ(found.p.size(), p.size());
  for (std::size_t a = 0; a < p.size(); ++a) EXPECT_NEAR(found.p[a], p[a], tolerance) << a;
}

TEST(HardMargin, SingleInputOfThePaper) {
  const std::vector<double> keys{-0.1, 1, 1, 0, 0, 0};
  const std::vector<std::vector<double>> exact{{-10.0 / 101, 100.0 / 101}, {1, 0}, {-1, -1.1}};
  for (std::size_t alpha = 0; alpha < 3; ++alpha) {
    const TokenDifferences rows(keys, 3, 2, {.chosen = {alpha}});
    const HardMargin found = hard_margin(rows);
    expect_proved(found, rows);
    expect_point(found, exact[alpha], 1e-14);
    EXPECT_NEAR(found.norm, std::hypot(exact[alpha][0], exact[alpha][1]), 1e-14);
  }
}

TEST(HardMargin, CounterexampleOfTheTheoryReference) {
  const std::vector<double> keys = sines(3, 4, 6, 0);
  const TokenDifferences global(keys, 4, 6, {.chosen = {0, 0, 0}});
  const TokenDifferences local(keys, 4, 6, {.chosen = {2, 0, 0}});
  const HardMargin far = hard_margin(global), near = hard_margin(local);
  expect_proved(far, global);
  expect_proved(near, local);
  EXPECT_NEAR(far.norm, 2.515870613374, 5e-13);
  EXPECT_NEAR(near.norm, 0.7407530046134, 5e-14);
  std::vector<double> margins(local.size());
  local.products(near.p, margins);
  EXPECT_NEAR(*std::min_element(margins.begin(), margins.begin() + 3), 1.198902953110, 5e-13);
  for (const Multiplier& m : near.support) EXPECT_NE(local.group(m.index), 0);
  const HardMargin others =
      hard_margin(TokenDifferences(std::span(keys).subspan(24), 4, 6, {.chosen = {0, 0}}));
  EXPECT_NEAR(others.norm, near.norm, 1e-15);
}

TEST(HardMargin, ThreeInputsLikeTheAuthors) {
  std::vector<double> keys = sines(3, 7, 2, 2);
  for (std::size_t k = 0; k < keys.size(); ++k) {
    const std::size_t t = k / 2 % 7;
    const double x = t == 0 ? 1 : t < 4 ? -1 : -0.5, y = t == 0 ? 0 : t < 4 ? 1 : -0.5;
    keys[k] = 0.2 * keys[k] + (k % 2 == 0 ? x : y);
  }
  const TokenDifferences rows(keys, 7, 2, {.chosen = {0, 0, 0}});
  const HardMargin found = hard_margin(rows);
  expect_proved(found, rows);
  EXPECT_NEAR(found.norm, 0.7351361561944, 5e-14);
  expect_point(found, std::vector{0.7029137519805, 0.2152612956874}, 5e-14);
  EXPECT_EQ(found.support.size(), 2);
}

TEST(HardMargin, JointDataFullAndRelaxed) {
  const auto solve = [](double height, bool relaxed) {
    const std::vector<double> keys{0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0.5, height};
    return hard_margin(
        TokenDifferences(keys, 2, 2, {.chosen = {1, 1, 1}, .relaxed = {false, false, relaxed}}));
  };
  expect_point(solve(1, false), std::vector{4.0 / 3, 1.0 / 3}, 1e-15);
  expect_point(solve(1.5, true), std::vector{1.0, 0.0}, 1e-15);
  expect_point(solve(1.5, false), std::vector{1.25, 0.25}, 1e-15);
}

TEST(HardMargin, NothingToDo) {
  const Dense none{{}, {}, 3}, slack{{1, 2, 0, 0}, {-1, 0}, 2};
  for (const Dense& problem : {none, slack}) {
    const HardMargin found = hard_margin(problem.constraints());
    expect_proved(found, problem.constraints());
    EXPECT_EQ(found.p, std::vector<double>(problem.dim, 0.0));
    EXPECT_EQ(found.relative_gap, 0);
  }
}

TEST(HardMargin, ZeroRowIsNamed) {
  const std::vector<double> keys{1, 2, 3, 4, 5, 6, 1, 1, 7, 8, 7, 8};  // input 1: token 2 = token 1
  const TokenDifferences rows(keys, 3, 2, {.chosen = {0, 1}});
  const HardMargin found = hard_margin(rows);
  ASSERT_EQ(found.status, MarginStatus::infeasible);
  ASSERT_EQ(found.farkas.size(), 1);
  EXPECT_EQ(found.farkas[0].index, 3);
  EXPECT_EQ(rows.token(3), 2);
  EXPECT_EQ(found.farkas_residual, 0);
}

TEST(HardMargin, OppositeRowsAreInfeasible) {
  for (const double size : {1.0, 1e-8, 1e8}) {
    const Dense problem{{1, 2, 0, 1, -size, -2 * size}, {1, 1, 1}, 2};
    const HardMargin found = hard_margin(problem.constraints());
    expect_proved(found, problem.constraints());
    ASSERT_EQ(found.status, MarginStatus::infeasible);
    // In WebAssembly, without fused multiply-adds, the row that takes no part has a weight of
    // rounding.
    if (kExtendedPowerEpsilon == kExtendedEpsilon) {
      ASSERT_EQ(found.farkas.size(), 2) << size;
    }
    std::vector<double> weight(3, 0.0);
    for (const Multiplier& m : found.farkas) weight[m.index] = m.value;
    EXPECT_NEAR(weight[0] / (size * weight[2]), 1, 1e-15) << size;
    EXPECT_LE(weight[1], 1e-15 * weight[0]) << size;
  }
}

// A plane as two half-spaces: p = (1, 2) / 5 is not a pair of doubles, none satisfies both rows.
TEST(HardMargin, EqualityAsTwoRows) {
  const Dense problem{{1, 2, -1, -2}, {1, -1}, 2};
  const HardMargin found = hard_margin(problem.constraints());
  expect_proved(found, problem.constraints());
  expect_point(found, std::vector{0.2, 0.4}, 1e-16);
  EXPECT_FALSE(found.upper_is_proved);
}

// A hundred planes through one point, on which the optimum lies.
TEST(HardMargin, DegenerateVertex) {
  for (const std::size_t dim : {2, 3, 5, 20}) {
    std::vector<double> rows = hard_normals(dim, 100, dim), bounds;
    const std::vector<double> vertex = hard_normals(dim + 77, 1, dim);
    for (std::size_t j = 0; j < 100; ++j) {
      double* row = &rows[j * dim];
      double product = std::inner_product(row, row + dim, vertex.begin(), 0.0);
      if (product < 0)
        for (std::size_t a = 0; a < dim; ++a) row[a] = -row[a];
      bounds.push_back(std::abs(product));
    }
    const Dense problem{rows, bounds, dim};
    const HardMargin found = hard_margin(problem.constraints());
    expect_proved(found, problem.constraints());
  }
}

TEST(HardMargin, RandomShapesAreProvedOneWayOrTheOther) {
  const std::vector<std::array<std::size_t, 3>> shapes{
      {1, 2, 2},   {3, 7, 2}, {1, 40, 3},   {6, 8, 10},  {6, 8, 8}, {10, 5, 10},
      {20, 3, 50}, {5, 4, 5}, {30, 10, 30}, {2, 2, 100}, {50, 2, 6}};
  std::size_t infeasible = 0;
  for (const auto& [n, tokens, dim] : shapes)
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const std::vector<double> keys = hard_normals(seed, n * tokens, dim);
      TokenChoice choice = hard_choice(keys, tokens, dim, seed);
      if (seed % 2 == 1) std::fill(choice.chosen.begin(), choice.chosen.end(), 0);
      const TokenDifferences rows(keys, tokens, dim, choice);
      const HardMargin found = hard_margin(rows);
      SCOPED_TRACE(testing::Message() << n << ' ' << tokens << ' ' << dim << ' ' << seed);
      expect_proved(found, rows);
      if (seed % 2 == 0 || n * (tokens - 1) <= dim) {
        EXPECT_EQ(found.status, MarginStatus::optimal);
      }
      infeasible += found.status == MarginStatus::infeasible;
    }
  EXPECT_GT(infeasible, 50);
}

TEST(HardMargin, RandomBoundsOfAnySign) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::size_t dim = 2 + seed % 9, count = 1 + seed % 31;
    const Dense problem{hard_normals(seed, count, dim), hard_normals(seed + 500, count, 1), dim};
    SCOPED_TRACE(seed);
    expect_proved(hard_margin(problem.constraints()), problem.constraints());
  }
}

TEST(HardMargin, RelaxedInputs) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::size_t n = 2 + seed % 12, tokens = 5, dim = 3 + seed % 7;
    const std::vector<double> keys = hard_normals(seed, n * tokens, dim);
    const TokenChoice choice = hard_choice(keys, tokens, dim, seed);
    const TokenDifferences full(keys, tokens, dim, choice);
    const TokenDifferences relaxed(keys, tokens, dim, half_relaxed(choice));
    const HardMargin found = hard_margin(relaxed);
    SCOPED_TRACE(seed);
    expect_proved(found, relaxed);
    EXPECT_EQ(found.status, MarginStatus::optimal);
    EXPECT_LE(found.norm, hard_margin(full).norm * (1 + 1e-14));
  }
}

// Small tokens have large multipliers and decide p; long rows then hold to rounding only.
TEST(HardMargin, KeysOfVeryDifferentSize) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const std::size_t n = 3 + seed % 10, tokens = 4, dim = 2 + seed % 11;
    std::vector<double> keys = hard_normals(seed, n * tokens, dim);
    const TokenChoice choice = hard_choice(keys, tokens, dim, seed);
    spread_sizes(keys, tokens * dim, seed, 8);
    const TokenDifferences rows(keys, tokens, dim, choice);
    SCOPED_TRACE(seed);
    const HardMargin found = hard_margin(rows);
    expect_proved(found, rows);
    EXPECT_EQ(found.status, MarginStatus::optimal);
  }
}

// Differences are taken first, so an offset of all keys costs only what it costs the differences.
TEST(HardMargin, CommonOffsetOfTheKeys) {
  std::vector<double> keys = hard_normals(5, 24, 4);
  for (double& x : keys) x = std::round(x * 1024) / 1024;
  const TokenChoice choice = hard_choice(keys, 6, 4, 5);
  const HardMargin plain = hard_margin(TokenDifferences(keys, 6, 4, choice));
  for (double& x : keys) x += 1e10;
  const HardMargin moved = hard_margin(TokenDifferences(keys, 6, 4, choice));
  EXPECT_EQ(plain.p, moved.p);
  EXPECT_EQ(moved.status, MarginStatus::optimal);
}

TEST(HardMargin, FewRowsAreAlwaysFeasible) {
  std::size_t feasible = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    const std::vector<double> wide = hard_normals(seed, 24, 18), narrow = hard_normals(seed, 48, 8);
    const TokenChoice any{.chosen = std::vector<std::size_t>(6, seed % 4)};
    EXPECT_EQ(hard_margin(TokenDifferences(wide, 4, 18, any)).status, MarginStatus::optimal);
    const HardMargin crowded = hard_margin(TokenDifferences(narrow, 8, 8, any));
    feasible += crowded.status == MarginStatus::optimal;
  }
  EXPECT_LT(feasible, 20);  // m / d = 5.25
}

TEST(HardMargin, ScalesWithTheKeys) {
  std::vector<double> keys = hard_normals(3, 80, 12);
  const TokenChoice choice = hard_choice(keys, 8, 12, 3);
  const HardMargin plain = hard_margin(TokenDifferences(keys, 8, 12, choice));
  for (const double size : {0x1p-40, 0x1p30, 0x1p300, 0x1p-300}) {
    std::vector<double> scaled = keys;
    for (double& x : scaled) x *= size;
    const HardMargin found = hard_margin(TokenDifferences(scaled, 8, 12, choice));
    EXPECT_EQ(found.status, MarginStatus::optimal);
    EXPECT_NEAR(found.norm * size, plain.norm, 1e-14 * plain.norm);
  }
}

TEST(HardMargin, OrderOfInputsAndTokensDoesNotMatter) {
  const std::size_t n = 10, tokens = 8, dim = 12;
  const std::vector<double> keys = hard_normals(3, n * tokens, dim);
  const TokenChoice choice = hard_choice(keys, tokens, dim, 3);
  std::vector<double> mirrored(keys.size());
  TokenChoice mirrored_choice;
  for (std::size_t row = 0; row < n * tokens; ++row)
    std::copy_n(&keys[row * dim], dim, &mirrored[(n * tokens - 1 - row) * dim]);
  for (std::size_t i = n; i-- > 0;) mirrored_choice.chosen.push_back(tokens - 1 - choice.chosen[i]);
  const HardMargin found = hard_margin(TokenDifferences(keys, tokens, dim, choice));
  expect_point(hard_margin(TokenDifferences(mirrored, tokens, dim, mirrored_choice)), found.p,
               1e-14 * found.norm);
}

TEST(HardMargin, ThreadsDoNotShow) {
  const std::vector<double> keys = hard_normals(4, 100 * 30, 40);
  const TokenDifferences rows(keys, 30, 40, hard_choice(keys, 30, 40, 4));
  const std::size_t before = threads();
  set_threads(1);
  const HardMargin one = hard_margin(rows);
  expect_proved(one, rows);
  for (const std::size_t count : {2, 3}) {
    set_threads(count);
    const HardMargin many = hard_margin(rows);
    EXPECT_EQ(one.p, many.p);
    EXPECT_EQ(one.relative_gap, many.relative_gap);
  }
  set_threads(before);
}

TEST(HardMargin, WideRows) {
  const std::vector<double> keys = hard_normals(6, 40 * 3, 4096);
  const TokenDifferences rows(keys, 3, 4096, {.chosen = std::vector<std::size_t>(40, 1)});
  expect_proved(hard_margin(rows), rows);
}

TEST(HardMargin, StopsWhereItIsTold) {
  const std::vector<double> keys = hard_normals(3, 80, 12);
  const TokenDifferences rows(keys, 8, 12, hard_choice(keys, 8, 12, 3));
  const HardMargin found = hard_margin(rows, {.max_iterations = 3});
  EXPECT_EQ(found.status, MarginStatus::iteration_limit);
  EXPECT_EQ(found.iterations, 3);
  EXPECT_GT(found.relative_gap, 1e-3);
  EXPECT_LT(found.norm, hard_margin(rows).norm);
}

TEST(HardMargin, RefusesNonFiniteRows) {
  const std::vector<double> one{1.0}, two{1.0, NAN};
  EXPECT_THROW(hard_margin(DenseConstraints(two, one, 2)), Error);
}

}  // namespace
}  // namespace attractor::solve
