// Regularisation paths against the theory (B3, B7, B8) and a dense scan of the circle.
#include "attractor/training/margins/regularisation_path.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "attractor/files/problem_file.hpp"
#include "attractor/space/space.hpp"
#include "attractor/training/margins/max_margin.hpp"
#include "tests/support/relu_problems.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

double angle(std::span<const double> p) { return std::atan2(p[1], p[0]); }

TEST(RegularisationPath, ErrorsAreThoseOfTheTheory) {  // loss -x, error ~ 1/R
  const Problem p = authors_like();
  const Objective objective(p, Loss::linear, {});
  const auto path = regularisation_path(objective, {.radii = {10, 30, 100, 300}});
  const double limit = std::atan2(0.2152612956874, 0.7029137519805);
  const double errors[] = {0.0800119, 0.0307313, 0.00943755, 0.00320210};
  for (std::size_t k = 0; k < 4; ++k) {
    EXPECT_NEAR(std::abs(angle(path[k].weights) - limit), errors[k], 2e-6 * errors[k] + 1e-8);
    EXPECT_TRUE(path[k].on_boundary);
    EXPECT_NEAR(norm(path[k].weights), path[k].radius, 1e-12 * path[k].radius);
  }
}

TEST(RegularisationPath, IsTheGlobalMinimumOnTheCircle) {
  const Problem p = single_input({1, .9, 0});
  const Objective objective(p, Loss::logistic, {});
  Evaluation e;
  for (const PathPoint& point : regularisation_path(objective, {.radii = {0.5, 1, 3, 8}})) {
    double least = 1e9;
    for (int k = 0; k < 20000; ++k) {
      const double a = k * std::numbers::pi / 10000;
      objective.evaluate(
          std::vector<double>{point.radius * std::cos(a), point.radius * std::sin(a), 0}, e);
      least = std::min(least, objective.loss(e));
    }
    EXPECT_LE(point.loss, least + 1e-15);
    EXPECT_NEAR(point.loss, least, 1e-7);
  }
}

// lambda p = -grad L: the ridge form has the same solution.
TEST(RegularisationPath, IsTheRidgePath) {
  const Problem p = authors_like();
  const Objective objective(p, Loss::logistic, {});
  const PathPoint point = regularisation_path(objective, {.radii = {4}})[0];
  Evaluation e;
  objective.evaluate(point.weights, e);
  for (std::size_t a = 0; a < 2; ++a)
    EXPECT_NEAR(std::exp(e.log_scale[0]) * e.descent[a],
                std::pow(10, point.log10_ridge) * point.weights[a], 1e-13);
}

// A squared loss that one mixture fits exactly: the ball stops binding.
TEST(RegularisationPath, MayEndInsideTheBall) {
  Problem p = with_scores(1, 2, 1, {1, 0}, {1, 0});
  p.labels = {0.75};
  const Objective objective(p, Loss::squared, {});
  const auto path = regularisation_path(objective, {.radii = {0.5, 5}});
  EXPECT_TRUE(path[0].on_boundary);
  EXPECT_FALSE(path[1].on_boundary);
  EXPECT_NEAR(path[1].weights[0], std::log(3), 1e-6);  // s = 3/4
}

// A larger ball holds the smaller one's solution: losses never rise, whatever the head.
TEST(RegularisationPath, NeverRises) {
  for (Loss loss : {Loss::squared, Loss::logistic})
    for (const char* activation : {"identity", "gelu", "tanh"}) {
      Problem p = general();
      p.queries.clear();
      p.head.activation = activation_named(activation);
      const Objective objective(p, loss, {});
      const auto path = regularisation_path(objective, {.radii = {0.5, 1, 5, 30, 300}});
      for (std::size_t k = 1; k < path.size(); ++k)
        EXPECT_LE(path[k].loss, path[k - 1].loss * (1 + 1e-12)) << activation << path[k].radius;
    }
}

// Of a plane ball, as well as one may wish: a grid in angle and length, then random search around
// its twelve best points.
double scanned(const Objective& objective, double radius) {
  struct Low {
    double loss;
    std::vector<double> w;
  };
  std::vector<Low> lows;
  for (int ring = 0; ring < 64; ++ring) {
    const double r =
        ring < 32 ? radius * (ring + 1) / 32 : radius * std::pow(10, -(ring - 31) / 11.);
    for (int k = 0; k < 240; ++k) {
      const double a = k * std::numbers::pi / 120;
      const std::vector<double> w{r * std::cos(a), r * std::sin(a)};
      lows.push_back({loss_of(objective, w), w});
    }
  }
  std::sort(lows.begin(), lows.end(), [](const Low& a, const Low& b) { return a.loss < b.loss; });
  const Stream stream(0, "scan");
  std::vector<Low> best;
  for (const Low& low : lows) {
    if (best.size() == 12) break;
    if (std::any_of(best.begin(), best.end(), [&](const Low& b) {
          return squared_distance(b.w, low.w) < 1e-3 * std::max(0.01, dot(low.w, low.w));
        }))
      continue;
    best.push_back(low);
  }
  double least = lows[0].loss;
  std::uint64_t draw = 0;
  for (Low& low : best) {
    for (double size = 0.1 * std::max(0.1, norm(low.w)); size > 1e-12;) {
      bool better = false;
      for (int k = 0; k < 30; ++k, ++draw) {
        std::vector<double> w(2);
        stream.normals(draw, w);
        for (std::size_t a = 0; a < 2; ++a) w[a] = low.w[a] + size * w[a];
        const double length = norm(w);
        if (length > radius)
          for (double& x : w) x *= radius / length;
        const double loss = loss_of(objective, w);
        if (loss < low.loss) low = {loss, w}, better = true;
      }
      if (!better) size /= 2;
    }
    least = std::min(least, low.loss);
  }
  return least;
}

void expect_least(const Objective& objective, const PathPoint& point, const std::string& name) {
  const double least = scanned(objective, point.radius);
  EXPECT_LE(point.loss, least + 1e-9 * std::abs(least) + 1e-13) << name << " R " << point.radius;
  EXPECT_LE(norm(point.weights), point.radius * (1 + 1e-13)) << name;
  EXPECT_EQ(point.on_boundary, norm(point.weights) > point.radius * (1 - 1e-9)) << name;
  EXPECT_LT(point.residual, 1e-6) << name << " R " << point.radius;
}

// The minimiser of a loss with kinks mostly lies on them.
TEST(RegularisationPath, FindsMinimaOnKinks) {
  const Problem p = read_problem(ATTRACTOR_TEST_DATA "/relu_path.json");
  const Objective objective(p, Loss::logistic, {});
  const auto path = regularisation_path(objective, {.radii = {0.5, 1, 2, 5, 10, 100}});
  for (const PathPoint& point : path) expect_least(objective, point, "given");
  EXPECT_NEAR(path[5].loss, 0.80382299376559, 1e-13);
  for (std::size_t k : {3UL, 4UL, 5UL}) EXPECT_FALSE(path[k].on_boundary);
  for (std::size_t k : {0UL, 1UL, 2UL}) EXPECT_TRUE(path[k].on_boundary);
}

TEST(RegularisationPath, OfRandomHeadsWithKinksIsTheLeastOfAScan) {
  const ReluCase cases[] = {{1, 3, 2, 3}, {2, 4, 2, 4}, {3, 5, 2, 5}};
  for (std::uint64_t k = 0; k < 9; ++k) {
    ReluCase c = cases[k % 3];
    c.loss = k / 3 == 1 ? Loss::squared : Loss::logistic;
    c.kind = k / 3 == 2 ? Kinked::leaky : Kinked::relu;
    const Problem p = relu_problem(c, 40 + k);
    const Objective objective(p, c.loss, {});
    for (const PathPoint& point : regularisation_path(objective, {.radii = {0.7, 3, 20}}))
      expect_least(objective, point, "draw " + std::to_string(k));
  }
}

// Theory B8: psi(y) = tanh(y_0) + 0.3 sin(y_1); keys are further coordinates of the tokens.
TEST(RegularisationPath, OfANonlinearHeadGoesToTheBestTokenIfMixingCosts) {
  const double keys[3][2] = {{.9, .4}, {-.3, .8}, {.1, -.7}};
  const auto last = [&](double a, double b, double* svm_angle) {
    const double values[3][2] = {{a, b}, {.2, 1}, {-.5, -.6}};
    Problem p{.inputs = 1,
              .tokens = 3,
              .dim = 4,
              .labels = {1},
              .head = {.v = {1, .3},
                       .activation = activation_named("tanh,sin"),
                       .hidden = {1, 0, 0, 0, 0, 1, 0, 0}},
              .weights = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1},
              .prompt = {0, 0, 0, 0}};
    for (std::size_t t = 0; t < 3; ++t)
      p.x.insert(p.x.end(), {values[t][0], values[t][1], keys[t][0], keys[t][1]});
    check(p);
    const Objective objective(p, Loss::linear, {});
    const MaxMargin svm = AttSvm(objective).solve(best_tokens(objective));
    *svm_angle = angle(std::span(svm.solution).subspan(2));
    return angle(
        std::span(regularisation_path(objective, {.radii = {5, 20}})[1].weights).subspan(2));
  };
  double svm_angle = 0;
  EXPECT_NEAR(last(1, .8, &svm_angle), 0.3006023482885, 1e-9);  // 60 digits; theory.md: 0.300623
  EXPECT_NEAR(svm_angle, 0.260602, 1e-6);
  // Mixing two tokens is better than either: along the valley L changes by less than 1e-13.
  EXPECT_NEAR(last(1.5, .2, &svm_angle), 0.9441354577400, 1e-3);
  EXPECT_GT(std::abs(svm_angle - 0.944), 0.1);
}

TEST(RegularisationPath, IsSolvedFarBeyondUnderflow) {
  const Problem p = authors_like();
  const Objective objective(p, Loss::logistic, {});
  const MaxMargin svm = AttSvm(objective).solve({0, 0, 0});
  const auto path =
      regularisation_path(objective, {.radii = {1e3, 1e4, 1e5}, .directions = {svm.solution}});
  double last = 1;
  for (const PathPoint& point : path) {
    const double error = std::abs(angle(point.weights) - angle(svm.solution));
    EXPECT_NEAR(error * point.radius,
                path[0].radius * std::abs(angle(path[0].weights) - angle(svm.solution)),
                0.02 * error * point.radius);  // 1/R
    EXPECT_LT(error, last);
    last = error;
    EXPECT_LT(point.residual, 1e-8);
  }
}

}  // namespace
}  // namespace attractor::training
