// u = W p against W and p moved as they are.
#include "attractor/training/prompt_and_map.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/flow/run.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

Problem without_map() {
  Problem p = general();
  p.weights.clear();
  p.queries.clear();
  return p;
}

// dW/dt = g p^T, dp/dt = W^T g by the classical Runge-Kutta method, from W = sqrt c times a
// rotation of all five coordinates and p = 0.
TEST(PromptAndMap, IsTheFlowOfBoth) {
  const Problem problem = without_map();
  const Objective objective(problem, Loss::logistic, {});
  const double c = 0.4, time = 30;
  const int steps = 3000;
  Eigen::MatrixXd W = Eigen::MatrixXd::Identity(5, 5);
  for (int k = 0; k < 4; ++k) {  // a product of plane rotations
    Eigen::MatrixXd R = Eigen::MatrixXd::Identity(5, 5);
    R(k, k) = R(k + 1, k + 1) = std::cos(k + 0.5);
    R(k, k + 1) = -std::sin(k + 0.5), R(k + 1, k) = std::sin(k + 0.5);
    W = W * R;
  }
  W *= std::sqrt(c);
  Eigen::VectorXd p = Eigen::VectorXd::Zero(5);
  Evaluation e;
  const auto descent = [&](const Eigen::MatrixXd& map, const Eigen::VectorXd& prompt) {
    const Eigen::VectorXd u = map * prompt;
    objective.evaluate({u.data(), 5}, e);
    return Eigen::VectorXd(std::exp(e.log_scale[0]) *
                           Eigen::Map<const Eigen::VectorXd>(e.descent.data(), 5));
  };
  const double h = time / steps;
  for (int k = 0; k < steps; ++k) {
    Eigen::MatrixXd dW = Eigen::MatrixXd::Zero(5, 5), sumW = dW;
    Eigen::VectorXd dp = Eigen::VectorXd::Zero(5), sum = dp;
    for (const auto& [share, weight] : {std::pair{0.0, 1.0}, {0.5, 2.0}, {0.5, 2.0}, {1.0, 1.0}}) {
      const Eigen::MatrixXd map = W + share * h * dW;
      const Eigen::VectorXd prompt = p + share * h * dp, g = descent(map, prompt);
      dW = g * prompt.transpose();
      dp = map.transpose() * g;
      sumW += weight * dW, sum += weight * dp;
    }
    W += h / 6 * sumW;
    p += h / 6 * sum;
  }
  PromptAndMapFlow flow(objective, c);
  flow::Progress progress{.state = std::vector<double>(5, 0.0)};
  EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.end = flow::Time(time), .tolerance = 1e-12},
                      progress, {}),
            flow::Status::complete);
  const Eigen::VectorXd u = W * p;
  EXPECT_GT(u.norm(), 1);
  for (std::size_t a = 0; a < 5; ++a)
    EXPECT_NEAR(progress.state[a], u[static_cast<Eigen::Index>(a)], 1e-9);
  EXPECT_NEAR(flow.prompt_square(progress.state), p.squaredNorm(), 1e-9);
}

TEST(PromptAndMap, RefusesWhatItIsNot) {
  const Problem queries = general(), with = authors_like(), without = without_map();
  const Objective mapped(with, Loss::logistic, {}), weights(queries, Loss::logistic, Train::W),
      good(without, Loss::logistic, {});
  EXPECT_THROW(PromptAndMapFlow(mapped, 1), Error);
  EXPECT_THROW(PromptAndMapFlow(weights, 1), Error);
  EXPECT_THROW(PromptAndMapFlow(good, 0), Error);
}

}  // namespace
}  // namespace attractor::training
