// The book of coalesced tokens: who is where, through joining, splitting and a checkpoint.
#include "attractor/depth/coalescence/token_groups.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

/// n unit vectors within `radius` of one point.
std::vector<double> near_tokens(std::size_t n, std::size_t dim, double radius) {
  std::vector<double> state(n * dim);
  Stream(9, "near").normals(dim, state);
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = std::span(state).subspan(i * dim, dim);
    for (double& c : x) c *= radius / std::sqrt(static_cast<double>(dim));
    x[0] += 1;
    Sphere(dim).retract(x);
  }
  return state;
}

Group group_of(std::vector<std::uint32_t> members, std::span<const double> state, std::size_t dim,
               std::span<const double> masses) {
  Group group{.members = std::move(members), .centre = std::vector<double>(dim, 0.0)};
  for (const std::uint32_t i : group.members)
    for (std::size_t a = 0; a < dim; ++a) group.centre[a] += masses[i] * state[i * dim + a];
  Sphere(dim).retract(group.centre);
  return group;
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double worst = 0;
  for (std::size_t k = 0; k < a.size(); ++k) worst = std::max(worst, std::abs(a[k] - b[k]));
  return worst;
}

// In dimension 3 the offsets of 9 tokens are more than 3: both ways of carrying them are taken.
TEST(TokenGroups, JoiningMovesNobodyInFirstOrder) {
  for (const std::size_t dim : {3UL, 16UL}) {
    const double radius = 1e-4;
    const std::vector<double> start = near_tokens(9, dim, radius);
    std::vector<double> state = start;
    TokenGroups book(9);
    book.coalesce({group_of({0, 3, 5}, state, dim, book.masses()),
                   group_of({1, 2, 8}, state, dim, book.masses())},
                  flow::Time(1), state);
    ASSERT_EQ(book.count(), 5U);
    EXPECT_LT(largest_difference(book.expand(state), start), 10 * radius * radius);
    book.coalesce({group_of({0, 1, 3}, state, dim, book.masses())}, flow::Time(2), state);
    ASSERT_EQ(book.count(), 3U);
    EXPECT_LT(largest_difference(book.expand(state), start), 10 * radius * radius);
    EXPECT_EQ(book.coalescences().size(), 6U);
    double mean = 0;  // offsets have mean zero
    const auto xi = book.offsets();
    for (std::size_t i = 0; i < 9; ++i)
      if (book.owner()[i] == book.owner()[0]) mean += xi[i * dim + 1];
    EXPECT_LT(std::abs(mean), 10 * radius * radius);
  }
}

TEST(TokenGroups, SplittingUndoesTheLastJoining) {
  const std::size_t dim = 3;
  const std::vector<double> start = near_tokens(9, dim, 1e-4);
  std::vector<double> state = start;
  TokenGroups book(9);
  book.coalesce(
      {group_of({1, 4}, state, dim, book.masses()), group_of({2, 6, 7}, state, dim, book.masses())},
      flow::Time(1), state);
  const std::vector<std::uint32_t> owner(book.owner().begin(), book.owner().end());
  const std::vector<double> before = state;
  book.coalesce({group_of({0, 1, 2, 4}, state, dim, book.masses())}, flow::Time(2), state);
  ASSERT_EQ(book.count(), 3U);
  book.split(0, state);
  EXPECT_TRUE(std::equal(owner.begin(), owner.end(), book.owner().begin()));
  EXPECT_LT(largest_difference(state, before), 1e-7);
  EXPECT_LT(largest_difference(book.expand(state), start), 1e-7);
  book.split(2, state);
  book.split(1, state);
  EXPECT_EQ(book.count(), 9U);
  EXPECT_LT(largest_difference(state, start), 1e-7);
}

TEST(TokenGroups, WithoutGroupsTheBookIsEmpty) {
  const TokenGroups book(4);
  EXPECT_TRUE(book.book().parent.empty());
  EXPECT_TRUE(book.book().numbers.empty());
  TokenGroups copy(4);
  copy.restore({2, 0, 1, 3}, {}, book.book(), 3);
  EXPECT_EQ(copy.count(), 4U);
  EXPECT_EQ(copy.merge_error(), 0);
}

TEST(TokenGroups, ABookGoesThroughACheckpointBitForBit) {
  for (const std::size_t dim : {2UL, 3UL, 8UL}) {
    std::vector<double> state = near_tokens(9, dim, 1e-3);
    TokenGroups book(9);
    book.coalesce({group_of({0, 3, 5, 6, 7}, state, dim, book.masses()),
                   group_of({1, 2}, state, dim, book.masses())},
                  flow::Time(1), state);
    TokenGroups copy(9);
    copy.restore({book.owner().begin(), book.owner().end()}, book.coalescences(), book.book(), dim);
    EXPECT_EQ(copy.expand(state), book.expand(state));
    EXPECT_EQ(copy.book().numbers, book.book().numbers);
    EXPECT_EQ(copy.merge_error(), book.merge_error());
  }
}

TEST(TokenGroups, ADamagedBookIsRefused) {
  std::vector<double> state = near_tokens(9, 3, 1e-3);
  TokenGroups book(9);
  book.coalesce({group_of({0, 3, 5, 6, 7}, state, 3, book.masses())}, flow::Time(1), state);
  const TokenGroups::Book good = book.book();
  const std::vector<std::uint32_t> owner(book.owner().begin(), book.owner().end());
  const auto refused = [&](TokenGroups::Book bad) {
    try {
      TokenGroups(9).restore(owner, {}, bad, 3);
    } catch (const Error&) {
      return true;
    }
    return false;
  };
  ASSERT_FALSE(refused(good));
  TokenGroups::Book bad = good;
  bad.numbers.pop_back();
  EXPECT_TRUE(refused(bad));
  bad = good;
  bad.numbers.push_back(0);
  EXPECT_TRUE(refused(bad));
  for (const double wrong : {-1.0, 1e9, 0.5, std::nan("")}) {
    bad = good;
    bad.numbers[0] = wrong;  // the node of the first token
    EXPECT_TRUE(refused(bad)) << wrong;
    bad = good;
    bad.numbers[1] = wrong;  // how many nodes are below it
    EXPECT_TRUE(refused(bad)) << wrong;
  }
  bad = good;
  bad.parent[0] = 0;
  EXPECT_TRUE(refused(bad));
}

}  // namespace
}  // namespace attractor::depth
