#include "attractor/drawing/label_places.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attractor/base/random.hpp"

namespace attractor::report {
namespace {

double cost(const std::vector<LabelWish>& wishes, const std::vector<double>& places) {
  double sum = 0;
  for (std::size_t k = 0; k < wishes.size(); ++k) sum += std::pow(places[k] - wishes[k].at, 2);
  return sum;
}

bool allowed(const std::vector<LabelWish>& wishes, const std::vector<double>& places, double low,
             double high) {
  for (std::size_t k = 0; k < wishes.size(); ++k) {
    const double half = wishes[k].size / 2;
    if (places[k] - half < low - 1e-9 || places[k] + half > high + 1e-9) return false;
    if (k > 0 && places[k] - places[k - 1] < half + wishes[k - 1].size / 2 - 1e-9) return false;
  }
  return true;
}

TEST(LabelPlaces, WishesThatDoNotTouchAreGranted) {
  const std::vector<double> places = label_places({{10, 8}, {30, 8}, {70, 8}}, 0, 100);
  EXPECT_EQ(places, (std::vector<double>{10, 30, 70}));
}

TEST(LabelPlaces, ThoseThatWantOnePlaceStandAroundIt) {
  EXPECT_EQ(label_places({{50, 10}, {50, 10}, {50, 10}}, 0, 100),
            (std::vector<double>{40, 50, 60}));
  EXPECT_EQ(label_places({{99, 10}, {99, 10}}, 0, 100), (std::vector<double>{85, 95}));
}

// No other allowed places are nearer to what was wished: tried at random, around the solution.
TEST(LabelPlaces, NoBetterPlaces) {
  const Stream stream(5, "test.labels");
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    std::array<double, 14> draw{};
    stream.normals(trial, draw);
    std::vector<LabelWish> wishes;
    for (std::size_t k = 0; k < 7; ++k)
      wishes.push_back({50 + 25 * draw[k], 4 + 3 * std::abs(draw[k + 7])});
    std::sort(wishes.begin(), wishes.end(),
              [](const LabelWish& a, const LabelWish& b) { return a.at < b.at; });
    const std::vector<double> places = label_places(wishes, 0, 140);
    ASSERT_TRUE(allowed(wishes, places, 0, 140));
    const double best = cost(wishes, places);
    for (std::uint64_t move = 0; move < 200; ++move) {
      std::array<double, 7> step{};
      stream.normals(1000 + 200 * trial + move, step);
      std::vector<double> other = places;
      for (std::size_t k = 0; k < 7; ++k)
        other[k] += step[k] * std::pow(10, -static_cast<double>(move % 3));
      if (!allowed(wishes, other, 0, 140)) continue;
      EXPECT_GE(cost(wishes, other), best - 1e-6);
    }
  }
}

TEST(LabelPlaces, TooManyBeginAtTheTop) {
  const std::vector<double> places = label_places({{5, 10}, {5, 10}, {5, 10}}, 0, 20);
  EXPECT_EQ(places, (std::vector<double>{5, 15, 25}));
}

}  // namespace
}  // namespace attractor::report
