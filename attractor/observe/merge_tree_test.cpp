#include "attractor/observe/merge_tree.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace attractor::observe {
namespace {

using flow::Time;

// Tokens on a line that move along given paths; each step is one straight segment.
class Paths final : public flow::Flow {
 public:
  using Position = std::vector<double> (*)(double t);
  explicit Paths(Position speed) : speed_(speed) {}
  const Space& space() const override { return plane_; }
  void drift(std::span<const double> x, double, std::span<double> out) const override {
    // The second coordinate of token 0 is the time; first coordinates move at the given speeds.
    const std::vector<double> v = speed_(x[1]);
    for (std::size_t i = 0; i < v.size(); ++i) {
      out[2 * i] = v[i];
      out[2 * i + 1] = i == 0 ? 1 : 0;
    }
  }

 private:
  Euclidean plane_{2};
  Position speed_;
};

MergeTree watch(Paths flow, std::vector<double> first, double end, double step) {
  std::vector<double> state;
  for (double x : first) state.insert(state.end(), {x, 0});
  std::vector<std::uint32_t> owner(first.size());
  std::iota(owner.begin(), owner.end(), 0U);
  MergeTree tree(first.size(), 2, 1.0);
  tree.start(Time(0), state, owner);
  flow::Progress progress{.state = state};
  flow::Hooks hooks;
  hooks.step = [&](const flow::Step& s) { tree.watch(s, owner); };
  flow::run(flow, flow::euler(), {.end = Time(end), .step = step}, progress, hooks);
  return tree;
}

// In all tests token 0 is the clock, far away.
TEST(MergeTree, LocatesJoinsInsideSteps) {
  const auto tree = watch(Paths([](double) {
                            return std::vector<double>{0, 1, 0, 0.5};
                          }),
                          {-1000, 0, 3.3, -3}, 3, 0.5);
  ASSERT_EQ(tree.merges().size(), 1U);
  EXPECT_NEAR(tree.merges()[0].time.value(), 2.3, 1e-12);  // 1 comes within 1 of 2
  EXPECT_EQ(tree.merges()[0].a, 1U);
  EXPECT_EQ(tree.merges()[0].b, 2U);
}

TEST(MergeTree, AChainIsOneClusterFromTheStart) {
  const auto tree = watch(Paths([](double) {
                            return std::vector<double>{0, 0, 0, 0, 0};
                          }),
                          {-1000, 0, 0.9, 1.8, 9}, 1, 1);
  EXPECT_EQ(tree.clusters(), 3U);  // the clock, the chain, the far token
  ASSERT_EQ(tree.merges().size(), 2U);
  EXPECT_EQ(tree.merges()[1].time.value(), 0);
}

TEST(MergeTree, ForgetsAJoinThatCameApartAndTellsTheLastOne) {
  // Token 1 passes token 2 (together from t = 2 to 4), turns at t = 7 and meets it again at t = 10.
  const auto tree = watch(Paths([](double t) {
                            return std::vector<double>{0, t < 7 ? 1.0 : -1.0, 0};
                          }),
                          {-1000, 0, 3}, 11, 0.25);
  EXPECT_EQ(tree.clusters(), 2U);
  ASSERT_EQ(tree.merges().size(), 1U);
  EXPECT_NEAR(tree.merges()[0].time.value(), 10, 1e-9);
}

// All tokens but the clock run to the origin in one step: neighbours at distance g come within 1 of
// each other at t = 1 - 1/g, and no other pair does so earlier.
TEST(MergeTree, ManyJoinsOfOneStepAreThoseOfNeighbours) {
  constexpr std::size_t kTokens = 1500;
  std::vector<double> first = {-1e7}, gaps;
  for (std::size_t i = 1; i < kTokens; ++i) {
    gaps.push_back(1.5 + static_cast<double>(i * 7919 % 1009));  // in no order, many alike
    first.push_back(i == 1 ? 3.0 : first.back() + gaps.back());
  }
  gaps.erase(gaps.begin());
  static std::vector<double> speed;
  speed.assign(first.begin(), first.end());
  speed[0] = 0;
  for (std::size_t i = 1; i < kTokens; ++i) speed[i] = -first[i];
  const auto tree = watch(Paths([](double) { return speed; }), first, 1, 1);
  EXPECT_EQ(tree.clusters(), 2U);
  ASSERT_EQ(tree.merges().size(), kTokens - 2);
  std::sort(gaps.begin(), gaps.end());
  for (std::size_t k = 0; k < gaps.size(); ++k)
    ASSERT_NEAR(tree.merges()[k].time.value(), 1 - 1 / gaps[k], 1e-9) << k;
}

TEST(MergeTree, SplittingAPercolatedStartKeepsTheHistoryOfItsParts) {
  // The chain 1-2-3-4 tears between 2 and 3.
  const auto tree = watch(Paths([](double) {
                            return std::vector<double>{0, 0, 0, 1, 1};
                          }),
                          {-1000, 0, 0.9, 1.8, 2.7}, 5, 0.5);
  EXPECT_EQ(tree.clusters(), 3U);
  ASSERT_EQ(tree.merges().size(), 2U);
  for (const Merge& merge : tree.merges()) EXPECT_EQ(merge.time.value(), 0);
  EXPECT_EQ(tree.labels()[1], tree.labels()[2]);
  EXPECT_EQ(tree.labels()[3], tree.labels()[4]);
  EXPECT_NE(tree.labels()[1], tree.labels()[3]);
}

TEST(MergeTree, SeveralJoinsOfOneStepAreOrderedInTime) {
  // One long step: 3 reaches 2 at t = 1.5, 1 reaches 2 at t = 2.
  const auto tree = watch(Paths([](double) {
                            return std::vector<double>{0, 1, 0, -2};
                          }),
                          {-1000, 0, 3, 7}, 2.4, 2.4);
  ASSERT_EQ(tree.merges().size(), 1U + 1U);
  EXPECT_NEAR(tree.merges()[0].time.value(), 1.5, 1e-12);
  EXPECT_NEAR(tree.merges()[1].time.value(), 2, 1e-12);
  const auto rows = tree.linkage();
  EXPECT_EQ(rows[0].left, 2U);
  EXPECT_EQ(rows[0].right, 3U);
  EXPECT_EQ(rows[1].left, 1U);
  EXPECT_EQ(rows[1].right, 4U);  // the cluster made by the first merge
  EXPECT_EQ(rows[1].size, 3U);
}

}  // namespace
}  // namespace attractor::observe
