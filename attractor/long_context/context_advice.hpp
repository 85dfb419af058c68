// Which logit scale keeps attention critical when the context grows. Logits are beta <x, y> of unit
// vectors with typical cosine rho; criticality is beta_c(n) = ln n / (1-rho) (long_context.hpp).
// Recipes in use, each set so that it is critical at the trained length n_0, beta_0 = beta_c(n_0):
//
//   constant   beta_0                             plain softmax attention, extrapolated
//   log n      beta_0 ln n / ln n_0               Scalable-Softmax, s ln n (Nakanishi 2501.19399);
//                                                 calibrated like this it is the critical scale
//   log n, from n_0 on                            Qwen: times log_{n_0} n if n > n_0 (2309.16609)
//   YaRN       beta_0 (0.1 ln(n/n_0) + 1)^2 for n > n_0: queries and keys are both multiplied by
//              sqrt(1/t) = 0.1 ln s + 1, s = n/n_0 (Peng, Quesnelle, Fan, Shippole 2309.00071)
//
// What each makes of n tokens follows from the closed form. Cost O(1).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attractor/long_context/long_context.hpp"

namespace attractor::meanfield {

enum class Recipe { critical, constant, log_tokens, log_tokens_beyond, yarn };
inline constexpr Recipe kRecipes[] = {Recipe::critical, Recipe::constant, Recipe::log_tokens,
                                      Recipe::log_tokens_beyond, Recipe::yarn};
std::string_view name(Recipe recipe);

/// The multiplier of <x, y> that the recipe uses at `tokens`.
double logit_scale(Recipe recipe, double tokens, double rho, double trained_tokens);

struct RecipeOutcome {
  Recipe recipe = Recipe::critical;
  double beta = 0;
  double multiplier = 0;  // beta / beta_0
  double exponent = 0;    // beta / ln n
  ContextState state{};
  ContextPhase phase = ContextPhase::critical;
};

struct ContextAdvice {
  double critical_exponent = 0;  // 1/(1-rho)
  double trained_scale = 0;      // beta_0
  double critical_scale = 0;     // beta_c(n) = ln n / (1-rho)
  double half_scale = 0;         // where the own weight is exactly 1/2: ln(n-1) / (1-rho)
  double lowest_scale = 0, highest_scale = 0;      // own weight 0.1 and 0.9: the critical window
  double trained_lowest = 0, trained_highest = 0;  // the same at n_0; not below 0
  std::vector<RecipeOutcome> recipes{};            // in the order of kRecipes
};

/// layer.exponent is not used. Both lengths: 2 to 1e300; 0 <= rho < 1.
ContextAdvice advise(const ContextLayer& layer, double trained_tokens = 8192);

}  // namespace attractor::meanfield
