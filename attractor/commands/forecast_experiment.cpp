#include "attractor/commands/forecast_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <tuple>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/commands/forecast_turn.hpp"
#include "attractor/lab/number_list.hpp"
#include "attractor/lab/pieces.hpp"
#include "attractor/reductions/equiangular_layers.hpp"

namespace attractor::lab {

using meanfield::Equiangular;

Equiangular stack_of(const ForecastSetup& p, Normalisation norm) {
  const double simplex = -1 / (p.tokens - 1);
  if (!(p.rho0 >= simplex && p.rho0 < 1))
    throw Error(
        fmt::format("rho0 = {} is not allowed; allowed: {} (the simplex of {} tokens) to below 1",
                    p.rho0, simplex, p.tokens));
  if (p.deepnorm_scale != 0 && !(p.deepnorm_scale >= 1e-6 && p.deepnorm_scale <= 1e6))
    throw Error(fmt::format("deepnorm-scale = {} is not allowed; allowed: 0, or 1e-6 to 1e6",
                            p.deepnorm_scale));
  const auto depth = static_cast<double>(p.depth);
  const double switched =
      p.switch_layer > 0 ? static_cast<double>(p.switch_layer) : std::floor(depth / 4);
  return {.tokens = p.tokens,
          .beta = p.beta,
          .cosine0 = p.rho0,
          .norm = norm,
          .alpha = p.alpha,
          .switch_time = switched * p.step,
          .deepnorm_scale = p.deepnorm_scale > 0 ? p.deepnorm_scale : std::pow(2 * depth, 0.25)};
}

namespace {

using meanfield::Arrival;
using meanfield::EquiangularFlow;
using meanfield::EquiangularLayer;

/// One scheme over the whole depth.
struct Forecast {
  Normalisation norm;
  std::vector<EquiangularLayer> layers;
  meanfield::EquiangularState limit;  // the flow at the same depth
  std::vector<double> passed;         // first layer at or above each level; NaN: none
  std::vector<double> flow_passed;    // the same by the flow, in layers; NaN: never in a double
  double cosine() const { return layers.back().cosine; }
};

inline auto fields(Forecast& value) {
  auto& [norm, layers, limit, passed, flow_passed] = value;
  return std::tie(norm, layers, limit, passed, flow_passed);
}

struct Forecasts {
  ForecastSetup setup;
  std::vector<double> levels;
  std::vector<Forecast> all;                 // in the order of schemes()
  std::vector<std::optional<double>> turns;  // beta at which the one asked for just misses a level
  const Forecast& of(Normalisation n) const { return all[static_cast<std::size_t>(n)]; }
  const Forecast& asked() const { return of(setup.norm); }
};

Forecast forecast(const ForecastSetup& p, Normalisation norm, const std::vector<double>& levels) {
  const Equiangular e = stack_of(p, norm);
  const EquiangularFlow flow(e);
  Forecast f{.norm = norm,
             .layers = meanfield::layers(e, p.step, p.depth),
             .limit = flow.at(std::log(static_cast<double>(p.depth) * p.step)),
             .passed = {},
             .flow_passed = {}};
  for (const double level : levels) {
    const auto at = std::find_if(f.layers.begin(), f.layers.end(),
                                 [&](const EquiangularLayer& l) { return l.cosine >= level; });
    f.passed.push_back(at == f.layers.end() ? kNan : static_cast<double>(at - f.layers.begin()));
    const Arrival arrival = flow.arrival(level);
    // A level below the start is passed at the start.
    f.flow_passed.push_back(level <= e.cosine0 ? 0 : arrival.time() / p.step);
  }
  return f;
}

std::optional<double> turn(const ForecastSetup& p, double level) {
  return turning_beta(
      [&](double beta) {
        ForecastSetup at = p;
        at.beta = beta;
        return meanfield::layers(stack_of(at, p.norm), p.step, p.depth).back().cosine >= level;
      },
      p.beta);
}

// ---- Words.

std::string title(Normalisation n) { return std::string(scheme(n).title); }

/// "passes 0.9 at layer 41".
std::string passing(const Forecast& f, double level, std::size_t k) {
  if (std::isnan(f.passed[k])) return fmt::format("stays below {:.6g}", level);
  if (f.passed[k] == 0) return fmt::format("is above {:.6g} from the start", level);
  return fmt::format("passes {:.6g} at layer {:.0f}", level, f.passed[k]);
}

/// The level that says most: the highest that the scheme asked for passes, or the lowest.
std::size_t telling_level(const Forecasts& all) {
  std::size_t telling = 0;
  for (std::size_t k = 0; k < all.levels.size(); ++k)
    if (!std::isnan(all.asked().passed[k])) telling = k;
  return telling;
}

/// "The verdict turns at β = 10.4: above it the cosine stays below 0.99".
std::string turn_words(const Forecasts& all, std::size_t k) {
  if (!all.turns[k])
    return fmt::format("At no β from 0 to 10^{{6}} is the verdict on {:.6g} another one",
                       all.levels[k]);
  const bool passes = all.asked().cosine() >= all.levels[k];
  return fmt::format("The verdict turns at β = {}: {} it the cosine {} {:.6g} after {} layers",
                     rounded(*all.turns[k]), *all.turns[k] > all.setup.beta ? "above" : "below",
                     passes ? "is below" : "is above", all.levels[k], grouped(all.setup.depth));
}

std::string headline(const Forecasts& all) {
  const Forecast& asked = all.asked();
  const Normalisation other =
      asked.norm == Normalisation::post ? Normalisation::pre : Normalisation::post;
  const std::string depth = grouped(all.setup.depth);
  const std::size_t telling = telling_level(all);
  if (all.levels.empty())
    return fmt::format(
        "With {} the mean cosine of {} tokens is {:.4g} after {} layers; with {} "
        "it is {:.4g}",
        title(asked.norm), rounded(all.setup.tokens), asked.cosine(), depth, title(other),
        all.of(other).cosine());
  const double level = all.levels[telling];
  return fmt::format(
      "With {} the mean cosine of {} tokens {} and is {} after {} layers; with {} it {}. {}",
      title(asked.norm), rounded(all.setup.tokens), passing(asked, level, telling),
      close_to_one(asked.cosine(), asked.layers.back().gap()), depth, title(other),
      passing(all.of(other), level, telling), turn_words(all, telling));
}

// ---- Values and tables.

std::string key(Normalisation n) {
  std::string text(name(n));
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
}

void add_values(const Forecasts& all, Result& answer) {
  const Forecast& f = all.asked();
  Json& v = answer.values;
  v["scheme"] = std::string(name(f.norm));
  v["depth"] = all.setup.depth;
  v["cosine"] = number(f.cosine());
  v["norm"] = number(f.layers.back().norm());
  v["gap"] = number(f.layers.back().gap());
  v["log_gap"] = number(f.layers.back().log_gap);
  v["flow_cosine"] = number(f.limit.cosine);
  v["flow_norm"] = number(f.limit.norm());
  const Equiangular e = stack_of(all.setup, f.norm);
  v["switch_layer"] = number(e.switch_time / all.setup.step);
  v["deepnorm_scale"] = number(e.deepnorm_scale);
  if (all.levels.empty()) return;
  v["verdict_level"] = number(all.levels[telling_level(all)]);
  v["turning_beta"] = number(all.turns[telling_level(all)].value_or(kNan));
}

/// beta is hardly ever known to better than this.
constexpr double kBand = 0.1;
constexpr double kLargestBeta = 1e6;

Table band_table(const Forecasts& all) {
  Table table{.name = "band",
              .title = fmt::format("{} if β is {:.0f} % off: first layer above each level",
                                   title(all.asked().norm), 100 * kBand),
              .columns = {"beta", "cosine", "norm"},
              .label_column = "beta_is"};
  for (const double level : all.levels) table.columns.push_back(fmt::format("layer_at_{}", level));
  for (const double share : {1 - kBand, 1.0, 1 + kBand}) {
    ForecastSetup at = all.setup;
    at.beta = std::min(share * at.beta, kLargestBeta);
    const Forecast f = forecast(at, at.norm, all.levels);
    std::vector<double> row = {at.beta, f.cosine(), f.layers.back().norm()};
    row.insert(row.end(), f.passed.begin(), f.passed.end());
    table.labels.push_back(share < 1   ? fmt::format("{:.0f} % lower", 100 * kBand)
                           : share > 1 ? fmt::format("{:.0f} % higher", 100 * kBand)
                                       : "as given");
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table turn_table(const Forecasts& all) {
  Table table{.name = "turns",
              .title = fmt::format("β at which {} ends at each level", title(all.asked().norm)),
              .columns = {"level", "beta"}};
  for (std::size_t k = 0; k < all.levels.size(); ++k)
    table.rows.push_back({all.levels[k], all.turns[k].value_or(kNan)});
  return table;
}

// ---- What to ask next.

/// Tokens of which a flow takes seconds; its dimension.
constexpr double kMostFlowTokens = 1024, kFlowDim = 64;

/// Random tokens whose cosines scatter around rho0 in the same layers, or what the first layer
/// does.
Question next_question(const ForecastSetup& p) {
  const bool few = p.tokens <= kMostFlowTokens && p.tokens == std::floor(p.tokens);
  if (!few || p.rho0 < 0)
    return {.why = "In which phase is the first layer?",
            .command = "context",
            .settings = {{"tokens", spelled(p.tokens)},
                         {"rho", spelled(p.rho0)},
                         {"gamma", fmt::format("{:.6g}", p.beta / std::log(p.tokens))}}};
  Question flow{.why = "Do random tokens, whose cosines are not all equal, do the same?",
                .command = "flow",
                .settings = {{"norm", std::string(name(p.norm))},
                             {"stepper", "layers"},
                             {"step", spelled(p.step)},
                             {"time", spelled(static_cast<double>(p.depth) * p.step)},
                             {"beta", spelled(p.beta)},
                             {"tokens", spelled(p.tokens)},
                             {"dim", spelled(kFlowDim)},
                             {"outputs", "8"}}};
  // In high dimension a cap is its rim, where two tokens have the cosine of its angle, squared.
  if (p.rho0 > 0) {
    flow.settings.emplace_back("init", "cap");
    flow.settings.emplace_back("cap-angle", fmt::format("{:.4f}", std::acos(std::sqrt(p.rho0))));
  }
  const Equiangular e = stack_of(p, p.norm);
  const std::pair<const char*, double> own[] = {
      {"alpha", e.alpha}, {"switch-time", e.switch_time}, {"deepnorm-scale", e.deepnorm_scale}};
  for (const auto& [parameter, value] : own) {
    const std::vector<std::string> norms = schemes_with(parameter);
    if (std::find(norms.begin(), norms.end(), name(p.norm)) != norms.end())
      flow.settings.emplace_back(parameter, spelled(value));
  }
  return flow;
}

std::vector<Tile> forecast_tiles(const Forecasts& all) {
  const Forecast& f = all.asked();
  std::vector<Tile> tiles;
  add_tile(tiles, "mean cosine", close_to_one(f.cosine(), f.layers.back().gap()),
           fmt::format("after {} layers of {}", grouped(all.setup.depth), title(f.norm)));
  for (std::size_t k = 0; k < std::min<std::size_t>(3, all.levels.size()); ++k)
    add_tile(tiles, fmt::format("cosine {:.6g}", all.levels[k]),
             std::isnan(f.passed[k]) ? "not reached" : fmt::format("layer {:.0f}", f.passed[k]),
             std::isnan(f.flow_passed[k])
                 ? "thin layers never pass it"
                 : fmt::format("thin layers: depth {}", rounded(f.flow_passed[k])));
  add_tile(tiles, "thin layers", close_to_one(f.limit.cosine, 1 - f.limit.cosine),
           "mean cosine of the flow at this depth");
  add_tile(tiles, "residual stream", rounded(f.layers.back().norm()),
           "length of a token at the end");
  return tiles;
}

Table scheme_table(const Forecasts& all) {
  Table table{.name = "schemes",
              .title = fmt::format("All schemes after {} layers: first layer above each level, and "
                                   "the depth where thin layers pass it",
                                   grouped(all.setup.depth)),
              .columns = {"cosine", "norm", "flow_cosine", "flow_norm"},
              .label_column = "scheme"};
  for (const double level : all.levels) {
    table.columns.push_back(fmt::format("layer_at_{}", level));
    table.columns.push_back(fmt::format("flow_at_{}", level));
  }
  for (const Forecast& f : all.all) {
    table.labels.emplace_back(name(f.norm));
    std::vector<double> row = {f.cosine(), f.layers.back().norm(), f.limit.cosine, f.limit.norm()};
    for (std::size_t k = 0; k < all.levels.size(); ++k) {
      row.push_back(f.passed[k]);
      row.push_back(f.flow_passed[k]);
    }
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table curve_table(const Forecasts& all) {
  Table table{.name = "curves", .title = "Layer by layer", .columns = {"layer"}, .only_data = true};
  for (const Forecast& f : all.all)
    for (const char* what : {"cosine", "log_gap", "log_norm"})
      table.columns.push_back(key(f.norm) + "_" + what);
  for (std::size_t k = 0; k <= all.setup.depth; ++k) {
    std::vector<double> row = {static_cast<double>(k)};
    for (const Forecast& f : all.all)
      row.insert(row.end(), {f.layers[k].cosine, f.layers[k].log_gap, f.layers[k].log_norm});
    table.rows.push_back(std::move(row));
  }
  return table;
}

// ---- Figures.

/// Schemes that are the same here share a line: "peri-norm = sandwich-norm".
Normalisation first_of(Normalisation n) { return scheme(n).twin.value_or(n); }

std::string all_titles(Normalisation n) {
  std::string titles = title(n);
  for (const Scheme& s : schemes())
    if (s.twin == n) titles += " = " + title(s.id);
  return titles;
}

/// A line for every scheme; the one asked for last and wide.
template <class Value>
std::vector<Series> curves(const Forecasts& all, const Value& value) {
  constexpr std::array kColours = {report::kBlue,  report::kVermillion, report::kPurple,
                                   report::kGreen, report::kOrange,     report::kSky,
                                   report::kGrey,  report::kInk};
  const Normalisation asked = first_of(all.asked().norm);
  std::size_t line = 0;
  std::vector<Series> series;
  Series emphasised;
  for (const Forecast& f : all.all) {
    if (first_of(f.norm) != f.norm) continue;
    Series s = report::curve(kColours[line % kColours.size()], 1.6);
    s.dashed = line++ >= kColours.size();
    s.title = all_titles(f.norm);
    const std::size_t stride = std::max<std::size_t>(1, f.layers.size() / 2000);
    for (std::size_t k = 0; k < f.layers.size(); k += stride)
      add_point(s, static_cast<double>(k), value(f.layers[k]));
    if (f.norm == asked) {
      s.width = 4.5;
      emphasised = std::move(s);
    } else {
      series.push_back(std::move(s));
    }
  }
  series.push_back(std::move(emphasised));
  return series;
}

std::vector<PageFigure> figures(const Forecasts& all) {
  const auto last = static_cast<double>(all.setup.depth);
  const report::Axis depth{.label = "layer", .low = 0, .high = last, .whole = true};
  // Collapse is an affair of the first layers: a long axis would hide it.
  report::Axis early = depth;
  if (last > 30)
    early = {.label = "layer", .scale = report::Scale::log, .low = 1, .high = last, .whole = true};
  report::Panel cosines{
      .x = early,
      .y = {.label = "cosine", .low = std::min(0.0, all.setup.rho0), .high = 1.03},
      .series = curves(all, [](const EquiangularLayer& l) { return l.cosine; })};
  for (const double level : all.levels) cosines.horizontal.push_back({.at = level, .dashed = true});
  // Below 10^{-16} tokens are equal for any computer.
  std::vector<Series> gaps = curves(all, [](const EquiangularLayer& l) {
    return l.log_gap > std::log(1e-17) ? l.log_gap / std::numbers::ln10 : kNan;
  });
  return {plot("collapse", "Collapse over depth", std::move(cosines),
               fmt::format("Mean cosine of the tokens after each layer, attention alone. Wide: "
                           "{}, the scheme asked for; dashed: the levels of the table.",
                           title(all.asked().norm))),
          plot("gap", "What is left to tell apart", depth,
               {.label = "1 − cosine", .scale = report::Scale::power}, std::move(gaps),
               "1 − cosine on a logarithmic axis. Straight lines lose a constant share in each "
               "layer; bent ones slow down, because a growing residual stream is turned less "
               "and less.")};
}

}  // namespace

ParameterList list(ForecastSetup& p) {
  ParameterList l;
  l.group("Model");
  l.add("depth", p.depth, "number of layers").within(1, 100000);
  l.add("norm", p.norm, "the scheme to put in front; all are computed");
  l.add("beta", p.beta, "inverse temperature of attention").within(0, kLargestBeta);
  l.add("tokens", p.tokens, "tokens in the context").within(2, 1e30).counts();
  l.add("rho0", p.rho0,
        "mean cosine of tokens before the first layer, at least -1/(n-1) and below 1")
      .within(-1, 1);
  l.add("step", p.step, "weight of attention in a layer").within(1e-9, 1e6);
  l.add("levels", p.levels, "cosines whose layers are asked for")
      .within(-1, meanfield::kLargestLevel)
      .allow("comma-separated numbers from -1 to below 1");
  l.group("Normalisation");
  l.add("alpha", p.alpha, "ngpt: rate towards attention").above(0, 1e6);
  l.add("switch-layer", p.switch_layer, "mix: layers that are post-norm, 0: a quarter of the depth")
      .within(0, 100000);
  l.add("deepnorm-scale", p.deepnorm_scale,
        "deepnorm: factor of the residual stream, from 1e-6; 0: (2 depth)^(1/4)")
      .within(0, 1e6);
  l.short_help({"depth", "norm", "beta", "tokens", "rho0", "step", "levels"});
  return l;
}

Result ask(const ForecastSetup& p, const Context& context) {
  check_setup(p);
  auto all =
      std::make_shared<Forecasts>(Forecasts{.setup = p, .levels = p.levels.values, .all = {}});
  std::sort(all->levels.begin(), all->levels.end());
  Pieces pieces(context, setup_words(p));
  for (const Normalisation n : every<Normalisation>()) {
    if (context.stopped()) break;
    context.tell(0.5 * static_cast<double>(n) / static_cast<double>(schemes().size()), title(n));
    all->all.push_back(
        pieces.get(std::string(name(n)), [&] { return forecast(p, n, all->levels); }));
  }
  for (std::size_t k = 0; k < all->levels.size() && !context.stopped(); ++k)
    all->turns.push_back(
        pieces.get(fmt::format("turn {}", k), [&] { return turn(p, all->levels[k]); }));
  if (context.stopped()) return {.interrupted = kBeforeItsEnd};
  Result answer{.title = "forecast of collapse", .headline = headline(*all)};
  add_values(*all, answer);
  answer.tiles = forecast_tiles(*all);
  answer.tables = {scheme_table(*all), curve_table(*all)};
  if (!all->levels.empty()) answer.tables.push_back(turn_table(*all));
  if (p.beta > 0) answer.tables.push_back(band_table(*all));
  answer.remarks = {
      "Assumed: attention alone, identity values, tokens that start with equal cosines; "
      "feed-forward blocks and learned values are not in this forecast. One head that sees all "
      "tokens, and the same beta in every layer.",
      "beta is what the logits multiply a cosine with: the gain of L2 QK-norm; with RMS QK-norm "
      "g_q g_k sqrt(d_head); without either |q| |k| / sqrt(d_head); each divided by a temperature "
      "if there is one."};
  answer.next = {next_question(p)};
  answer.draw = [all] { return figures(*all); };
  return answer;
}

Command forecast_command() {
  return {.name = "forecast",
          .about = "Collapse over depth for every normalisation scheme",
          .examples =
              "  attractor forecast --depth 96 --norm pre --beta 8 --tokens 8192\n"
              "  attractor forecast --depth 48 --norm post --beta 4 --tokens 2048 --rho0 0.2 --out "
              "forecast\n"
              "Theory: docs/theory/reductions.md.",
          .make = ask_request<ForecastSetup>};
}

}  // namespace attractor::lab
