// Tokens through attention against closed forms and the reference values of the theory (A1, A3, A5,
// A6).
#include "attractor/depth/attention_flow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/flow/run.hpp"
#include "attractor/observe/energy.hpp"
#include "attractor/observe/pairs.hpp"
#include "attractor/tokens/generators.hpp"

namespace attractor::depth {
namespace {

using flow::Progress;
using flow::Status;
using flow::Time;

// x[i][a] = sin(1 + 3i + 7a + i a), rows normalised: the theory's deterministic tokens.
std::vector<double> deterministic_tokens(std::size_t n, std::size_t dim) {
  std::vector<double> x(n * dim);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t a = 0; a < dim; ++a)
      x[i * dim + a] = std::sin(1.0 + 3.0 * static_cast<double>(i) + 7.0 * static_cast<double>(a) +
                                static_cast<double>(i * a));
    Sphere(dim).retract(std::span(x).subspan(i * dim, dim));
  }
  return x;
}

std::vector<double> after(Rule rule, double beta, std::vector<double> tokens, std::size_t dim,
                          double time, double tolerance, double radius = 0) {
  AttentionFlow flow({.rule = rule, .beta = beta, .dim = dim}, tokens.size() / dim, radius);
  Progress progress{.state = std::move(tokens)};
  const Status status = flow::run(flow, flow::dormand_prince(),
                                  {.end = Time(time), .tolerance = tolerance}, progress, {});
  EXPECT_EQ(status, Status::complete);
  return flow.groups().expand(progress.state);
}

TEST(AttentionFlow, ReproducesTheReferenceFlow) {
  const auto tokens = deterministic_tokens(7, 4);
  const auto sa = after(Rule::softmax, 1.5, tokens, 4, 1, 1e-13);
  EXPECT_NEAR(sa[0], 0.4823040650396, 1e-12);
  EXPECT_NEAR(sa[6 * 4 + 3], 0.7767913754471, 1e-12);
  const auto usa = after(Rule::unnormalised, 1.5, tokens, 4, 1, 1e-13);
  EXPECT_NEAR(usa[0], 0.2558500136989, 1e-12);
}

TEST(AttentionFlow, EquiangularTokensFollowTheExactReduction) {
  struct Case {
    Rule rule;
    std::size_t n;
    double beta, rho, time, cosine;
  };
  const Case cases[] = {
      {Rule::softmax, 2, 1, 0, 1, 0.579195336911065},
      {Rule::softmax, 8, 4, 0, 5, 0.616837375839616},
      {Rule::softmax, 64, 4, 0, 3, 0.424196498305890},
      {Rule::softmax, 16, 2, 0.3, 1, 0.746782843645001},
      {Rule::softmax, 8, 4, -0.1, 2, -0.0816381448787526},
      {Rule::unnormalised, 8, 1, 0, 1, 0.600585065136073},
      {Rule::unnormalised, 64, 4, 0, 0.4, 0.0197298066987751},
      {Rule::unnormalised, 16, 2, 0.3, 0.25, 0.617803761876330},
  };
  for (const Case& c : cases) {
    const auto end = after(c.rule, c.beta, equiangular(c.n, c.n, c.rho).data, c.n, c.time, 1e-12);
    const std::vector<double> masses(c.n, 1.0);
    EXPECT_NEAR(observe::mean_cosine(end, c.n, masses).mean_cosine, c.cosine, 1e-11)
        << name(c.rule) << " n=" << c.n << " beta=" << c.beta;
  }
}

TEST(AttentionFlow, WithoutTemperatureIsKuramoto) {  // tan(delta/2) = tan(delta_0/2) e^{-t}
  for (Rule rule : {Rule::softmax, Rule::unnormalised}) {
    const auto end = after(
        rule, 0, make_tokens({.arrangement = Arrangement::angles, .dim = 2, .angles = {0, 2}}).data,
        2, 1.5, 1e-13);
    EXPECT_NEAR(Sphere(2).distance(std::span(end).first(2), std::span(end).last(2)),
                0.6689000994797, 1e-12);
  }
}

TEST(AttentionFlow, NearConsensusContractsAtTheExactRate) {  // SA e^{-t}, USA e^{-e^beta t}
  const auto tokens =
      make_tokens({.arrangement = Arrangement::cap, .tokens = 9, .dim = 5, .cap_angle = 1e-4}).data;
  const auto spread = [](const std::vector<double>& x) {
    return observe::pair_statistics(x, 5, std::vector<double>(9, 1.0), 0.9, 0).largest_angle;
  };
  const double beta = 2, sa_time = 3, usa_time = 3 * std::exp(-beta);
  const double before = spread(tokens);
  EXPECT_NEAR(spread(after(Rule::softmax, beta, tokens, 5, sa_time, 1e-13)) / before, std::exp(-3),
              1e-7);
  EXPECT_NEAR(spread(after(Rule::unnormalised, beta, tokens, 5, usa_time, 1e-13)) / before,
              std::exp(-3), 1e-7);
}

TEST(AttentionFlow, LayersAreTheExplicitFormula) {
  const auto tokens = deterministic_tokens(5, 3);
  const double beta = 2, eta = 0.3;
  for (Rule rule : {Rule::softmax, Rule::unnormalised}) {
    AttentionFlow flow({.rule = rule, .beta = beta, .dim = 3}, 5, 0);
    Progress progress{.state = tokens};
    flow::run(flow, flow::layers(), {.end = Time(eta), .step = eta}, progress, {});
    for (std::size_t i = 0; i < 5; ++i) {
      std::vector<double> y(3, 0.0);
      double z = 0;
      for (std::size_t j = 0; j < 5; ++j) {
        const double w = std::exp(
            beta * dot(std::span(tokens).subspan(i * 3, 3), std::span(tokens).subspan(j * 3, 3)));
        z += w;
        for (std::size_t a = 0; a < 3; ++a) y[a] += w * tokens[j * 3 + a];
      }
      for (std::size_t a = 0; a < 3; ++a)
        y[a] = tokens[i * 3 + a] + eta * y[a] / (rule == Rule::softmax ? z : 5);
      Sphere(3).retract(y);
      for (std::size_t a = 0; a < 3; ++a) EXPECT_NEAR(progress.state[i * 3 + a], y[a], 1e-14);
    }
  }
}

// Any Q, K, V: the drift against the definition in long double.
TEST(AttentionFlow, TakesQueryKeyAndValueMatrices) {
  const std::size_t n = 6, d = 4;
  const auto tokens = deterministic_tokens(n, d);
  const auto matrix = [&](double salt) {
    std::vector<double> m(d * d);
    for (std::size_t k = 0; k < m.size(); ++k) m[k] = std::sin(salt + 1.7 * static_cast<double>(k));
    return m;
  };
  for (bool on_sphere : {true, false})
    for (Rule rule : {Rule::softmax, Rule::unnormalised}) {
      const Attention attention{.rule = rule,
                                .beta = 1.3,
                                .dim = d,
                                .on_sphere = on_sphere,
                                .query = matrix(1),
                                .key = matrix(2),
                                .value = matrix(3)};
      const AttentionFlow flow(attention, n, 0);
      std::vector<double> drift(n * d);
      flow.drift(tokens, 0, drift);
      const auto times = [&](const std::vector<double>& m, std::size_t i) {
        std::vector<long double> y(d, 0);
        for (std::size_t a = 0; a < d; ++a)
          for (std::size_t b = 0; b < d; ++b)
            y[a] += static_cast<long double>(m[a * d + b]) * tokens[i * d + b];
        return y;
      };
      for (std::size_t i = 0; i < n; ++i) {
        std::vector<long double> sum(d, 0);
        long double z = 0, radial = 0;
        const auto q = times(attention.query, i);
        for (std::size_t j = 0; j < n; ++j) {
          const auto k = times(attention.key, j), v = times(attention.value, j);
          long double logit = 0;
          for (std::size_t a = 0; a < d; ++a) logit += q[a] * k[a];
          const long double w = std::exp(1.3L * logit);
          z += w;
          for (std::size_t a = 0; a < d; ++a) sum[a] += w * v[a];
        }
        for (auto& c : sum) c /= rule == Rule::softmax ? z : static_cast<long double>(n);
        for (std::size_t a = 0; a < d; ++a) radial += sum[a] * tokens[i * d + a];
        for (std::size_t a = 0; a < d; ++a) {
          const long double expected = sum[a] - (on_sphere ? radial * tokens[i * d + a] : 0);
          EXPECT_NEAR(drift[i * d + a], static_cast<double>(expected),
                      1e-14 * std::max(1.0, std::abs(static_cast<double>(sum[a]))));
        }
      }
    }
}

TEST(AttentionFlow, EnergyGrowsAsTheDissipationSays) {
  const auto tokens = deterministic_tokens(7, 4);
  const std::vector<double> masses(7, 1.0);
  for (Rule rule : {Rule::softmax, Rule::unnormalised}) {
    const Attention attention{.rule = rule, .beta = 1.5, .dim = 4};
    const auto energy_at = [&](double t) {
      const auto x = t > 0 ? after(rule, 1.5, tokens, 4, t, 1e-14) : tokens;
      return std::exp(observe::energy(attention, x, masses, 0).log_energy);
    };
    const double h = 1e-3;  // one-sided, fourth order
    const double slope = (-25 * energy_at(0) + 48 * energy_at(h) - 36 * energy_at(2 * h) +
                          16 * energy_at(3 * h) - 3 * energy_at(4 * h)) /
                         (12 * h);
    const double formula = std::exp(observe::energy(attention, tokens, masses, 0).log_dissipation);
    EXPECT_NEAR(slope / formula, 1, 1e-8);
    EXPECT_NEAR(formula, rule == Rule::softmax ? 0.1564818428709 : 0.2702691737317, 1e-12);
    EXPECT_NEAR(energy_at(0), 0.6294726737737, 1e-12);
    EXPECT_NEAR(energy_at(1), rule == Rule::softmax ? 0.8862425223753 : 1.428213012834, 1e-11);
    double previous = energy_at(0);
    for (double t = 0.25; t < 10; t *= 1.5) {
      const double now = energy_at(t);
      EXPECT_GE(now, previous - 1e-12) << t;
      previous = now;
    }
  }
}

// The drift of two frozen tokens is e^{-beta(1-c)} sin / ...: right to the last digits in every
// unit.
TEST(AttentionFlow, FrozenTokensKeepTheirRelativeSpeed) {
  const double angle = 2, c = std::cos(angle);
  for (double beta : {40.0, 1000.0, 1e5}) {
    const AttentionFlow flow({.rule = Rule::softmax, .beta = beta, .dim = 2}, 2, 0);
    const std::vector<double> tokens = {1, 0, std::cos(angle), std::sin(angle)};
    const double unit = flow.fitting_log_unit(tokens, 0);
    std::vector<double> drift(4);
    flow.drift(tokens, unit, drift);
    const double log_speed = std::log(norm(std::span(drift).first(2))) - unit;
    const double exact =
        std::log(std::sin(angle)) - beta * (1 - c) - std::log1p(std::exp(-beta * (1 - c)));
    EXPECT_NEAR(log_speed, exact, 1e-15 * beta + 1e-13);
  }
}

TEST(AttentionFlow, NoBetaOverflows) {
  for (Rule rule : {Rule::softmax, Rule::unnormalised})
    for (double beta : {0.0, 1.0, 700.0, 1e4, 1e6}) {
      auto tokens = make_tokens({.tokens = 12, .dim = 3, .seed = 3}).data;
      tokens.insert(tokens.end(), tokens.begin(), tokens.begin() + 3);  // a repeated token
      AttentionFlow flow({.rule = rule, .beta = beta, .dim = 3}, 13, 1e-9);
      Progress progress{.state = tokens};
      const Status status =
          flow::run(flow, flow::dormand_prince(),
                    {.end = Time(1), .tolerance = 1e-6, .max_steps = 20000}, progress, {});
      EXPECT_TRUE(status == Status::complete || status == Status::too_many_steps)
          << beta << " " << flow::name(status);
      for (double x : progress.state) EXPECT_TRUE(std::isfinite(x)) << beta;
    }
}

}  // namespace
}  // namespace attractor::depth
