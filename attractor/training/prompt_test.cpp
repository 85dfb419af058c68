// The prompt's loss, gradient and flows against finite differences and the reference values of the
// theory (B1, B3, B5b).
#include "attractor/training/prompt.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/flow/run.hpp"

namespace attractor::training {
namespace {

using flow::Progress;
using flow::Status;
using flow::Time;

// K[i][t][a] = sin(1 + 2i + 5t + 3a + i t + t a + 7 salt + i a^2): the theory's deterministic data.
std::vector<double> deterministic(std::size_t n, std::size_t tokens, std::size_t dim, double salt) {
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t t = 0; t < tokens; ++t)
      for (std::size_t a = 0; a < dim; ++a) {
        const auto di = static_cast<double>(i), dt = static_cast<double>(t),
                   da = static_cast<double>(a);
        x.push_back(
            std::sin(1 + 2 * di + 5 * dt + 3 * da + di * dt + dt * da + 7 * salt + di * da * da));
      }
  return x;
}

// A problem with given keys and scores: the score is an extra coordinate that W does not see.
Problem with_scores(std::size_t n, std::size_t tokens, std::size_t dim,
                    const std::vector<double>& keys, const std::vector<double>& scores) {
  Problem p{.inputs = n, .tokens = tokens, .dim = dim + 1, .labels = std::vector<double>(n, 1.0)};
  for (std::size_t row = 0; row < n * tokens; ++row) {
    p.x.insert(p.x.end(), &keys[row * dim], &keys[row * dim] + dim);
    p.x.push_back(scores[row % scores.size()]);
  }
  p.head.assign(dim + 1, 0.0);
  p.head.back() = 1;
  p.weights.assign((dim + 1) * (dim + 1), 0.0);
  for (std::size_t a = 0; a < dim; ++a) p.weights[a * (dim + 1) + a] = 1;
  p.start.assign(dim + 1, 0.0);
  check(p);
  return p;
}

Problem authors_like() {
  auto keys = deterministic(3, 7, 2, 2);
  for (std::size_t row = 0; row < 21; ++row) {
    const std::size_t t = row % 7;
    const double centre[2] = {t == 0 ? 1 : t <= 3 ? -1 : -0.5, t == 0 ? 0 : t <= 3 ? 1 : -0.5};
    for (std::size_t a = 0; a < 2; ++a) keys[row * 2 + a] = centre[a] + 0.2 * keys[row * 2 + a];
  }
  return with_scores(3, 7, 2, keys, {1, .5, .5, .5, .5, .5, .5});
}

Problem single_input(const std::vector<double>& scores) {
  return with_scores(1, 3, 2, {-0.1, 1, 1, 0, 0, 0}, scores);
}

std::vector<double> descend(const Problem& problem, Descent kind, double step, int steps,
                            std::vector<double> start = {}) {
  const Prompt prompt(problem, Loss::logistic);
  PromptFlow flow(prompt, kind);
  if (start.empty()) start = problem.start;
  Progress progress{.state = start};
  EXPECT_EQ(flow::run(flow, flow::euler(), {.end = Time(step * steps), .step = step}, progress, {}),
            Status::complete);
  EXPECT_EQ(progress.steps, static_cast<std::uint64_t>(steps));
  return progress.state;
}

double cosine(std::span<const double> a, std::span<const double> b) {
  return dot(a, b) / (norm(a) * norm(b));
}

TEST(Prompt, LossAndGradientAreTheReference) {
  Problem p{
      .inputs = 3, .tokens = 4, .dim = 5, .x = deterministic(3, 4, 5, 0), .labels = {1, -1, 1}};
  for (int a = 0; a < 5; ++a) {
    p.head.push_back(std::sin(a + 0.5));
    p.start.push_back(std::cos(1.3 * a));
  }
  p.weights = deterministic(1, 5, 5, 4);
  check(p);
  const Prompt prompt(p, Loss::logistic);
  EXPECT_NEAR(prompt.loss(p.start), 1.020356874973, 1e-12);
  const ScaledVector descent = prompt.descent(p.start);
  EXPECT_NEAR(-std::exp(descent.log_scale) * descent.vector[0], 0.05886603903661, 1e-13);
}

TEST(Prompt, GradientIsTheDerivativeOfTheLoss) {
  for (Loss loss : {Loss::linear, Loss::logistic, Loss::exponential}) {
    Problem p{.inputs = 4,
              .tokens = 6,
              .dim = 3,
              .x = deterministic(4, 6, 3, 1),
              .labels = {1, -1, 0.5, 2},
              .head = {0.3, -1, 0.8},
              .start = {0.4, 1.1, -0.7}};
    const Prompt prompt(p, loss);
    const ScaledVector descent = prompt.descent(p.start);
    for (std::size_t a = 0; a < 3; ++a) {
      const auto at = [&](double h) {
        std::vector<double> q = p.start;
        q[a] += h;
        return prompt.loss(q);
      };
      const double h = 1e-3;  // fourth order
      const double slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
      EXPECT_NEAR(-std::exp(descent.log_scale) * descent.vector[a], slope, 1e-11) << name(loss);
    }
  }
}

// Far out the gradient underflows; its direction against the same sum in 64-bit mantissas with a
// huge exponent range.
TEST(Prompt, DirectionIsRightWhereTheGradientUnderflows) {
  const Problem problem = authors_like();
  const Prompt prompt(problem, Loss::logistic);
  for (double length : {10.0, 1e3, 5e3}) {
    const std::vector<double> p = {length * 0.9, length * 0.3, 0};
    const ScaledVector descent = prompt.descent(p);
    std::vector<long double> exact(3, 0);
    const auto keys = prompt.keys();
    const auto gamma = prompt.scores();
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<long double> s(7);
      long double sum = 0, f = 0;
      for (std::size_t t = 0; t < 7; ++t) {
        long double logit = 0, first = 0;
        for (std::size_t a = 0; a < 3; ++a) {
          logit += static_cast<long double>(keys[(i * 7 + t) * 3 + a]) * p[a];
          first += static_cast<long double>(keys[i * 7 * 3 + a]) * p[a];
        }
        sum += s[t] = std::exp(logit - first);
      }
      for (std::size_t t = 0; t < 7; ++t) f += (s[t] /= sum) * gamma[i * 7 + t];
      for (std::size_t t = 0; t < 7; ++t)
        for (std::size_t u = 0; u < t; ++u)
          for (std::size_t a = 0; a < 3; ++a)
            exact[a] += s[t] * s[u] * (gamma[i * 7 + t] - gamma[i * 7 + u]) *
                        (keys[(i * 7 + t) * 3 + a] - keys[(i * 7 + u) * 3 + a]) / (1 + std::exp(f));
    }
    const long double size = std::hypot(exact[0], exact[1]);
    ASSERT_GT(size, 0);
    for (std::size_t a = 0; a < 2; ++a)
      EXPECT_NEAR(descent.vector[a] / norm(descent.vector), static_cast<double>(exact[a] / size),
                  1e-12 + 1e-16 * length)
          << length;
  }
}

TEST(GradientDescent, IsEulerOnTheFlow) {
  const auto p = descend(authors_like(), Descent::gradient, 1, 1000);
  EXPECT_NEAR(p[0], 4.6884377237, 1e-9);
  EXPECT_NEAR(p[1], 0.45213511613, 1e-10);
  const auto later = descend(authors_like(), Descent::gradient, 1, 10000);
  EXPECT_NEAR(later[0], 6.1919373292, 1e-9);
  EXPECT_NEAR(later[1], 0.84309070600, 1e-10);
}

TEST(NormalisedDescent, KeepsItsLengthAtAnyNorm) {
  const auto p = descend(authors_like(), Descent::normalised, 0.1, 1000);
  EXPECT_NEAR(norm(p), 99.87771327, 1e-7);
  const auto equal = descend(single_input({1, .9, .9}), Descent::normalised, 0.1, 1000);
  EXPECT_NEAR(equal[0], -12.173480242, 1e-8);
  EXPECT_NEAR(equal[1], 99.059237965, 1e-8);
  const auto unequal = descend(single_input({1, .9, 0}), Descent::normalised, 0.1, 1000);
  EXPECT_NEAR(unequal[0], -10.082447664, 1e-8);
  EXPECT_NEAR(unequal[1], 99.293133404, 1e-8);
  const auto local = descend(single_input({1, .9, 0}), Descent::normalised, 0.1, 1000, {0, -1, 0});
  EXPECT_NEAR(local[0], 99.867984679, 1e-8);
  EXPECT_NEAR(local[1], 0.91598823949, 1e-8);
}

TEST(PublishedDescent, StallsAtTheAuthorsEpsilon) {
  const Problem problem = single_input({1, .9, .9});
  EXPECT_NEAR(norm(descend(problem, Descent::normalised, 0.1, 200)), 19.890518840, 1e-8);
  EXPECT_NEAR(norm(descend(problem, Descent::published, 0.1, 200)), 17.896659006, 1e-8);
  EXPECT_NEAR(norm(descend(problem, Descent::published, 0.1, 1000)), 21.497852860, 1e-8);
}

TEST(NormalisedDescent, StartsEndInTheBasinOfTheTheory) {
  // Global token 0 or local token 1, by the height of the start.
  const Problem problem = single_input({1, .9, 0});
  const Prompt prompt(problem, Loss::logistic);
  const std::pair<double, std::size_t> cases[] = {{1, 0},   {.5, 0}, {0, 0},
                                                  {-.5, 0}, {-1, 1}, {-1.5, 1}};
  for (const auto& [height, token] : cases) {
    const auto p = descend(problem, Descent::normalised, 0.1, 1000, {0, height, 0});
    EXPECT_EQ(prompt.selected(p), std::vector<std::size_t>{token}) << height;
  }
}

// The gradient flow to t = e^400: |p| and the angle to p^mm as tabulated, and its velocity in log
// time.
TEST(GradientFlow, ReachesAstronomicTimes) {
  const Problem problem = authors_like();
  const Prompt prompt(problem, Loss::logistic);
  const std::vector<double> margin = {0.7029137519805, 0.2152612956874, 0};
  struct Row {
    double log_time, length, sine;
  };
  const Row table[] = {{10, 6.7753849, 0.15034},    {20, 13.620096, 0.075419},
                       {50, 35.260190, 0.028545},   {100, 71.962425, 0.013602},
                       {200, 145.46992, 0.0066714}, {400, 292.49550, 0.0033174}};
  PromptFlow flow(prompt, Descent::gradient);
  // The table's flow leaves p = 0 at ln t = -3.
  Progress progress{.state = problem.start, .time = Time(std::exp(-3.0))};
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
  const Prompt prompt(problem, Loss::logistic);
  PromptFlow flow(prompt, Descent::gradient);
  Progress progress{.state = problem.start};
  EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.end = Time(1, 200), .tolerance = 1e-9},
                      progress, {}),
            Status::complete);
  EXPECT_EQ(prompt.selected(progress.state), (std::vector<std::size_t>{2, 0, 0}));
}

}  // namespace
}  // namespace attractor::training
