#include "attractor/commands/select/select_scene.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace {

/// One input, three tokens in the plane; p moves along the first axis.
SelectRecord straight_walk() {
  SelectRecord r;
  r.trained = true;
  r.setup.train = training::Train::p;
  r.setup.optimizer = Optimizer::flow;
  r.problem = {.inputs = 1, .tokens = 3, .dim = 2, .labels = {1}};
  r.problem.x = {1, 0, 0, 1, -1, 0};
  r.problem.head.v = {1, 0};
  r.problem.prompt = {0, 0};
  for (const double length : {0.0, 1.0, 5.0}) {
    r.trajectory.insert(r.trajectory.end(), {length, 0});
    SelectMoment& m = r.series.emplace_back();
    m.log10_time = length == 0 ? -kInfinity : length;
    m.softmax_min = 0.5;
  }
  r.selected = {0};
  return r;
}

// Sizes are softmax weights: of logits (l, 0, -l) by hand.
TEST(SelectScene, SizesAreSoftmaxWeights) {
  const std::optional<report::Scene> scene = select_scene(straight_walk());
  ASSERT_TRUE(scene);
  ASSERT_EQ(scene->moments(), 3u);
  const double lengths[] = {0, 1, 5};
  for (std::size_t k = 0; k < 3; ++k) {
    const double l = lengths[k], sum = std::exp(l) + 1 + std::exp(-l);
    EXPECT_NEAR(scene->plane->size[k][0], std::exp(l) / sum, 1e-12);
    EXPECT_NEAR(scene->plane->size[k][1], 1 / sum, 1e-12);
    EXPECT_NEAR(scene->plane->size[k][2], std::exp(-l) / sum, 1e-12);
  }
  EXPECT_TRUE(scene->plane->dot_ring[0]);
  EXPECT_FALSE(scene->plane->dot_ring[1]);
  EXPECT_EQ(scene->plane->dot_x, (std::vector<double>{1, 0, -1})) << "keys";
  EXPECT_TRUE(std::isnan(scene->clocks[0].at[0]));
  EXPECT_EQ(scene->clocks[0].at[2], 5);
}

TEST(SelectScene, TheArrowIsThePrompt) {
  const report::Scene scene = *select_scene(straight_walk());
  const report::MovingLine& arrow = scene.plane->lines.back();
  EXPECT_TRUE(arrow.arrow);
  EXPECT_EQ(arrow.x[0][1], 0);
  EXPECT_NEAR(arrow.x[2][1] / arrow.x[1][1], (5.0 / 6) / (1.0 / 2), 1e-12);  // |p| / (1 + |p|)
  EXPECT_EQ(arrow.y[2][1], 0);
}

TEST(SelectScene, WithoutAPlaneRowsOfInputs) {
  SelectRecord r = straight_walk();
  r.problem.dim = 4;
  r.problem.tokens = 4;
  r.problem.x = {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1};
  r.problem.head.v = {1, 0, 0, 0};
  r.problem.prompt = {0, 0, 0, 0};
  r.trajectory.assign(12, 0.0);
  const report::Scene scene = *select_scene(r);
  EXPECT_TRUE(scene.plane->x.whole);
  EXPECT_EQ(scene.plane->dot_x, (std::vector<double>{0, 1, 2, 3}));
  EXPECT_NEAR(scene.plane->size[0][3], 0.25, 1e-12);
}

TEST(SelectScene, NoneWhereNothingMoves) {
  SelectRecord r = straight_walk();
  r.trained = false;
  EXPECT_FALSE(select_scene(r));
  r = straight_walk();
  r.setup.train = training::Train::v;
  EXPECT_FALSE(select_scene(r));
  r = straight_walk();
  r.trajectory.assign(6, kNan);
  EXPECT_FALSE(select_scene(r));
}

}  // namespace
}  // namespace attractor::lab
