#include "attractor/report/scene_panel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

namespace attractor::report {
namespace {

TokenScene two_moments(TokenScene::Shape shape) {
  return {.shape = shape,
          .palette = {kBlue, kOrange},
          .group = {0, 1, 1},
          .xyz = {{1, 0, 0, 0, 1, 0, 0, 0, 1}, {0, 1, 0, 0, 1, 0, 0, 0, -1}},
          .unit = {1, 100}};
}

TEST(TokensAt, MomentsThemselvesAndOnTheSphereBetween) {
  const TokenScene scene = two_moments(TokenScene::Shape::sphere);
  EXPECT_EQ(tokens_at(scene, 0), scene.xyz[0]);
  EXPECT_EQ(tokens_at(scene, 1), scene.xyz[1]);
  const std::vector<double> middle = tokens_at(scene, 0.5);
  EXPECT_NEAR(middle[0], std::sqrt(0.5), 1e-12);  // half of a quarter of the circle
  EXPECT_NEAR(middle[1], std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(tokens_at(two_moments(TokenScene::Shape::space), 0.5)[0], 0.5, 1e-12);
}

TEST(Markers, EveryTokenCountsOnceAndNearOnesTogether) {
  TokenScene scene = two_moments(TokenScene::Shape::sphere);
  const std::vector<Marker> apart = markers(scene, scene.xyz[0], 1);
  EXPECT_EQ(apart.size(), 3u);
  const std::vector<double> close = {1, 0, 0, 0.9999, 0.004, 0, -1, 0, 0};
  const std::vector<Marker> joined = markers(scene, close, 1);
  ASSERT_EQ(joined.size(), 2u);
  EXPECT_EQ(joined[0].count + joined[1].count, 3u);
  const std::vector<double> unknown(9, kNan);
  EXPECT_TRUE(markers(scene, unknown, 1).empty());
}

// The distance from the centre is an angle: the rim, where a projection crowds tokens, gets room.
TEST(BallPlace, ByAngle) {
  TokenScene ball = two_moments(TokenScene::Shape::ball);
  const auto at = [&](double r) { return ball_place(ball, r, 0)[0]; };
  EXPECT_DOUBLE_EQ(at(std::sin(std::numbers::pi / 6)), 1.0 / 3);
  EXPECT_DOUBLE_EQ(at(1), 1);
  EXPECT_EQ(at(0), 0);
  EXPECT_GT(at(1) - at(0.99), 5 * 0.01);
  EXPECT_EQ(ball_place(two_moments(TokenScene::Shape::circle), 0.3, 0.4)[1], 0.4);
}

TEST(MarkerRadius, AreaGrowsByEqualAmounts) {
  const auto area = [](std::size_t count) { return std::pow(marker_radius(count, 50, 15), 2); };
  EXPECT_NEAR(area(3) - area(2), area(50) - area(49), 1e-9);
  EXPECT_NEAR(marker_radius(50, 50, 15), 15, 1e-12);
}

TEST(TokenPanel, SpaceHasAxesInItsOwnUnits) {
  const Panel panel = token_panel(two_moments(TokenScene::Shape::space), 1);
  EXPECT_FALSE(panel.bare);
  EXPECT_NEAR(panel.x.high, 110, 1e-9);
  EXPECT_NEAR(token_panel(two_moments(TokenScene::Shape::space), 0.5).x.high, 11, 1e-9);
  EXPECT_TRUE(token_panel(two_moments(TokenScene::Shape::sphere), 0).bare);
}

TEST(PlanePanel, DotsGrowAndLinesBend) {
  PlaneScene scene{.x = {.label = "x", .low = 0, .high = 1},
                   .y = {.label = "y", .low = 0, .high = 1},
                   .dot_x = {0.5},
                   .dot_y = {0.5},
                   .dot_colour = {kBlue},
                   .dot_name = {"one"},
                   .dot_ring = {false},
                   .size = {{0}, {1}},
                   .lines = {{.x = {{0, 0}, {0, 1}}, .y = {{0, 1}, {0, 0}}}}};
  const Panel start = plane_panel(scene, 0), middle = plane_panel(scene, 0.5),
              end = plane_panel(scene, 1);
  EXPECT_LT(start.series.back().sizes[0], end.series.back().sizes[0]);
  EXPECT_EQ(middle.series[0].x, (std::vector<double>{0, 0.5}));
  EXPECT_EQ(middle.series[0].y, (std::vector<double>{0, 0.5}));
}

TEST(TellingMoments, EndsAndWhatMoves) {
  std::vector<std::vector<double>> still(40, {0.0, 0.0});
  still[20] = {5, 5};
  const std::vector<std::size_t> chosen = telling_moments(still, 6);
  ASSERT_EQ(chosen.size(), 6u);
  EXPECT_EQ(chosen.front(), 0u);
  EXPECT_EQ(chosen.back(), 39u);
  EXPECT_NE(std::find(chosen.begin(), chosen.end(), 20u), chosen.end());
}

}  // namespace
}  // namespace attractor::report
