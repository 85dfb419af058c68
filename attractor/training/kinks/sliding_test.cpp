// Gradient flow across and along kinks: closed forms, and a hundred random problems against small
// steps of gradient descent and against gradients around the end.
#include "attractor/training/kinks/sliding.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <string>

#include "attractor/files/problem_file.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/training/descent_flow.hpp"
#include "tests/support/relu_problems.hpp"

namespace attractor::training {
namespace {

using flow::Progress;
using flow::Status;
using flow::Time;

struct End {
  Status status;
  Progress progress;
  std::vector<double> weights;
  bool at_minimum;
};

End flow_to(const Objective& objective, double time, double tolerance = 1e-10) {
  DescentFlow flow(objective, {.flows = true});
  Progress progress{.state = objective.start()};
  const Status status =
      flow::run(flow, flow::dormand_prince(),
                {.end = Time(time), .tolerance = tolerance, .max_steps = 200'000}, progress, {});
  std::vector<double> weights = flow.weights(progress.state);
  const bool at_minimum = flow.at_minimum(progress.state);
  return {status, std::move(progress), std::move(weights), at_minimum};
}

// Inputs i with tokens (e_i, +1) and (0, 0), the last coordinate not seen by W: s_i =
// 1/(1+e^{-u_i}) and o_i = s_i (e_i, 1). Units <U_k, o_i> + b_k of input i alone read its own
// coordinate. For the linear loss u_i' = rate s_i (1 - s_i) / n with one rate on each side of a
// kink at s_i = 1/2 say,
//   e^u + 2u - e^-u = const + rate t / n      (theory C, two tokens).
double passed(double u) { return std::exp(u) + 2 * u - std::exp(-u); }

double at_passed(double level) {
  double low = -700, high = 700;
  for (int k = 0; k < 200; ++k) {
    const double middle = (low + high) / 2;
    (passed(middle) < level ? low : high) = middle;
  }
  return low;
}

// psi = slope * s + kink * relu(s - at), per coordinate.
struct Ramp {
  double slope, kink, at;
};

Problem ramps(const std::vector<Ramp>& each, double start) {
  const std::size_t n = each.size();
  Problem p{.inputs = n, .tokens = 2, .dim = n, .labels = std::vector<double>(n, 1.0)};
  p.x.assign(n * 2 * n, 0.0);
  for (std::size_t i = 0; i < n; ++i) p.x[i * 2 * n + i] = 1;
  std::vector<Activation> activations;
  for (std::size_t i = 0; i < n; ++i) {
    for (int unit = 0; unit < 2; ++unit) {
      for (std::size_t k = 0; k < n; ++k) p.head.hidden.push_back(k == i ? 1 : 0);
      p.head.bias.push_back(unit == 1 ? -each[i].at : 0);
      p.head.v.push_back(unit == 1 ? each[i].kink : each[i].slope);
      activations.push_back(unit == 1 ? Activation::relu : Activation::identity);
    }
  }
  p.head.activation.each = activations;
  p.prompt.assign(n, start);
  check(p);
  return p;
}

// Where a coordinate is at time t, starting below its kink.
double ramp_at(const Ramp& r, double start, double t) {
  const double kink = std::log(r.at / (1 - r.at));
  const double meets = (passed(kink) - passed(start)) / r.slope;
  if (t <= meets) return at_passed(passed(start) + r.slope * t);
  const double beyond = r.slope + r.kink;
  return beyond <= 0 ? kink : at_passed(passed(kink) + beyond * (t - meets));
}

TEST(Sliding, CrossesKinksWithTheErrorOfTheTolerance) {
  const std::vector<Ramp> each{{0.7, 2.0, 0.3}, {1.1, -0.6, 0.6}, {0.4, 1.5, 0.5}};
  const Problem p = ramps(each, -2);
  const Objective objective(p, Loss::linear, {});
  std::vector<double> errors;
  for (double tolerance : {1e-4, 1e-6, 1e-8, 1e-10}) {
    const End end = flow_to(objective, 60, tolerance);
    EXPECT_EQ(end.status, Status::complete);
    EXPECT_FALSE(end.at_minimum);
    EXPECT_LT(end.progress.steps, 600U);
    double error = 0;
    for (std::size_t i = 0; i < 3; ++i)
      error = std::max(error, std::abs(end.weights[i] - ramp_at(each[i], -2, 60.0 / 3)));
    EXPECT_LT(error, 30 * tolerance) << tolerance;
    errors.push_back(error);
  }
  const double slope = std::log10(errors[0] / errors[3]) / 6;
  EXPECT_GT(slope, 0.8);
}

// Two coordinates stay in their valleys while the third goes on; then all stay.
TEST(Sliding, StaysInValleysWhileTheRestMoves) {
  const std::vector<Ramp> each{{0.7, -2.0, 0.3}, {1.1, 0.6, 0.6}, {0.4, -1.5, 0.5}};
  const Problem p = ramps(each, -2);
  const Objective objective(p, Loss::linear, {});
  const End end = flow_to(objective, 60);
  EXPECT_EQ(end.status, Status::complete);
  EXPECT_LT(end.progress.steps, 600U);
  EXPECT_FALSE(end.at_minimum);
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_NEAR(end.weights[i], ramp_at(each[i], -2, 60.0 / 3), 3e-9) << i;
  const Problem closed = ramps({each[0], each[2]}, -2);
  const End corner = flow_to(Objective(closed, Loss::linear, {}), 1e3);
  EXPECT_EQ(corner.status, Status::complete);
  EXPECT_TRUE(corner.at_minimum);
  EXPECT_NEAR(corner.weights[0], std::log(3. / 7), 1e-12);
  EXPECT_NEAR(corner.weights[1], 0, 1e-12);
}

// It begins exactly on a ridge, and on a valley.
TEST(Sliding, BeginsOnKinks) {
  const double at = 0.5;
  const Problem ridge = ramps({{-0.5, 2, at}}, 0);  // down to the left at 0.5, to the right at 1.5
  const End off = flow_to(Objective(ridge, Loss::linear, {}), 10);
  EXPECT_NEAR(off.weights[0], at_passed(1.5 * 10), 1e-8);
  const Problem valley = ramps({{0.5, -2, at}}, 0);
  const End stays = flow_to(Objective(valley, Loss::linear, {}), 10);
  EXPECT_EQ(stays.weights[0], 0);
  EXPECT_TRUE(stays.at_minimum);
}

TEST(Sliding, OfTheProblemThatStoodStillReachesThePlateau) {
  const Problem p = read_problem(ATTRACTOR_TEST_DATA "/relu_kink.json");
  const Objective objective(p, Loss::logistic, {});
  const End end = flow_to(objective, 1e3);
  EXPECT_NEAR(loss_of(objective, end.weights), std::numbers::ln2, 1e-10);
  EXPECT_TRUE(end.at_minimum);
}

std::vector<double> small_steps(const Objective& objective, double time, double step) {
  std::vector<double> w = objective.start();
  for (double t = 0; t < time; t += step) {
    const std::vector<double> d = descent_of(objective, w);
    for (std::size_t k = 0; k < w.size(); ++k) w[k] += step * d[k];
  }
  return w;
}

// Does descent with small steps, and if need be smaller ones (its error is proportional to them),
// have this loss?
void expect_descent_to(const Objective& objective, double loss, double time, double step,
                       const std::string& what) {
  double descended = 0, allowed = 0;
  for (; step > 1e-5; step /= 8) {
    descended = loss_of(objective, small_steps(objective, time, step));
    allowed = 2e-3 * std::abs(descended) + 1e-4;
    if (std::abs(loss - descended) <= allowed) return;
  }
  EXPECT_NEAR(loss, descended, allowed) << what;
}

// The flow is where small steps of gradient descent are at the same time, and a minimum is one.
TEST(Sliding, OfRandomProblemsEndsWhereDescentDoes) {
  const ReluCase sizes[] = {{1, 3, 2, 2}, {2, 4, 2, 3}, {3, 5, 3, 4}, {4, 4, 5, 6}, {8, 6, 4, 8}};
  const Loss losses[] = {Loss::logistic, Loss::squared, Loss::linear};
  const Kinked kinds[] = {Kinked::relu, Kinked::relu, Kinked::absolute, Kinked::leaky};
  const double time = 30, step = 2e-3;
  int minima = 0, held = 0;
  for (std::uint64_t k = 0; k < 120; ++k) {
    ReluCase c = sizes[k % 5];
    c.loss = losses[k / 5 % 3], c.kind = kinds[k / 15 % 4];
    const Problem p = relu_problem(c, k);
    const Objective objective(p, c.loss, {});
    const End end = flow_to(objective, time);
    ASSERT_EQ(end.status, Status::complete) << k;
    const double loss = loss_of(objective, end.weights);
    expect_descent_to(objective, loss, time, step, std::to_string(k));
    if (!end.at_minimum) continue;
    ++minima;
    const Stationarity around = look_around(objective, end.weights);
    EXPECT_LE(around.smallest, 1e-4 * std::max(around.largest, 1e-3)) << k;
    EXPECT_LE(around.fall, 1e-9) << k;
    if (around.largest > 1e-3) ++held;
  }
  EXPECT_GE(minima, 15);
  EXPECT_GE(held, 5);  // minima on kinks among them
}

// Stopped anywhere, between stages too, and continued by another flow that was told where.
TEST(Sliding, GoesOnWithTheSameBits) {
  const Problem p = relu_problem({4, 4, 5, 6, Loss::squared, Kinked::absolute}, 3);
  const Objective objective(p, Loss::squared, {});
  const End whole = flow_to(objective, 20);
  Progress progress{.state = objective.start()};
  DescentFlow::Rest rest;
  int pieces = 0;
  for (Status status = Status::interrupted; status == Status::interrupted; ++pieces) {
    DescentFlow flow(objective, {.flows = true});
    if (pieces > 0) {
      ASSERT_TRUE(flow.set_rest(rest));
    }
    int asked = 0;
    status = flow::run(flow, flow::dormand_prince(), {.end = Time(20), .tolerance = 1e-10},
                       progress, {.stop = [&] { return ++asked > 150; }});
    rest = flow.rest();
  }
  EXPECT_GT(pieces, 3);
  EXPECT_EQ(progress.state, whole.progress.state);
  EXPECT_EQ(progress.steps, whole.progress.steps);
  DescentFlow flow(objective, {.flows = true});
  rest.sides.pop_back();
  EXPECT_FALSE(flow.set_rest(rest));
  rest.sides.push_back(7);
  EXPECT_FALSE(flow.set_rest(rest));
}

// What else can be trained slides too, and in the geometry of a mirror.
TEST(Sliding, IsForAllWeights) {
  for (const char* trained : {"W", "KQ", "v,p"})
    for (std::uint64_t seed = 0; seed < 6; ++seed) {
      Problem p = relu_problem({3, 4, 3, 4, Loss::squared, Kinked::relu}, seed);
      p.key_factor = p.query_factor =
          std::vector<double>(p.head.hidden.begin(), p.head.hidden.begin() + 6);
      const Objective objective(p, Loss::squared, named<Train>("train", trained));
      const End end = flow_to(objective, 10);
      EXPECT_EQ(end.status, Status::complete) << trained << seed;
      expect_descent_to(objective, loss_of(objective, end.weights), 10, 1e-3,
                        trained + std::to_string(seed));
    }
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    const Problem p = relu_problem({2, 4, 2, 3, Loss::logistic, Kinked::relu}, seed);
    const Objective objective(p, Loss::logistic, {});
    DescentFlow flow(objective, {.mirror = 1.5, .flows = true});
    Progress progress{.state = flow.state(objective.start())};
    ASSERT_EQ(flow::run(flow, flow::dormand_prince(), {.end = Time(5)}, progress, {}),
              Status::complete);
    DescentFlow steps(objective, {.mirror = 1.5});
    Progress descent{.state = steps.state(objective.start())};
    flow::run(steps, flow::euler(), {.end = Time(5), .step = 1e-4}, descent, {});
    const double truth = loss_of(objective, steps.weights(descent.state));
    EXPECT_NEAR(loss_of(objective, flow.weights(progress.state)), truth, 2e-3 * truth) << seed;
  }
}

}  // namespace
}  // namespace attractor::training
