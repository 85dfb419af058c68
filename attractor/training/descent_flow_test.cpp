// Gradient methods against the theory's tables (B1, B3, B5b, B7, B9) and each other.
#include "attractor/training/descent_flow.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/flow/run.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

using flow::Progress;
using flow::Status;
using flow::Time;

std::vector<double> descend(const Objective& objective, DescentOptions options, double step,
                            int steps, std::vector<double> start = {}) {
  options.step = step;
  DescentFlow flow(objective, options);
  if (start.empty()) start = objective.start();
  Progress progress{.state = flow.state(start)};
  EXPECT_EQ(flow::run(flow, flow::euler(), {.end = Time(step * steps), .step = step}, progress, {}),
            Status::complete);
  EXPECT_EQ(progress.steps, static_cast<std::uint64_t>(steps));
  return flow.weights(progress.state);
}

std::vector<double> descend(const Problem& problem, DescentOptions options, double step, int steps,
                            std::vector<double> start = {}) {
  return descend(Objective(problem, Loss::logistic, {}), options, step, steps, std::move(start));
}

double cosine(std::span<const double> a, std::span<const double> b) {
  return dot(a, b) / (norm(a) * norm(b));
}

constexpr DescentOptions kNormalised{.rule = Update::normalised};

TEST(GradientDescent, IsEulerOnTheFlow) {
  const auto p = descend(authors_like(), {}, 1, 1000);
  EXPECT_NEAR(p[0], 4.6884377237, 1e-9);
  EXPECT_NEAR(p[1], 0.45213511613, 1e-10);
  const auto later = descend(authors_like(), {}, 1, 10000);
  EXPECT_NEAR(later[0], 6.1919373292, 1e-9);
  EXPECT_NEAR(later[1], 0.84309070600, 1e-10);
}

TEST(NormalisedDescent, KeepsItsLengthAtAnyNorm) {
  const auto p = descend(authors_like(), kNormalised, 0.1, 1000);
  EXPECT_NEAR(norm(p), 99.87771327, 1e-7);
  const auto equal = descend(single_input({1, .9, .9}), kNormalised, 0.1, 1000);
  EXPECT_NEAR(equal[0], -12.173480242, 1e-8);
  EXPECT_NEAR(equal[1], 99.059237965, 1e-8);
  const auto unequal = descend(single_input({1, .9, 0}), kNormalised, 0.1, 1000);
  EXPECT_NEAR(unequal[0], -10.082447664, 1e-8);
  EXPECT_NEAR(unequal[1], 99.293133404, 1e-8);
  const auto local = descend(single_input({1, .9, 0}), kNormalised, 0.1, 1000, {0, -1, 0});
  EXPECT_NEAR(local[0], 99.867984679, 1e-8);
  EXPECT_NEAR(local[1], 0.91598823949, 1e-8);
}

TEST(PublishedDescent, StallsAtTheAuthorsEpsilon) {
  const Problem problem = single_input({1, .9, .9});
  const DescentOptions published{.rule = Update::published};
  EXPECT_NEAR(norm(descend(problem, kNormalised, 0.1, 200)), 19.890518840, 1e-8);
  EXPECT_NEAR(norm(descend(problem, published, 0.1, 200)), 17.896659006, 1e-8);
  EXPECT_NEAR(norm(descend(problem, published, 0.1, 1000)), 21.497852860, 1e-8);
}

TEST(NormalisedDescent, StartsEndInTheBasinOfTheTheory) {
  // Global token 0 or local token 1, by the height of the start.
  const Problem problem = single_input({1, .9, 0});
  const Objective objective(problem, Loss::logistic, {});
  const std::pair<double, std::size_t> cases[] = {{1, 0},   {.5, 0}, {0, 0},
                                                  {-.5, 0}, {-1, 1}, {-1.5, 1}};
  for (const auto& [height, token] : cases) {
    Evaluation e;
    objective.evaluate(descend(problem, kNormalised, 0.1, 1000, {0, height, 0}), e);
    EXPECT_EQ(e.chosen, std::vector<std::size_t>{token}) << height;
  }
}

// W moves along the fixed query a only, and W a follows p with step eta |a|^2 (theory B1).
TEST(GradientDescent, OnWIsThatOnThePrompt) {
  Problem p = authors_like();
  p.prompt = {0.4, -1.2, 0.7};
  const Objective on_w(p, Loss::logistic, Train::W);
  const std::vector<double> w = descend(on_w, {}, 0.5 / dot(p.prompt, p.prompt), 300);
  const auto times_query = [&](std::span<const double> m) {
    std::vector<double> u(3);
    for (std::size_t a = 0; a < 3; ++a) u[a] = dot(m.subspan(3 * a, 3), p.prompt);
    return u;
  };
  Problem q = p;
  q.prompt = times_query(p.weights);
  q.weights.clear();
  const std::vector<double> u = descend(q, {}, 0.5, 300), wa = times_query(w);
  for (std::size_t a = 0; a < 3; ++a) EXPECT_NEAR(wa[a], u[a], 1e-12);
  for (std::size_t a = 0; a < 3; ++a)  // rank one along the query
    for (std::size_t b = 0; b < 3; ++b)
      EXPECT_NEAR((w[3 * a + b] - p.weights[3 * a + b]) * p.prompt[0],
                  (w[3 * a] - p.weights[3 * a]) * p.prompt[b], 1e-13);
}

// The authors' joint problem (theory B7): all inputs support vectors, and one that is not.
TEST(JointDescent, IsTheReferenceOfTheTheory) {
  Problem p{.inputs = 3,
            .tokens = 2,
            .dim = 2,
            .x = {0, 0, 1, 1, 0, 0, 1, -1, 0, 0, 0.5, 1},
            .labels = {1, -1, 1},
            .head = {.v = {-1, 0}},
            .prompt = {0, -1}};
  const auto joint = [&] {
    return descend(Objective(p, Loss::logistic, Train::v_p), kNormalised, 0.1, 1000);
  };
  std::vector<double> end = joint();
  const double tight[4] = {95.29300490, 23.48015629, 0.2219178962, 99.78082354};
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(end[k], tight[k], 1e-7);
  p.x[11] = 1.5;
  end = joint();
  EXPECT_NEAR(end[0], 98.11236706, 1e-7);
  EXPECT_NEAR(end[1], 0.3013021739, 1e-7);
  EXPECT_NEAR(end[3], 99.81313989, 1e-7);
}

// The gradient flow to t = e^400: |p| and the angle to p^mm as tabulated, and its velocity in log
// time.
TEST(GradientFlow, ReachesAstronomicTimes) {
  const Problem problem = authors_like();
  const Objective objective(problem, Loss::logistic, {});
  const std::vector<double> margin = {0.7029137519805, 0.2152612956874, 0};
  struct Row {
    double log_time, length, sine;
  };
  const Row table[] = {{10, 6.7753849, 0.15034},    {20, 13.620096, 0.075419},
                       {50, 35.260190, 0.028545},   {100, 71.962425, 0.013602},
                       {200, 145.46992, 0.0066714}, {400, 292.49550, 0.0033174}};
  DescentFlow flow(objective, {});
  // The table's flow leaves p = 0 at ln t = -3.
  Progress progress{.state = objective.start(), .time = Time(std::exp(-3.0))};
  for (const Row& row : table) {
    EXPECT_EQ(flow::run(flow, flow::dormand_prince(),
                        {.end = Time(1, row.log_time), .tolerance = 1e-10}, progress, {}),
              Status::complete);
    EXPECT_NEAR(norm(progress.state), row.length,
                5e-8 * row.length)  // the table has eight digits
        << row.log_time;
    const double c = cosine(progress.state, margin);
    EXPECT_NEAR(std::sqrt(1 - c * c), row.sine, 2e-4 * row.sine) << row.log_time;
  }
  // dp/d ln t -> p^mm much faster than p / |p| -> its direction.
  std::vector<double> velocity(3);
  flow.drift(progress.state, 400, velocity);
  EXPECT_GT(cosine(velocity, margin), 1 - 1e-9);
  EXPECT_LT(cosine(progress.state, margin), 1 - 1e-6);
  EXPECT_NEAR(norm(velocity), 0.7351361561944, 1e-6);
}

TEST(GradientFlow, CanSelectNonOptimalTokensForSeveralInputs) {  // theory B5b
  const Problem problem = with_scores(3, 4, 6, deterministic(3, 4, 6, 0), {1, .5, .5, .5});
  const Objective objective(problem, Loss::logistic, {});
  DescentFlow flow(objective, {});
  Progress progress{.state = objective.start()};
  EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.end = Time(1, 200), .tolerance = 1e-9},
                      progress, {}),
            Status::complete);
  EXPECT_EQ(flow.latest().chosen, (std::vector<std::size_t>{2, 0, 0}));
}

// One input, two tokens, score 1 and 0, keys 1 and 0: u' = e^{-u} / (1 + e^{-u})^2 for loss -f,
// so that e^u + 2u - e^{-u} - (e^{u0} + ...) = t (theory C, T = 2).
TEST(GradientFlow, IsTheSolvableCase) {
  const Problem problem = with_scores(1, 2, 1, {1, 0}, {1, 0});
  const Objective objective(problem, Loss::linear, {});
  DescentFlow flow(objective, {});
  Progress progress{.state = objective.start()};
  flow::run(flow, flow::dormand_prince(), {.end = Time(1000), .tolerance = 1e-12}, progress, {});
  const double u = progress.state[0];
  EXPECT_NEAR(std::exp(u) + 2 * u - std::exp(-u), 1000, 1e-7);
}

// Squared loss: the flow comes to rest where s = 3/4, and does not go on to 10^300 by small steps.
TEST(GradientFlow, RestsAtAFiniteMinimum) {
  Problem problem = with_scores(1, 2, 1, {1, 0}, {1, 0});
  problem.labels = {0.75};
  const Objective objective(problem, Loss::squared, {});
  DescentFlow flow(objective, {.flows = true});
  Progress progress{.state = objective.start()};
  EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.end = Time(1, 700), .tolerance = 1e-10},
                      progress, {}),
            Status::complete);
  EXPECT_LT(progress.steps, 4000U);
  EXPECT_TRUE(flow.at_minimum(progress.state));
  EXPECT_NEAR(progress.state[0], std::log(3), 1e-9);
}

// Heavy ball written out.
TEST(Momentum, IsTheHeavyBall) {
  const Problem problem = authors_like();
  const Objective objective(problem, Loss::logistic, {});
  std::vector<double> p = objective.start(), u(3, 0.0);
  Evaluation e;
  for (int k = 0; k < 200; ++k) {
    objective.evaluate(p, e);
    for (std::size_t a = 0; a < 3; ++a) {
      u[a] = 0.9 * u[a] + std::exp(e.log_scale[0]) * e.descent[a];
      p[a] += 0.5 * u[a];
    }
  }
  const auto q = descend(problem, {.momentum = 0.9}, 0.5, 200);
  for (std::size_t a = 0; a < 3; ++a) EXPECT_NEAR(q[a], p[a], 1e-11);
}

// L - L* = |grad L| (p* - p) along a line: for e^{-u}-like losses Polyak's step is one unit of u.
TEST(Polyak, StepsByExcessOverGradient) {
  const Problem problem = with_scores(1, 2, 1, {1, 0}, {1, 0});
  const Objective objective(problem, Loss::linear, {});
  // L - L* = s_1 = 1/(1+e^u), |grad| = s_0 s_1, so u grows by 1/s_0 = 1 + e^{-u} a step.
  double u = 0;
  for (int k = 0; k < 500; ++k) u += 1 + std::exp(-u);
  EXPECT_NEAR(descend(objective, {.rule = Update::polyak}, 1, 500)[0], u, 1e-9);
}

// The state of mirror descent is theta = w^{q-1}: one step by hand, and q = 2 is no mirror.
TEST(MirrorDescent, MovesTheDualVariable) {
  Problem problem = authors_like();
  problem.prompt = {0.5, -0.25, 0};
  const Objective objective(problem, Loss::logistic, {});
  Evaluation e;
  objective.evaluate(problem.prompt, e);
  const auto w = descend(problem, {.mirror = 3}, 0.1, 1);
  for (std::size_t a = 0; a < 2; ++a) {
    const double x = problem.prompt[a];
    const double theta = x * std::abs(x) + 0.1 * std::exp(e.log_scale[0]) * e.descent[a];
    EXPECT_NEAR(w[a], std::copysign(std::sqrt(std::abs(theta)), theta), 1e-14);
  }
}

// Against differences of the fourth order along random directions, and its own symmetry.
TEST(DescentFlow, KnowsItsJacobian) {
  for (const Train train : {Train::p, Train::W, Train::v_p}) {
    Problem problem = general();
    if (train != Train::W) problem.queries.clear();
    const Objective objective(problem, Loss::logistic, train);
    const DescentFlow flow(objective, {.flows = true});
    const std::vector<double> w = flow.state(objective.start());
    const std::size_t dim = w.size();
    const double unit = 0.7;
    std::vector<double> jacobian(dim * dim), along(dim), sum(dim), at(w), v(dim);
    ASSERT_TRUE(flow.jacobian(w, unit, jacobian));
    for (std::size_t a = 0; a < dim; ++a) v[a] = std::sin(1 + 3.7 * static_cast<double>(a));
    const double h = 1e-3;
    for (const auto& [shift, factor] : {std::pair{1, 8.0}, {-1, -8.0}, {2, -1.0}, {-2, 1.0}}) {
      for (std::size_t a = 0; a < dim; ++a) at[a] = w[a] + shift * h * v[a];
      flow.drift(at, unit, along);
      for (std::size_t a = 0; a < dim; ++a) sum[a] += factor * along[a] / (12 * h);
    }
    double size = 0;
    for (const double x : jacobian) size = std::max(size, std::abs(x));
    for (std::size_t a = 0; a < dim; ++a) {
      EXPECT_NEAR(dot(std::span(jacobian).subspan(a * dim, dim), v), sum[a], 1e-8 * size);
      for (std::size_t b = 0; b < a; ++b)
        EXPECT_NEAR(jacobian[a * dim + b], jacobian[b * dim + a], 1e-9 * size);
    }
  }
}

}  // namespace
}  // namespace attractor::training
