#include "attractor/observe/leaders.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor::observe {
namespace {

using std::numbers::pi;
using Indices = std::vector<std::uint32_t>;

double chord(double angle) { return 2 * std::sin(angle / 2); }

struct Mean {
  double value, error;  // of the mean of many draws
};

template <class Count>
Mean mean_of(std::size_t draws, const Count& count) {
  double sum = 0, squares = 0;
  for (std::size_t draw = 0; draw < draws; ++draw) {
    const double x = static_cast<double>(count(draw));
    sum += x;
    squares += x * x;
  }
  const double m = static_cast<double>(draws), mean = sum / m;
  return {mean, std::sqrt((squares / m - mean * mean) / (m - 1))};
}

// Four standard errors: fails for one correct seed in 16000; seeds are fixed.
void expect_mean(const Mean& found, double truth) {
  EXPECT_GT(found.error, 0);
  EXPECT_LT(found.error, 0.02 * truth) << "too few draws to tell";
  EXPECT_NEAR(found.value, truth, 4 * found.error);
}

TEST(Leaders, OnALine) {
  const std::vector<double> line = {0, 0.8, 1.6, -0.5, 2.4, 0.9, 3.7, -1.01};
  // 1.6 leads though it is near 0.8, which follows 0: a centre, not a strong one. So do 3.7, -1.01.
  const Leaders found = leaders(line, 1, 1);
  EXPECT_EQ(found.centres, (Indices{0, 2, 6, 7}));
  EXPECT_EQ(found.strong, (Indices{0, 6}));
}

TEST(Leaders, FartherIsStrict) {
  const std::vector<double> line = {0, 2, 4};
  EXPECT_EQ(leaders(line, 1, 2).centres, (Indices{0, 2}));
  EXPECT_EQ(leaders(line, 1, std::nextafter(2.0, 0.0)).centres, (Indices{0, 1, 2}));
  EXPECT_EQ(leaders(line, 1, 2).strong, (Indices{0}));
}

TEST(Leaders, Extremes) {
  const std::vector<double> tokens = {1, 0, 0, 1, 1, 0, -1, 0};
  EXPECT_EQ(leaders(tokens, 2, 0).strong, (Indices{0, 1, 3}));  // token 2 repeats token 0
  EXPECT_EQ(leaders(tokens, 2, 2).centres, (Indices{0}));
  EXPECT_TRUE(leaders({}, 2, 1).centres.empty());
}

// Centres are farther than the radius from each other, every other token is near an earlier centre,
// and strong ones are those of the definition.
TEST(Leaders, Definition) {
  for (const std::size_t dim : {2u, 3u, 10u})
    for (std::uint64_t draw = 0; draw < 20; ++draw) {
      const std::size_t n = 150;
      const double radius = 0.05 * double(draw) + 0.1;
      const std::vector<double> x = uniform_draw(Stream(1, "test.leaders"), draw, n, dim);
      const auto distance = [&](std::size_t i, std::size_t j) {
        double sum = 0;
        for (std::size_t a = 0; a < dim; ++a)
          sum = std::hypot(sum, x[i * dim + a] - x[j * dim + a]);
        return sum;
      };
      const Leaders found = leaders(x, dim, radius);
      Indices strong, centres;
      for (std::uint32_t k = 0; k < n; ++k) {
        bool near_token = false, near_centre = false;
        for (std::uint32_t j = 0; j < k; ++j) near_token |= distance(k, j) <= radius;
        for (const std::uint32_t j : centres) near_centre |= distance(k, j) <= radius;
        if (!near_token) strong.push_back(k);
        if (!near_centre) centres.push_back(k);
      }
      EXPECT_EQ(found.centres, centres);
      EXPECT_EQ(found.strong, strong);
    }
}

// Token k is strong with probability (1 - p)^{k-1}, p being the measure of a cap: exactly
// (1 - (1 - p)^n)/p of them on average. On the circle p = delta/pi; on the sphere in R^3 p = r^2/4.
TEST(Leaders, ExpectedStrongCentres) {
  const struct {
    std::size_t n, dim;
    double radius, p;
  } cases[] = {{200, 2, chord(0.3), 0.3 / pi},
               {60, 2, chord(0.5), 0.5 / pi},
               {30, 2, chord(0.05), 0.05 / pi},
               {400, 3, 0.4, 0.04}};
  const auto expected = [](double p, std::size_t n) {
    return (1 - std::pow(1 - p, double(n))) / p;
  };
  EXPECT_NEAR(expected(0.3 / pi, 200), 10.47197549190, 1e-10);  // theory A9
  for (const auto& c : cases) {
    const Stream stream(2, "test.strong");
    const auto count = [&](std::size_t draw) {
      const auto tokens = uniform_draw(stream, 1000 * c.dim + draw, c.n, c.dim);
      return leaders(tokens, c.dim, c.radius).strong.size();
    };
    expect_mean(mean_of(600, count), expected(c.p, c.n));
  }
}

/// Cars per length of a street after tau attempts per length of a car; tau -> infinity: C_R.
double parked(double tau) {
  const std::size_t steps = 20000;
  const double h = tau / double(steps);
  const auto hazard = [](double v) { return v == 0 ? 1 : -std::expm1(-v) / v; };
  double inner = 0, outer = 0;
  for (std::size_t k = 0; k < steps; ++k) {  // trapezia: the error is of order h^2
    const double v = h * double(k);
    const double next = inner + h / 2 * (hazard(v) + hazard(v + h));
    outer += h / 2 * (std::exp(-2 * inner) + std::exp(-2 * next));
    inner = next;
  }
  return outer;
}

TEST(Leaders, RenyiConstant) {
  // The rest of the integral is e^{-2 gamma}/tau.
  const double tau = 400, rest = std::exp(-2 * std::numbers::egamma) / tau;
  EXPECT_NEAR(parked(tau) + rest, 0.7475979202534, 1e-4);
}

TEST(Leaders, ExpectedCentres) {
  for (const std::size_t n : {400u, 1500u, 6000u}) {
    const double delta = 0.04, tau = double(n) * delta / (2 * pi);
    const Stream stream(3, "test.centres");
    const auto count = [&](std::size_t draw) {
      const auto tokens = uniform_draw(stream, 100 * n + draw, n, 2);
      return leaders(tokens, 2, chord(delta)).centres.size();
    };
    expect_mean(mean_of(40, count), parked(tau) * 2 * pi / delta);
  }
}

TEST(Leaders, BadInput) {
  const std::vector<double> tokens = {1, 0, 0, 1};
  EXPECT_THROW(leaders(tokens, 0, 1), Error);
  EXPECT_THROW(leaders(tokens, 3, 1), Error);
  for (const double radius : {-1.0, double(NAN), double(INFINITY)})
    EXPECT_THROW(leaders(tokens, 2, radius), Error);
}

}  // namespace
}  // namespace attractor::observe
