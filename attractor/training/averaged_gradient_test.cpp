// adam, sign and muon against steps written out in scalars, and polar factors against an SVD.
#include "attractor/training/averaged_gradient.hpp"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/training/descent_flow.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

using Dense = Eigen::MatrixXd;
using MatrixRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

std::vector<double> trained(const Objective& objective, DescentOptions options, double step,
                            int steps, std::vector<double> start = {}) {
  options.step = step;
  DescentFlow flow(objective, options);
  if (start.empty()) start = objective.start();
  flow::Progress progress{.state = flow.state(start)};
  EXPECT_EQ(
      flow::run(flow, flow::euler(), {.end = flow::Time(step * steps), .step = step}, progress, {}),
      flow::Status::complete);
  return flow.weights(progress.state);
}

// The general problem with one query for all inputs if a prompt is trained.
Problem problem_for(Train train) {
  Problem p = general();
  if (train == Train::p) p.queries.clear();
  return p;
}

// -grad L in plain numbers, where it does not underflow.
std::vector<double> plain_descent(const Objective& objective, const std::vector<double>& w) {
  Evaluation e;
  objective.evaluate(w, e);
  std::vector<double> g = e.descent;
  for (std::size_t k = 0; k < objective.blocks().size(); ++k)
    for (std::size_t j = 0; j < objective.blocks()[k].size; ++j)
      g[objective.blocks()[k].begin + j] *= std::exp(e.log_scale[k]);
  return g;
}

Dense svd_polar(const Dense& A) {
  const Eigen::JacobiSVD<Dense> svd(A, Eigen::ComputeThinU | Eigen::ComputeThinV);
  const auto rank = (svd.singularValues().array() > 1e-10 * svd.singularValues()[0]).count();
  return svd.matrixU().leftCols(rank) * svd.matrixV().leftCols(rank).transpose();
}

// Kingma and Ba, algorithm 1, as printed.
TEST(Adam, IsTheAlgorithmAsPrinted) {
  for (const Train train : {Train::p, Train::W, Train::v_KQ}) {
    const Problem problem = problem_for(train);
    const Objective objective(problem, Loss::logistic, train);
    std::vector<double> w = objective.start(), m(w.size()), s(w.size());
    for (int k = 1; k <= 150; ++k) {
      const std::vector<double> g = plain_descent(objective, w);
      for (std::size_t j = 0; j < w.size(); ++j) {
        m[j] = 0.8 * m[j] + 0.2 * g[j];
        s[j] = 0.95 * s[j] + 0.05 * g[j] * g[j];
        const double mean = m[j] / (1 - std::pow(0.8, k)), square = s[j] / (1 - std::pow(0.95, k));
        w[j] += 0.01 * mean / (std::sqrt(square) + 1e-3);
      }
    }
    const auto q = trained(
        objective, {.rule = Update::adam, .epsilon = 1e-3, .beta1 = 0.8, .beta2 = 0.95}, 0.01, 150);
    for (std::size_t j = 0; j < w.size(); ++j) EXPECT_NEAR(q[j], w[j], 1e-10) << j;
  }
}

// One step by hand: whatever the gradient, m / sqrt(s) = sign after bias correction.
TEST(Adam, BeginsWithTheSign) {
  const Problem problem = authors_like();
  const Objective objective(problem, Loss::logistic, {});
  const std::vector<double> start = {0.3, -0.2, 0}, g = plain_descent(objective, start);
  const auto q = trained(objective, {.rule = Update::adam, .epsilon = 0}, 0.25, 1, start);
  for (std::size_t j = 0; j < 2; ++j)
    EXPECT_NEAR(q[j], start[j] + std::copysign(0.25, g[j]), 1e-15);
  EXPECT_EQ(q[2], 0);  // W hides the third coordinate: no gradient, no step
}

TEST(Adam, WithoutMemoryIsSignDescent) {
  const Problem problem = general();
  const Objective objective(problem, Loss::logistic, Train::W);
  const auto a =
      trained(objective, {.rule = Update::adam, .epsilon = 0, .beta1 = 0, .beta2 = 0}, 0.01, 100);
  const auto b = trained(objective, {.rule = Update::sign}, 0.01, 100);
  for (std::size_t j = 0; j < a.size(); ++j) EXPECT_NEAR(a[j], b[j], 1e-12);
}

// One input, two tokens, one number: g > 0 always, and in the end g falls by e^{-h} a step. Then m
// keeps up if b1 < e^{-h}: m = (1 - b1) g / (1 - b1 e^h), and s likewise with e^{2h}, so that
//   m / sqrt s = (1 - b1) / (1 - b1 e^h) sqrt((1 - b2 e^{2h}) / (1 - b2)).
// The step itself is then h times that number r, which is a fixed point: solved by iteration here,
// and reached by the method at |p| = 4800, where g = e^{-4800}.
TEST(Adam, MovesOnWhereGradientsUnderflow) {
  const Problem problem = with_scores(1, 2, 1, {1, 0}, {1, 0});
  const Objective objective(problem, Loss::linear, {});
  const double b1 = 0.5, b2 = 0.7, h = 0.1;
  double r = 1;
  for (int k = 0; k < 200; ++k)
    r = (1 - b1) / (1 - b1 * std::exp(h * r)) *
        std::sqrt((1 - b2 * std::exp(2 * h * r)) / (1 - b2));
  const DescentOptions adam{.rule = Update::adam, .epsilon = 0, .beta1 = b1, .beta2 = b2};
  const double before = trained(objective, adam, h, 60'000)[0],
               after = trained(objective, adam, h, 60'001)[0];
  EXPECT_GT(before, 4'000);
  EXPECT_NEAR((after - before) / h, r, 1e-9);
}

TEST(SignDescent, MovesEveryEntryByTheStep) {
  const Problem problem = general();
  const Objective objective(problem, Loss::exponential, Train::v_W);
  std::vector<double> w = objective.start();
  for (int k = 0; k < 50; ++k) {
    const std::vector<double> g = plain_descent(objective, w);
    for (std::size_t j = 0; j < w.size(); ++j) w[j] += g[j] > 0 ? 0.02 : g[j] < 0 ? -0.02 : 0;
  }
  const auto q = trained(objective, {.rule = Update::sign}, 0.02, 50);
  for (std::size_t j = 0; j < w.size(); ++j) EXPECT_NEAR(q[j], w[j], 1e-13);
}

TEST(SignDescent, TakesTheSignOfTheMeanWithMomentum) {
  const Problem problem = problem_for(Train::p);
  const Objective objective(problem, Loss::logistic, Train::p);
  std::vector<double> w = objective.start(), m(w.size());
  for (int k = 0; k < 80; ++k) {
    const std::vector<double> g = plain_descent(objective, w);
    for (std::size_t j = 0; j < w.size(); ++j) {
      m[j] = 0.9 * m[j] + g[j];
      w[j] += m[j] > 0 ? 0.05 : -0.05;
    }
  }
  const auto q = trained(objective, {.rule = Update::sign, .momentum = 0.9}, 0.05, 80);
  for (std::size_t j = 0; j < w.size(); ++j) EXPECT_NEAR(q[j], w[j], 1e-12);
}

TEST(Muon, MovesByThePolarFactorOfTheMean) {
  const Problem problem = general();  // K and Q: 5 x 2
  for (const double momentum : {0.0, 0.6})
    for (const Train train : {Train::W, Train::KQ}) {
      const Objective objective(problem, Loss::logistic, train);
      std::vector<double> w = objective.start(), m(w.size());
      for (int k = 0; k < 20; ++k) {
        const std::vector<double> g = plain_descent(objective, w);
        for (std::size_t j = 0; j < w.size(); ++j) m[j] = momentum * m[j] + g[j];
        for (const Block& b : objective.blocks()) {
          const auto columns = static_cast<Eigen::Index>(b.size / 5);
          Eigen::Map<MatrixRows>(w.data() + b.begin, 5, columns) +=
              0.01 * svd_polar(Eigen::Map<const MatrixRows>(m.data() + b.begin, 5, columns));
        }
      }
      const auto q = trained(objective, {.rule = Update::muon, .momentum = momentum}, 0.01, 20);
      for (std::size_t j = 0; j < w.size(); ++j) EXPECT_NEAR(q[j], w[j], 1e-9);
    }
}

TEST(Muon, RefusesVectors) {
  for (const Train train : {Train::p, Train::v_W, Train::v}) {
    const Problem problem = problem_for(train);
    const Objective objective(problem, Loss::logistic, train);
    EXPECT_THROW(DescentFlow(objective, {.rule = Update::muon}), Error);
  }
}

Dense polar_of(const Dense& A) {
  const MatrixRows rows = A;
  const auto r = static_cast<std::size_t>(A.rows()), c = static_cast<std::size_t>(A.cols());
  const std::vector<double> polar = polar_factor({rows.data(), r * c}, r, c);
  return Eigen::Map<const MatrixRows>(polar.data(), A.rows(), A.cols());
}

TEST(PolarFactor, IsThatOfAnSvd) {
  for (const auto& [rows, columns] : {std::pair{4, 4}, {5, 2}, {3, 7}, {1, 4}}) {
    const std::vector<double> x =
        deterministic(1, static_cast<std::size_t>(rows), static_cast<std::size_t>(columns), rows);
    const Dense A = Eigen::Map<const MatrixRows>(x.data(), rows, columns);
    EXPECT_LT((polar_of(A) - svd_polar(A)).norm(), 1e-12);
    EXPECT_LT((polar_of(1e-200 * A) - svd_polar(A)).norm(), 1e-12);
  }
  // Rank one of 3 x 3: u v^T over their lengths; and no direction for 0.
  const Eigen::Vector3d u(1, 2, 2), v(2, 0, 0);
  EXPECT_LT((polar_of(u * v.transpose()) - u * v.transpose() / 6).norm(), 1e-15);
  EXPECT_EQ(polar_of(Dense::Zero(2, 3)).norm(), 0);
}

// h k^-a: the distance walked by a sign in one dimension is a sum of powers.
TEST(Decay, ShortensTheSteps) {
  const Problem problem = with_scores(1, 2, 1, {1, 0}, {1, 0});
  const Objective objective(problem, Loss::linear, {});
  double sum = 0;
  for (int k = 1; k <= 1000; ++k) sum += 0.1 / std::sqrt(k);
  for (const Update rule : {Update::sign, Update::normalised})
    EXPECT_NEAR(trained(objective, {.rule = rule, .decay = 0.5}, 0.1, 1000)[0], sum, 1e-11);
}

}  // namespace
}  // namespace attractor::training
