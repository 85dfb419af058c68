#include "attractor/commands/limits/context_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/long_context/context_advice.hpp"

namespace attractor::lab {
namespace {

using meanfield::ContextLayer;
using meanfield::ContextState;

constexpr double kOtherTokens[] = {1e2, 1e4, 1e8};
constexpr int kContextPoints = 300;

using Quantity = double ContextState::*;

Series dots(report::Colour colour) {
  Series series = curve(colour, 2);
  series.mark = report::Mark::points;
  series.size = 4.5;
  return series;
}

/// n allows this cosine at all.
bool possible(double tokens, double rho) { return rho * (tokens - 1) >= -1; }

double value(ContextLayer layer, double gamma, Quantity quantity) {
  layer.exponent = gamma;
  // Attention of the regular simplex vanishes at gamma = 0.
  if (gamma == 0 && layer.rho * (layer.tokens - 1) <= -1 + 1e-9) return kNan;
  return meanfield::context_state(layer).*quantity;
}

PageFigure gamma_figure(const ContextLayer& layer, Quantity quantity, std::string id,
                        std::string title, std::string label, const std::string& reading) {
  const double critical = 1 / (1 - layer.rho);
  const double most = std::max(2.2 * critical, 1.1 * layer.exponent);
  const auto line = [&](double tokens, report::Colour colour, double width) {
    ContextLayer other = layer;
    other.tokens = tokens;
    Series series = curve(colour, width);
    series.title = "n = " + token_words(tokens);
    for (int k = 0; k <= kContextPoints; ++k) {
      const double gamma = most * k / kContextPoints;
      add_point(series, gamma, value(other, gamma, quantity));
    }
    return series;
  };
  std::vector<Series> series;
  const report::Colour colours[] = {report::kOrange, report::kGreen, report::kPurple};
  for (std::size_t k = 0; k < 3; ++k)
    if (kOtherTokens[k] != layer.tokens && possible(kOtherTokens[k], layer.rho))
      series.push_back(line(kOtherTokens[k], colours[k], 1.2));
  series.push_back(line(layer.tokens, report::kBlue, 2.6));
  Series here = dots(report::kVermillion);
  add_point(here, layer.exponent, value(layer, layer.exponent, quantity));
  series.push_back(std::move(here));
  PageFigure result =
      plot(std::move(id), std::move(title), {.label = "γ = β / ln n", .low = 0, .high = most},
           {.label = std::move(label), .low = 0, .high = 1.04}, std::move(series),
           reading + " Dot: this layer.");
  if (layer.rho < 0) result.figure.panels[0].y.low = layer.rho - 0.05;
  result.figure.panels[0].vertical = {
      {.at = critical, .width = 1.4, .dashed = true, .label = "critical γ = " + rounded(critical)}};
  return result;
}

PageFigure recipe_figure(const ContextLayer& layer, double trained_tokens, Quantity quantity,
                         std::string id, std::string title, std::string label,
                         std::string caption) {
  using meanfield::Recipe;
  const double low = std::min(trained_tokens, layer.tokens), high = std::max(1e7, layer.tokens);
  const double least =
      quantity == &ContextState::output_cosine ? std::max(0.0, layer.rho - 0.15) : 0;
  struct Style {
    Recipe recipe;
    report::Colour colour;
    double width;
    bool dashed;
  };
  // Beyond training both logarithmic recipes are the critical one, which is drawn over them.
  const Style styles[] = {{Recipe::constant, report::kVermillion, 2.4, false},
                          {Recipe::yarn, report::kOrange, 2.4, false},
                          {Recipe::log_tokens_beyond, report::kGreen, 4.5, false},
                          {Recipe::log_tokens, report::kSky, 2.4, false},
                          {Recipe::critical, report::kInk, 1.4, true}};
  std::vector<Series> series;
  for (const Style& style : styles) {
    Series line = curve(style.colour, style.width);
    line.dashed = style.dashed;
    line.title = name(style.recipe);
    for (int k = 0; k <= kContextPoints; ++k) {
      ContextLayer at = layer;
      at.tokens = std::clamp(low * std::pow(high / low, static_cast<double>(k) / kContextPoints),
                             2.0, high);
      const double beta = logit_scale(style.recipe, at.tokens, at.rho, trained_tokens);
      add_point(line, at.tokens, value(at, beta / std::log(at.tokens), quantity));
    }
    series.push_back(std::move(line));
  }
  PageFigure result = plot(std::move(id), std::move(title),
                           {.label = "tokens n", .scale = Scale::log, .low = low, .high = high},
                           {.label = std::move(label), .low = least, .high = 1.04},
                           std::move(series), std::move(caption));
  result.figure.panels[0].vertical = {
      {.at = layer.tokens, .width = 1.4, .label = "n = " + token_words(layer.tokens)}};
  return result;
}

PageFigure map_figure(const ContextLayer& layer, double ContextState::*quantity, std::string id,
                      std::string title, std::string caption) {
  const ContextMap map = context_map(layer.tokens);
  PageFigure result{.figure = {.id = std::move(id),
                               .title = std::move(title),
                               .columns = 2,
                               .width = kWide,
                               .height = 820},
                    .caption = std::move(caption),
                    .wide = true};
  Series critical = curve(report::kPaper, 2);
  critical.dashed = true;
  for (int k = 0; k <= kContextPoints; ++k) {
    const double gamma = 1 + (map.gamma.back() - 1) * k / kContextPoints;
    add_point(critical, 1 - 1 / gamma, gamma);
  }
  const std::string label =
      quantity == &ContextState::output_cosine ? "output cosine" : "angle ratio";
  for (const double tokens : map.tokens) {
    report::Heat heat{.x = map.rho, .y = map.gamma, .value = {}, .label = label};
    for (const double gamma : map.gamma)
      for (const double rho : map.rho) {
        ContextLayer at = layer;
        at.tokens = tokens;
        at.rho = rho;
        heat.value.push_back(value(at, gamma, quantity));
      }
    result.figure.panels.push_back({.title = "n = " + token_words(tokens),
                                    .x = {.label = "cosine of tokens ρ"},
                                    .y = {.label = "γ = β / ln n"},
                                    .heat = std::move(heat),
                                    .series = {critical}});
  }
  return result;
}

}  // namespace

std::string token_words(double tokens) {
  if (tokens < 1e7 && tokens == std::floor(tokens))
    return grouped(static_cast<std::uint64_t>(tokens));
  return rounded(tokens);
}

std::vector<PageFigure> gamma_figures(const ContextLayer& layer) {
  return {gamma_figure(layer, &ContextState::output_cosine, "cosine",
                       "What is left of the differences", "cosine of two outputs",
                       fmt::format("At 1 all outputs are the same; at ρ = {} attention changes "
                                   "nothing. The longer the context, the sharper the switch.",
                                   rounded(layer.rho))),
          gamma_figure(layer, &ContextState::self_weight, "weight",
                       "How much a token keeps to itself", "attention to the own token",
                       "The weight that a token gives to itself; all others share the rest.")};
}

std::vector<PageFigure> layer_figures(const ContextLayer& layer,
                                      const meanfield::ContextDepth& depth) {
  Series cosine = curve(report::kBlue, 2.4), critical = curve(report::kOrange, 2.4);
  const double most = 3 * std::max(layer.exponent, 1 / (1 - layer.rho));
  add_point(cosine, 0, layer.rho);
  for (std::size_t k = 0; k < depth.layers.size(); ++k) {
    const auto at = static_cast<double>(k + 1);
    add_point(cosine, at, depth.layers[k].output_cosine);
    // A collapsed layer has none.
    add_point(critical, at, std::min(depth.layers[k].critical_exponent, 1e3 * most));
  }
  const auto last = static_cast<double>(std::max<std::size_t>(depth.layers.size(), 2));
  PageFigure one =
      plot("layers", "Cosine over depth", {.label = "layer", .low = 0, .high = last, .whole = true},
           {.label = "cosine of two tokens", .low = std::min(0.0, layer.rho), .high = 1.04},
           {cosine}, "Tokens after every layer; outputs are normalised and β stays the same.");
  PageFigure two =
      plot("runaway", "The critical point runs away",
           {.label = "layer", .low = 1, .high = last, .whole = true},
           {.label = "γ", .low = 0, .high = most}, {critical},
           "Every layer raises the cosine and with it the critical γ = 1/(1 − cosine). "
           "Once it passes the γ of the model the stack collapses.");
  two.figure.panels[0].horizontal = {
      {.at = layer.exponent, .width = 1.4, .dashed = true, .label = "γ of the model"}};
  return {std::move(one), std::move(two)};
}

std::vector<PageFigure> recipe_figures(const ContextLayer& layer, double trained_tokens) {
  return {
      recipe_figure(
          layer, trained_tokens, &ContextState::output_cosine, "recipes",
          "Recipes of logit scaling", "cosine of two outputs",
          fmt::format("Every recipe is set to be critical at {} tokens. Rising to 1: "
                      "tokens become the same; falling to ρ = {}: attention does nothing.",
                      token_words(trained_tokens), rounded(layer.rho))),
      recipe_figure(layer, trained_tokens, &ContextState::self_weight, "recipe_weights",
                    "Attention to the own token", "attention to the own token",
                    "One half is critical: a token hears itself as much as all others together.")};
}

ContextMap context_map(double tokens) {
  ContextMap map{.tokens = {tokens}};
  for (int k = 0; k <= 45; ++k) map.rho.push_back(0.02 * k);
  for (int k = 0; k <= 48; ++k) map.gamma.push_back(0.125 * k);
  for (const double n : kOtherTokens)
    if (n != tokens) map.tokens.push_back(n);
  return map;
}

std::vector<PageFigure> map_figures(const ContextLayer& layer) {
  return {
      map_figure(layer, &ContextState::output_cosine, "map_cosine",
                 "Phase diagram: cosine of two outputs",
                 "Collapse: all outputs are the same, whatever the tokens; identity: the cosine of "
                 "the tokens comes out unchanged. Dashed: γ = 1/(1 − ρ), where the phases meet as "
                 "n grows."),
      map_figure(layer, &ContextState::angle_ratio, "map_angle",
                 "Phase diagram: angle of two outputs over that of two tokens",
                 "0: collapse; 1: identity, attention does nothing. Dashed: γ = 1/(1 − ρ).")};
}

}  // namespace attractor::lab
