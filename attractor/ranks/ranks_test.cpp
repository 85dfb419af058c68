// One rank: what every call means among one. Several: tests/mpi.
#include "attractor/ranks/ranks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <vector>

namespace attractor::ranks {
namespace {

TEST(OneRank, IsTheFirstOfOne) {
  EXPECT_EQ(count(), 1U);
  EXPECT_EQ(rank(), 0U);
  EXPECT_EQ(neighbours(), 1U);
}

TEST(OneRank, HasItsOwnValuesOnly) {
  const std::vector<double> mine = {1, -2.5, 1e300};
  EXPECT_EQ(gather(mine), mine);
  EXPECT_EQ(all_gather(mine), mine);
  EXPECT_EQ(largest(-3), -3);
  EXPECT_TRUE(std::isnan(largest(std::nan(""))));
  EXPECT_EQ(sum(0.1), 0.1);
  EXPECT_EQ(broadcast(std::string("a\0b", 3)), std::string("a\0b", 3));
  std::vector<double> same = mine;
  broadcast(same);
  EXPECT_EQ(same, mine);
  EXPECT_FALSE(probe());
}

TEST(OneRank, IsItsOwnNeighbourOnTheRing) {
  const std::vector<double> out = {1, 2, 3};
  std::vector<double> in(3);
  Shift shift(out, in);
  shift.nudge();
  shift.finish();
  EXPECT_EQ(in, out);
}

}  // namespace
}  // namespace attractor::ranks
