#include "attractor/solve/nuclear/nuclear_margin.hpp"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/solve/hard_margin.hpp"

#ifdef ATTRACTOR_TEST_DATA
#include <fstream>
#include <nlohmann/json.hpp>

#include "attractor/base/numbers.hpp"
#endif

namespace attractor::solve {
namespace {

constexpr double kTolerance = 1e-10;  // the default of relative_gap

struct Data {
  std::vector<double> left, right;
  std::size_t left_dim, right_dim;
  std::vector<std::size_t> query{};
  std::vector<double> bounds{};

  std::size_t size() const { return left.size() / left_dim; }
  std::size_t query_of(std::size_t j) const { return query.empty() ? j : query[j]; }
  double bound(std::size_t j) const { return bounds.empty() ? 1.0 : bounds[j]; }
  RankOneConstraints constraints() const {
    return {left, right, left_dim, right_dim, query, bounds};
  }
  NuclearMargin solve(const NuclearMarginOptions& options = {}) const {
    return nuclear_margin(constraints(), options);
  }
};

std::vector<double> normals(std::uint64_t seed, std::size_t count) {
  std::vector<double> values(count);
  Stream(seed, "test.nuclear_margin").normals(0, values);
  return values;
}

// n queries, each with the differences of one token to the tokens - 1 others.
Data attention(std::uint64_t seed, std::size_t n, std::size_t tokens, std::size_t a,
               std::size_t b) {
  Data data{normals(seed, n * (tokens - 1) * a), normals(seed + 5000, n * b), a, b};
  for (std::size_t j = 0; j < data.size(); ++j) data.query.push_back(j / (tokens - 1));
  return data;
}

// Turns rows so that a planted matrix satisfies all of them.
void make_feasible(Data& data, std::uint64_t seed) {
  const std::vector<double> W = normals(seed + 9000, data.left_dim * data.right_dim);
  for (std::size_t j = 0; j < data.size(); ++j) {
    double product = 0;
    double* g = &data.left[j * data.left_dim];
    const double* z = &data.right[data.query_of(j) * data.right_dim];
    for (std::size_t k = 0; k < data.left_dim; ++k)
      for (std::size_t l = 0; l < data.right_dim; ++l)
        product += g[k] * W[k * data.right_dim + l] * z[l];
    if (product < 0)
      for (std::size_t k = 0; k < data.left_dim; ++k) g[k] = -g[k];
  }
}

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Eigen::VectorXd singular_values(const std::vector<double>& W, std::size_t a, std::size_t b) {
  const auto rows = static_cast<Eigen::Index>(a), columns = static_cast<Eigen::Index>(b);
  const Eigen::Index size = std::max(rows, columns);
  Eigen::MatrixXd square = Eigen::MatrixXd::Zero(size, size);  // needs no QR, which compiles slowly
  square.topLeftCorner(rows, columns) = Eigen::Map<const Matrix>(W.data(), rows, columns);
  return Eigen::JacobiSVD<Eigen::MatrixXd, Eigen::NoQRPreconditioner>(square).singularValues().head(
      std::min(rows, columns));
}

struct Sum {
  std::vector<double> S;  // sum lambda g z^T, rounded once
  long double bounds = 0, lengths = 0, frobenius = 0;
};

Sum combine(const Data& data, const std::vector<double>& lambda) {
  const std::size_t a = data.left_dim, b = data.right_dim;
  std::vector<long double> S(a * b, 0);
  Sum sum;
  for (std::size_t j = 0; j < data.size(); ++j) {
    const double *g = &data.left[j * a], *z = &data.right[data.query_of(j) * b];
    long double square = 0;
    for (std::size_t k = 0; k < a; ++k)
      for (std::size_t l = 0; l < b; ++l) {
        const long double entry = static_cast<long double>(g[k]) * z[l];
        S[k * b + l] += lambda[j] * entry;
        square += entry * entry;
      }
    sum.bounds += static_cast<long double>(lambda[j]) * data.bound(j);
    sum.lengths += lambda[j] * std::sqrt(square);
  }
  for (const long double entry : S) sum.frobenius += entry * entry;
  sum.frobenius = std::sqrt(sum.frobenius);
  sum.S.assign(S.begin(), S.end());
  return sum;
}

long double margin(const Data& data, const std::vector<double>& W, std::size_t j) {
  long double product = 0;
  for (std::size_t k = 0; k < data.left_dim; ++k)
    for (std::size_t l = 0; l < data.right_dim; ++l)
      product += static_cast<long double>(data.left[j * data.left_dim + k]) *
                 W[k * data.right_dim + l] * data.right[data.query_of(j) * data.right_dim + l];
  return product;
}

// What rounding the entries of W may take from a margin.
long double rounding(const Data& data, std::vector<double> W, std::size_t j) {
  Data sizes{data};
  for (auto* entries : {&sizes.left, &sizes.right, &W})
    for (double& x : *entries) x = std::abs(x);
  return std::numeric_limits<double>::epsilon() * margin(sizes, W, j);
}

void expect_farkas(const NuclearMargin& found, const Data& data) {
  ASSERT_EQ(found.status, MarginStatus::infeasible);
  ASSERT_EQ(found.farkas.size(), data.size());
  for (const double value : found.farkas) EXPECT_GE(value, 0);
  const Sum sum = combine(data, found.farkas);
  EXPECT_GT(sum.bounds, 0);
  EXPECT_LE(sum.frobenius, 2e-15L * sum.lengths);
  const long double residual = sum.lengths > 0 ? sum.frobenius / sum.lengths : 0;
  EXPECT_NEAR(found.farkas_residual, static_cast<double>(residual), 1e-17);
  // What the multipliers prove, and no more; sums here are good to 1e-18.
  EXPECT_EQ(found.upper, kInfinity);
  EXPECT_NEAR(1 / found.lower, static_cast<double>(sum.frobenius / sum.bounds),
              static_cast<double>(2e-18L * sum.lengths / sum.bounds));
}

// Weak duality with another singular value decomposition and sums of our own.
void expect_proved(const NuclearMargin& found, const Data& data, double tolerance = kTolerance) {
  ASSERT_EQ(found.status, MarginStatus::optimal) << found.relative_gap;
  ASSERT_EQ(found.W.size(), data.left_dim * data.right_dim);
  ASSERT_EQ(found.multipliers.size(), data.size());
  const Eigen::VectorXd values = singular_values(found.W, data.left_dim, data.right_dim);
  EXPECT_NEAR(found.norm, values.sum(), 1e-13 * found.norm);
  const Sum sum = combine(data, found.multipliers);
  const double size = singular_values(sum.S, data.left_dim, data.right_dim)[0];
  EXPECT_NEAR(size, 1, 1e-13);
  long double complementary = 0;
  for (std::size_t j = 0; j < data.size(); ++j) {
    const long double slack = margin(data, found.W, j) - data.bound(j);
    EXPECT_GE(slack, -rounding(data, found.W, j)) << j;
    EXPECT_GE(found.multipliers[j], 0) << j;
    complementary += found.multipliers[j] * slack;
  }
  EXPECT_LE(complementary, (tolerance + 1e-13) * found.norm);
  const double lower = static_cast<double>(sum.bounds) / size;
  EXPECT_NEAR(found.lower, lower, 1e-13 * lower);
  EXPECT_NEAR(found.upper, values.sum(), 1e-13 * found.norm);
  EXPECT_LE(found.lower, found.upper * (1 + 1e-14));
  EXPECT_LE(values.sum() - lower, (tolerance + 1e-13) * values.sum());
  EXPECT_LE(found.relative_gap, tolerance);
  EXPECT_TRUE(found.farkas.empty());
  ASSERT_EQ(found.singular_values.size(), static_cast<std::size_t>(values.size()));
  for (std::size_t k = 0; k < found.singular_values.size(); ++k)
    EXPECT_NEAR(found.singular_values[k], values[static_cast<Eigen::Index>(k)], 1e-13 * values[0]);
}

void expect_norm(const Data& data, double norm, std::size_t rank) {
  const NuclearMargin found = data.solve();
  expect_proved(found, data);
  EXPECT_NEAR(found.norm, norm, 1.01 * kTolerance * norm);
  EXPECT_EQ(found.rank, rank);
}

// The rows as vectors, for the Frobenius norm.
struct Vectors {
  std::vector<double> rows, bounds;
  HardMargin solved;
  explicit Vectors(const Data& data) {
    for (std::size_t j = 0; j < data.size(); ++j) {
      for (std::size_t k = 0; k < data.left_dim; ++k)
        for (std::size_t l = 0; l < data.right_dim; ++l)
          rows.push_back(data.left[j * data.left_dim + k] *
                         data.right[data.query_of(j) * data.right_dim + l]);
      bounds.push_back(data.bound(j));
    }
    solved = hard_margin(DenseConstraints(rows, bounds, data.left_dim * data.right_dim));
  }
};

TEST(NuclearMargin, TheoryReference) {
  const Data data{{1, 0, .3, .2, 1, 0, 0, .4, 1}, {1, .2, 0, .1, 1, .5, .6, 0, 1}, 3, 3};
  const NuclearMargin found = data.solve();
  expect_proved(found, data);
  EXPECT_NEAR(found.norm, 1.593094395, 5e-10);
  EXPECT_EQ(found.rank, 1);
  const HardMargin frobenius = Vectors(data).solved;
  EXPECT_NEAR(frobenius.norm, 1.37076619737, 5e-12);
  EXPECT_NEAR(singular_values(frobenius.p, 3, 3).sum(), 2.127295296, 5e-10);
}

TEST(NuclearMargin, OneConstraint) {
  const Data data{{1, 2, -2}, {3, 4}, 3, 2};  // |g| = 3, |z| = 5
  expect_norm(data, 1.0 / 15, 1);
  const NuclearMargin found = data.solve();
  for (std::size_t k = 0; k < 3; ++k)
    for (std::size_t l = 0; l < 2; ++l)
      EXPECT_NEAR(found.W[2 * k + l], data.left[k] * data.right[l] / 225, 1e-11);
  EXPECT_NEAR(found.multipliers[0], 1.0 / 15, 1e-11);
}

// Orthogonal on both sides: the singular values are h / (|g| |z|).
TEST(NuclearMargin, OrthogonalConstraints) {
  const Data data{
      {2, 0, 0, 0, 0, 4, 0, 3, 0}, {3, 4, 0, 0, -4, 3, 0, 0, 0, 0, 0, 1}, 3, 4, {}, {1, 2, 6}};
  expect_norm(data, 1.0 / 10 + 2.0 / 20 + 6.0 / 3, 3);
  const NuclearMargin found = data.solve();
  EXPECT_NEAR(found.singular_values[0], 2, 1e-9);
  EXPECT_NEAR(found.singular_values[1], 0.1, 1e-9);
  EXPECT_NEAR(found.singular_values[2], 0.1, 1e-9);
}

// One diagonal entry each, several times: the strictest counts.
TEST(NuclearMargin, DiagonalConstraints) {
  const Data data{
      {1, 0, 2, 0, 0, 1, 0, 5, 0, 4}, {1, 0, 0, 1}, 2, 2, {0, 0, 1, 1, 1}, {1, 3, 2, 1, 2}};
  expect_norm(data, 1.5 + 2, 2);
}

// All entries of W at least 1: W = 1, though a b rows are tight.
TEST(NuclearMargin, EveryEntry) {
  for (const std::size_t a : {1, 2, 5})
    for (const std::size_t b : {1, 3, 6}) {
      Data data{{}, std::vector<double>(b * b, 0.0), a, b};
      for (std::size_t l = 0; l < b; ++l) {
        data.right[l * b + l] = 1;
        for (std::size_t k = 0; k < a; ++k) {
          data.left.resize(data.left.size() + a, 0.0);
          data.left[data.left.size() - a + k] = 1;
          data.query.push_back(l);
        }
      }
      expect_norm(data, std::sqrt(static_cast<double>(a * b)), 1);
    }
}

// A row of W has its own constraints: one singular value, the length of the bounds.
TEST(NuclearMargin, CommonLeftVector) {
  const Data data{{0, 2, 0, 0, 2, 0, 0, 2, 0}, {1, 0, 0, 0, 1, 0, 0, 0, 1}, 3, 3, {}, {2, 4, 4}};
  expect_norm(data, 3, 1);
}

TEST(NuclearMargin, CommonQueryIsTheVectorProblem) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::size_t a = 2 + seed % 7, b = 1 + seed % 3;
    Data data = attention(seed, 1, 2 + seed, a, b);
    make_feasible(data, seed);
    const std::vector<double> ones(data.size(), 1.0);
    const HardMargin vector = hard_margin(DenseConstraints(data.left, ones, a));
    ASSERT_EQ(vector.status, MarginStatus::optimal);
    double square = 0;
    for (const double z : data.right) square += z * z;
    SCOPED_TRACE(seed);
    expect_norm(data, vector.norm / std::sqrt(square), 1);
  }
}

// z = 1: W is a vector, bounds of any sign, feasible or not.
TEST(NuclearMargin, OneColumnIsTheVectorProblem) {
  std::size_t infeasible = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::size_t a = 2 + seed % 9, count = 1 + seed % 31;
    const Data data{normals(seed, count * a),  {1}, a, 1, std::vector<std::size_t>(count, 0),
                    normals(seed + 500, count)};
    const HardMargin vector = hard_margin(DenseConstraints(data.left, data.bounds, a));
    const NuclearMargin found = data.solve();
    SCOPED_TRACE(seed);
    if (vector.status == MarginStatus::infeasible) {
      expect_farkas(found, data);
      ++infeasible;
    } else {
      EXPECT_EQ(found.status, MarginStatus::optimal);
      EXPECT_NEAR(found.norm, vector.norm, 1.01 * kTolerance * vector.norm);
    }
  }
  EXPECT_GT(infeasible, 20);
}

// B7 of the theory reference: the third input is full or relaxed.
TEST(NuclearMargin, RelaxedInput) {
  const Data relaxed{{1, 1, 1, -1, .5, 1.5}, {1}, 2, 1, {0, 0, 0}, {1, 1, 0}};
  const Data full{{1, 1, 1, -1, .5, 1.5}, {1}, 2, 1, {0, 0, 0}, {1, 1, 1}};
  expect_norm(relaxed, 1, 1);
  expect_norm(full, std::hypot(1.25, 0.25), 1);
}

TEST(NuclearMargin, RandomProblemsAreProved) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const std::size_t a = 1 + seed % 7, b = 1 + seed / 7 % 6;
    Data data = attention(seed, 1 + seed % 9, 2 + seed % 5, a, b);
    if (seed % 4 == 1)  // small integers, many of them equal: degenerate
      for (double& x : data.left) x = std::round(2 * x) + (std::abs(x) < 0.25 ? 3 : 0);
    if (seed % 4 == 2)  // sizes from 1e-3 to 1e3
      for (std::size_t k = 0; k < data.left.size(); ++k)
        data.left[k] *= std::pow(10.0, static_cast<double>(k / a % 7) - 3);
    if (seed % 4 == 3)
      for (std::size_t j = 0; j < data.size(); ++j)
        data.bounds.push_back(static_cast<double>((j + 1) % 3));
    make_feasible(data, seed);
    SCOPED_TRACE(seed);
    const NuclearMargin found = data.solve();
    expect_proved(found, data);
    const HardMargin frobenius = Vectors(data).solved;
    EXPECT_GE(found.norm, frobenius.norm * (1 - 1e-12));
    EXPECT_LE(found.lower, singular_values(frobenius.p, a, b).sum() * (1 + 1e-12));
  }
}

// All rows are tight at a planted matrix: lambda is far from unique.
TEST(NuclearMargin, DegenerateVertex) {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const std::size_t a = 2 + seed % 5, b = 2 + seed % 3;
    Data data = attention(seed, 15, 6, a, b);
    make_feasible(data, seed);
    const std::vector<double> W = normals(seed + 9000, a * b);
    for (std::size_t j = 0; j < data.size(); ++j)
      data.bounds.push_back(static_cast<double>(margin(data, W, j)));
    SCOPED_TRACE(seed);
    const NuclearMargin found = data.solve({.tolerance = 1e-8});
    expect_proved(found, data, 1e-8);
    EXPECT_LE(found.lower, singular_values(W, a, b).sum() * (1 + 1e-13));
  }
}

TEST(NuclearMargin, RandomProblemsAreProvedOneWayOrTheOther) {
  std::size_t infeasible = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Data data = attention(seed, 4 + seed % 5, 5, 3, 3);
    const NuclearMargin found = data.solve();
    SCOPED_TRACE(seed);
    if (found.status == MarginStatus::infeasible) {
      expect_farkas(found, data);
      ++infeasible;
    } else {
      expect_proved(found, data);
    }
  }
  EXPECT_GT(infeasible, 20);
  EXPECT_LT(infeasible, 100);
}

TEST(NuclearMargin, OppositeRowsAreInfeasible) {
  for (const double size : {1.0, 3.0, 1e-8, 1e8}) {
    const Data data{{1, 2, 0, 1, -size, -2 * size}, {1, 3}, 2, 2, {0, 0, 0}};
    const NuclearMargin found = data.solve();
    expect_farkas(found, data);
    EXPECT_LE(found.farkas[1], 1e-15 * found.farkas[0]);
    EXPECT_NEAR(found.farkas[0], size * found.farkas[2], 1e-15 * found.farkas[0]);
  }
}

TEST(NuclearMargin, ZeroRows) {
  const Data impossible{{1, 2, 0, 0, 1, 1}, {1, 0}, 2, 2, {0, 0, 0}};
  const NuclearMargin refused = impossible.solve();
  expect_farkas(refused, impossible);
  EXPECT_EQ(refused.farkas, (std::vector<double>{0, 1, 0}));
  const Data harmless{{3, 4, 0, 0, 1, 1}, {1, 0, 0, 0}, 2, 2, {0, 0, 1}, {1, 0, -1}};
  expect_norm(harmless, 0.2, 1);
}

TEST(NuclearMargin, NothingToDo) {
  const Data none{{}, {}, 3, 2}, slack{{1, 2, 3, 4}, {1, 1}, 2, 2, {0, 0}, {0, -1}};
  for (const Data& data : {none, slack}) {
    const NuclearMargin found = data.solve();
    EXPECT_EQ(found.status, MarginStatus::optimal);
    EXPECT_EQ(found.W, std::vector<double>(data.left_dim * data.right_dim, 0.0));
    EXPECT_EQ(found.norm, 0);
    EXPECT_EQ(found.relative_gap, 0);
    EXPECT_EQ(found.rank, 0);
  }
}

// Few rows in many dimensions: the problem of their spans.
TEST(NuclearMargin, DependsOnInnerProductsOnly) {
  Data small = attention(7, 4, 4, 12, 4);
  make_feasible(small, 7);
  Data large{{}, {}, 150, 90, small.query};
  const auto embed = [](const std::vector<double>& rows, std::size_t dim, std::size_t into) {
    std::vector<double> out;
    for (std::size_t k = 0; k < rows.size(); k += dim) {
      out.insert(out.end(), &rows[k], &rows[k] + dim);
      out.resize(out.size() + into - dim, 0.0);
      double product = 0;  // reflected at the plane across (1, 1, ..., 1)
      for (std::size_t l = 0; l < into; ++l) product += out[out.size() - 1 - l];
      for (std::size_t l = 0; l < into; ++l)
        out[out.size() - 1 - l] -= 2 * product / static_cast<double>(into);
    }
    return out;
  };
  large.left = embed(small.left, 12, 150);
  large.right = embed(small.right, 4, 90);
  const NuclearMargin one = small.solve(), other = large.solve();
  expect_proved(one, small);
  expect_proved(other, large);
  EXPECT_NEAR(one.norm, other.norm, 1.01 * kTolerance * one.norm);
  EXPECT_EQ(one.rank, other.rank);
}

TEST(NuclearMargin, ScalesWithTheRows) {
  Data data = attention(3, 8, 6, 7, 5);
  make_feasible(data, 3);
  const NuclearMargin plain = data.solve();
  for (const double size : {0x1p-40, 0x1p30, 0x1p300, 0x1p-300}) {
    Data scaled = data;
    for (double& x : scaled.left) x *= size;
    const NuclearMargin found = scaled.solve();
    EXPECT_EQ(found.status, MarginStatus::optimal);
    EXPECT_NEAR(found.norm * size, plain.norm, 1e-14 * plain.norm);
  }
}

TEST(NuclearMargin, TransposesWithTheRows) {
  Data data = attention(11, 30, 2, 6, 4);
  make_feasible(data, 11);
  data.query.clear();
  const Data transposed{data.right, data.left, data.right_dim, data.left_dim};
  const NuclearMargin one = data.solve(), other = transposed.solve();
  expect_proved(one, data);
  expect_proved(other, transposed);
  EXPECT_NEAR(one.norm, other.norm, 1.01 * kTolerance * one.norm);
}

// Doubles end near 1e-11; the rest is extended precision.
TEST(NuclearMargin, SmallerGapsOnRequest) {
  if (std::numeric_limits<long double>::digits < 64)
    GTEST_SKIP() << "long double has no more digits than double on this platform";
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Data data = attention(seed, 6, 8, 10, 10);
    make_feasible(data, seed);
    SCOPED_TRACE(seed);
    expect_proved(data.solve({.tolerance = 1e-12}), data, 1e-12);
  }
}

TEST(NuclearMargin, SaysWhatItCouldNotReach) {
  Data data = attention(1, 6, 8, 10, 10);
  make_feasible(data, 1);
  const NuclearMargin good = data.solve();
  const NuclearMargin best = data.solve({.tolerance = 0});
  EXPECT_EQ(best.status, MarginStatus::precision_limit);
  EXPECT_GT(best.relative_gap, 0);
  EXPECT_LT(best.relative_gap, 1e-12);
  const NuclearMargin early = data.solve({.max_iterations = 7});
  EXPECT_EQ(early.status, MarginStatus::iteration_limit);
  EXPECT_EQ(early.iterations, 7);
  EXPECT_GT(early.relative_gap, 1e-6);
  for (const NuclearMargin& found : {early, best}) {
    EXPECT_LE(found.lower, good.upper);
    EXPECT_GE(found.upper, good.lower);
  }
}

TEST(NuclearMargin, ThreadsDoNotShow) {
  Data data = attention(4, 15, 12, 12, 9);
  make_feasible(data, 4);
  const std::size_t before = threads();
  set_threads(1);
  const NuclearMargin one = data.solve();
  expect_proved(one, data);
  for (const std::size_t count : {2, 3}) {
    set_threads(count);
    const NuclearMargin many = data.solve();
    EXPECT_EQ(one.W, many.W);
    EXPECT_EQ(one.multipliers, many.multipliers);
    EXPECT_EQ(one.relative_gap, many.relative_gap);
  }
  set_threads(before);
}

TEST(NuclearMargin, RefusesBadInput) {
  const std::vector<double> two{1, 2}, four{1, 2, 3, 4}, broken{1, NAN}, endless{kInfinity};
  const std::vector<std::size_t> one{0}, far{1};
  const auto solve = [](const RankOneConstraints& constraints) { nuclear_margin(constraints); };
  EXPECT_NO_THROW(solve({two, two, 2, 2}));
  EXPECT_THROW(solve({two, two, 0, 2}), Error);
  EXPECT_THROW(solve({two, two, 2, 0}), Error);
  EXPECT_THROW(solve({two, two, 4, 2}), Error);
  EXPECT_THROW(solve({two, four, 2, 2}), Error);
  EXPECT_THROW(solve({two, two, 2, 2, far}), Error);
  EXPECT_THROW(solve({four, two, 2, 2, one}), Error);
  EXPECT_THROW(solve({two, two, 2, 2, one, two}), Error);
  EXPECT_THROW(solve({broken, two, 2, 2}), Error);
  EXPECT_THROW(solve({two, broken, 2, 2}), Error);
  EXPECT_THROW(solve({two, two, 2, 2, one, endless}), Error);
}

#ifdef ATTRACTOR_TEST_DATA
// Bounds that another solver proved (tests/data/nuclear.json) must overlap ours. A gap determines W
// up to its square root.
TEST(NuclearMargin, PublishedExperiment) {
  std::ifstream file(std::string(ATTRACTOR_TEST_DATA) + "/nuclear.json");
  ASSERT_TRUE(file);
  const auto reference = nlohmann::json::parse(file);
  const std::size_t n = reference.at("inputs"), tokens = reference.at("tokens"),
                    dim = reference.at("dim");
  for (const auto& problem : reference.at("problems")) {
    const std::vector<double> X = problem.at("X");
    const std::vector<std::size_t> chosen = problem.at("chosen");
    Data data{{}, problem.at("Z"), dim, dim};
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t t = 0; t < tokens; ++t) {
        if (t == chosen[i]) continue;
        data.query.push_back(i);
        for (std::size_t k = 0; k < dim; ++k)
          data.left.push_back(X[(i * tokens + chosen[i]) * dim + k] -
                              X[(i * tokens + t) * dim + k]);
      }
    const NuclearMargin found = data.solve();
    SCOPED_TRACE(problem.at("seed").get<int>());
    expect_proved(found, data);
    EXPECT_LE(found.lower, problem.at("upper"));
    EXPECT_GE(found.upper, problem.at("lower"));
    EXPECT_EQ(found.rank, problem.at("rank"));
    for (std::size_t k = 0; k < found.rank; ++k)
      EXPECT_NEAR(found.singular_values[k], problem.at("singular_values")[k], 1.5e-5);
  }
}
#endif

}  // namespace
}  // namespace attractor::solve
