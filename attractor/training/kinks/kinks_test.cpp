// Surfaces of kinks against finite differences, the smallest descent against Wolfe's method on all
// corners, and units with the same surface.
#include "attractor/training/kinks/kinks.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "tests/support/relu_problems.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

std::vector<std::size_t> all_of(const Kinks& kinks) {
  std::vector<std::size_t> all(kinks.size());
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

// Normal and slope of h, and the jump of the descent from one side to the other, for everything
// that can be trained.
TEST(Kinks, HaveTheSurfacesOfTheirUnits) {
  for (const char* trained : {"p", "W", "KQ", "v,p", "v,W"}) {
    Problem p = general();
    if (Objective(p, Loss::squared, {AttentionPart::weights, false}).dim() == 0) FAIL();
    if (std::string_view(trained).find('p') != std::string_view::npos) p.queries.clear();
    p.head.activation = Activation::relu;
    p.head.bias = {0.1, -0.2, 0.05, 0.3, -0.1};
    const Objective objective(p, Loss::squared, named<Train>("train", trained));
    const Kinks kinks(objective);
    ASSERT_EQ(kinks.size(), 15U) << trained;
    const std::vector<double> w = objective.start();
    Evaluation e, on, off;
    objective.evaluate(w, e);
    const Surfaces s = kinks.surfaces(all_of(kinks), w, e, 0);
    ASSERT_EQ(s.size(), 15U);
    for (std::size_t a = 0; a < s.size(); ++a) {
      const auto normal = std::span(s.normal).subspan(a * w.size(), w.size());
      EXPECT_NEAR(norm(normal), 1, 1e-14);
      std::vector<double> up = w, down = w;
      const double step = 1e-6;
      for (std::size_t k = 0; k < w.size(); ++k)
        up[k] += step * normal[k], down[k] -= step * normal[k];
      objective.evaluate(up, on);
      objective.evaluate(down, off);
      EXPECT_NEAR((kinks.height(a, on) - kinks.height(a, off)) / (2 * step),
                  std::exp(s.log_slope[a]), 1e-8)
          << trained;
      // The descent of the two pieces at the same weights, if h were 0 there, differs by j n; the
      // values differ by h then, so take the pull of the same value: a squared loss shows it.
      std::vector<Side> sides = kinks.sides(e);
      sides[a] = Side::off;
      objective.evaluate(w, off, kinks.piece(sides));
      sides[a] = Side::on;
      objective.evaluate(w, on, kinks.piece(sides));
      const std::size_t i = a / 5;
      const double pull = e.pull_sign[i] * std::exp(e.pull_log[i]);
      const double pull_on = on.pull_sign[i] * std::exp(on.pull_log[i]);
      const double pull_off = off.pull_sign[i] * std::exp(off.pull_log[i]);
      if (std::abs(pull_on - pull) + std::abs(pull_off - pull) > 0.5) continue;
      EXPECT_EQ(std::signbit(s.jump[a]), std::signbit(pull * objective.head_weights(w)[a % 5]));
    }
  }
}

// For a linear loss the pull does not depend on the value: the jump is exact at any height.
TEST(Kinks, JumpIsTheDifferenceOfThePieces) {
  for (const Kinked kind : {Kinked::relu, Kinked::absolute, Kinked::leaky}) {
    const Problem p = relu_problem({3, 4, 3, 4, Loss::linear, kind}, 5);
    const Objective objective(p, Loss::linear, {});
    const Kinks kinks(objective);
    EXPECT_EQ(kinks.size(), 12U);  // pairs of units are one kink
    Evaluation e, on, off;
    objective.evaluate(p.prompt, e);
    const double unit = 1.5;
    const Surfaces s = kinks.surfaces(all_of(kinks), p.prompt, e, unit);
    for (std::size_t a = 0; a < s.size(); ++a) {
      std::vector<Side> sides = kinks.sides(e);
      sides[a] = Side::on;
      objective.evaluate(p.prompt, on, kinks.piece(sides));
      sides[a] = Side::off;
      objective.evaluate(p.prompt, off, kinks.piece(sides));
      const auto high = descent_in_unit(objective, on, unit);
      const auto low = descent_in_unit(objective, off, unit);
      for (std::size_t k = 0; k < 3; ++k)
        EXPECT_NEAR(high[k] - low[k], s.jump[a] * s.normal[a * 3 + k], 1e-13);
    }
  }
}

TEST(Kinks, OfEqualInputsAreOne) {
  Problem p = relu_problem({2, 3, 2, 3, Loss::logistic, Kinked::relu}, 1);
  std::copy_n(p.x.begin(), 6, p.x.begin() + 6);
  const Objective objective(p, Loss::logistic, {});
  EXPECT_EQ(Kinks(objective).size(), 3U);
  p.x[7] += 1e-9;
  EXPECT_EQ(Kinks(Objective(p, Loss::logistic, {})).size(), 6U);
  p.head.activation = Activation::gelu;
  EXPECT_TRUE(Kinks(Objective(p, Loss::logistic, {})).empty());
}

// z of the zonotope is the min-norm point of its 2^m corners, in any metric.
TEST(SmallestDescent, IsTheNearestPointOfAllCorners) {
  const Stream stream(3, "zonotopes");
  for (std::uint64_t draw = 0; draw < 300; ++draw) {
    const std::size_t dim = 1 + draw % 5, m = draw % 7;
    Surfaces s;
    std::vector<double> d(dim), metric(dim);
    stream.normals(10 * draw, d);
    for (std::size_t k = 0; k < dim; ++k)
      metric[k] = draw % 2 == 0 ? 1 : 0.2 + stream.uniform(10 * draw + 1, k);
    for (std::size_t a = 0; a < m; ++a) {
      std::vector<double> n(dim);
      stream.normals(10 * draw + 2 + a, n);
      const double length = norm(n);
      for (double& x : n) x /= length;
      s.kink.push_back(a);
      s.normal.insert(s.normal.end(), n.begin(), n.end());
      s.log_slope.push_back(0);
      s.jump.push_back(2 * stream.normal(10 * draw + 9, a));
    }
    std::vector<double> corners;
    for (std::size_t bits = 0; bits < (1U << m); ++bits)
      for (std::size_t k = 0; k < dim; ++k) {
        double x = d[k];
        for (std::size_t a = 0; a < m; ++a)
          if (bits >> a & 1U) x += s.jump[a] * s.normal[a * dim + k];
        corners.push_back(std::sqrt(metric[k]) * x);
      }
    const auto z = smallest_descent(d, s, metric);
    const auto truth = solve::min_norm_point(corners, dim);
    for (std::size_t k = 0; k < dim; ++k)
      EXPECT_NEAR(std::sqrt(metric[k]) * z.descent[k], truth.point[k], 1e-9) << draw;
    for (double share : z.share) EXPECT_TRUE(share >= 0 && share <= 1) << draw;
  }
}

}  // namespace
}  // namespace attractor::training
