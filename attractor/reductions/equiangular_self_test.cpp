#include "attractor/reductions/equiangular_self.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/refusal.hpp"
#include "tests/support/relative.hpp"

namespace attractor::meanfield {
namespace {

using N = Normalisation;
using Self = SelfAttention;

// The quadratures of equiangular.hpp know the flow with the own token.
TEST(EquiangularSelf, IncludeIsTheFlowWeKnow) {
  for (const N norm : every<Normalisation>())
    for (const double time : {0.3, 2.0, 6.0}) {
      const Equiangular e{.tokens = 8,
                          .beta = 2,
                          .cosine0 = 0.1,
                          .norm = norm,
                          .alpha = 0.7,
                          .switch_time = 1,
                          .deepnorm_scale = 1.5};
      const EquiangularState truth = EquiangularFlow(e).at(std::log(time));
      const EquiangularState got = equiangular_at(e, Self::include, time);
      EXPECT_NEAR(got.log_gap, truth.log_gap, 1e-10) << name(norm) << time;
      EXPECT_NEAR(got.log_norm, truth.log_norm, 1e-10) << name(norm) << time;
      EXPECT_NEAR(got.log_speed, truth.log_speed, 1e-9) << name(norm) << time;
    }
}

TEST(EquiangularSelf, RemovedOwnValuesKeepLengths) {
  const auto gap = [](N norm, Self self, double time) {
    return equiangular_at({.tokens = 8, .beta = 2, .norm = norm, .switch_time = 3}, self, time);
  };
  const double post = EquiangularFlow({.tokens = 8, .beta = 2}).at(std::log(10)).log_gap;
  for (const N norm : {N::post, N::pre, N::mix}) {
    EXPECT_NEAR(gap(norm, Self::remove_own_value, 10).log_gap, post, 1e-10) << name(norm);
    EXPECT_EQ(gap(norm, Self::remove_own_value, 10).log_norm, 0);
  }
  EXPECT_RELATIVE(std::exp(post), 6.2e-8, 0.01);
  EXPECT_RELATIVE(gap(N::pre, Self::include, 10).gap(), 4.8e-2, 0.01);
  EXPECT_NEAR(gap(N::ln_scaling, Self::remove_own_value, 8).cosine, 0.990088255027, 1e-11);
}

// x = x_0 + 2nt/(n-1) without lengths; with them ln r is an elementary function of x.
TEST(EquiangularSelf, ExcludedTokensForgetBeta) {
  const double n = 6;
  for (const double beta : {0.0, 3.0, 40.0}) {
    const EquiangularState post =
        equiangular_at({.tokens = n, .beta = beta, .cosine0 = 0.2}, Self::exclude, 1.7);
    const double x = std::log((1 + (n - 1) * 0.2) / 0.8) + 2 * n * 1.7 / (n - 1);
    EXPECT_RELATIVE(post.cosine, (std::exp(x) - 1) / (std::exp(x) + n - 1), 1e-12);
    const EquiangularState pre = equiangular_at(
        {.tokens = n, .beta = beta, .cosine0 = 0.2, .norm = N::pre}, Self::exclude, 3);
    const auto potential = [n](double g) {
      const double at = std::log((1 + (n - 1) * g) / (1 - g));
      return std::log(std::exp(at) + n - 1) / 2 - at / (2 * n);
    };
    EXPECT_RELATIVE(pre.log_norm, potential(pre.cosine) - potential(0.2), 1e-11);
    EXPECT_GT(pre.log_norm, 0.5);
  }
}

TEST(EquiangularSelf, UnitSchemesEndInFiniteDepth) {
  for (const N norm : {N::peri, N::sandwich, N::ngpt, N::branch}) {
    const Equiangular e{.tokens = 8, .beta = 2, .norm = norm, .alpha = 0.5};
    const double pace = norm == N::ngpt ? 0.5 : 1, end = std::acos(1 / std::sqrt(8)) / pace;
    EXPECT_EQ(equiangular_at(e, Self::remove_own_value, end + 1e-9).cosine, 1) << name(norm);
    const EquiangularState near = equiangular_at(e, Self::remove_own_value, end - 0.1 / pace);
    EXPECT_RELATIVE(near.gap(), 8.0 / 7 * std::pow(std::sin(0.1), 2), 1e-12);
    EXPECT_RELATIVE(near.speed(), pace * 8.0 / 7 * std::sin(0.2), 1e-12);
  }
}

TEST(EquiangularSelf, RefusesWhatItDoesNotKnow) {
  EXPECT_EQ(refusal([] { equiangular_at({}, Self::exclude, -1); }),
            "time = -1 is not allowed; allowed: 0 to 1e6");
  EXPECT_EQ(refusal([] { equiangular_at({.rule = Rule::unnormalised}, Self::exclude, 1); }),
            "equiangular tokens without themselves need softmax attention (sa), not usa");
}

}  // namespace
}  // namespace attractor::meanfield
