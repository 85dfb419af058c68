#include "attractor/solve/norms/lp_margin.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/solve/hard_margin.hpp"
#include "tests/support/margin_data.hpp"

namespace attractor::solve {
namespace {

const std::vector<double> kExponents{1.05, 1.1, 1.5, 1.75, 2, 3, 6, 10, 20};

std::vector<double> lp_normals(std::uint64_t seed, std::size_t count, std::size_t dim) {
  return normals_of("test.lp_margin", seed, count, dim);
}

// Token choices that a random direction makes.
TokenChoice lp_choice(std::span<const double> keys, std::size_t tokens, std::size_t dim,
                      std::uint64_t seed) {
  return choice_of(lp_normals(seed + 1000000, 1, dim), keys, tokens);
}

long double norm(std::span<const long double> x, long double p) {
  long double most = 0, sum = 0;
  for (const long double value : x) most = std::max(most, std::abs(value));
  for (const long double value : x) sum += std::pow(std::abs(value) / most, p);
  return most * std::pow(sum, 1 / p);
}

long double norm(std::span<const double> x, long double p) {
  return norm(std::vector<long double>(x.begin(), x.end()), p);
}

// sum lambda h / |sum lambda g|_q
long double lower_bound(const Constraints& constraints, std::span<const Multiplier> lambda,
                        long double q) {
  std::vector<long double> u(constraints.dim(), 0);
  long double bounds = 0;
  for (const auto& [j, value] : lambda) {
    EXPECT_LT(j, constraints.size());
    EXPECT_GT(value, 0);
    const std::vector<long double> row = whole_row(constraints, j);
    for (std::size_t b = 0; b < row.size(); ++b) u[b] += static_cast<long double>(value) * row[b];
    bounds += static_cast<long double>(value) * constraints.bound(j);
  }
  return bounds / norm(u, q);
}

// How well the norms above are known.
constexpr long double kSure = kExtendedPowerEpsilon == kExtendedEpsilon ? 1e-17L : 2e-13L;

// Weak duality, without the solver's own sums.
void expect_proved(const LpMargin& found, const Constraints& constraints, double p,
                   double tolerance = 1e-10) {
  ASSERT_EQ(found.status, MarginStatus::optimal) << found.relative_gap;
  ASSERT_EQ(found.w.size(), constraints.dim());
  EXPECT_TRUE(found.upper_is_proved);
  EXPECT_TRUE(found.farkas.empty());
  long double smallest = INFINITY, unit = 0;
  for (std::size_t j = 0; j < constraints.size(); ++j) {
    const std::vector<long double> row = whole_row(constraints, j);
    long double slack = -static_cast<long double>(constraints.bound(j)), size = std::abs(slack);
    for (std::size_t b = 0; b < row.size(); ++b) {
      slack += static_cast<long double>(row[b]) * found.w[b];
      size += std::abs(static_cast<long double>(row[b]) * found.w[b]);
    }
    EXPECT_GE(slack, -0x1p-60L * size) << j;
    smallest = std::min(smallest, slack);
    unit = std::max(unit, size);
  }
  EXPECT_NEAR(found.smallest_slack, static_cast<double>(smallest),
              static_cast<double>(0x1p-58L * unit));
  const long double upper = norm(found.w, p);
  const long double lower = lower_bound(constraints, found.support, p / (p - 1.0L));
  EXPECT_NEAR(found.norm, static_cast<double>(upper), 1e-15 * found.norm);
  EXPECT_LE(upper - lower, tolerance * upper);
  EXPECT_GE(upper - lower, -kSure * upper);
  const auto gap =
      static_cast<double>((upper - lower) / upper);  // the solver's is rounded outwards
  EXPECT_GE(found.relative_gap, gap);
  EXPECT_LE(found.relative_gap, gap + 5e-16 + (kSure > 1e-16L ? kSure : 0));
  EXPECT_LE(found.lower, lower * (1 + kSure));
  EXPECT_GE(found.upper, upper * (1 - kSure));
}

void expect_point(const LpMargin& found, std::span<const double> w, double tolerance) {
  ASSERT_EQ(found.w.size(), w.size());
  for (std::size_t b = 0; b < w.size(); ++b) EXPECT_NEAR(found.w[b], w[b], tolerance) << b;
}

TEST(LpMargin, TwoIsTheHardMargin) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const std::size_t n = 1 + seed % 12, tokens = 2 + seed % 7, dim = 2 + seed % 13;
    const std::vector<double> keys = lp_normals(seed, n * tokens, dim);
    const TokenDifferences rows(keys, tokens, dim, lp_choice(keys, tokens, dim, seed));
    const LpMargin found = lp_margin(rows, {.p = 2});
    const HardMargin hard = hard_margin(rows);
    SCOPED_TRACE(seed);
    expect_proved(found, rows, 2);
    expect_point(found, hard.p, 1e-12 * hard.norm);
    EXPECT_NEAR(found.norm, hard.norm, 1e-12 * hard.norm);
  }
}

// w_b = h sign(g_b) |g_b|^(q-1) / |g|_q^q
TEST(LpMargin, OneRow) {
  const std::vector<double> g{1.5, -0.25, 0, 2, -1.9}, h{3};
  const DenseConstraints rows(g, h, 5);
  for (const double p : kExponents) {
    const double q = p / (p - 1);
    double power = 0;
    for (const double x : g) power += std::pow(std::abs(x), q);
    std::vector<double> w;
    for (const double x : g)
      w.push_back(h[0] * std::copysign(std::pow(std::abs(x), q - 1), x) / power);
    const LpMargin found = lp_margin(rows, {.p = p, .tolerance = 1e-12});
    SCOPED_TRACE(p);
    expect_proved(found, rows, p, 1e-12);
    EXPECT_NEAR(found.norm, h[0] / std::pow(power, 1 / q), 1e-12 * found.norm);
    // A norm within 1e-12 fixes w to the square root of that, entries near zero of p = 20 to less.
    if (p <= 10) expect_point(found, w, 1e-5);
  }
}

TEST(LpMargin, Diagonal) {
  const Dense problem{{2, 0, 0, 0, 0, -4, 0, 0, 0, 0, 0.5, 0, 0, 0, 0, 1}, {1, 3, -1, 5}, 4};
  const std::vector<double> w{0.5, -0.75, 0, 5};
  for (const double p : kExponents) {
    const LpMargin found = lp_margin(problem.constraints(), {.p = p, .tolerance = 1e-12});
    SCOPED_TRACE(p);
    expect_proved(found, problem.constraints(), p, 1e-12);
    EXPECT_NEAR(found.norm, static_cast<double>(norm(w, p)), 1e-12 * found.norm);
    for (const std::size_t b : {0, 1, 3}) EXPECT_NEAR(found.w[b], w[b], 1e-12);
  }
}

// Rows with disjoint entries: each is a problem of its own.
TEST(LpMargin, SeparableBlocks) {
  const std::size_t blocks = 6, width = 3, dim = blocks * width;
  const std::vector<double> entries = lp_normals(11, blocks, width),
                            sizes = lp_normals(12, blocks, 1);
  Dense problem{std::vector<double>(blocks * dim, 0.0), {}, dim};
  for (std::size_t j = 0; j < blocks; ++j) {
    std::copy_n(&entries[j * width], width, &problem.rows[j * dim + j * width]);
    problem.bounds.push_back(std::abs(sizes[j]));
  }
  for (const double p : kExponents) {
    std::vector<long double> parts;
    for (std::size_t j = 0; j < blocks; ++j)
      parts.push_back(problem.bounds[j] /
                      norm(std::span(entries).subspan(j * width, width), p / (p - 1.0L)));
    const LpMargin found = lp_margin(problem.constraints(), {.p = p, .tolerance = 1e-12});
    SCOPED_TRACE(p);
    expect_proved(found, problem.constraints(), p, 1e-12);
    EXPECT_NEAR(found.norm, static_cast<double>(norm(parts, p)), 1e-12 * found.norm);
  }
}

// The vertex of rows 1 and 2 is optimal for every p: (a, b)^(p-1) is in their cone if a > b > 0.
TEST(LpMargin, VertexForEveryExponent) {
  const Dense problem{{1, 1, 1, -1, 0.5, 1}, {1, 1, 1}, 2};
  for (const double p : kExponents) {
    const LpMargin found = lp_margin(problem.constraints(), {.p = p, .tolerance = 1e-12});
    SCOPED_TRACE(p);
    expect_proved(found, problem.constraints(), p, 1e-12);
    expect_point(found, std::vector{4.0 / 3, 1.0 / 3}, 1e-14);
    ASSERT_EQ(found.support.size(), 2);
    const double u0 = std::pow(4.0 / 3, p - 1), u1 = std::pow(1.0 / 3, p - 1);
    EXPECT_NEAR(found.support[0].value / found.support[1].value,
                found.support[0].index == 1 ? (2 * u0 - u1) / (2 * (u0 + u1))
                                            : (2 * (u0 + u1)) / (2 * u0 - u1),
                1e-6);
  }
}

// Norms from Newton's method on G_S psi(G_S^T lambda) = h_S with 50 digits, all conditions checked.
TEST(LpMargin, TheoryDataAgainstFiftyDigits) {
  const std::vector<double> keys = sines(3, 4, 6, 0);
  const TokenDifferences rows(keys, 4, 6, {.chosen = {0, 0, 0}});
  const std::vector<std::pair<double, double>> norms{
      {1.05, 4.960220397013369}, {1.1, 4.641395001486664}, {1.5, 3.218882161922437},
      {1.75, 2.794680815996864}, {3, 1.985563014635321},   {6, 1.610111512665857},
      {10, 1.487495037251653}};
  for (const auto& [p, exact] : norms) {
    const LpMargin found = lp_margin(rows, {.p = p, .tolerance = 1e-13});
    SCOPED_TRACE(p);
    expect_proved(found, rows, p, 1e-13);
    EXPECT_NEAR(found.norm, exact, 1e-13 * exact);
  }
  expect_point(lp_margin(rows, {.p = 3, .tolerance = 1e-13}),
               std::vector{1.1509769221561, -1.4972442233289, 1.1910772373062, 1.0445109213211,
                           -0.47609149721387, 0.21253366180819},
               1e-12);
}

TEST(LpMargin, RandomProblemsHoldWeakDuality) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::size_t n = 1 + seed % 11, tokens = 2 + seed % 6, dim = 2 + seed % 17;
    const std::vector<double> keys = lp_normals(seed, n * tokens, dim);
    const TokenDifferences rows(keys, tokens, dim, lp_choice(keys, tokens, dim, seed));
    double before = INFINITY;
    for (const double p : {1.1, 1.5, 1.75, 2.0, 3.0, 6.0, 10.0}) {
      const LpMargin found = lp_margin(rows, {.p = p});
      SCOPED_TRACE(testing::Message() << seed << ' ' << p);
      expect_proved(found, rows, p);
      EXPECT_LE(found.norm, before * (1 + 1e-10));  // |w|_p falls in p
      before = found.norm;
    }
  }
}

TEST(LpMargin, EndsOfTheRange) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::size_t n = 1 + seed % 7, tokens = 2 + seed % 6, dim = 2 + 3 * seed;
    const std::vector<double> keys = lp_normals(seed, n * tokens, dim);
    const TokenDifferences rows(keys, tokens, dim, lp_choice(keys, tokens, dim, seed));
    for (const double p : {1.02, 1.05, 20.0, 50.0}) {
      SCOPED_TRACE(testing::Message() << seed << ' ' << p);
      expect_proved(lp_margin(rows, {.p = p, .tolerance = 1e-12}), rows, p, 1e-12);
    }
  }
}

TEST(LpMargin, RelaxedInputs) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::size_t n = 2 + seed % 12, tokens = 5, dim = 3 + seed % 7;
    const std::vector<double> keys = lp_normals(seed, n * tokens, dim);
    const TokenChoice choice = lp_choice(keys, tokens, dim, seed);
    const TokenDifferences full(keys, tokens, dim, choice);
    const TokenDifferences relaxed(keys, tokens, dim, half_relaxed(choice));
    for (const double p : {1.1, 1.75, 3.0, 10.0}) {
      const LpMargin found = lp_margin(relaxed, {.p = p});
      SCOPED_TRACE(testing::Message() << seed << ' ' << p);
      expect_proved(found, relaxed, p);
      EXPECT_LE(found.norm, lp_margin(full, {.p = p}).norm * (1 + 1e-10));
    }
  }
}

TEST(LpMargin, RandomBoundsOfAnySign) {
  std::size_t feasible = 0;
  for (std::uint64_t seed = 0; seed < 80; ++seed) {
    const std::size_t dim = 2 + seed % 9, count = 1 + seed % 14;
    const Dense problem{lp_normals(seed, count, dim), lp_normals(seed + 500, count, 1), dim};
    const bool infeasible = hard_margin(problem.constraints()).status == MarginStatus::infeasible;
    for (const double p : {1.2, 4.0}) {
      const LpMargin found = lp_margin(problem.constraints(), {.p = p});
      SCOPED_TRACE(testing::Message() << seed << ' ' << p);
      EXPECT_EQ(found.status == MarginStatus::infeasible, infeasible);
      if (infeasible || found.norm == 0) continue;
      expect_proved(found, problem.constraints(), p);
      ++feasible;
    }
  }
  EXPECT_GT(feasible, 80);
}

TEST(LpMargin, KeysOfVeryDifferentSize) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const std::size_t n = 3 + seed % 10, tokens = 4, dim = 2 + seed % 11;
    std::vector<double> keys = lp_normals(seed, n * tokens, dim);
    const TokenChoice choice = lp_choice(keys, tokens, dim, seed);
    spread_sizes(keys, tokens * dim, seed, 4);
    const TokenDifferences rows(keys, tokens, dim, choice);
    for (const double p : {1.1, 1.75, 3.0, 10.0}) {
      SCOPED_TRACE(testing::Message() << seed << ' ' << p);
      expect_proved(lp_margin(rows, {.p = p}), rows, p);
    }
  }
}

TEST(LpMargin, ScalesWithTheKeys) {
  const std::vector<double> keys = lp_normals(3, 80, 12);
  const TokenChoice choice = lp_choice(keys, 8, 12, 3);
  for (const double p : {1.1, 6.0}) {
    const LpMargin plain = lp_margin(TokenDifferences(keys, 8, 12, choice), {.p = p});
    for (const double size : {0x1p-40, 0x1p30, 0x1p300, 0x1p-300}) {
      std::vector<double> scaled = keys;
      for (double& x : scaled) x *= size;
      const LpMargin found = lp_margin(TokenDifferences(scaled, 8, 12, choice), {.p = p});
      EXPECT_EQ(found.status, MarginStatus::optimal);
      EXPECT_NEAR(found.norm * size, plain.norm, 1e-10 * plain.norm);
    }
  }
}

// A hundred planes through one point, which is optimal.
TEST(LpMargin, DegenerateVertex) {
  for (const std::size_t dim : {2, 3, 5, 20}) {
    std::vector<double> rows = lp_normals(dim, 100, dim), bounds;
    const std::vector<double> vertex = lp_normals(dim + 77, 1, dim);
    for (std::size_t j = 0; j < 100; ++j) {
      double* row = &rows[j * dim];
      const double product = std::inner_product(row, row + dim, vertex.begin(), 0.0);
      if (product < 0)
        for (std::size_t b = 0; b < dim; ++b) row[b] = -row[b];
      bounds.push_back(std::abs(product));
    }
    const Dense problem{rows, bounds, dim};
    for (const double p : {1.1, 1.75, 3.0, 10.0}) {
      SCOPED_TRACE(testing::Message() << dim << ' ' << p);
      expect_proved(lp_margin(problem.constraints(), {.p = p}), problem.constraints(), p);
    }
  }
}

// A plane as two half-spaces: no pair of doubles satisfies both rows.
TEST(LpMargin, EqualityAsTwoRows) {
  const Dense problem{{1, 3, -1, -3}, {1, -1}, 2};
  for (const double p : {1.5, 3.0}) {
    const LpMargin found = lp_margin(problem.constraints(), {.p = p});
    const double q = p / (p - 1);
    EXPECT_EQ(found.status, MarginStatus::optimal);
    EXPECT_NEAR(found.norm, 1 / std::pow(1 + std::pow(3, q), 1 / q), 1e-12);
  }
}

TEST(LpMargin, NothingToDo) {
  const Dense none{{}, {}, 3}, slack{{1, 2, 0, 0}, {-1, 0}, 2};
  for (const Dense& problem : {none, slack}) {
    const LpMargin found = lp_margin(problem.constraints(), {.p = 1.5});
    EXPECT_EQ(found.status, MarginStatus::optimal);
    EXPECT_EQ(found.w, std::vector<double>(problem.dim, 0.0));
    EXPECT_EQ(found.norm, 0);
    EXPECT_EQ(found.relative_gap, 0);
  }
}

TEST(LpMargin, InfeasibleWithTheProofOfTheHardMargin) {
  const Dense problem{{1, 2, 0, 1, -3, -6}, {1, 1, 1}, 2};
  for (const double p : {1.1, 5.0}) {
    const LpMargin found = lp_margin(problem.constraints(), {.p = p});
    ASSERT_EQ(found.status, MarginStatus::infeasible);
    EXPECT_TRUE(found.support.empty());
    double rows[2] = {0, 0}, bounds = 0;
    for (const auto& [j, value] : found.farkas) {
      EXPECT_GT(value, 0);
      for (std::size_t b = 0; b < 2; ++b) rows[b] += value * problem.rows[2 * j + b];
      bounds += value * problem.bounds[j];
    }
    EXPECT_GT(bounds, 0);
    EXPECT_LE(std::hypot(rows[0], rows[1]), 1e-15 * bounds);
    EXPECT_LE(found.farkas_residual, 1e-15);
  }
}

TEST(LpMargin, ThreadsDoNotShow) {
  const std::vector<double> keys = lp_normals(4, 100 * 30, 40);
  const TokenDifferences rows(keys, 30, 40, lp_choice(keys, 30, 40, 4));
  const std::size_t before = threads();
  for (const double p : {1.3, 5.0}) {
    set_threads(1);
    const LpMargin one = lp_margin(rows, {.p = p});
    expect_proved(one, rows, p);
    for (const std::size_t count : {2, 3}) {
      set_threads(count);
      const LpMargin many = lp_margin(rows, {.p = p});
      EXPECT_EQ(one.w, many.w);
      EXPECT_EQ(one.relative_gap, many.relative_gap);
    }
  }
  set_threads(before);
}

TEST(LpMargin, StopsWhereItIsTold) {
  const std::vector<double> keys = lp_normals(3, 80, 12);
  const TokenDifferences rows(keys, 8, 12, lp_choice(keys, 8, 12, 3));
  for (const double p : {1.1, 10.0}) {
    const LpMargin found = lp_margin(rows, {.p = p, .max_iterations = 1});
    EXPECT_EQ(found.status, MarginStatus::iteration_limit);
    EXPECT_EQ(found.iterations, 1);
    EXPECT_GT(found.relative_gap, 1e-6);
    EXPECT_GE(found.norm, lp_margin(rows, {.p = p}).norm);
    EXPECT_GE(found.smallest_slack, 0);
  }
}

TEST(LpMargin, RefusesExponentsOutOfRange) {
  const Dense problem{{1, 2}, {1}, 2};
  for (const double p : {-2.0, 0.5, 1.0, 1.01, 51.0, double{INFINITY}, double{NAN}})
    EXPECT_THROW(lp_margin(problem.constraints(), {.p = p}), Error) << p;
}

TEST(LpMargin, RefusesNonFiniteRows) {
  const std::vector<double> one{1.0}, two{1.0, NAN};
  EXPECT_THROW(lp_margin(DenseConstraints(two, one, 2)), Error);
}

}  // namespace
}  // namespace attractor::solve
