#include "attractor/commands/bridge/bridge_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/bridge/load_bridge_py.hpp"
#include "attractor/commands/flow/flow_view.hpp"
#include "attractor/commands/flow/token_figure.hpp"
#include "attractor/commands/result.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/report/scene_panel.hpp"

namespace attractor::lab {
namespace {

constexpr std::size_t kPictures = 5;  // checkpoints shown as pictures

// ---- In words.

std::string bars(const BridgeRecord& r) { return fmt::format("|{}|", r.setup.train); }
std::string best_norm(const BridgeRecord& r) { return fmt::format("|{}^{{mm}}|", r.setup.train); }

double log10_time(const BridgeMoment& m) { return m.log_time / std::numbers::ln10; }

/// "t = 3.2·10^{5}" of ln t.
std::string when(double log_time) {
  return std::isnan(log_time) ? "–" : "t = " + power_text(log_time / std::numbers::ln10);
}

std::string counted(double number, const std::string& what) {
  return fmt::format("{:.0f} {}{}", number, what, number == 1 ? "" : "s");
}

std::string place(const BridgeRecord& r) {
  return r.start.dim == 2 ? "on the circle" : "on the sphere S" + superscript(r.start.dim - 1);
}

// ---- The tokens as the pages of `attractor flow` show them, with training time for time.

FlowRecord token_record(const BridgeRecord& r) {
  FlowRecord record;
  record.tokens = r.start.count();
  record.dim = r.start.dim;
  for (const BridgeCheckpoint& c : r.checkpoints)
    record.snapshots.push_back({flow::Time(1, c.training.log_time), c.positions, c.clusters, {}});
  return record;
}

/// Colours: the clusters of the latest checkpoint that has few enough to tell apart.
void colour_by_clusters(FlowRecord record, FlowView& view) {
  for (; !record.snapshots.empty(); record.snapshots.pop_back()) {
    const std::size_t count = clusters_of(record.snapshots.back());
    if (count < 2 || count > report::kPalette.size()) continue;
    const FlowView coloured = flow_view(record);
    view.scene.palette = coloured.scene.palette;
    view.scene.group = coloured.scene.group;
    view.group = coloured.group;
    view.reference = coloured.reference;
    return;
  }
}

struct Pictures {
  FlowRecord record;
  FlowView view;
};

Pictures pictures_of(const BridgeRecord& r) {
  Pictures p{.record = token_record(r)};
  p.view = flow_view(p.record);
  colour_by_clusters(p.record, p.view);
  return p;
}

report::Scene scene_of(const Pictures& p, const BridgeRecord& r) {
  report::Scene scene = flow_scene(p.record, p.view);
  report::SceneClock times{.name = "log10_time", .at = {}}, norms{.name = "norm", .at = {}};
  scene.labels.clear();
  for (const std::size_t k : played(p.view)) {
    const BridgeCheckpoint& c = r.checkpoints[k];
    times.at.push_back(std::isfinite(c.training.log_time) ? log10_time(c.training) : kNan);
    norms.at.push_back(c.training.norm);
    scene.labels.push_back(fmt::format("{}, β = {:.3g}: {}", when(c.training.log_time),
                                       c.training.norm, counted(c.end.clusters, "cluster")));
  }
  scene.clocks = {std::move(times), std::move(norms)};
  scene.title = "Where tokens end, over training time";
  return scene;
}

/// The common start, then the ends at telling checkpoints.
PageFigure token_pictures(const BridgeRecord& r) {
  const Pictures all = pictures_of(r);
  FlowRecord record = all.record;
  record.snapshots = {{flow::Time(0), r.start.data, std::vector<std::uint32_t>(record.tokens), {}}};
  std::vector<std::string> titles = {"start of every flow"};
  for (const std::size_t k : report::telling_moments(all.view.scene.xyz, kPictures)) {
    const BridgeCheckpoint& c = r.checkpoints[k];
    record.snapshots.push_back(all.record.snapshots[k]);
    titles.push_back(  // what attention was then stands in the curves: a phone has no room for more
        fmt::format("{}:  {}", when(c.training.log_time), counted(c.end.clusters, "cluster")));
  }
  FlowView view = flow_view(record);
  view.scene.palette = all.view.scene.palette;
  view.scene.group = all.view.scene.group;
  view.group = all.view.group;
  PageFigure drawn = token_figure(record, view);
  for (std::size_t k = 0; k < titles.size(); ++k) drawn.figure.panels[k].title = titles[k];
  std::string caption = fmt::format(
      "The same tokens {}, after depth {:.4g} under the attention learnt by training time t.",
      view.caption, r.setup.time);
  if (r.setup.train == training::Train::p)
    caption +=
        " Young attention is warm: every token is drawn to all others. Old attention is cold: it "
        "looks at near tokens only, and distant clusters no longer feel each other.";
  if (view.scene.palette.size() > 1)
    caption += " Colour: the cluster at " +
               when(r.checkpoints[all.view.reference].training.log_time) + ".";
  return {std::move(drawn.figure), caption + " Area: the number of tokens on the spot.", true};
}

// ---- Curves.

Axis training_axis() {
  return {.label = "training time t", .scale = Scale::power, .clock = "log10_time"};
}

/// A line through x(row), y(row).
template <class Row, class X, class Y>
Series line(const std::vector<Row>& rows, report::Colour colour, std::string title, const X& x,
            const Y& y) {
  Series series = curve(colour, 2.4);
  series.title = std::move(title);
  for (const Row& row : rows) add_point(series, x(row), y(row));
  return series;
}

/// The same as dots: one for each checkpoint.
Series as_dots(Series series) {
  series.mark = Mark::points;
  series.size = 4.4;
  series.title.clear();
  return series;
}

double checkpoint_time(const BridgeCheckpoint& c) { return log10_time(c.training); }

PageFigure norm_figure(const BridgeRecord& r) {
  const auto norm = [](const BridgeMoment& m) { return m.norm; };
  const auto checkpoint_norm = [](const BridgeCheckpoint& c) { return c.training.norm; };
  std::vector<Series> series;
  const BridgeMoment& last = r.moments.back();
  if (std::isfinite(r.theory.norm)) {
    series.push_back(line(r.moments, report::kInk,
                          fmt::format("theory: slope {} = {:.4g}", best_norm(r), r.theory.norm),
                          log10_time, [&](const BridgeMoment& m) {
                            return last.norm + r.theory.norm * (m.log_time - last.log_time);
                          }));
    series.back().dashed = true;
    series.back().width = 1.4;
  }
  series.push_back(
      line(r.moments, report::kVermillion, bars(r) + " = β, trained", log10_time, norm));
  series.push_back(
      as_dots(line(r.checkpoints, report::kVermillion, "", checkpoint_time, checkpoint_norm)));
  PageFigure result =
      plot("norm", "Training cools attention", training_axis(),
           {.label = bars(r) + " = inverse temperature β", .low = 0}, std::move(series),
           "The norm of what is trained is the inverse temperature of attention; it grows like the "
           "logarithm of time. Dots: checkpoints.");
  Panel& panel = result.figure.panels[0];
  panel.x.low = log10_time(r.moments[1]);
  panel.x.high = log10_time(last);
  panel.y.high = 1.05 * std::max(1e-3, last.norm);
  return result;
}

/// Where the selected weight has come close to 1.
double settled_norm(const BridgeRecord& r) {
  for (const BridgeMoment& m : r.moments)
    if (m.softmax_min > 0.995) return m.norm;
  return r.moments.back().norm;
}

/// Interrupted where attention switches between two moments: a chord would be no weight it had.
Series without_chords(Series series) {
  Series result = curve(series.colour, series.width);
  result.title = std::move(series.title);
  for (std::size_t k = 0; k < series.x.size(); ++k) {
    if (k > 0 && std::abs(series.y[k] - series.y[k - 1]) > 0.3) add_point(result, kNan, kNan);
    add_point(result, series.x[k], series.y[k]);
  }
  return result;
}

PageFigure weight_figure(const BridgeRecord& r) {
  const auto norm = [](const BridgeMoment& m) { return m.norm; };
  const double telling = std::fmax(5 * r.theory.transition_norm, 1.15 * settled_norm(r));
  const double most = std::max(1e-3, std::min(r.moments.back().norm, telling));
  std::vector<Series> series;
  if (std::isfinite(r.theory.norm)) {
    Series logistic = curve(report::kInk, 1.4);
    logistic.dashed = true;
    logistic.title = fmt::format("logistic of 1 / {}", best_norm(r));
    for (int k = 0; k <= 200; ++k) {
      const double at = most * k / 200;
      add_point(logistic, at, logistic_weight(r.training.problem.tokens, at / r.theory.norm));
    }
    series.push_back(std::move(logistic));
  }
  series.push_back(without_chords(line(r.moments, report::kOrange, "proved bound", norm,
                                       [](const BridgeMoment& m) { return m.bound; })));
  series.push_back(without_chords(line(r.moments, report::kBlue, "smallest selected weight", norm,
                                       [](const BridgeMoment& m) { return m.softmax_min; })));
  series.push_back(as_dots(line(
      r.checkpoints, report::kBlue, "", [](const BridgeCheckpoint& c) { return c.training.norm; },
      [](const BridgeCheckpoint& c) { return c.training.softmax_min; })));
  PageFigure result = plot("weight", "From mixing to selecting",
                           {.label = bars(r) + " = β", .low = 0, .high = most, .clock = "norm"},
                           {.label = "softmax weight", .low = 0, .high = 1.04}, std::move(series),
                           "The weight of selected tokens never falls below the bound.");
  if (r.theory.transition_norm > 0)
    result.figure.panels[0].vertical = {
        {.at = r.theory.transition_norm, .width = 1.4, .label = best_norm(r) + " ln(T − 1)"}};
  return result;
}

PageFigure cluster_figure(const BridgeRecord& r) {
  const auto clusters = [](const BridgeCheckpoint& c) { return c.end.clusters; };
  std::vector<Series> series;
  double most = 4;  // fewer would ask for ticks between whole numbers
  for (const BridgeCheckpoint& c : r.checkpoints) most = std::max(most, c.end.clusters);
  if (r.start.dim == 2 && r.setup.train == training::Train::p) {
    series.push_back(
        line(r.checkpoints, report::kInk, "√(2β), the fastest mode", checkpoint_time,
             [](const BridgeCheckpoint& c) { return std::sqrt(2 * c.training.norm); }));
    series.back().dashed = true;
    series.back().width = 1.4;
    most = std::max(most, series.back().y.back());
  }
  series.push_back(line(r.checkpoints, report::kBlue, "", checkpoint_time, clusters));
  series.push_back(as_dots(series.back()));
  const bool log = most > 40;
  return plot("clusters", "What depth makes of it: clusters", training_axis(),
              {.label = "clusters at the end of depth",
               .scale = log ? Scale::log : Scale::linear,
               .low = log ? 0.75 : 0,
               .high = most * (log ? 1.3 : 1.1),
               .whole = true},
              std::move(series),
              fmt::format("Clusters of {} tokens after depth {:.4g}, for the attention of each "
                          "checkpoint.",
                          grouped(r.start.count()), r.setup.time));
}

PageFigure entropy_figure(const BridgeRecord& r) {
  const double tokens = std::log(static_cast<double>(r.start.count()));
  const double inputs = std::log(static_cast<double>(r.training.problem.tokens));
  Series training = curve(report::kOrange, 2.4);
  training.title = "training, over inputs";
  for (const SelectMoment& m : r.training.series)
    add_point(training, m.log10_time, m.entropy / inputs);
  Series depth =
      line(r.checkpoints, report::kGreen, "depth, over tokens", checkpoint_time,
           [&](const BridgeCheckpoint& c) { return c.start.attention_entropy / tokens; });
  Series dots = as_dots(depth);
  PageFigure result =
      plot("entropy", "Attention narrows in both halves", training_axis(),
           {.label = "entropy / largest", .low = 0, .high = 1.04},
           {std::move(training), std::move(depth), std::move(dots)},
           "Entropy of attention: 1 when all tokens are looked at alike, 0 when one takes all. "
           "Both cool together, but near tokens on a sphere are hard to tell apart.");
  result.figure.panels[0].x.low = log10_time(r.moments[1]);
  result.figure.panels[0].x.high = log10_time(r.moments.back());
  return result;
}

// ---- Parts of the page.

std::vector<Tile> tiles(const BridgeRecord& r) {
  const BridgeTheory& t = r.theory;
  const auto number = [](double x) { return std::isfinite(x) ? fmt::format("{:.4g}", x) : "–"; };
  const BridgeMoment &first = r.checkpoints.front().training, &last = r.checkpoints.back().training;
  const auto time = [](double log_time) {
    return std::isinf(log_time) ? std::string("from the start") : when(log_time);
  };
  const auto [few, many] = std::minmax_element(
      r.checkpoints.begin(), r.checkpoints.end(),
      [](const auto& a, const auto& b) { return a.end.clusters < b.end.clusters; });
  std::vector<Tile> all;
  add_tile(all, "growth d" + bars(r) + " / d ln t", number(t.slope),
           fmt::format("theory, in the limit: {} = {}", best_norm(r), number(t.norm)));
  add_tile(all, "transition at " + bars(r),
           std::isnan(t.transition_norm) ? "unknown" : number(t.transition_norm),
           !std::isnan(t.transition_log_time) ? "crossed: " + time(t.transition_log_time)
                                              : "not crossed during this run");
  add_tile(all, "all selected weights ≥ ½",
           std::isnan(t.half_log_time) ? "not yet" : time(t.half_log_time), "and ever after");
  add_tile(all, "inverse temperature β", number(first.norm) + " to " + number(last.norm),
           "first to last checkpoint");
  add_tile(all, "clusters", fmt::format("{:.0f} to {:.0f}", few->end.clusters, many->end.clusters),
           fmt::format("of {} tokens, after depth {:.4g}", grouped(r.start.count()), r.setup.time));
  if (r.status != flow::Status::complete)
    all.push_back({"status", status_words(r.status), std::string(flow::remedy(r.status))});
  return all;
}

Section checkpoint_table(const BridgeRecord& r) {
  std::vector<std::vector<std::string>> rows = {
      {"training time", bars(r) + " = β", "selected weight", "bound", "entropy of depth, nats",
       "clusters", "mean cosine", "energy ratio", "first merge"}};
  for (const BridgeCheckpoint& c : r.checkpoints) {
    const BridgeMoment& m = c.training;
    rows.push_back({when(m.log_time), rounded(m.norm),
                    close_to_one(m.softmax_min, 1 - m.softmax_min),
                    close_to_one(m.bound, 1 - m.bound), rounded(c.start.attention_entropy),
                    fmt::format("{:.0f}", c.end.clusters), rounded(c.end.mean_cosine),
                    rounded(c.end.energy_ratio),
                    c.first_merge ? "depth " + rounded(*c.first_merge) : std::string("–")});
  }
  return {"Checkpoints",
          html_table(rows) + html_note("Mean cosine, energy and clusters: at the end of depth; "
                                       "entropy: at its start.")};
}

Section theory(const BridgeRecord& r) {
  const std::string map =
      r.setup.train == training::Train::p
          ? "Logits are <p, k> = |p| <p/|p|, k>, so |p| is an inverse temperature. Tokens on the "
            "sphere take it over: softmax attention with Q = K = V = I and β = |p|."
          : "Logits are <W x_{i}, x_{j}>: tokens on the sphere move by softmax attention with "
            "Q = W/|W|, K = V = I and β = |W|.";
  return {"What theory says",
          html_card({map, fmt::format(
                              "Late in training the direction is frozen and only β grows, by {} "
                              "for every unit of ln t: training is then slow cooling. The weight "
                              "of a selected token passes one half near {} = {} ln(T − 1), after a "
                              "time of order T. In depth the same cooling takes attention from one "
                              "cluster to many: a cluster lives for about e^{{β(1 − cos δ)}}, "
                              "which is a power of the training time (δ: the angle to the next "
                              "cluster).",
                              best_norm(r), bars(r), best_norm(r))})};
}

}  // namespace

std::string headline(const BridgeRecord& r) {
  const BridgeMoment &first = r.checkpoints.front().training, &last = r.checkpoints.back().training;
  return fmt::format(
      "Training {} until {} cools attention from β = {:.3g} to {:.3g}: the same {} tokens {} end "
      "in "
      "{} under the first checkpoint, in {} under the last",
      r.setup.train, when(last.log_time), first.norm, last.norm, grouped(r.start.count()), place(r),
      counted(r.checkpoints.front().end.clusters, "cluster"),
      counted(r.checkpoints.back().end.clusters, "cluster"));
}

report::Scene bridge_scene(const BridgeRecord& r) { return scene_of(pictures_of(r), r); }

std::vector<PageFigure> bridge_figures(const BridgeRecord& r) {
  PageFigure clusters = cluster_figure(r), entropy = entropy_figure(r);
  PageFigure norm = norm_figure(r), weight = weight_figure(r);
  norm.beside = weight.beside = true;
  return {std::move(norm), std::move(weight), token_pictures(r), std::move(clusters),
          std::move(entropy)};
}

Page bridge_page(const BridgeRecord& r) {
  const Pictures p = pictures_of(r);
  Page page{.tiles = tiles(r),
            .scene = scene_of(p, r),
            .scene_note = fmt::format(
                "Slide through training: where the tokens end after depth {:.4g}, under the "
                "attention learnt by time t.",
                r.setup.time),
            .sections = {checkpoint_table(r), theory(r)},
            .closing = {in_python(std::string(kLoadBridgePy))}};
  if (r.training.at_minimum)
    page.warnings.push_back(
        "Training rests at a minimum of finite norm: attention mixes tokens, none is selected, and "
        "the growth that theory predicts does not happen.");
  return page;
}

}  // namespace attractor::lab
