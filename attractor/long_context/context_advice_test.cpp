#include "attractor/long_context/context_advice.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <iterator>

#include "attractor/base/error.hpp"

namespace attractor::meanfield {
namespace {

const RecipeOutcome& of(const ContextAdvice& advice, Recipe recipe) {
  for (const RecipeOutcome& r : advice.recipes)
    if (r.recipe == recipe) return r;
  ADD_FAILURE() << "missing " << name(recipe);
  return advice.recipes.front();
}

TEST(ContextAdvice, AllRecipesAreCriticalWhereTheyWereSet) {
  for (const double rho : {0.0, 0.3, 0.6, 0.95}) {
    const ContextAdvice a = advise({.tokens = 8192, .rho = rho});
    ASSERT_EQ(a.recipes.size(), std::size(kRecipes));
    for (const RecipeOutcome& r : a.recipes) {
      EXPECT_NEAR(r.beta, std::log(8192.0) / (1 - rho), 1e-12 * r.beta) << name(r.recipe);
      EXPECT_NEAR(r.multiplier, 1, 1e-14);
      EXPECT_NEAR(r.state.self_weight, 8192.0 / (2 * 8192 - 1), 1e-12);
    }
  }
}

TEST(ContextAdvice, LongerContext) {
  // n = 2^17, n_0 = 2^13, rho = 0.6, by hand: ln 2 = 0.6931471805599453.
  const double ln2 = 0.6931471805599453;
  const ContextAdvice a = advise({.tokens = 131072, .rho = 0.6}, 8192);
  EXPECT_NEAR(a.critical_exponent, 2.5, 1e-15);
  EXPECT_NEAR(a.trained_scale, 13 * ln2 / 0.4, 1e-13);
  EXPECT_NEAR(a.critical_scale, 17 * ln2 / 0.4, 1e-13);
  EXPECT_NEAR(a.half_scale, std::log(131071.0) / 0.4, 1e-13);
  struct Case {
    Recipe recipe;
    double multiplier;
    ContextPhase phase;
  };
  const double yarn = std::pow(0.1 * 4 * ln2 + 1, 2);
  for (const Case& c : {Case{Recipe::critical, 17.0 / 13, ContextPhase::critical},
                        {Recipe::constant, 1, ContextPhase::collapse},
                        {Recipe::log_tokens, 17.0 / 13, ContextPhase::critical},
                        {Recipe::log_tokens_beyond, 17.0 / 13, ContextPhase::critical},
                        {Recipe::yarn, yarn, ContextPhase::identity}}) {
    const RecipeOutcome& r = of(a, c.recipe);
    EXPECT_NEAR(r.multiplier, c.multiplier, 1e-14) << name(c.recipe);
    EXPECT_NEAR(r.beta, c.multiplier * 13 * ln2 / 0.4, 1e-12) << name(c.recipe);
    EXPECT_NEAR(r.exponent, r.beta / (17 * ln2), 1e-13) << name(c.recipe);
    EXPECT_EQ(r.phase, c.phase) << name(c.recipe);
    // p0 / (1 - p0) = e^{beta (1-rho)} / (n-1)
    const double odds = std::exp(0.4 * r.beta) / 131071;
    EXPECT_NEAR(r.state.self_weight, odds / (1 + odds), 1e-13) << name(c.recipe);
  }
}

TEST(ContextAdvice, ShorterContext) {
  const ContextAdvice a = advise({.tokens = 512, .rho = 0.5}, 8192);
  for (const Recipe recipe : {Recipe::constant, Recipe::log_tokens_beyond, Recipe::yarn})
    EXPECT_EQ(of(a, recipe).multiplier, 1) << name(recipe);
  EXPECT_NEAR(of(a, Recipe::log_tokens).multiplier, 9.0 / 13, 1e-14);
}

TEST(ContextAdvice, WindowHoldsTheWeightBetweenTenAndNinetyPercent) {
  for (const double n : {100.0, 1e6, 1e30}) {
    const ContextAdvice a = advise({.tokens = n, .rho = 0.5});
    const auto weight = [&](double beta) {
      return context_state({.tokens = n, .rho = 0.5, .exponent = beta / std::log(n)}).self_weight;
    };
    EXPECT_NEAR(weight(a.lowest_scale), 0.1, 1e-12);
    EXPECT_NEAR(weight(a.half_scale), 0.5, 1e-12);
    EXPECT_NEAR(weight(a.highest_scale), 0.9, 1e-12);
  }
}

TEST(ContextAdvice, ResidualIsPassedOn) {
  const ContextAdvice a = advise({.tokens = 1e30, .rho = 0.5, .residual = 1});
  EXPECT_NEAR(of(a, Recipe::critical).state.output_cosine, 0.64, 1e-12);
}

TEST(ContextAdvice, BadInput) {
  EXPECT_THROW(advise({.tokens = 1, .rho = 0.5}), Error);
  EXPECT_THROW(advise({.tokens = 100, .rho = 1}), Error);
  EXPECT_THROW(advise({.tokens = 100, .rho = -0.001}), Error);
  EXPECT_THROW(advise({.tokens = 100, .rho = 0.5}, 1), Error);
  EXPECT_THROW(logit_scale(Recipe::yarn, std::nan(""), 0.5, 100), Error);
}

}  // namespace
}  // namespace attractor::meanfield
