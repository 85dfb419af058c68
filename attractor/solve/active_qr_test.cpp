#include "attractor/solve/active_qr.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::solve {
namespace {

using Columns = std::vector<std::vector<double>>;

std::vector<double> column(std::uint64_t seed, std::size_t rows) {
  std::vector<double> values(rows);
  Stream(seed, "test.active_qr").normals(0, values);
  return values;
}

// A x = Q (R x) for the columns A, by R^{-1} and Q alone: Q^T A_k solved by R is the unit vector k.
void expect_factors(const ActiveQr& qr, const Columns& columns, double tolerance) {
  ASSERT_EQ(qr.size(), columns.size());
  std::vector<double> u(qr.size()), back(qr.rows());
  for (std::size_t k = 0; k < columns.size(); ++k) {
    qr.multiply_transposed(columns[k], u);
    qr.multiply(u, back);
    for (std::size_t a = 0; a < qr.rows(); ++a) EXPECT_NEAR(back[a], columns[k][a], tolerance);
    qr.solve(u);
    for (std::size_t j = 0; j < u.size(); ++j) EXPECT_NEAR(u[j], j == k ? 1 : 0, tolerance);
  }
  for (std::size_t k = 0; k < columns.size(); ++k) {  // Q^T Q = 1
    std::vector<double> e(qr.size(), 0.0);
    e[k] = 1;
    qr.multiply(e, back);
    qr.multiply_transposed(back, u);
    for (std::size_t j = 0; j < u.size(); ++j) EXPECT_NEAR(u[j], e[j], 1e-14);
  }
}

TEST(ActiveQr, ColumnsComeAndGo) {
  const std::size_t rows = 23;
  ActiveQr qr(rows);
  Columns columns;
  const Stream choice(1, "test.active_qr.choice");
  for (std::uint64_t step = 0; step < 300; ++step) {
    if (columns.size() < rows && (columns.size() < 5 || choice.below(2, step, 0) == 0)) {
      columns.push_back(column(step, rows));
      ASSERT_TRUE(qr.insert(columns.back(), 1e-13));
    } else {
      const std::size_t k = choice.below(columns.size(), step, 1);
      columns.erase(columns.begin() + static_cast<std::ptrdiff_t>(k));
      qr.erase(k);
    }
  }
  expect_factors(qr, columns, 1e-11);
}

TEST(ActiveQr, SplitsOrthogonally) {
  ActiveQr qr(40);
  for (std::uint64_t k = 0; k < 10; ++k) ASSERT_TRUE(qr.insert(column(k, 40), 1e-13));
  const std::vector<double> x = column(99, 40);
  std::vector<double> along(10), rest(40), back(40), none(10);
  const double length = qr.split(x, along, rest);
  qr.multiply(along, back);
  double square = 0;
  for (std::size_t a = 0; a < 40; ++a) {
    EXPECT_NEAR(back[a] + rest[a], x[a], 1e-14);
    square += rest[a] * rest[a];
  }
  EXPECT_NEAR(length, std::sqrt(square), 1e-14);
  qr.multiply_transposed(rest, none);
  for (const double value : none) EXPECT_NEAR(value, 0, 1e-15);
}

TEST(ActiveQr, RefusesDependentColumns) {
  ActiveQr qr(3);
  EXPECT_FALSE(qr.insert(std::vector<double>{0, 0, 0}, 1e-13));
  EXPECT_TRUE(qr.insert(std::vector<double>{1, 2, 3}, 1e-13));
  EXPECT_FALSE(qr.insert(std::vector<double>{-2e8, -4e8, -6e8}, 1e-13));
  EXPECT_TRUE(qr.insert(std::vector<double>{1, 2, 3 + 1e-9}, 1e-13));
  EXPECT_TRUE(qr.insert(std::vector<double>{1, 0, 0}, 1e-13));
  EXPECT_FALSE(qr.insert(std::vector<double>{0, 1, 0}, 1e-13));
  EXPECT_EQ(qr.size(), 3);
}

TEST(ActiveQr, TransposedSolveIsTheAdjoint) {
  ActiveQr qr(30);
  for (std::uint64_t k = 0; k < 20; ++k) ASSERT_TRUE(qr.insert(column(k, 30), 1e-13));
  const std::vector<double> x = column(50, 20), y = column(51, 20);
  std::vector<double> solved = x, transposed = y;
  qr.solve(solved);
  qr.solve_transposed(transposed);
  double left = 0, right = 0;
  for (std::size_t k = 0; k < 20; ++k) left += solved[k] * y[k], right += x[k] * transposed[k];
  EXPECT_NEAR(left, right, 1e-12 * (1 + std::abs(left)));
}

TEST(ActiveQr, ThreadsDoNotShow) {
  const std::size_t rows = 2000, before = threads();
  std::vector<std::vector<double>> results;
  for (const std::size_t count : {1, 3}) {
    set_threads(count);
    ActiveQr qr(rows);
    for (std::uint64_t k = 0; k < 90; ++k) ASSERT_TRUE(qr.insert(column(k, rows), 1e-13));
    qr.erase(7);
    std::vector<double> u(qr.size());
    qr.multiply_transposed(column(200, rows), u);
    results.push_back(u);
  }
  set_threads(before);
  EXPECT_EQ(results[0], results[1]);
}

}  // namespace
}  // namespace attractor::solve
