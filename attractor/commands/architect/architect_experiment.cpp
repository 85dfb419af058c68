#include "attractor/commands/architect/architect_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/architect/turning_band.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/lab/number_list.hpp"
#include "attractor/long_context/key_law.hpp"
#include "attractor/long_context/long_context.hpp"

namespace attractor::lab {
namespace {

using meanfield::ContextPhase;

struct Side {
  ContextPhase phase;
  double own;  // weight of a token on itself
};

Side side_of(double tokens, double beta, double rho) {
  const meanfield::ContextLayer layer{
      .tokens = tokens, .rho = rho, .exponent = beta / std::log(tokens)};
  return {meanfield::context_transition(layer).phase, meanfield::context_state(layer).self_weight};
}

/// All that is asked about one length.
struct Length {
  double tokens, seen;
  double layer, low_layer, high_layer;  // of collapse: beta as it is, lower, higher
  double cosine;                        // after all layers
  Side side, low_side, high_side;
  double critical;  // beta that would be critical
  double log_multiplier, power_multiplier;
  TurningBand turn, factor;  // beta of the other verdict; the same over beta
};

struct Study {
  ArchitectSetup setup;
  Design design;
  std::vector<Length> lengths;  // the trained one first, the longest last
  std::optional<meanfield::KeyLaw> law;
  std::vector<meanfield::KeyLaw> laws{};  // of many heads

  Stack stack(double tokens) const {
    return {.depth = design.depth,
            .norm = design.norm,
            .tokens = design.seen(tokens),
            .beta = design.beta,
            .rho = setup.rho,
            .dimension = spread_dimension(setup, design)};
  }
  const Length& first() const { return lengths.front(); }
  const Length& last() const { return lengths.back(); }
};

Length length_of(const Study& study, double tokens) {
  const ArchitectSetup& p = study.setup;
  const Design& d = study.design;
  const Stack now = study.stack(tokens);
  Stack low = now, high = now;
  low.beta *= 1 - p.beta_error;
  high.beta *= 1 + p.beta_error;
  const TurningBand turn = turning_band(now, p.level, p.rho_error);
  const std::vector<double> path = cosines(now);
  const double seen = now.tokens, before = d.seen(d.trained);
  return {.tokens = tokens,
          .seen = seen,
          .layer = collapse_layer(path, p.level),
          .low_layer = collapse_layer(cosines(low), p.level),
          .high_layer = collapse_layer(cosines(high), p.level),
          .cosine = path.back(),
          .side = side_of(seen, now.beta, p.rho),
          .low_side = side_of(seen, low.beta, p.rho),
          .high_side = side_of(seen, high.beta, p.rho),
          .critical = std::log(seen) / (1 - p.rho),
          .log_multiplier = std::log(seen) / std::log(before),
          .power_multiplier = d.head_dim > 1 ? std::pow(seen / before, 2 / (d.head_dim - 1)) : kNan,
          .turn = turn,
          .factor = turn.over(now.beta, p.beta_error)};
}

/// The trained length, its doubles, and the context.
std::vector<double> asked_lengths(const Design& d) {
  constexpr std::size_t kMost = 12;
  std::vector<double> all = {d.trained};
  for (double n = 2 * d.trained; n < d.context && all.size() < kMost; n *= 2) all.push_back(n);
  if (d.context > d.trained) all.push_back(d.context);
  return all;
}

// ---- Words.

std::string tokens_word(double tokens) {
  return tokens < 1e15 ? grouped(static_cast<std::uint64_t>(std::llround(tokens)))
                       : fmt::format("{:.4g}", tokens);
}

std::string layer_word(double layer) {
  return std::isnan(layer) ? "no layer" : fmt::format("layer {:.0f}", layer);
}

/// Whether the errors of beta, rho and the law leave one answer.
bool sure(const Length& l) { return l.factor.beside(1); }

/// The band in words, behind the number it is about.
std::string band_word(const TurningBand& band) {
  return std::isnan(band.low) || std::isnan(band.high)
             ? ""
             : fmt::format(" ({:.4g} to {:.4g})", band.low, band.high);
}

std::string verdict(const Study& s, const Length& l) {
  if (std::isnan(l.layer))
    return fmt::format("{} tokens stay apart through {} layers", tokens_word(l.tokens),
                       grouped(s.design.depth));
  if (l.layer == 0)
    return fmt::format("{} tokens start above a cosine of {:.6g}", tokens_word(l.tokens),
                       s.setup.level);
  return fmt::format("{} tokens collapse at {} of {}", tokens_word(l.tokens), layer_word(l.layer),
                     grouped(s.design.depth));
}

std::string headline(const Study& s) {
  std::string text =
      fmt::format("β is {:.4g}. Under attention alone {}", s.design.beta, verdict(s, s.first()));
  if (s.lengths.size() > 1) text += fmt::format(", and {}", verdict(s, s.last()));
  if (const TurningBand& band = s.last().turn; band.turn)
    text += fmt::format("; the verdict turns at β = {:.4g}{}{}", *band.turn, band_word(band),
                        sure(s.last()) ? "" : ", too near to tell");
  if (s.lengths.size() > 1)
    text += fmt::format(". To keep attention as trained multiply logits by {:.4g}",
                        s.last().log_multiplier);
  return text;
}

// ---- Tables.

Table length_table(const Study& s) {
  Table table{.name = "lengths",
              .title = "At each length: layer of collapse and side of the long-context transition",
              .columns = {"tokens", "layer", "layer_low", "layer_high", "cosine", "own_weight",
                          "critical_beta", "turning_beta", "turning_low", "turning_high",
                          "log_multiplier", "power_multiplier"},
              .label_column = "side"};
  for (const Length& l : s.lengths) {
    const bool one = l.low_side.phase == l.side.phase && l.high_side.phase == l.side.phase;
    table.labels.push_back(one ? std::string(name(l.side.phase))
                               : fmt::format("{} ({} to {})", name(l.side.phase),
                                             name(l.low_side.phase), name(l.high_side.phase)));
    table.rows.push_back({l.tokens, l.layer, l.low_layer, l.high_layer, l.cosine, l.side.own,
                          l.critical, l.turn.turn.value_or(kNan), l.turn.low, l.turn.high,
                          l.log_multiplier, l.power_multiplier});
  }
  return table;
}

/// What each remedy does at the longest context.
Table remedy_table(const Study& s) {
  Table table{.name = "remedies",
              .title = fmt::format("At {} tokens", tokens_word(s.last().tokens)),
              .columns = {"beta", "layer", "cosine", "own_weight"},
              .label_column = "remedy"};
  const Stack now = s.stack(s.last().tokens);
  const auto add = [&](std::string name, const Stack& stack) {
    const std::vector<double> path = cosines(stack);
    table.labels.push_back(std::move(name));
    table.rows.push_back({stack.beta, collapse_layer(path, s.setup.level), path.back(),
                          side_of(stack.tokens, stack.beta, stack.rho).own});
  };
  const auto with_beta = [&](double beta) {
    Stack stack = now;
    stack.beta = beta;
    return stack;
  };
  add("as it is", now);
  if (s.last().log_multiplier != 1)
    add("logits times ln n / ln n0", with_beta(now.beta * s.last().log_multiplier));
  add("logits critical", with_beta(s.last().critical));
  for (const Normalisation norm :
       {Normalisation::pre, Normalisation::peri, Normalisation::sandwich, Normalisation::post}) {
    if (norm == now.norm) continue;
    Stack stack = now;
    stack.norm = norm;
    add(std::string(scheme(norm).title), stack);
  }
  Stack sink = now;
  sink.step = 0.5;
  add("a sink that takes half", sink);
  if (now.tokens > s.design.seen(s.design.trained)) {
    Stack window = now;
    window.tokens = s.design.seen(s.design.trained);
    add(fmt::format("a window of {}", tokens_word(window.tokens)), window);
  }
  return table;
}

void add_values(const Study& s, Json& v) {
  const Design& d = s.design;
  v["beta"] = number(d.beta);
  v["beta_low"] = number(d.beta * (1 - s.setup.beta_error));
  v["beta_high"] = number(d.beta * (1 + s.setup.beta_error));
  if (!s.setup.beta) v["qk_norm"] = std::string(name(d.scale.norm));
  v["depth"] = d.depth;
  v["norm"] = std::string(name(d.norm));
  v["head_dim"] = number(d.head_dim);
  v["trained_context"] = number(d.trained);
  v["context"] = number(d.context);
  v["collapse_layer"] = number(s.last().layer);
  v["cosine"] = number(s.last().cosine);
  v["spread"] = number((1 - s.setup.rho) / std::sqrt(s.stack(d.context).dimension));
  const auto add_band = [&](const std::string& name, const char* middle, const TurningBand& band) {
    v[name + middle] = number(band.turn.value_or(kNan));
    v[name + "_low"] = number(band.low);
    v[name + "_high"] = number(band.high);
  };
  add_band("turning", "_beta", s.last().turn);
  add_band("turning_factor", "", s.last().factor);
  v["verdict_sure"] = sure(s.last());
  v["side"] = std::string(name(s.last().side.phase));
  v["critical_beta"] = number(s.last().critical);
  v["log_multiplier"] = number(s.last().log_multiplier);
  v["power_multiplier"] = number(s.last().power_multiplier);
  if (d.scale.norm != QueryNorm::none && !s.setup.beta)
    v["critical_gain"] = number(gain_for(s.last().critical / d.factor, d.scale));
  if (!s.law) return;
  v["key_law"] = s.law->logarithmic ? "logarithmic" : "power";
  v["key_law_decided"] = s.law->decided;
  v["key_rho"] = number(s.law->rho);
  v["key_dimension"] = number(s.law->dimension);
}

std::vector<Tile> tiles(const Study& s) {
  std::vector<Tile> all;
  add_tile(all, "β", rounded(s.design.beta), "what logits multiply a cosine with");
  add_tile(all, "collapse", std::isnan(s.last().layer) ? "none" : layer_word(s.last().layer),
           fmt::format("mean cosine above {:.6g}, at {} tokens", s.setup.level,
                       tokens_word(s.last().tokens)));
  if (const TurningBand& band = s.last().turn; band.turn)
    add_tile(all, "verdict turns at β", rounded(*band.turn),
             std::isnan(band.low) || std::isnan(band.high)
                 ? "β of the other verdict"
                 : fmt::format("{} to {}, 90 %", rounded(band.low), rounded(band.high)));
  add_tile(all, "own weight", fmt::format("{:.3g} %", 100 * s.last().side.own),
           fmt::format("of a token's attention: {}", name(s.last().side.phase)));
  add_tile(all, "critical β", rounded(s.last().critical), "half of the attention on itself");
  if (s.lengths.size() > 1)
    add_tile(all, "logits times", rounded(s.last().log_multiplier), "to keep attention as trained");
  return all;
}

// ---- Sentences.

void add_band_remarks(const Study& s, std::vector<std::string>& remarks) {
  const double dimension = s.stack(s.design.context).dimension;
  remarks.push_back(fmt::format(
      "The band of the turning beta is one of 90 %, for rho with a standard error of {:.4g} and "
      "finitely many tokens{}; whether the verdict is sure also takes a standard error of {:.4g} % "
      "of beta.",
      s.setup.rho_error,
      std::isinf(dimension) ? " with equal cosines"
                            : fmt::format(" whose cosines scatter by {:.4g} about rho",
                                          (1 - s.setup.rho) / std::sqrt(dimension)),
      100 * s.setup.beta_error));
  if (dimension < 15)
    remarks.push_back(fmt::format(
        "Cosines that scatter so much are those of tokens in {:.3g} dimensions; bands were "
        "measured with 15 and more.",
        dimension));
  if (!s.setup.spread)
    remarks.push_back(fmt::format(
        "The scatter of cosines is taken to be that of independent directions in {:.0f} "
        "dimensions; spread gives a measured one (0: equal cosines).",
        s.design.head_dim));
}

std::string laws_words(const std::vector<meanfield::KeyLaw>& laws) {
  std::size_t logarithmic = 0, power = 0;
  std::vector<double> cosines, dimensions;
  for (const meanfield::KeyLaw& law : laws) {
    if (law.decided) (law.logarithmic ? logarithmic : power) += 1;
    cosines.push_back(law.rho);
    dimensions.push_back(law.dimension);
  }
  const auto median = [](std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
  };
  return fmt::format(
      "Of the keys of {} heads {} obey the logarithmic law and {} the power law; {} cannot tell "
      "them apart. Medians: rho = {:.3g}, D = {:.3g}.",
      laws.size(), logarithmic, power, laws.size() - logarithmic - power, median(cosines),
      median(dimensions));
}

void add_remarks(const Study& s, Result& answer) {
  const Design& d = s.design;
  std::vector<std::string>& remarks = answer.remarks;
  for (const Length& l : s.lengths)
    if (!sure(l))
      remarks.push_back(fmt::format(
          "The verdict at {} tokens is open: logits {:.4g} times as large would turn it{}; with "
          "beta {:.0f} % lower collapse is at {}, with beta {:.0f} % higher at {}.",
          tokens_word(l.tokens), l.factor.turn.value_or(kNan), band_word(l.factor),
          100 * s.setup.beta_error, layer_word(l.low_layer), 100 * s.setup.beta_error,
          layer_word(l.high_layer)));
  if (s.lengths.size() > 1)
    remarks.push_back(fmt::format(
        "The multiplier ln n / ln n0 = {:.4g} does not depend on rho: it keeps beta / ln n, which "
        "alone decides the side at any rho. It holds where all cosines are about equal; keys "
        "spread "
        "like independent ones in {} dimensions need (n / n0)^(2/(d-1)) = {:.4g}.",
        s.last().log_multiplier, d.head_dim, s.last().power_multiplier));
  if (s.law)
    remarks.push_back(fmt::format(
        "The given keys obey the {} law{}: residuals of ln beta are {:.2g} (logarithmic, rho = "
        "{:.3g}) and {:.2g} (power, D = {:.3g}).",
        s.law->logarithmic ? "logarithmic" : "power",
        s.law->decided ? "" : ", though they hardly tell it from the other", s.law->log_residual,
        s.law->rho, s.law->power_residual, s.law->dimension));
  if (!s.laws.empty()) remarks.push_back(laws_words(s.laws));
  for (const std::string& sentence : d.assumed) remarks.push_back(sentence);
  if (d.heads > 0)
    remarks.push_back(fmt::format(
        "{} heads of {:.0f} dimensions that share one beta write together what one of them would "
        "under identity values: their number changes nothing here. Heads of different beta act as "
        "one of a beta between theirs.",
        grouped(d.heads), d.head_dim));
  if (d.window > 0)
    remarks.push_back(fmt::format(
        "A window of {} tokens counts as a context of so many: what travels from window to window "
        "over depth is left out.",
        tokens_word(d.window)));
  add_band_remarks(s, remarks);
  remarks.emplace_back(
      "Assumed: attention alone, identity values, the same beta in all heads and layers, everyone "
      "sees everyone; sides are those of the first layer and of equal cosines. Feed-forward blocks "
      "and learned values work against collapse, and no band covers them.");
  remarks.emplace_back(
      "Measure beta and rho on the model next: attractor inspect MODEL --text texts.txt gives "
      "both, of every head and layer.");
  answer.next.push_back({.why = "The same stack under every normalisation, layer by layer",
                         .command = "forecast",
                         .settings = {{"depth", fmt::format("{}", d.depth)},
                                      {"norm", std::string(name(d.norm))},
                                      {"beta", fmt::format("{:.6g}", d.beta)},
                                      {"tokens", spelled(d.seen(d.context))},
                                      {"rho0", spelled(s.setup.rho)}}});
}

// ---- Figures.

Series path_of(const Stack& stack, std::string title, Colour colour, bool dashed) {
  Series s = curve(colour, dashed ? 1.4 : 2.4);
  s.title = std::move(title);
  s.dashed = dashed;
  const std::vector<double> path = cosines(stack);
  const std::size_t stride = std::max<std::size_t>(1, path.size() / 2000);
  for (std::size_t k = 0; k < path.size(); k += stride)
    add_point(s, static_cast<double>(k), path[k]);
  return s;
}

PageFigure depth_figure(const Study& s) {
  std::vector<Series> series;
  const auto add = [&](const Length& l, Colour colour) {
    const Stack now = s.stack(l.tokens);
    series.push_back(path_of(now, fmt::format("{} tokens", tokens_word(l.tokens)), colour, false));
    for (const double share : {1 - s.setup.beta_error, 1 + s.setup.beta_error}) {
      Stack off = now;
      off.beta *= share;
      series.push_back(path_of(off, "", colour, true));
    }
  };
  add(s.first(), report::kBlue);
  if (s.lengths.size() > 1) add(s.last(), report::kVermillion);
  PageFigure f = plot(
      "depth", "Collapse over depth",
      {.label = "layer", .low = 0, .high = static_cast<double>(s.design.depth), .whole = true},
      {.label = "mean cosine", .low = 0, .high = 1.03}, std::move(series),
      fmt::format("Attention alone. Dashed curves: β {:.0f} % lower and higher; dashed line: the "
                  "level of the verdict.",
                  100 * s.setup.beta_error));
  f.figure.panels[0].horizontal.push_back({.at = s.setup.level, .dashed = true});
  return f;
}

PageFigure side_figure(const Study& s) {
  Series critical = curve(report::kInk, 2), lowest = curve(report::kGrey, 1.4),
         highest = curve(report::kGrey, 1.4), own = curve(report::kBlue, 2.4),
         kept = curve(report::kGreen, 2.4);
  critical.title = "critical β";
  own.title = "β as it is";
  kept.title = "times ln n / ln n_{0}";
  lowest.dashed = highest.dashed = true;
  const double first = s.design.trained / 4, last = 4 * s.design.context, gap = 1 - s.setup.rho;
  for (int k = 0; k <= 60; ++k) {
    const double n = std::max(4.0, first * std::pow(last / first, k / 60.0));
    const double seen = s.design.seen(n), half = std::log(seen - 1) / gap;
    add_point(critical, n, std::log(seen) / gap);
    add_point(lowest, n, std::max(0.0, half - std::log(9.0) / gap));
    add_point(highest, n, half + std::log(9.0) / gap);
    add_point(own, n, s.design.beta);
    add_point(kept, n, s.design.beta * std::log(seen) / std::log(s.design.seen(s.design.trained)));
  }
  PageFigure f = plot(
      "sides", "Which side of the long-context transition",
      {.label = "tokens", .scale = Scale::log}, {.label = "β", .low = 0},
      {std::move(critical), std::move(lowest), std::move(highest), std::move(own), std::move(kept)},
      "Below the critical β a layer makes all outputs alike (collapse), above it "
      "attention does nothing (identity); between the dashed lines a token gives "
      "itself 10 to 90 % of its attention. Vertical: trained and longest context.");
  for (const double n : {s.design.trained, s.design.context})
    f.figure.panels[0].vertical.push_back({.at = n, .dashed = true});
  return f;
}

}  // namespace

namespace {

/// Of one head, or of every head of a model.
void add_laws(const Array& keys, std::uint64_t seed, Study& study) {
  const std::vector<std::size_t>& shape = keys.shape;
  if (shape.size() == 2) {
    study.law = meanfield::key_law(keys.data, shape[1], seed);
    return;
  }
  if (shape.size() != 4)
    throw Error(fmt::format(
        "keys has {} dimensions; allowed: 2, n x d, or 4, layers x heads x n x d", shape.size()));
  const std::size_t size = shape[2] * shape[3];
  for (std::size_t head = 0; head < shape[0] * shape[1]; ++head)
    study.laws.push_back(
        meanfield::key_law(std::span(keys.data).subspan(head * size, size), shape[3], seed));
}

}  // namespace

Result ask(const ArchitectSetup& p, const Context& /*context*/) {
  check_setup(p);
  auto study =
      std::make_shared<Study>(Study{.setup = p, .design = design_of(p), .lengths = {}, .law = {}});
  for (const double tokens : asked_lengths(study->design))
    study->lengths.push_back(length_of(*study, tokens));
  if (p.keys.given()) {
    add_laws(p.keys.get(), p.seed, *study);
  }
  Result answer{.title = "what an architecture does to attention", .headline = headline(*study)};
  add_values(*study, answer.values);
  answer.tiles = tiles(*study);
  answer.tables = {length_table(*study), remedy_table(*study)};
  add_remarks(*study, answer);
  answer.draw = [study] {
    return std::vector<PageFigure>{depth_figure(*study), side_figure(*study)};
  };
  return answer;
}

Command architect_command() {
  return {.name = "architect",
          .about = "Will a model of this shape collapse, and which scaling helps?",
          .examples =
              "  attractor architect config.json\n"
              "  attractor architect --depth 96 --heads 64 --head-dim 128 --norm pre --qk-norm rms "
              "--context 128k --trained-context 8k\n"
              "  attractor architect --depth 96 --beta 8 --context 128k --out architect\n"
              "How-to: docs/howto/architect.md.",
          .make = ask_request<ArchitectSetup>};
}

}  // namespace attractor::lab
