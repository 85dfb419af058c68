// Velocities against sums written as in the notation, token by token.
#include "attractor/depth/velocity.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/space/space.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor::depth {
namespace {

using Rows = std::vector<double>;

/// M x, M empty: x.
Rows mapped(const Rows& matrix, std::span<const double> x) {
  Rows y(x.begin(), x.end());
  if (matrix.empty()) return y;
  for (std::size_t a = 0; a < x.size(); ++a) {
    y[a] = 0;
    for (std::size_t b = 0; b < x.size(); ++b) y[a] += matrix[a * x.size() + b] * x[b];
  }
  return y;
}

Rows textbook_velocity(const Attention& a, const Rows& tokens, const Rows& masses) {
  const std::size_t d = a.dim, n = tokens.size() / d;
  const auto row = [&](std::size_t i) { return std::span(tokens).subspan(i * d, d); };
  Rows out(tokens.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    double z = 0, all = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const Rows key = mapped(a.key, row(j)), value = mapped(a.value, row(j));
      const double w = masses[j] * std::exp(a.beta * dot(mapped(a.query, row(i)), key));
      z += w;
      all += masses[j];
      for (std::size_t c = 0; c < d; ++c) out[i * d + c] += w * value[c];
    }
    const std::span<double> v = std::span(out).subspan(i * d, d);
    for (double& c : v) c /= a.rule == Rule::softmax ? z : all;
    if (a.on_sphere) Sphere(d).project(row(i), v);
  }
  return out;
}

double largest_difference(const Rows& a, const Rows& b) {
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) largest = std::max(largest, std::abs(a[k] - b[k]));
  return largest;
}

Rows masses_of(std::size_t n) {
  Rows masses(n);
  for (std::size_t i = 0; i < n; ++i) masses[i] = 1 + static_cast<double>(i % 3);
  return masses;
}

TEST(Velocity, IsThatOfTheNotationWithMassesAndWeights) {
  const std::size_t n = 23, d = 3;
  const Rows tokens = unit_rows(normals_of("velocity test", 1, n, d), d), masses = masses_of(n);
  const Rows weights = normals_of("velocity weights", 1, 3 * d, d);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const bool on_sphere : {true, false})
      for (const bool identity : {true, false}) {
        Attention a{.rule = rule, .beta = 2, .dim = d, .on_sphere = on_sphere};
        if (!identity) {
          a.query.assign(weights.begin(), weights.begin() + 9);
          a.key.assign(weights.begin() + 9, weights.begin() + 18);
          a.value.assign(weights.begin() + 18, weights.end());
        }
        const Rows truth = textbook_velocity(a, tokens, masses);
        Rows out(tokens.size());
        EXPECT_EQ(velocity(VelocityTask{.attention = a}, tokens, masses, out), Engine::dense);
        // Sums of n terms of the size of the largest result, each rounded a few times.
        double size = 0;
        for (const double v : truth) size = std::max(size, std::abs(v));
        EXPECT_LT(largest_difference(out, truth), 1e-13 * std::max(1.0, size))
            << name(rule) << on_sphere << identity;
      }
}

TEST(Velocity, EveryEngineAgreesWithDenseRows) {
  const std::size_t n = 500;
  for (const auto& [engine, d] : {std::pair(Engine::circle, 2), std::pair(Engine::sphere, 3),
                                  std::pair(Engine::moments, 5)}) {
    const auto dim = static_cast<std::size_t>(d);
    const Rows tokens = unit_rows(normals_of("velocity test", 2, n, dim), dim),
               masses = masses_of(n);
    for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
      VelocityTask task{.attention = {.rule = rule, .beta = 1, .dim = dim}};
      Rows out(tokens.size()), truth(tokens.size());
      for (const bool weighed : {true, false}) {
        const std::span<const double> m = weighed ? std::span(masses) : std::span<const double>();
        task.engine = Engine::dense;
        velocity(task, tokens, m, truth);
        task.engine = engine;
        EXPECT_EQ(velocity(task, tokens, m, out), engine);
        // Accuracy 1e-11 in the natural unit e^-beta, twice that over Z >= e^-beta for softmax.
        EXPECT_LT(largest_difference(out, truth), 1e-10 * std::exp(1.0)) << name(engine);
        EXPECT_GT(largest_difference(out, Rows(out.size(), 0)), 1e-3);
      }
    }
  }
}

TEST(Velocity, TheUnitOfTimeScalesIt) {
  const Rows tokens = unit_rows(normals_of("velocity test", 3, 9, 3), 3);
  VelocityTask task{.attention = {.rule = Rule::unnormalised, .beta = 2000, .dim = 3}};
  task.log_unit = -2000;  // e^2000 overflows, what is asked for does not
  Rows out(tokens.size());
  velocity(task, tokens, {}, out);
  EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](double v) { return std::isfinite(v); }));
  task.attention.beta = 2;
  task.log_unit = 0;
  velocity(task, tokens, {}, out);
  Rows scaled(out.size());
  task.log_unit = std::log(2.0);
  velocity(task, tokens, {}, scaled);
  for (std::size_t k = 0; k < out.size(); ++k)
    EXPECT_NEAR(scaled[k], 2 * out[k], 1e-14 * std::abs(out[k]) + 1e-14);
}

TEST(Velocity, RefusesAnEngineThatCannot) {
  const Rows tokens = unit_rows(normals_of("velocity test", 4, 9, 3), 3);
  Rows out(tokens.size());
  VelocityTask task{.attention = {.dim = 3}, .engine = Engine::circle};
  EXPECT_THROW(velocity(task, tokens, {}, out), Error);
  task.engine = Engine::sphere;
  task.attention.value.assign(9, 1);
  EXPECT_THROW(velocity(task, tokens, {}, out), Error);
}

}  // namespace
}  // namespace attractor::depth
