// Four trained models on the theory's (t, beta) diagram, beside models that know nothing: the same
// with the entries of their matrices shuffled, and with their matrices turned at random, which
// keeps singular values. What holds of the trained ones and not of those is what training made.
#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <functional>
#include <iterator>

#include "attractor/base/named.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/inspect/inspect_figures.hpp"
#include "papers/entry.hpp"
#include "papers/models/trained.hpp"
#include "papers/pictures.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::trained_map {
namespace {

using lab::NullReading;
using models::Band;
using models::TextReading;

struct Case {
  std::string name, title;
  std::vector<double> pytorch;  // beta_eff of our first text, mean over heads, by layer: PyTorch
};

std::vector<Case> cases() {
  return {
      {"minilm", "MiniLM", {1.009379, 1.671786, 2.030946, 1.659695, 0.608424, -0.341592}},
      {"gte-small",
       "gte-small",
       {1.970503, 1.052258, 1.733778, 1.311318, 2.770035, 2.191412, 1.419368, 1.782601, 0.963587,
        0.396978, -1.364705, -2.342373}},
      {"stories15M", "stories15M", {0.859947, 3.392709, 1.233517, 1.949032, 2.666657, 5.123066}},
      {albert_name(),
       "ALBERT",
       {11.138549, 30.063531, 35.692270, 38.123890, 35.805601, 35.098363, 33.648004, 28.884692,
        28.160145, 24.761691, 18.586110, 13.789510}}};
}

struct Mapped {
  Case of;
  InspectRecord record{};
};

Mapped mapped(const Case& c, std::size_t texts, std::size_t null_texts, std::uint64_t draws,
              const Effort& effort) {
  InspectSetup setup = plain_setup(trained_model(c.name), first_lines(texts_for(c.name), texts));
  setup.nulls = draws;
  setup.null_texts = null_texts;
  return {c, inspected(setup, effort)};
}

double beta_difference(const Mapped& m) {
  const std::vector<models::LayerReading>& layers = m.record.texts.front().layers;
  if (layers.size() != m.of.pytorch.size()) return kInfinity;
  double largest = 0;
  for (std::size_t k = 0; k < layers.size(); ++k)
    largest = std::max(largest, std::abs(layers[k].beta - m.of.pytorch[k]));
  return largest;
}

// ---- A number of trained models, and of models that know nothing.

struct Reading {
  std::string what, sentence;
  std::function<double(const TextReading&)> trained;
  std::function<double(const NullReading&, std::size_t draw)> null;
  bool above;            // the trained ones lie above the others
  std::string not_of{};  // a model of which it is not claimed
};

std::vector<Reading> readings() {
  const auto over_layers = [](double models::LayerReading::*field) {
    return [field](const TextReading& t) {
      double sum = 0;
      for (const models::LayerReading& layer : t.layers) sum += layer.*field;
      return sum / static_cast<double>(t.layers.size());
    };
  };
  return {
      {"slope of logits against cosines, β_eff",
       "Trained heads give larger logits to more similar tokens: β_eff, mean over heads and layers",
       over_layers(&models::LayerReading::beta),
       [](const NullReading& n, std::size_t k) { return mean(n.slope[k]); }, true, "gte-small"},
      {"part of the logits that cosines explain",
       "Cosines explain more of the logits of trained heads: part of the variance within rows",
       over_layers(&models::LayerReading::r2),
       [](const NullReading& n, std::size_t k) { return mean(n.r2[k]); }, true},
      {"mean cosine after the last layer",
       "Trained weights keep tokens apart: mean cosine after the last layer",
       [](const TextReading& t) { return t.cosine(t.layers.size()); },
       [](const NullReading& n, std::size_t k) { return n.cosine[k].back(); }, false}};
}

/// The mean over texts with its 99 % interval, and where 99 % of nulls of a kind lie.
struct Comparison {
  Band trained{};
  std::vector<Band> nulls{};  // by kind
  double distance = 0;        // of the interval to the nearest of them, on the stated side
};

/// Where another draw lies with 99 %: the mean of m draws, and t_{m-1} s sqrt(1 + 1/m) beside it.
Band next_draw(const std::vector<double>& draws) {
  const auto m = static_cast<double>(draws.size());
  const double middle = mean(draws), spread = standard_error(draws) * std::sqrt(m);
  const double t = boost::math::quantile(boost::math::students_t(m - 1), 0.995);
  const double half = t * spread * std::sqrt(1 + 1 / m);
  return {middle, middle - half, middle + half};
}

Comparison compared(const Mapped& m, const Reading& reading) {
  std::vector<double> values;
  for (const TextReading& text : m.record.texts) values.push_back(reading.trained(text));
  Comparison c{.trained = lab::mean_band(values, 0.99, 1)};
  c.distance = kInfinity;
  for (const NullReading& null : m.record.nulls) {
    std::vector<double> draws;
    for (std::size_t k = 0; k < null.cosine.size(); ++k) draws.push_back(reading.null(null, k));
    const Band band = next_draw(draws);
    c.nulls.push_back(band);
    c.distance =
        std::min(c.distance, reading.above ? c.trained.low - band.high : band.low - c.trained.high);
  }
  return c;
}

// ---- The figure.

report::Panel map_panel(const Mapped& m) {
  const InspectRecord& r = m.record;
  const lab::DiagramPath path = lab::path_of(r);
  double longest = 0.2, largest = 1, tokens = 0;
  const auto reach = [&](const std::vector<double>& time, const std::vector<double>& beta) {
    for (const double t : time)
      if (std::isfinite(t)) longest = std::max(longest, 1.1 * t);
    for (const double b : beta)
      if (std::isfinite(b)) largest = std::max(largest, 1.1 * b);
  };
  reach(path.time, path.beta);
  for (const NullReading& null : r.nulls)
    for (std::size_t k = 0; k < null.time.size(); ++k) reach(null.time[k], null.beta[k]);
  for (const TextReading& text : r.texts)
    tokens += static_cast<double>(text.pieces.size()) / static_cast<double>(r.texts.size());
  report::Panel panel{.title = m.of.title,
                      .x = {.label = "effective time t"},
                      .y = {.label = "β of the layer, its heads together", .low = 0}};
  panel.heat =
      lab::theory_heat(std::max(2.0, std::round(tokens)), r.cosine.front().mean, longest, largest);
  const auto shown = [](double beta) { return std::max(beta, 0.0); };
  for (const NullReading& null : r.nulls) {
    report::Series s =
        line(fmt::format("{} weights", name(null.kind)),
             null.kind == models::Null::shuffled ? report::kOrange : report::kPurple, 1.4);
    for (std::size_t draw = 0; draw < null.time.size(); ++draw) {
      for (std::size_t k = 0; k < null.time[draw].size(); ++k)
        add_point(s, null.time[draw][k], shown(null.beta[draw][k]));
      add_point(s, kNan, kNan);
    }
    panel.series.push_back(std::move(s));
  }
  report::Series way = line("trained, layer by layer", report::kVermillion, 3),
                 stops = dots("", report::kVermillion, 4);
  for (std::size_t k = 0; k < path.time.size(); ++k) {
    add_point(way, path.time[k], shown(path.beta[k]));
    add_point(stops, path.time[k], shown(path.beta[k]));
  }
  panel.series.push_back(std::move(way));
  panel.series.push_back(std::move(stops));
  return panel;
}

/// Mean cosine by layer, and where nulls have it.
report::Panel cosine_panel(const Mapped& m) {
  report::Panel panel{.title = m.of.title,
                      .x = {.label = "layer", .low = 0, .whole = true},
                      .y = {.label = "mean cosine of pairs", .low = 0, .high = 1}};
  add_cosine_lines(panel, m.record, "trained", report::kVermillion);
  for (const NullReading& null : m.record.nulls) {
    const report::Colour colour =
        null.kind == models::Null::shuffled ? report::kOrange : report::kPurple;
    report::Series low = line(fmt::format("{} weights, 99 %", name(null.kind)), colour, 1.2, true),
                   high = line("", colour, 1.2, true);
    for (std::size_t k = 0; k <= m.record.layers(); ++k) {
      std::vector<double> draws;
      for (const std::vector<double>& draw : null.cosine) draws.push_back(draw[k]);
      const Band band = next_draw(draws);
      add_point(low, static_cast<double>(k), std::max(band.low, 0.0));
      add_point(high, static_cast<double>(k), std::min(band.high, 1.0));
    }
    panel.series.push_back(std::move(low));
    panel.series.push_back(std::move(high));
  }
  return panel;
}

std::vector<PageFigure> draw(const std::vector<Mapped>& all) {
  std::vector<report::Panel> maps, cosines;
  for (const Mapped& m : all) {
    maps.push_back(map_panel(m));
    cosines.push_back(cosine_panel(m));
  }
  return {two_columns("map", std::move(maps),
                      "Background: the cosine that the theory's attention reaches after time t at "
                      "inverse temperature β. Red: where trained layers stand. Orange, purple: "
                      "each draw of the model with shuffled and with redrawn weights. A β below 0 "
                      "stands at 0.",
                      840),
          two_columns("cosines", std::move(cosines),
                      "Mean cosine by layer of the trained model (its 99 % band over texts), and "
                      "where 99 % of models lie that know nothing.",
                      760)};
}

// ---- Words.

std::string interval(const Band& b) {
  return fmt::format("{:.3g} ({:.3g} to {:.3g})", b.mean, b.low, b.high);
}

/// A reading of all models: one sentence, a row and a check for each.
void add_sentence(const Reading& reading, const std::vector<Mapped>& all, Table& table,
                  Finding& finding) {
  std::string words;
  for (const Mapped& m : all) {
    const Comparison c = compared(m, reading);
    table.labels.push_back(m.of.title + ": " + reading.what);
    table.rows.push_back({static_cast<double>(m.record.texts.size()), c.trained.mean, c.trained.low,
                          c.trained.high, c.nulls[0].mean, c.nulls[0].low, c.nulls[0].high,
                          c.nulls[1].mean, c.nulls[1].low, c.nulls[1].high});
    if (m.of.title != reading.not_of)
      finding.checks.push_back(
          at_least(fmt::format("{}, {}: distance of the 99 % interval of trained weights to both "
                               "nulls' ({} them)",
                               m.of.title, reading.what, reading.above ? "above" : "below"),
                   c.distance, 0));
    words += fmt::format("{}{} {}, shuffled {}, redrawn {}", words.empty() ? "" : "; ", m.of.title,
                         interval(c.trained), interval(c.nulls[0]), interval(c.nulls[1]));
  }
  finding.answer.remarks.push_back(fmt::format(
      "{} ({} texts, 99 % intervals{}): {}.", reading.sentence, all.front().record.texts.size(),
      reading.not_of.empty() ? "" : "; not claimed of " + reading.not_of, words));
}

/// The next mean cosine in three ways; attention alone draws together more than trained layers do.
void add_errors(const std::vector<Mapped>& all, Finding& finding) {
  Table table{.name = "errors",
              .title = "The next mean cosine, predicted in three ways: mean absolute error, 99 %",
              .columns = {"equiangular", "low", "high", "persistence", "persistence_low",
                          "persistence_high", "line", "line_low", "line_high"},
              .label_column = "model"};
  for (const Mapped& m : all) {
    const lab::PredictionErrors& e = m.record.errors;
    table.labels.push_back(m.of.title);
    table.rows.push_back({e.equiangular.mean, e.equiangular.low, e.equiangular.high,
                          e.persistence.mean, e.persistence.low, e.persistence.high, e.linear.mean,
                          e.linear.low, e.linear.high});
    finding.checks.push_back(
        at_least(fmt::format("{}: error of the equiangular prediction minus that of \"nothing "
                             "changes\", lower end minus upper",
                             m.of.title),
                 e.equiangular.low - e.persistence.high, 0));
  }
  finding.answer.tables.push_back(std::move(table));
}

std::string headline(const std::vector<Mapped>& all) {
  const std::vector<Reading> each = readings();
  std::string apart, beta;
  for (const Mapped& m : all) {
    const Comparison cosine = compared(m, each[2]), slope = compared(m, each[0]);
    apart += fmt::format("{}{:.2f} ({:.2f}) in {}", apart.empty() ? "" : ", ", cosine.trained.mean,
                         cosine.nulls[1].mean, m.of.title);
    beta += fmt::format("{}{:.2g} ({:.1g})", beta.empty() ? "" : ", ", slope.trained.mean,
                        slope.nulls[1].mean);
  }
  return fmt::format(
      "Trained weights keep tokens apart where weights of the same singular values (in brackets) "
      "collapse them: mean cosine {}; their heads prefer similar tokens: β_eff {}.",
      apart, beta);
}

Finding run(const Effort& effort) {
  std::vector<Mapped> all;
  for (const Case& c : cases()) {
    // Long texts take minutes: where time is short, too few of them for a sentence.
    const bool few = effort.quick && c.name == albert_name();
    all.push_back(few ? mapped(c, 2, 2, 2, effort)
                      : mapped(c, 24, effort.quick ? 6 : 24, effort.quick ? 8 : 12, effort));
    if (effort.context.stopped()) return {};
  }
  Finding finding;
  finding.stand_in = albert_stands_in();
  for (const Mapped& m : all)
    if (m.of.name != "albert")
      finding.checks.push_back(
          at_most(fmt::format("{}: β_eff of a text, mean over heads, any layer, against PyTorch's",
                              m.of.title),
                  beta_difference(m), 2e-3));
  Table table{.name = "against_nulls",
              .title = "Trained weights against weights that know nothing, 99 % intervals",
              .columns = {"texts", "trained", "low", "high", "shuffled", "shuffled_low",
                          "shuffled_high", "redrawn", "redrawn_low", "redrawn_high"},
              .label_column = "model and reading"};
  std::vector<Mapped> enough;
  std::copy_if(all.begin(), all.end(), std::back_inserter(enough),
               [](const Mapped& m) { return m.record.texts.size() >= 20; });
  for (const Reading& reading : readings()) add_sentence(reading, enough, table, finding);
  finding.answer.tables = {table};
  add_errors(enough, finding);
  finding.answer.headline = headline(enough);
  finding.answer.draw = [all] { return draw(all); };
  return finding;
}

}  // namespace

Entry entry() {
  return {
      .id = "trained-map",
      .title = "Trained models on the (t, β) diagram",
      .source = "this laboratory, against nulls (nobody has published it)",
      .shows =
          "On 24 texts, at 99 %: trained weights keep tokens apart where weights of the same "
          "singular values collapse them, cosines explain more of their heads' logits, and these "
          "heads give larger logits to more similar tokens (but for gte-small's). Attention alone, "
          "at the measured beta, draws "
          "tokens together faster than trained layers do: as a prediction of the next cosine "
          "it is worse than \"nothing changes\".",
      .run = run,
      .needs = {"minilm", "gte-small", "stories15M", albert_name()}};
}

}  // namespace attractor::papers::trained_map
