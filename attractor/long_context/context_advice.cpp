#include "attractor/long_context/context_advice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"

namespace attractor::meanfield {
namespace {

void validate(double tokens, double rho, double trained_tokens) {
  const auto refuse = [](const char* what, double value, const char* allowed) {
    throw Error(fmt::format("{} = {} is not allowed; allowed: {}", what, value, allowed));
  };
  if (!(tokens >= 2 && tokens <= 1e300)) refuse("tokens", tokens, "2 to 1e300");
  if (!(trained_tokens >= 2 && trained_tokens <= 1e300))
    refuse("trained-tokens", trained_tokens, "2 to 1e300");
  if (!(rho >= 0 && rho < 1)) refuse("rho", rho, "0 to below 1 for advice");
}

}  // namespace

std::string_view name(Recipe recipe) {
  switch (recipe) {
    case Recipe::critical:
      return "critical";
    case Recipe::constant:
      return "constant";
    case Recipe::log_tokens:
      return "log n (SSMax)";
    case Recipe::log_tokens_beyond:
      return "log n beyond training (Qwen)";
    case Recipe::yarn:
      return "YaRN";
  }
  return "";
}

double logit_scale(Recipe recipe, double tokens, double rho, double trained_tokens) {
  validate(tokens, rho, trained_tokens);
  const double trained = std::log(trained_tokens) / (1 - rho);
  const bool longer = tokens > trained_tokens;
  switch (recipe) {
    case Recipe::critical:
      return std::log(tokens) / (1 - rho);
    case Recipe::constant:
      return trained;
    case Recipe::log_tokens:
      return trained * (std::log(tokens) / std::log(trained_tokens));
    case Recipe::log_tokens_beyond:
      return longer ? trained * (std::log(tokens) / std::log(trained_tokens)) : trained;
    case Recipe::yarn: {
      const double factor = longer ? 0.1 * (std::log(tokens) - std::log(trained_tokens)) + 1 : 1;
      return trained * factor * factor;
    }
  }
  return trained;
}

ContextAdvice advise(const ContextLayer& layer, double trained_tokens) {
  validate(layer.tokens, layer.rho, trained_tokens);
  const double gap = 1 - layer.rho, log_n = std::log(layer.tokens);
  const double half = std::log(layer.tokens - 1) / gap;
  const double trained_half = std::log(trained_tokens - 1) / gap, window = std::log(9.0) / gap;
  ContextAdvice advice{.critical_exponent = 1 / gap,
                       .trained_scale = std::log(trained_tokens) / gap,
                       .critical_scale = log_n / gap,
                       .half_scale = half,
                       .lowest_scale = half - window,
                       .highest_scale = half + window,
                       .trained_lowest = std::max(0.0, trained_half - window),
                       .trained_highest = trained_half + window};
  for (const Recipe recipe : kRecipes) {
    const double beta = logit_scale(recipe, layer.tokens, layer.rho, trained_tokens);
    ContextLayer scaled = layer;
    scaled.exponent = recipe == Recipe::critical ? 1 / gap : beta / log_n;
    advice.recipes.push_back({.recipe = recipe,
                              .beta = beta,
                              .multiplier = beta / advice.trained_scale,
                              .exponent = scaled.exponent,
                              .state = context_state(scaled),
                              .phase = context_transition(scaled).phase});
  }
  return advice;
}

}  // namespace attractor::meanfield
