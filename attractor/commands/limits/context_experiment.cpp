#include "attractor/commands/limits/context_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/commands/limits/context_figures.hpp"
#include "attractor/long_context/context_advice.hpp"
#include "attractor/long_context/context_simulation.hpp"
#include "attractor/long_context/long_context.hpp"

namespace attractor::lab {
namespace {

using namespace attractor::meanfield;

constexpr double kUsualDim = 512;  // of a simulation
constexpr double kFewTokens = 30;  // that share the attention of a row
constexpr ContextPhase kPhases[] = {ContextPhase::collapse, ContextPhase::critical,
                                    ContextPhase::identity};

ContextLayer layer_of(const ContextSetup& p) {
  return {.tokens = p.tokens, .rho = p.rho, .exponent = p.gamma, .residual = p.residual};
}

std::string percent(double share) { return fmt::format("{:.3g} %", 100 * share); }

// ---- One layer.

void add_state(const ContextLayer& layer, double dim, Result& answer) {
  const ContextState s = context_state(layer);
  const ContextTransition t = context_transition(layer);
  const ContextLimit limit = context_limit(layer, t.weight, t.phase);
  Json& v = answer.values;
  v["phase"] = name(t.phase);
  v["beta"] = number(s.beta);
  v["critical_gamma"] = number(t.critical_exponent);
  v["finite_critical_gamma"] = number(t.half_exponent);
  v["cosine_gamma"] = number(t.cosine_exponent);
  v["width_gamma"] = number(t.width);
  v["self_weight"] = number(s.self_weight);
  v["other_weight"] = number(s.other_weight);
  v["attention_entropy"] = number(s.entropy);
  v["entropy_ratio"] = number(s.entropy_ratio);
  v["output_cosine"] = number(s.output_cosine);
  v["output_gap"] = number(s.gap);
  v["angle_ratio"] = number(s.angle_ratio);
  v["output_norm"] = number(s.output_norm);
  v["attention_norm"] = number(s.attention_norm);
  v["value_gain"] = number(s.value_gain);
  v["normalised_gain"] = number(s.normalised_gain);
  v["slope"] = number(s.slope);
  const bool fits = dim == 0 || dim >= layer.tokens;
  v["backward_norm"] = number(fits ? backward_norm(layer, dim == 0 ? layer.tokens : dim) : kNan);
  if (!fits)
    answer.remarks.push_back(
        fmt::format("The backward norm is left out: {} equiangular tokens need a dimension of at "
                    "least {}, not {}.",
                    layer.tokens, layer.tokens, dim));
  answer.tiles = {
      {"phase", std::string(name(t.phase)), fmt::format("at γ = {}", rounded(layer.exponent))},
      {"critical γ", rounded(t.critical_exponent), "for ever longer contexts"},
      {"weight on itself", percent(s.self_weight), "of the attention of a token"},
      {"output cosine", close_to_one(s.output_cosine, s.gap),
       fmt::format("of two outputs; the tokens have {}", rounded(layer.rho))},
      {"angle left", percent(s.angle_ratio), "of that between two tokens"},
      {"β", rounded(s.beta), "= γ ln n"}};
  v["limit_self_weight"] = number(limit.self_weight);
  v["limit_output_cosine"] = number(limit.output_cosine);
  if (layer.tokens * layer.rho <= 1)
    answer.remarks.push_back(fmt::format(
        "rho is at most 1/n, so tokens count as orthogonal: outputs stop coinciding near gamma = "
        "{:.4g} (1/2 as n grows), before the own weight rises near gamma = {:.4g}; the phase is "
        "that of the outputs.",
        t.cosine_exponent, t.half_exponent));
  if (s.gap == 0 && s.value_gain > 0)
    answer.remarks.push_back("The gap of the outputs is below 1e-308 and stands as 0.");
  answer.headline = fmt::format(
      "{} tokens of cosine {} at γ = {}: the {} phase. A token gives itself {} of its attention, "
      "and "
      "two outputs have the cosine {}",
      token_words(layer.tokens), rounded(layer.rho), rounded(layer.exponent), name(t.phase),
      percent(s.self_weight), close_to_one(s.output_cosine, s.gap));
}

Table limit_table(const ContextLayer& layer) {
  Table table{
      .name = "limits",
      .title = "n → ∞, by phase",
      .columns = {"self_weight", "output_cosine", "normalised_gain", "slope", "backward_norm"},
      .label_column = "phase"};
  for (const ContextPhase phase : kPhases) {
    // At rho = 0 the own weight is still 0 where the outputs are critical.
    const bool early = layer.rho <= 0 && phase == ContextPhase::critical;
    const ContextLimit l = context_limit(layer, early ? ContextPhase::collapse : phase, phase);
    table.labels.emplace_back(name(phase));
    table.rows.push_back(
        {l.self_weight, l.output_cosine, l.normalised_gain, l.slope, l.backward_norm});
  }
  return table;
}

// ---- Several layers.

ContextDepth add_layers(const ContextLayer& layer, std::uint64_t layers, Result& answer) {
  ContextDepth depth = context_depth(layer, static_cast<std::size_t>(layers));
  const auto where = [](const std::optional<std::size_t>& at) {
    return at ? Json(*at) : Json(nullptr);
  };
  answer.values["runaway_layer"] = where(depth.runaway);
  answer.values["collapse_layer"] = where(depth.collapse);
  answer.values["final_cosine"] = number(depth.layers.back().output_cosine);
  answer.values["final_gap"] = number(depth.layers.back().gap);
  Table table{.name = "layers",
              .title = "Layer by layer",
              .columns = {"layer", "critical_gamma", "self_weight", "output_cosine", "output_gap"}};
  for (std::size_t k = 0; k < depth.layers.size(); ++k) {
    const ContextDepth::Layer& l = depth.layers[k];
    table.rows.push_back(
        {static_cast<double>(k + 1), l.critical_exponent, l.self_weight, l.output_cosine, l.gap});
  }
  answer.tables.push_back(std::move(table));
  if (depth.layers.back().gap == 0)
    answer.remarks.push_back("A gap of the outputs below 1e-308 stands as 0.");
  answer.headline +=
      depth.collapse
          ? fmt::format("; layer {} leaves all tokens within cosine 0.999", *depth.collapse)
          : fmt::format("; after {} layers the cosine is {}", layers,
                        close_to_one(depth.layers.back().output_cosine, depth.layers.back().gap));
  return depth;
}

// ---- Simulation.

void add_simulation(const ContextSetup& p, const Context& context, Result& answer) {
  if (p.dim != std::floor(p.dim))
    throw Error(
        fmt::format("dim = {} is not allowed; allowed: whole numbers from 3 to 65536 in a "
                    "simulation",
                    p.dim));
  const double dim = p.dim == 0 ? kUsualDim : std::min(p.dim, 1e9);
  const ContextSimulation simulation{
      .layer = layer_of(p),
      .dim = static_cast<std::size_t>(dim),
      .rows = static_cast<std::size_t>(p.rows),
      .replicates = static_cast<std::size_t>(p.replicates),
      .seed = p.seed,
      .exact = p.exact,
      .stop = context.stop,
      .progress = [&](double share) { context.tell(share, "random tokens"); }};
  const ContextExpectation e = expected_context(simulation);
  const ContextSample m = simulate_context(simulation);
  if (m.stopped) return;
  const ContextState closed = context_state(simulation.layer);
  Table table{.name = "simulation",
              .title = p.exact ? "Exactly equiangular tokens"
                               : fmt::format("Random tokens in {} dimensions", dim),
              .columns = {"mean", "standard_error", "expected", "closed_form", "difference", "z"},
              .label_column = "quantity"};
  const auto add = [&](const char* quantity, const Measured& x, double expected, double exact) {
    table.labels.emplace_back(quantity);
    const double difference = x.mean - expected;
    table.rows.push_back({x.mean, x.error, expected, exact, difference, difference / x.error});
  };
  add("self_weight", m.self_weight, e.self_weight, closed.self_weight);
  add("output_cosine", m.output_cosine, e.output_cosine, closed.output_cosine);
  add("output_gap", m.gap, e.gap, closed.gap);
  add("attention_entropy", m.entropy, e.entropy, closed.entropy);
  add("angle_ratio", m.angle_ratio, e.angle_ratio, closed.angle_ratio);
  answer.tables.push_back(std::move(table));
  answer.values["simulated_self_weight"] = number(m.self_weight.mean);
  answer.values["simulated_output_cosine"] = number(m.output_cosine.mean);
  answer.values["log_odds_shift"] = number(e.log_odds_shift);
  answer.values["effective_tokens"] = number(e.effective_tokens);
  if (p.exact) return;
  answer.remarks.push_back(fmt::format(
      "Cosines of random tokens scatter by {:.2g} around rho, which lowers the log odds of the own "
      "weight by {:.3g}; \"expected\" takes that into account and is the closed form as dim grows. "
      "z is the difference from it in standard errors of {} replicates.",
      (1 - p.rho) / std::sqrt(dim - 1), e.log_odds_shift, p.replicates));
  if (e.effective_tokens < kFewTokens)
    answer.remarks.push_back(fmt::format(
        "Only about {:.2g} tokens share the attention of a row: the expected values are rough; a "
        "larger dim makes them good.",
        e.effective_tokens));
}

// ---- Phase diagram.

Table map_table(const ContextLayer& layer) {
  const ContextMap map = context_map(layer.tokens);
  Table table{.name = "map",
              .title = "Phase diagram",
              .columns = {"tokens", "rho", "gamma", "self_weight", "output_cosine", "angle_ratio"},
              .only_data = true};
  for (const double tokens : map.tokens)
    for (const double gamma : map.gamma)
      for (const double rho : map.rho) {
        ContextLayer at = layer;
        at.tokens = tokens;
        at.rho = rho;
        at.exponent = gamma;
        const ContextState s = context_state(at);
        table.rows.push_back({tokens, rho, gamma, s.self_weight, s.output_cosine, s.angle_ratio});
      }
  return table;
}

// ---- Advice.

std::string advice_headline(const ContextSetup& p, const ContextAdvice& a) {
  const auto outcome = [&](Recipe recipe) -> const RecipeOutcome& {
    return *std::find_if(a.recipes.begin(), a.recipes.end(),
                         [&](const RecipeOutcome& r) { return r.recipe == recipe; });
  };
  const RecipeOutcome &constant = outcome(Recipe::constant), &yarn = outcome(Recipe::yarn);
  std::string text = fmt::format(
      "From {} to {} tokens of typical cosine {}: multiply the attention logits by {:.4g} (β from "
      "{:.4g} to {:.4g}) to stay critical. Unchanged, a token would give itself {} of its "
      "attention "
      "({})",
      token_words(p.trained_tokens), token_words(p.tokens), rounded(p.rho),
      outcome(Recipe::critical).multiplier, a.trained_scale, a.critical_scale,
      percent(constant.state.self_weight), name(constant.phase));
  if (p.tokens > p.trained_tokens)
    text += fmt::format("; YaRN's factor {:.4g} makes that {} ({}), scaling with ln n {}",
                        yarn.multiplier, percent(yarn.state.self_weight), name(yarn.phase),
                        percent(outcome(Recipe::log_tokens).state.self_weight));
  return text;
}

/// All recipes are set to be critical at the trained length, which a model need not be.
void add_assumption(const ContextSetup& p, const ContextAdvice& a, Result& answer) {
  answer.remarks.push_back(fmt::format(
      "The factor ln n / ln n0 = {:.4g} keeps gamma = beta / ln n as it was, whatever rho is: only "
      "the scales themselves depend on rho. That the model is critical at its trained length is an "
      "assumption to check: its beta there would have to be {:.4g} (from {:.4g} to {:.4g} a token "
      "gives itself 10 to 90 % of its attention).",
      std::log(p.tokens) / std::log(p.trained_tokens), a.trained_scale, a.trained_lowest,
      a.trained_highest));
  const double gamma = p.trained_beta.value_or(a.trained_scale) / std::log(p.trained_tokens);
  answer.next.push_back({.why = p.trained_beta ? "What that layer does, in full"
                                               : "Is the model critical as trained? Put its own "
                                                 "beta / ln n0 in for gamma",
                         .command = "context",
                         .settings = {{"tokens", fmt::format("{}", p.trained_tokens)},
                                      {"rho", fmt::format("{}", p.rho)},
                                      {"gamma", fmt::format("{:.6g}", gamma)}}});
  if (!p.trained_beta) return;
  ContextLayer trained = layer_of(p);
  trained.tokens = p.trained_tokens;
  trained.exponent = gamma;
  const ContextTransition t = context_transition(trained);
  const ContextState s = context_state(trained);
  answer.values["trained_gamma"] = number(gamma);
  answer.values["trained_phase"] = name(t.phase);
  answer.values["trained_self_weight"] = number(s.self_weight);
  answer.remarks.push_back(fmt::format(
      "With beta = {} the trained model is {} at {:.0f} tokens: a token gives itself {} of its "
      "attention, gamma is {:.4g} and critical is {:.4g}.{}",
      *p.trained_beta,
      t.phase == ContextPhase::critical ? "critical"
                                        : fmt::format("in the {} phase", name(t.phase)),
      p.trained_tokens, percent(s.self_weight), gamma, a.critical_exponent,
      t.phase == ContextPhase::critical
          ? ""
          : " The same factor keeps it there; the scales of the table would change what it does."));
}

Result advice(const ContextSetup& p) {
  const ContextLayer layer = layer_of(p);
  const ContextAdvice a = advise(layer, p.trained_tokens);
  Result answer{.title = "Logit scale for a long context", .headline = advice_headline(p, a)};
  answer.values["critical_gamma"] = number(a.critical_exponent);
  answer.values["trained_scale"] = number(a.trained_scale);
  answer.values["critical_scale"] = number(a.critical_scale);
  answer.values["multiplier"] = number(a.critical_scale / a.trained_scale);
  answer.values["half_scale"] = number(a.half_scale);
  answer.values["lowest_scale"] = number(a.lowest_scale);
  answer.values["highest_scale"] = number(a.highest_scale);
  Table table{.name = "recipes",
              .title = fmt::format("At {} tokens, each recipe critical at {}",
                                   token_words(p.tokens), token_words(p.trained_tokens)),
              .columns = {"beta", "multiplier", "gamma", "self_weight", "output_cosine",
                          "angle_ratio", "entropy_ratio"},
              .label_column = "recipe"};
  answer.tiles = {
      {"multiply logits by", rounded(a.critical_scale / a.trained_scale), "to stay critical"},
      {"β there", rounded(a.critical_scale), "critical at the new length"},
      {"β trained", rounded(a.trained_scale), "critical at the trained length"},
      {"between", rounded(a.lowest_scale) + " and " + rounded(a.highest_scale),
       "β at which the own weight is 0.1 and 0.9"},
      {"critical γ", rounded(a.critical_exponent), "= 1 / (1 − ρ)"}};
  Json phases = Json::array();
  for (const RecipeOutcome& r : a.recipes) {
    table.labels.push_back(fmt::format("{}", name(r.recipe)));
    table.rows.push_back({r.beta, r.multiplier, r.exponent, r.state.self_weight,
                          r.state.output_cosine, r.state.angle_ratio, r.state.entropy_ratio});
    phases.push_back(name(r.phase));
  }
  answer.values["phases"] = std::move(phases);
  answer.tables.push_back(std::move(table));
  answer.remarks.push_back(
      "Logits are beta <x, y> of unit vectors whose typical cosine is rho; measure rho on the "
      "normalised queries and keys of the model. Multipliers are relative to the trained model; "
      "phases stand in the order of the table.");
  add_assumption(p, a, answer);
  answer.draw = [layer, trained = p.trained_tokens] { return recipe_figures(layer, trained); };
  return answer;
}

}  // namespace

ParameterList list(ContextSetup& p) {
  const bool random = p.simulate && !p.exact;
  const char* drawn = "simulate (and without exact)";
  ParameterList l;
  l.group("Context");
  l.add("tokens", p.tokens, "context length n").within(2, 1e300).counts();
  l.add("rho", p.rho, "common cosine of the tokens").within(-1, 1);
  l.add("gamma", p.gamma, "inverse temperature over ln n: beta = gamma ln n")
      .within(0, 1e6)
      .used_if(!p.advise, "leaving advise out");
  l.add("residual", p.residual, "a of x' = attention + a x").within(0, 1e6);
  l.add("layers", p.layers, "layers with the same beta, outputs normalised").within(1, 1e5);
  l.add("dim", p.dim, "dimension d; 0: n for the backward norm, 512 in a simulation")
      .within(0, 1e300)
      .used_if(!p.advise && !p.exact, "leaving advise and exact out");
  l.add("map", p.map, "phase diagram over (rho, gamma), for n and 1e2, 1e4, 1e8");
  l.group("Advice");
  l.add("advise", p.advise, "logit scale that keeps attention critical, next to recipes in use");
  l.add("trained-tokens", p.trained_tokens,
        "context length at which all recipes are set to be critical")
      .within(2, 1e300)
      .counts()
      .used_if(p.advise, "advise");
  l.add("trained-beta", p.trained_beta,
        "the model's own beta at that length, to see whether it is critical there")
      .within(0, 1e9)
      .otherwise("")
      .allow("a number from 0 to 1e9")
      .used_if(p.advise, "advise");
  l.group("Simulation");
  l.add("simulate", p.simulate, "draw almost equiangular tokens and measure (n up to 1e5)");
  l.add("exact", p.exact, "exactly equiangular tokens instead of random ones")
      .used_if(p.simulate, "simulate");
  l.add("rows", p.rows, "tokens that attend, in each replicate")
      .within(2, 65536)
      .used_if(random, drawn);
  l.add("replicates", p.replicates, "independent draws").within(2, 10000).used_if(random, drawn);
  l.add("seed", p.seed, "seed of every random draw").used_if(random, drawn);
  l.short_help({"tokens", "rho", "gamma", "layers", "map", "advise", "trained-tokens",
                "trained-beta", "simulate"});
  return l;
}

void check(const ContextSetup& p) {
  if (p.advise && (p.simulate || p.exact || p.map || p.layers > 1))
    throw Error("advise answers alone; allowed: without simulate, exact, map and layers");
  check_setup(p);
  const bool whole = p.dim == std::floor(p.dim) && p.dim >= 2;
  if (p.dim != 0 && !p.simulate && !whole)
    throw Error(fmt::format("dim = {} is not allowed; allowed: 0, or whole numbers from 2", p.dim));
}

Result ask(const ContextSetup& p, const Context& context) {
  check(p);
  if (p.advise) return advice(p);
  const ContextLayer layer = layer_of(p);
  Result answer{.title = "Long context"};
  add_state(layer, p.simulate ? 0 : p.dim, answer);
  answer.tables.push_back(limit_table(layer));
  ContextDepth depth;
  if (p.layers > 1) depth = add_layers(layer, p.layers, answer);
  if (p.simulate) add_simulation(p, context, answer);
  if (p.map) answer.tables.push_back(map_table(layer));
  answer.draw = [layer, depth, map = p.map] {
    std::vector<PageFigure> figures = gamma_figures(layer);
    if (!depth.layers.empty())
      for (PageFigure& figure : layer_figures(layer, depth)) figures.push_back(std::move(figure));
    if (map)
      for (PageFigure& figure : map_figures(layer)) figures.push_back(std::move(figure));
    return figures;
  };
  return answer;
}

Command context_command() {
  return {.name = "context",
          .about = "One attention layer on a long context: collapse, critical, identity",
          .examples =
              "  attractor context --tokens 1e6 --rho 0.5 --gamma 2\n"
              "  attractor context --advise --tokens 131072 --rho 0.6 --trained-tokens 8192 --out "
              "advice\n"
              "  attractor context --tokens 10000 --rho 0.5 --gamma 2 --simulate\n"
              "Theory: docs/theory/long_context.md.",
          .make = ask_request<ContextSetup>};
}

}  // namespace attractor::lab
