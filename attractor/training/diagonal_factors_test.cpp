// Diagonal factors against a quadrature of their one-dimensional flow, and against k and q moved as
// they are.
#include "attractor/training/diagonal_factors.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/flow/run.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

std::vector<double> factors_at(const Objective& objective, double log_start, double time) {
  DiagonalFactorFlow flow(objective, log_start);
  flow::Progress progress{.state = std::vector<double>(objective.dim(), 0.0)};
  EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.end = flow::Time(time), .tolerance = 1e-12},
                      progress, {}),
            flow::Status::complete);
  return flow.weights(progress.state);
}

// One input, two tokens of scores 1 and 0 and keys 1 and 0, loss -f: g = 1 / (2 + 2 cosh p), so the
// flow is at y at the time int_0^y (1 + cosh p(x)) dx, which Simpson's rule takes to rounding.
TEST(DiagonalFactors, FollowTheirOneDimensionalFlow) {
  const Problem problem = with_scores(1, 2, 1, {1, 0}, {1, 0});
  const Objective objective(problem, Loss::linear, {});
  for (const double a : {1e-30, 0.5, 3.0}) {
    const double p = 5, end = std::asinh(2 * p / (a * a));
    const int pieces = 200'000;
    double sum = 0;
    for (int k = 0; k <= pieces; ++k)
      sum += (k == 0 || k == pieces ? 1
              : k % 2 == 1          ? 4
                                    : 2) *
             (1 + std::cosh(a * a / 2 * std::sinh(end * k / pieces)));
    EXPECT_NEAR(factors_at(objective, std::log(a), sum * end / pieces / 3)[0], p, 1e-9) << a;
  }
}

// dk/dt = q g, dq/dt = k g by the classical Runge-Kutta method in small steps.
TEST(DiagonalFactors, AreGradientFlowOfBothFactors) {
  const Problem problem = authors_like();
  const Objective objective(problem, Loss::logistic, {});
  const std::size_t dim = objective.dim();
  const double a = 0.3, time = 200;
  std::vector<double> x(2 * dim, 0.0);
  std::fill_n(x.begin(), dim, a);
  Evaluation e;
  const auto slope = [&](const std::vector<double>& at) {
    std::vector<double> p(dim), out(2 * dim);
    for (std::size_t b = 0; b < dim; ++b) p[b] = at[b] * at[dim + b];
    objective.evaluate(p, e);
    for (std::size_t b = 0; b < dim; ++b) {
      const double g = std::exp(e.log_scale[0]) * e.descent[b];
      out[b] = at[dim + b] * g, out[dim + b] = at[b] * g;
    }
    return out;
  };
  const int steps = 4000;
  const double h = time / steps;
  for (int k = 0; k < steps; ++k) {
    const auto moved = [&](const std::vector<double>& by, double share) {
      std::vector<double> at = x;
      for (std::size_t b = 0; b < at.size(); ++b) at[b] += share * h * by[b];
      return at;
    };
    const auto k1 = slope(x), k2 = slope(moved(k1, 0.5)), k3 = slope(moved(k2, 0.5)),
               k4 = slope(moved(k3, 1));
    for (std::size_t b = 0; b < x.size(); ++b)
      x[b] += h / 6 * (k1[b] + 2 * k2[b] + 2 * k3[b] + k4[b]);
  }
  const std::vector<double> p = factors_at(objective, std::log(a), time);
  for (std::size_t b = 0; b < dim; ++b) EXPECT_NEAR(p[b], x[b] * x[dim + b], 1e-10);
  EXPECT_GT(norm(p), 0.5);
}

TEST(DiagonalFactors, AreThoseOfAPrompt) {
  const Problem queries = general(), prompt = authors_like();
  const Objective weights(queries, Loss::logistic, Train::W),
      joint(prompt, Loss::logistic, Train::v_p);
  EXPECT_THROW(DiagonalFactorFlow(weights, 0), Error);
  EXPECT_THROW(DiagonalFactorFlow(joint, 0), Error);
}

}  // namespace
}  // namespace attractor::training
