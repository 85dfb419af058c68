#include "attractor/tokens/circle_order.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/components.hpp"

namespace attractor {
namespace {

std::vector<double> on_circle(const std::vector<double>& angles) {
  std::vector<double> tokens;
  for (const double a : angles) tokens.insert(tokens.end(), {std::cos(a), std::sin(a)});
  return tokens;
}

// Lumps of some width around random places, some tokens twice.
std::vector<double> lumps(std::uint64_t seed, std::size_t count, double width) {
  const Stream stream(seed, "test.circle_order");
  std::vector<double> angles;
  for (std::size_t i = 0; i < count; ++i) {
    const double centre = 2 * std::numbers::pi * stream.uniform(i % 7, 0);
    angles.push_back(centre + width * (stream.uniform(i, 1) - 0.5));
    if (i % 11 == 0) angles.push_back(angles[angles.size() / 2]);
  }
  return angles;
}

// Every pair, labels spread until nothing changes.
std::vector<std::uint32_t> linked_by_pairs(std::span<const double> tokens, double radius) {
  const std::size_t n = tokens.size() / 2;
  std::vector<std::uint32_t> label(n);
  for (std::uint32_t i = 0; i < n; ++i) label[i] = i;
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j)
        if (label[j] < label[i] && squared_distance(tokens.subspan(2 * i, 2),
                                                    tokens.subspan(2 * j, 2)) <= radius * radius) {
          label[i] = label[j];
          changed = true;
        }
  }
  return label;
}

TEST(CircleOrder, GoesAroundFromTheFirstToken) {
  const auto order = circle_order(on_circle({3, 2.9, -3, 0.5, 3 + 1e-9, 3}));
  ASSERT_TRUE(order.has_value());
  EXPECT_EQ(order->token, (std::vector<std::uint32_t>{0, 5, 4, 2, 3, 1}));
  EXPECT_EQ(order->angle[1], 0);
  EXPECT_NEAR(order->angle[2], 1e-9, 1e-16);
  EXPECT_NEAR(order->angle[5], 2 * std::numbers::pi - 0.1, 1e-14);
}

TEST(CircleOrder, IsForUnitVectorsAlone) {
  EXPECT_FALSE(circle_order(std::vector<double>{1, 0, 0.5, 0}).has_value());
  EXPECT_FALSE(circle_order(std::vector<double>{1, 0, 0, 0}).has_value());
  EXPECT_FALSE(circle_order(std::vector<double>{1, 0, NAN, 0}).has_value());
  EXPECT_TRUE(circle_order(std::vector<double>{0.6, 0.8}).has_value());
}

TEST(CircleOrder, ComponentsAreThoseOfAllPairs) {
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    for (const double radius : {1e-3, 0.02, 0.1, 0.7, 1.5, 1.99}) {
      const std::vector<double> tokens = on_circle(lumps(seed, 60, seed % 3 == 0 ? 7 : 0.3));
      const Components found = components_on_circle(*circle_order(tokens), tokens, radius);
      const std::vector<std::uint32_t> truth = linked_by_pairs(tokens, radius);
      std::uint32_t next = 0;  // labels are numbered by their first tokens
      std::vector<std::uint32_t> numbered(truth.size());
      for (std::size_t i = 0; i < truth.size(); ++i)
        numbered[i] = truth[i] == i ? next++ : numbered[truth[i]];
      EXPECT_EQ(found.label, numbered) << "seed " << seed << ", radius " << radius;
      EXPECT_EQ(found.count, next);
    }
}

TEST(CircleOrder, ComponentsOfManyTokensGoByIt) {
  std::vector<double> angles = lumps(3, 3000, 0.4);
  const std::vector<double> tokens = on_circle(angles);
  std::vector<double> outside = tokens;  // one far away: not of the circle any more
  outside.insert(outside.end(), {5, 5});
  for (const double radius : {1e-4, 1e-3, 0.05}) {
    const Components here = components(tokens, 2, radius), there = components(outside, 2, radius);
    EXPECT_EQ(here.count + 1, there.count);
    EXPECT_TRUE(std::equal(here.label.begin(), here.label.end(), there.label.begin()));
  }
}

}  // namespace
}  // namespace attractor
