#include "attractor/solve/dual_active_set.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attractor::solve {
namespace {

void add(DualActiveSet& set, std::size_t index, const std::vector<double>& row, double bound) {
  const double square = static_cast<double>(extended_product(row, std::span<const double>(row)));
  set.add(index, row, {}, std::sqrt(square), bound);
}

ActiveSetOutcome solve(DualActiveSet& set, std::size_t limit = 100) {
  std::size_t iterations = 0;
  return set.solve(iterations, limit);
}

void expect_point(const DualActiveSet& set, const std::vector<double>& p) {
  for (std::size_t a = 0; a < p.size(); ++a) EXPECT_NEAR(set.point()[a], p[a], 1e-15) << a;
}

// min |p| with p_0 >= 1, p_0 + p_1 >= h, p_2 >= -1: by hand.
TEST(DualActiveSet, RowsEnterAndLeave) {
  const auto solved = [](double h) {
    DualActiveSet set(3);
    add(set, 7, {1, 0, 0}, 1);
    add(set, 8, {1, 1, 0}, h);
    add(set, 9, {0, 0, 1}, -1);
    EXPECT_EQ(solve(set), ActiveSetOutcome::solved);
    return set;
  };
  expect_point(solved(0), {1, 0, 0});
  expect_point(solved(4), {2, 2, 0});
  const DualActiveSet both = solved(1.5);
  expect_point(both, {1, 0.5, 0});
  ASSERT_EQ(both.multipliers().size(), 2);
  for (const Multiplier& m : both.multipliers()) EXPECT_NEAR(m.value, 0.5, 1e-15);
}

TEST(DualActiveSet, RowsAddedLaterContinue) {
  DualActiveSet set(2);
  add(set, 0, {1, 0}, 1);
  add(set, 1, {1, 1}, -3);
  ASSERT_EQ(solve(set), ActiveSetOutcome::solved);
  expect_point(set, {1, 0});
  set.keep_active();
  EXPECT_EQ(set.held(), 1);
  add(set, 2, {1, 1}, 4);  // makes the first row superfluous
  ASSERT_EQ(solve(set), ActiveSetOutcome::solved);
  expect_point(set, {2, 2});
  EXPECT_EQ(set.active(), std::vector<std::size_t>{2});
}

TEST(DualActiveSet, ContradictionsAreProved) {
  DualActiveSet set(2);
  add(set, 4, {1, 0}, 1);
  add(set, 5, {0, 1}, 1);
  add(set, 6, {-1, -2}, -2.5);  // (1, 1) gives -3
  ASSERT_EQ(solve(set), ActiveSetOutcome::infeasible);
  double x = 0, y = 0, h = 0;
  for (const auto& [index, value] : set.farkas()) {
    EXPECT_GT(value, 0);
    x += value * (index == 4 ? 1 : index == 6 ? -1 : 0);
    y += value * (index == 5 ? 1 : index == 6 ? -2 : 0);
    h += value * (index == 6 ? -2.5 : 1);
  }
  EXPECT_EQ(x, 0);
  EXPECT_EQ(y, 0);
  EXPECT_EQ(h, 0.5);
}

// The wedge between two nearly opposite rows is far away but not empty.
TEST(DualActiveSet, NearlyOppositeRowsAreNoContradiction) {
  DualActiveSet set(2);
  add(set, 0, {1, 0}, 1);
  add(set, 1, {-1, 0x1p-20}, 1);
  ASSERT_EQ(solve(set), ActiveSetOutcome::solved);
  expect_point(set, {1, 0x1p21});
}

TEST(DualActiveSet, CopiesAndCollinearRows) {
  DualActiveSet plain(3), copies(3);
  for (int k = 1; k <= 40; ++k)
    for (DualActiveSet* set : {&plain, &copies}) {
      if (set == &plain && k > 1) continue;
      add(*set, 0, {0.3 * k, 0.7 * k, -0.1 * k}, 1);
      add(*set, 1, {1, -1, 3}, 1);
    }
  ASSERT_EQ(solve(plain), ActiveSetOutcome::solved);
  ASSERT_EQ(solve(copies), ActiveSetOutcome::solved);
  expect_point(copies, {plain.point().begin(), plain.point().end()});
  EXPECT_EQ(copies.multipliers().size(), 2);
}

TEST(DualActiveSet, LiftRaisesActiveRows) {
  DualActiveSet set(3);
  add(set, 0, {3, 4, 0}, 7);
  add(set, 1, {0, 1, 1}, 2);
  ASSERT_EQ(solve(set), ActiveSetOutcome::solved);
  const std::vector<long double> lifted = set.lifted(0.5);
  EXPECT_NEAR(static_cast<double>(3 * lifted[0] + 4 * lifted[1]), 7 + 0.5 * 5, 1e-15);
  EXPECT_NEAR(static_cast<double>(lifted[1] + lifted[2]), 2 + 0.5 * std::sqrt(2), 1e-15);
}

TEST(DualActiveSet, StopsAtTheLimit) {
  DualActiveSet set(2);
  add(set, 0, {1, 0}, 1);
  add(set, 1, {0, 1}, 1);
  EXPECT_EQ(solve(set, 1), ActiveSetOutcome::iteration_limit);
  EXPECT_EQ(solve(set, 1), ActiveSetOutcome::solved);  // where it was
}

}  // namespace
}  // namespace attractor::solve
