#include "attractor/reductions/equiangular_layers.hpp"

#include <limits>
#include <vector>

#include "tests/support/refusal.hpp"

namespace attractor::meanfield {
namespace {

using N = Normalisation;

/// Theory A7: n = 8, beta = 2, ten unit layers, alpha = 1/2, mix = four post, six pre.
Equiangular of_table(N norm) {
  return {.tokens = 8, .beta = 2, .norm = norm, .alpha = 0.5, .switch_time = 4};
}

TEST(EquiangularLayers, TableOfTheoryA7) {
  const struct {
    N norm;
    double cosine, size;
  } cases[] = {{N::post, 0.9999164938221, 1},
               {N::pre, 0.8936470599860, 7.969688094219},
               {N::peri, 0.9089241725947, 10.20877273393},
               {N::sandwich, 0.9089241725947, 10.20877273393},
               {N::ngpt, 0.9999779391429, 1},
               {N::ln_scaling, 0.6652828853167, 3.951703028439},
               {N::mix, 0.9941016294072, 6.741374451374}};
  for (const auto& c : cases) {
    const auto states = layers(of_table(c.norm), 1, 10);
    ASSERT_EQ(states.size(), 11u);
    EXPECT_NEAR(states.back().cosine, c.cosine, 1e-12) << name(c.norm);
    EXPECT_NEAR(states.back().norm() / c.size, 1, 1e-12) << name(c.norm);
  }
}

// ---- The same layers on tokens in R^n, written down as the architectures compute them.

using Token = std::vector<double>;

double dot(const Token& a, const Token& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

Token unit(Token a) {
  const double size = std::sqrt(dot(a, a));
  for (double& x : a) x /= size;
  return a;
}

Token sum(double a, const Token& x, double b, const Token& y) {
  Token z(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) z[k] = a * x[k] + b * y[k];
  return z;
}

std::vector<Token> token_layer(const std::vector<Token>& tokens, const Equiangular& e, double h,
                               double t) {
  const Scheme& row = scheme(e.norm);
  std::vector<Token> seen, out;
  for (const Token& x : tokens) seen.push_back(row.sees_length ? x : unit(x));
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    Token attention(tokens[i].size(), 0.0);
    double total = 0;
    for (const Token& y : seen) {
      const double weight = std::exp(e.beta * (dot(seen[i], y) - dot(seen[i], seen[i])));
      attention = sum(1, attention, weight, y);
      total += weight;
    }
    attention = sum(1 / total, attention, 0, attention);
    const Token& x = tokens[i];
    Token added = row.unit ? unit(attention) : attention;
    if (row.pace == Pace::alpha) added = sum(e.alpha, added, -e.alpha, x);
    const double step = row.pace == Pace::damped ? h / std::sqrt(1 + t) : h;
    const double kept = row.pace == Pace::scaled ? e.deepnorm_scale : 1;
    const bool grows = row.grows && !(row.switches && t < e.switch_time);
    out.push_back(sum(kept, x, step, added));
    if (!grows) out.back() = unit(out.back());
  }
  return out;
}

TEST(EquiangularLayers, AreThoseOfTokens) {
  for (const N norm : every<Normalisation>())
    for (const double h : {0.25, 1.0}) {
      Equiangular e{.tokens = 5, .beta = 3, .norm = norm, .alpha = 0.7, .switch_time = 1};
      e.deepnorm_scale = 2.5;
      std::vector<Token> tokens(5, Token(5, 0.0));
      for (std::size_t i = 0; i < 5; ++i) tokens[i][i] = 1;
      const auto states = layers(e, h, 8);
      for (std::size_t k = 0; k <= 8; ++k) {
        EXPECT_NEAR(states[k].cosine, dot(unit(tokens[0]), unit(tokens[3])), 1e-13) << name(norm);
        EXPECT_NEAR(states[k].norm(), std::sqrt(dot(tokens[1], tokens[1])), 1e-13) << name(norm);
        tokens = token_layer(tokens, e, h, static_cast<double>(k) * h);
      }
    }
}

TEST(EquiangularLayers, ApproachTheFlowWithOrderOne) {
  for (const N norm : every<Normalisation>()) {
    const Equiangular e{.tokens = 8, .beta = 2, .norm = norm, .alpha = 0.7, .deepnorm_scale = 1};
    const EquiangularState limit = EquiangularFlow(e).at(std::log(2));
    const auto error = [&](std::size_t count) {
      const EquiangularLayer s = layers(e, 2.0 / static_cast<double>(count), count).back();
      return std::abs(s.cosine - limit.cosine);
    };
    EXPECT_NEAR(std::log2(error(2000) / error(4000)), 1, 0.01) << name(norm);
    EXPECT_LT(error(4000), 1e-3) << name(norm);
  }
  // DeepNorm with a != 1 divides the step by a.
  const Equiangular deep{.tokens = 8, .beta = 2, .norm = N::deepnorm, .deepnorm_scale = 3};
  EXPECT_NEAR(layers(deep, 1e-4, 200000).back().cosine,
              EquiangularFlow(deep).at(std::log(20)).cosine, 1e-5);
}

TEST(EquiangularLayers, GapsKeepTheirDigits) {
  // Near consensus a unit post layer halves distances: c_1 = 1, c_2 = 1/n, norm 2.
  const auto post = layers({.tokens = 8, .beta = 2}, 1, 2000);
  EXPECT_NEAR(post[2000].log_gap - post[1999].log_gap, -2 * std::log(2), 1e-11);
  EXPECT_LT(post[2000].log_gap, -2700);
  // Pre-norm far out: w -> K' / k^2.
  const auto pre = layers({.tokens = 8, .beta = 2, .norm = N::pre}, 1, 200000);
  EXPECT_NEAR((pre[200000].log_gap - pre[100000].log_gap) / std::log(2), -2, 1e-3);
  // Near the simplex sigma = 1 + (n-1) g grows by (c_1 + n c_2)^2 / norm^2, not lost in 1 - g.
  const double start = -(1 - 1e-13) / 7, b = 2;
  const auto near = layers({.tokens = 8, .beta = b, .cosine0 = start}, 1, 1);
  const double others = std::exp(-b * 8 / 7), z = 1 + 7 * others;
  const double c1 = 1 + (1 - others) / z, c2 = others / z;
  const double before = std::fma(7, start, 1.0), after = std::fma(7, near[1].cosine, 1.0);
  EXPECT_NEAR(after / before, std::pow(1 + 8 * c2 / c1, 2), 2e-2);
}

TEST(EquiangularLayers, ExtremesStayFinite) {
  for (const N norm : every<Normalisation>())
    for (const double n : {2.0, 1e30})
      for (const double beta : {0.0, 1e6})
        for (const double start : {-1 / (n - 1), 0.0, 0.999999}) {
          const Equiangular e{.tokens = n, .beta = beta, .cosine0 = start, .norm = norm};
          for (const EquiangularLayer& s : layers(e, 0.5, 60)) {
            ASSERT_TRUE(s.cosine >= start - 1e-15 && s.cosine <= 1) << name(norm) << s.cosine;
            ASSERT_TRUE(std::isfinite(s.log_norm)) << name(norm);
            ASSERT_TRUE(start >= 0 || s.cosine == start) << name(norm);
          }
        }
}

TEST(EquiangularLayers, Refusals) {
  EXPECT_SAYS(refusal([] { layers({.rule = Rule::unnormalised}, 1, 1); }), "usa");
  EXPECT_SAYS(refusal([] { layers({}, 0, 1); }), "step = 0");
  EXPECT_SAYS(refusal([] { layers({.tokens = 1}, 1, 1); }), "tokens = 1");
}

}  // namespace
}  // namespace attractor::meanfield
