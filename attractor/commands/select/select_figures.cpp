#include "attractor/commands/select/select_figures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/select/select_plane.hpp"
#include "attractor/commands/select/select_scene.hpp"
#include "attractor/commands/select/select_words.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/space/space.hpp"

namespace attractor::lab {
namespace {

using training::MaxMargin;

constexpr std::size_t kCurvePoints = 1000;  // of a line
constexpr std::size_t kCells = 4096;        // of all heat maps together

// ---- Against time.

/// Where a moment stands on the horizontal axis.
struct Clock {
  Axis axis;
  double SelectMoment::*column;
};

Clock clock_of(const SelectRecord& r, bool linear_steps = false) {
  if (r.setup.optimizer == Optimizer::flow)
    return {{.label = "time t", .scale = Scale::power, .clock = "log10_time"},
            &SelectMoment::log10_time};
  return {{.label = "step", .scale = linear_steps ? Scale::linear : Scale::log, .clock = "steps"},
          &SelectMoment::steps};
}

bool drawable(const Series& s) {
  std::size_t finite = 0;
  for (std::size_t k = 0; k < s.x.size(); ++k)
    finite += std::isfinite(s.x[k]) && std::isfinite(s.y[k]);
  return finite > 1;
}

/// value(k): of moment k.
template <class Value>
Series against(const SelectRecord& r, const Clock& clock, Colour colour, std::string title,
               const Value& value) {
  Series series = curve(colour, 2.4);
  series.title = std::move(title);
  const std::size_t stride = r.series.size() / kCurvePoints + 1;
  for (std::size_t k = 0; k < r.series.size(); ++k)
    if (k % stride == 0 || k + 1 == r.series.size())
      add_point(series, r.series[k].*clock.column, value(k));
  return series;
}

Series column(const SelectRecord& r, const Clock& clock, Colour colour, std::string title,
              double SelectMoment::*field) {
  return against(r, clock, colour, std::move(title),
                 [&](std::size_t k) { return r.series[k].*field; });
}

std::pair<double, double> extent(const std::vector<double>& values) {
  double low = kInfinity, high = -low;
  for (const double value : values)
    if (std::isfinite(value)) low = std::min(low, value), high = std::max(high, value);
  return {low, high};
}

/// Logarithmic where all values are positive and differ by more than a factor of 30.
Scale scale_of(const std::vector<Series>& series) {
  double least = kInfinity, most = -least;
  for (const Series& s : series) {
    const auto [low, high] = extent(s.y);
    least = std::min(least, low), most = std::max(most, high);
  }
  return least > 0 && most / least > 30 ? Scale::log : Scale::linear;
}

/// One panel with those of the series that can be drawn; none: no figure.
std::optional<PageFigure> drawable_plot(std::string id, std::string title, Axis x, Axis y,
                                        std::vector<Series> series, std::string caption) {
  std::erase_if(series, [](const Series& s) { return !drawable(s); });
  if (series.empty()) return std::nullopt;
  return plot(std::move(id), std::move(title), std::move(x), std::move(y), std::move(series),
              std::move(caption));
}

double cosine_to(std::span<const double> a, std::span<const double> b) {
  const double lengths = norm(a) * norm(b);
  return a.size() == b.size() && lengths > 0 ? dot(a, b) / lengths : kNan;
}

double from_one(double cosine) {
  constexpr double kRounding = 1e-15;
  return 1 - cosine > kRounding ? 1 - cosine : kNan;
}

/// 1 - cosine of what attention moves by between two moments to the solution.
std::vector<double> velocity_angles(const SelectRecord& r, const training::Objective& objective,
                                    std::span<const double> solution) {
  std::vector<double> result(r.series.size(), kNan), last;
  const std::size_t size = objective.dim();
  for (std::size_t k = 0; k < r.series.size() && (k + 1) * size <= r.trajectory.size(); ++k) {
    std::vector<double> now =
        objective.attention_weights(std::span(r.trajectory).subspan(k * size, size));
    std::vector<double> move = now;
    for (std::size_t a = 0; a < last.size(); ++a) move[a] -= last[a];
    if (k > 0) result[k] = from_one(cosine_to(move, solution));
    last = std::move(now);
  }
  return result;
}

std::optional<PageFigure> direction_figure(const SelectRecord& r,
                                           const training::Objective& objective) {
  const Clock clock = clock_of(r);
  const std::string name = attention_name(r);
  std::vector<Series> series;
  const auto add = [&](Colour colour, std::string title, double SelectMoment::*field) {
    series.push_back(against(r, clock, colour, std::move(title),
                             [&](std::size_t k) { return from_one(r.series[k].*field); }));
  };
  if (r.svm && r.svm->feasible()) {
    const MaxMargin& target = r.relaxed && r.relaxed->feasible() ? *r.relaxed : *r.svm;
    const std::vector<double> moves = velocity_angles(r, objective, target.solution);
    series.push_back(against(r, clock, report::kOrange,
                             "movement of " + name + (r.relaxed ? ", to the relaxed one" : ""),
                             [&](std::size_t k) { return moves[k]; }));
    series.back().width = 1.4;
    add(r.relaxed ? report::kGrey : report::kVermillion,
        name + (r.relaxed ? ", to that of all inputs" : ""), &SelectMoment::cosine);
  }
  if (r.relaxed)
    add(report::kVermillion, name + ", to the relaxed one", &SelectMoment::relaxed_cosine);
  if (r.label) add(report::kBlue, "v, to the label margin", &SelectMoment::head_cosine);
  const Scale scale = scale_of(series);
  return drawable_plot(
      "direction", "Distance to the max-margin directions", clock.axis,
      {.label = "1 − cosine", .scale = scale}, std::move(series),
      std::string("How far directions are from their max-margin solutions (movement: from record "
                  "to record)") +
          (r.svm ? "; the movement gets there long before the weights, which carry their "
                   "past with them."
                 : "."));
}

/// What theory says about |p| at late times, through the last point: |p^mm| ln t for gradient
/// descent and flow, step * t for normalised gradients.
std::optional<Series> norm_guide(const SelectRecord& r, const Clock& clock, const Series& norms) {
  const SelectSetup& p = r.setup;
  const bool normalised = p.optimizer == Optimizer::ngd || p.optimizer == Optimizer::published;
  const training::Trained trained = training::Trained(p.train);
  const bool plain =
      p.mirror == 2 && trained.attention != training::AttentionPart::factors && drawable(norms);
  const bool known = r.svm && r.svm->status == solve::MarginStatus::optimal && !trained.head &&
                     training::is_margin_loss(p.loss);
  const bool other = p.optimizer == Optimizer::polyak || p.decay > 0 ||
                     training::averages_gradients(descent_options(p).rule);
  if (!plain || other || (!normalised && !known)) return std::nullopt;
  Series guide = curve(report::kInk, 1.2);
  guide.dashed = true;
  guide.title = normalised ? "step × t" : fmt::format("slope |{}^{{mm}}|", attention_name(r));
  const double speed = p.step / (1 - p.momentum), end_y = norms.y.back();
  const auto log = [&](double x) {
    return clock.axis.scale == Scale::power ? x * std::numbers::ln10 : std::log(x);
  };
  for (const double x : norms.x) {
    const double y = normalised ? speed * x : end_y + r.svm->norm * (log(x) - log(norms.x.back()));
    add_point(guide, x, y >= 0 ? y : kNan);
  }
  return guide;
}

std::optional<PageFigure> norm_figure(const SelectRecord& r) {
  const bool normalised =
      r.setup.optimizer == Optimizer::ngd || r.setup.optimizer == Optimizer::published;
  const Clock clock = clock_of(r, normalised);
  const training::Trained trained = training::Trained(r.setup.train);
  std::vector<Series> series;
  if (trained.attention != training::AttentionPart::none)
    series.push_back(column(r, clock, report::kVermillion, "|" + attention_name(r) + "|",
                            &SelectMoment::attention_norm));
  if (trained.head)
    series.push_back(column(r, clock, report::kBlue, "|v|", &SelectMoment::head_norm));
  if (std::optional<Series> guide = norm_guide(r, clock, series.front()))
    series.push_back(std::move(*guide));
  const bool theory = r.setup.mirror == 2 && training::is_margin_loss(r.setup.loss) &&
                      !training::averages_gradients(descent_options(r.setup).rule) &&
                      (trained.attention == training::AttentionPart::prompt ||
                       trained.attention == training::AttentionPart::weights);
  const char* caption =
      !theory ? "Norms of the trained weights."
      : r.setup.optimizer == Optimizer::published
          ? "Steps shrink as soon as the gradient falls below the epsilon that is added to its "
            "norm: growth stalls below the dashed line."
      : normalised
          ? "Every normalised step adds its length once the direction has settled; softmax then "
            "sharpens along a fixed direction."
          : "Once the direction has settled norms grow like ln t; softmax then sharpens along a "
            "fixed direction.";
  return drawable_plot("norm", "Growth of the weights", clock.axis, {.label = "norm", .low = 0},
                       std::move(series), caption);
}

std::optional<PageFigure> softmax_figure(const SelectRecord& r) {
  const Clock clock = clock_of(r);
  const bool several = r.problem.inputs > 1;
  std::vector<Series> series = {
      column(r, clock, report::kBlue, several ? "smallest" : "", &SelectMoment::softmax_min)};
  if (several)
    series.insert(series.begin(),
                  column(r, clock, report::kSky, "mean over inputs", &SelectMoment::softmax_mean));
  return drawable_plot(
      "softmax", "Weight on the selected tokens", clock.axis,
      {.label = "softmax weight", .low = 0, .high = 1.05}, std::move(series),
      "Softmax weight of the tokens that are selected in the end; 1 is full attention.");
}

std::optional<PageFigure> effective_figure(const SelectRecord& r) {
  const Clock clock = clock_of(r);
  const auto exp_entropy = [&](std::size_t k) { return std::exp(r.series[k].entropy); };
  return drawable_plot(
      "effective", "How many tokens an input looks at", clock.axis,
      {.label = "effective tokens", .low = 0},
      {against(r, clock, report::kPurple, "e^{entropy}", exp_entropy),
       column(r, clock, report::kGreen, "1 / Σ s²", &SelectMoment::effective_tokens)},
      "Two ways to count the tokens that share the attention of an input; both end at 1.");
}

std::optional<PageFigure> loss_figure(const SelectRecord& r) {
  const Clock clock = clock_of(r);
  Series loss = column(r, clock, report::kGreen, "", &SelectMoment::loss);
  const Scale scale = scale_of({loss});
  return drawable_plot("loss", "Training loss", clock.axis, {.label = "loss", .scale = scale},
                       {std::move(loss)},
                       fmt::format("The {} loss, a mean over inputs.", r.setup.loss));
}

std::optional<PageFigure> excess_figure(const SelectRecord& r) {
  const Clock clock = clock_of(r);
  Series excess = column(r, clock, report::kGreen, "", &SelectMoment::log10_excess);
  const auto [low, high] = extent(excess.y);
  const bool narrow = high - low < 2 && std::abs(low) < 200;  // powers of ten would be one tick
  if (narrow)
    for (double& y : excess.y) y = std::pow(10, y);
  return drawable_plot(
      "excess", "What is left to gain", clock.axis,
      {.label = "loss above that of the best tokens",
       .scale = narrow ? Scale::linear : Scale::power,
       .low = narrow ? 0 : kNan},
      {std::move(excess)},
      "Distance of the loss to that of the best tokens, computed without cancellation; a "
      "plateau means that some input does not select its best token.");
}

// ---- Attention, input by input.

Panel attention_panel(const SelectRecord& r, std::span<const double> softmax, std::string title) {
  const std::size_t inputs = std::min<std::size_t>(r.problem.inputs, 64);
  const std::size_t tokens = std::min<std::size_t>(r.problem.tokens, 64);
  Panel panel{.title = std::move(title),
              .x = {.label = "token", .whole = true},
              .y = {.label = "input", .whole = true}};
  Heat heat{.x = {}, .y = {}, .value = {}, .label = "", .ramp = Heat::Ramp::fade};
  for (std::size_t t = 0; t < tokens; ++t) heat.x.push_back(static_cast<double>(t));
  for (std::size_t i = 0; i < inputs; ++i) {
    heat.y.push_back(static_cast<double>(i));
    for (std::size_t t = 0; t < tokens; ++t)
      heat.value.push_back(softmax[i * r.problem.tokens + t]);
  }
  panel.heat = std::move(heat);
  Series marks{.mark = Mark::points, .colour = report::kVermillion};
  marks.size = std::max(inputs, tokens) > 24 ? 2 : 4;
  for (std::size_t i = 0; i < inputs && i < r.selected.size(); ++i)
    if (r.selected[i] < tokens)
      add_point(marks, static_cast<double>(r.selected[i]), static_cast<double>(i));
  panel.series.push_back(std::move(marks));
  return panel;
}

std::string moment_text(const SelectRecord& r, std::size_t k) {
  return r.setup.optimizer == Optimizer::flow ? "t = " + power_text(r.series[k].log10_time)
                                              : fmt::format("step {:.0f}", r.series[k].steps);
}

/// Start, the moments when the mean weight has gone one and two thirds of its way, end.
std::vector<std::size_t> telling_moments(const SelectRecord& r, std::size_t most) {
  const std::size_t last = r.series.size() - 1;
  const double from = r.series[0].softmax_mean, way = r.series[last].softmax_mean - from;
  std::vector<std::size_t> chosen = {0};
  for (const double share : {1.0 / 3, 2.0 / 3}) {
    std::size_t k = 0;
    while (k < last && r.series[k].softmax_mean - from < share * way) ++k;
    chosen.push_back(k);
  }
  chosen.push_back(last);
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  if (chosen.size() > most)
    chosen = most > 1 ? std::vector<std::size_t>{0, last} : std::vector<std::size_t>{last};
  return chosen;
}

std::optional<PageFigure> attention_figure(const SelectRecord& r,
                                           const training::Objective& objective) {
  const std::size_t inputs = std::min<std::size_t>(r.problem.inputs, 64);
  const std::size_t tokens = std::min<std::size_t>(r.problem.tokens, 64);
  const std::size_t size = objective.dim();
  if (r.series.empty() || r.trajectory.size() != r.series.size() * size) return std::nullopt;
  PageFigure result{.figure = {.id = "attention"}};
  training::Evaluation e;
  for (const std::size_t k : telling_moments(r, kCells / (inputs * tokens))) {
    const auto state = std::span(r.trajectory).subspan(k * size, size);
    if (!std::all_of(state.begin(), state.end(), [](double x) { return std::isfinite(x); }))
      continue;
    objective.evaluate(state, e);
    result.figure.panels.push_back(attention_panel(r, e.weight, moment_text(r, k)));
    if (result.figure.panels.size() > 1) result.figure.panels.back().y.label.clear();
  }
  if (result.figure.panels.empty()) return std::nullopt;
  result.figure.columns = result.figure.panels.size();
  const bool few = tokens <= 8;
  const auto panels = static_cast<double>(result.figure.columns);
  result.wide = !few || panels > 2;
  result.figure.width = few ? kWide / 4 * panels : kWide;
  result.figure.height = std::clamp(100 + 24 * static_cast<double>(inputs), 170.0, 480.0);
  result.caption =
      "Softmax weights from 0 (faint) to 1 (full colour); dots mark the tokens selected in the "
      "end.";
  if (inputs < r.problem.inputs || tokens < r.problem.tokens)
    result.caption += fmt::format(" The first {} inputs and {} tokens.", inputs, tokens);
  return result;
}

// ---- Regularisation path.

std::optional<PageFigure> path_figure(const SelectRecord& r) {
  Series angle = curve(report::kVermillion, 2), marks = curve(report::kVermillion, 2);
  marks.mark = Mark::points;
  for (std::size_t k = 0; k < std::min(r.path.size(), r.path_cosine.size()); ++k) {
    const double missing = from_one(r.path_cosine[k]);
    add_point(angle, r.path[k].radius, 2 * std::asin(std::sqrt(missing / 2)));
  }
  marks.x = angle.x, marks.y = angle.y;
  Series guide = curve(report::kInk, 1.2);
  guide.dashed = true;
  guide.title = "1 / R";
  for (std::size_t k = 0; k < angle.x.size(); ++k)
    add_point(guide, angle.x[k], angle.y.front() * angle.x.front() / angle.x[k]);
  return drawable_plot("path", "The regularisation path turns to the max-margin direction",
                       {.label = "radius R", .scale = Scale::log},
                       {.label = "angle, radians", .scale = Scale::log},
                       {std::move(guide), std::move(angle), std::move(marks)},
                       "Angle between the best weights of norm R and the max-margin solution.");
}

}  // namespace

std::vector<PageFigure> select_figures(const SelectRecord& r) {
  const training::Objective objective(r.problem, r.setup.loss, training::Trained(r.setup.train));
  std::vector<PageFigure> figures;
  const auto add = [&figures](std::optional<PageFigure> figure) {
    if (figure) figures.push_back(std::move(*figure));
  };
  add(plane_figure(r, objective));
  const bool moving = objective.trained().attention != training::AttentionPart::none;
  // Beside the moving picture, if there is one.
  for (std::optional<PageFigure> figure :
       {direction_figure(r, objective), moving ? softmax_figure(r) : std::nullopt}) {
    if (figure) figure->beside = has_scene(r);
    add(std::move(figure));
  }
  add(norm_figure(r));
  if (moving) add(effective_figure(r));
  add(loss_figure(r));
  add(excess_figure(r));
  if (moving) add(attention_figure(r, objective));
  add(path_figure(r));
  add(basin_figure(r));
  return figures;
}

}  // namespace attractor::lab
