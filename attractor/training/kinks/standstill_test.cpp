// Minima, saddles, kinks and ways to infinity, told apart.
#include "attractor/training/kinks/standstill.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/relu_problems.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

// f = s for one input with keys 1 and 0: s = 1 / (1 + e^-u).
Problem mixture(double label) {
  Problem p = with_scores(1, 2, 1, {1, 0}, {1, 0});
  p.labels = {label};
  return p;
}

TEST(Standstill, IsAMinimumOnlyWithinTheDistance) {
  const Problem p = mixture(0.75);
  const Objective objective(p, Loss::squared, {});
  const double u = std::log(3);
  for (double off : {0.0, 3e-8, -3e-8})
    EXPECT_EQ(judge(objective, std::vector<double>{u + off, 0.4}, 1e-7), Standstill::minimum);
  for (double off : {1e-6, -1e-3, 0.5, 20.0})
    EXPECT_EQ(judge(objective, std::vector<double>{u + off, 0.4}, 1e-7), Standstill::moving) << off;
}

// The loss does not depend on the second weight. Who came along it is on his way all the same.
TEST(Standstill, IsNotOfWeightsThatCameAlongAFlatValley) {
  const Problem p = mixture(0.75);
  const Objective objective(p, Loss::squared, {});
  const std::vector<double> here = {std::log(3), 0.4};
  for (const double off : {1e-6, -0.3}) {
    const std::vector<double> along = {here[0], here[1] + off}, across = {here[0] + off, here[1]};
    EXPECT_EQ(judge(objective, here, 1e-7, along), Standstill::moving) << off;
    EXPECT_EQ(judge(objective, here, 1e-7, across), Standstill::minimum) << off;
  }
  EXPECT_EQ(judge(objective, here, 1e-7, here), Standstill::minimum);
}

// However slow: the way to infinity is no standstill, at any length and for any size of tokens.
TEST(Standstill, IsNotTheWayToInfinity) {
  for (double size : {1e-3, 1.0, 1e4})
    for (double logit : {10.0, 100.0, 1e4}) {
      Problem p = mixture(1);
      for (double& x : p.x) x *= size;
      for (Loss loss : {Loss::logistic, Loss::linear, Loss::exponential}) {
        const Objective objective(p, loss, {});
        EXPECT_EQ(judge(objective, std::vector<double>{logit / size, 0.0}, 1e-7),
                  Standstill::moving)
            << size << " " << logit;
      }
    }
}

// Scores 1, 0, 1 at keys -1, 0, 1: on the axis between the two best tokens attention falls towards
// either.
TEST(Standstill, TellsASaddle) {
  const Problem p = with_scores(1, 3, 1, {-1, 0, 1}, {1, 0, 1});
  const Objective objective(p, Loss::linear, {});
  EXPECT_EQ(judge(objective, std::vector<double>{0.0, 0.0}, 1e-7), Standstill::saddle);
  EXPECT_EQ(judge(objective, std::vector<double>{1e-9, 0.0}, 1e-7), Standstill::moving);
  Problem flipped = p;
  flipped.labels = {-1};
  EXPECT_EQ(judge(Objective(flipped, Loss::linear, {}), std::vector<double>{0.0, 0.0}, 1e-7),
            Standstill::minimum);
}

// psi = slope s + kink relu(s - 1/2): valley, ridge, plain crossing and plateau at u = 0.
TEST(Standstill, AtKinksAsksForTheSmallestGradient) {
  const auto at_kink = [](double slope, double kink, double u) {
    Problem p{.inputs = 1, .tokens = 2, .dim = 1, .x = {1, 0}, .labels = {1}};
    p.head = {.v = {slope, kink}, .hidden = {1, 1}, .bias = {0, -0.5}};
    p.head.activation = activation_named("identity,relu");
    p.prompt = {0};
    return judge(Objective(p, Loss::linear, {}), std::vector<double>{u}, 1e-7);
  };
  EXPECT_EQ(at_kink(1, -2, 0), Standstill::minimum);
  EXPECT_EQ(at_kink(1, -2, 3e-8), Standstill::minimum);
  EXPECT_EQ(at_kink(1, -2, 1e-5), Standstill::moving);
  EXPECT_EQ(at_kink(1, -0.9, 0), Standstill::moving);
  EXPECT_EQ(at_kink(-1, 2, 0), Standstill::moving);   // a ridge
  EXPECT_EQ(at_kink(0, -1, 0), Standstill::minimum);  // the edge of a plateau
  EXPECT_EQ(at_kink(0, -1, -1), Standstill::minimum);
  EXPECT_EQ(at_kink(0, 1, 0), Standstill::moving);  // an edge it falls from
}

// No claim at a random point of a random problem that a look around does not bear out.
TEST(Standstill, ClaimsNothingFalse) {
  int claimed = 0;
  for (std::uint64_t k = 0; k < 100; ++k) {
    const ReluCase c{1 + k % 3, 4, 2 + k % 2, 3, k % 2 == 0 ? Loss::logistic : Loss::squared};
    const Problem p = relu_problem(c, 1000 + k);
    const Objective objective(p, c.loss, {});
    if (judge(objective, p.prompt, 1e-7) != Standstill::minimum) continue;
    ++claimed;
    const Stationarity around = look_around(objective, p.prompt);
    EXPECT_LE(around.smallest, 1e-6) << k;
    EXPECT_EQ(around.fall, 0) << k;
  }
  EXPECT_LT(claimed, 20);  // plateaus
}

}  // namespace
}  // namespace attractor::training
