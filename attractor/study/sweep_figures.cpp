#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/lab/number_list.hpp"
#include "attractor/study/sweep_result.hpp"

namespace attractor::lab {
namespace {

using report::add_point;
using report::curve;
using report::Mark;
using report::Panel;
using report::Scale;
using report::Series;

constexpr std::size_t kUsualFigures = 6;

std::string words(std::string name) {
  std::replace(name.begin(), name.end(), '_', ' ');
  std::replace(name.begin(), name.end(), '.', ' ');
  return name;
}

std::optional<std::size_t> axis_of(const Study& study, const std::string& name) {
  for (std::size_t a = 0; a < study.axes.size(); ++a)
    if (study.axes[a].name == name) return a;
  return std::nullopt;
}

void require(const SweepRecord& record, const std::string& name) {
  if (!record.length.contains(name))
    throw Error(
        fmt::format("the figure of '{}' cannot be drawn: it is neither an axis nor a measure "
                    "of this study",
                    name));
}

/// Points that differ in this axis only, one list for each choice of the others.
std::vector<std::vector<std::size_t>> lines_along(const Study& study, std::size_t axis) {
  std::map<std::vector<std::size_t>, std::vector<std::size_t>> lines;
  for (std::size_t p = 0; p < study.points(); ++p) {
    std::vector<std::size_t> key = study.place(p);
    key[axis] = 0;
    if (!study.grid) std::fill(key.begin(), key.end(), 0);
    lines[key].push_back(p);
  }
  std::vector<std::vector<std::size_t>> result;
  for (auto& [key, points] : lines) result.push_back(std::move(points));
  return result;
}

std::string other_words(const Study& study, std::size_t point, std::size_t axis) {
  std::string text;
  for (std::size_t a = 0; a < study.axes.size(); ++a)
    if (a != axis && study.grid)
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", study.axes[a].name,
                          study.value(point, a));
  return text;
}

/// The colour scale from the data, or [0, 1] where they lie in it.
void fit_scale(report::Heat& heat) {
  double low = INFINITY, high = -INFINITY;
  for (const double v : heat.value)
    if (std::isfinite(v)) low = std::min(low, v), high = std::max(high, v);
  if (!(low <= high) || (low >= 0 && high <= 1 && high > 0.5)) return;
  heat.low = low;
  heat.high = high > low ? high : low + 1;
}

PageFigure finish(const StudyFigure& f, Panel panel, std::size_t number,
                  const std::string& caption) {
  panel.x.scale = f.log_x ? Scale::log : Scale::linear;
  panel.y.scale = f.log_y ? Scale::log : Scale::linear;
  report::Figure figure{.id = fmt::format("figure{}", number),
                        .title = f.title,
                        .panels = {std::move(panel)},
                        .height = 440};
  return {std::move(figure), caption, !f.z.empty()};
}

/// Mean against an axis, with intervals as vertical strokes.
PageFigure against_axis(const Study& study, const SweepRecord& record, const StudyFigure& f,
                        std::size_t axis, std::size_t number) {
  require(record, f.y);
  Panel panel{.x = {.label = words(f.x)}, .y = {.label = words(f.y)}};
  std::size_t colour = 0;
  for (const std::vector<std::size_t>& points : lines_along(study, axis)) {
    const report::Colour c = report::kPalette[colour++ % report::kPalette.size()];
    Series mean = curve(c, study.grid ? 2.2 : 0), strokes = curve(c, 1.2);
    Series dots{
        .title = other_words(study, points.front(), axis), .mark = Mark::points, .colour = c};
    for (const std::size_t p : points) {
      const SweepPoint& point = record.points[p];
      const double x = point.axes[axis], y = point.mean.at(f.y)[0], h = point.half.at(f.y)[0];
      add_point(mean, x, y);
      add_point(dots, x, y);
      for (const double end : {y - h, y + h, kNan})
        add_point(strokes, std::isnan(end) ? kNan : x, end);
    }
    if (study.grid) panel.series.push_back(std::move(mean));
    panel.series.push_back(std::move(strokes));
    panel.series.push_back(std::move(dots));
  }
  return finish(f, std::move(panel), number,
                fmt::format("Mean of {} with its 95 % interval.", words(f.y)));
}

/// One list against another, a curve for each point.
PageFigure list_curves(const Study& study, const SweepRecord& record, const StudyFigure& f,
                       std::size_t number) {
  require(record, f.x);
  require(record, f.y);
  Panel panel{.x = {.label = words(f.x)}, .y = {.label = words(f.y)}};
  for (std::size_t p = 0; p < record.points.size(); ++p) {
    Series line = curve(report::kPalette[p % report::kPalette.size()], 2);
    line.dashed = p / report::kPalette.size() % 2 == 1;
    if (record.points.size() <= 12) line.title = other_words(study, p, study.axes.size());
    const std::vector<double>&x = record.points[p].mean.at(f.x), &y = record.points[p].mean.at(f.y);
    for (std::size_t k = 0; k < std::min(x.size(), y.size()); ++k) add_point(line, x[k], y[k]);
    panel.series.push_back(std::move(line));
  }
  return finish(f, std::move(panel), number,
                fmt::format("{} against {}, means over replicates.", words(f.y), words(f.x)));
}

std::vector<double> numeric(const StudyAxis& axis) {
  std::vector<double> values;
  for (const std::string& text : axis.values) {
    double value = 0;
    if (!parse_real(text, value))
      throw Error(fmt::format("axis {} holds '{}'; a heat map needs numbers", axis.name, text));
    values.push_back(value);
  }
  if (!std::is_sorted(values.begin(), values.end()) || values.size() < 2)
    throw Error(fmt::format(
        "axis {} must ascend, with two values at least, to be drawn as a heat map", axis.name));
  return values;
}

PageFigure heat_map(const Study& study, const SweepRecord& record, const StudyFigure& f,
                    std::size_t number) {
  require(record, f.z);
  const auto x = axis_of(study, f.x), y = axis_of(study, f.y);
  if (!x || !study.grid)
    throw Error(fmt::format("a heat map needs an axis of a grid as x, not '{}'", f.x));
  if (!y) require(record, f.y);
  report::Heat heat{.x = numeric(study.axes[*x]), .y = {}, .value = {}, .label = words(f.z)};
  heat.y = y ? numeric(study.axes[*y]) : record.points[0].mean.at(f.y);
  heat.value.assign(heat.x.size() * heat.y.size(), kNan);
  for (std::size_t p = record.points.size(); p-- > 0;) {  // other axes: their first value is drawn
    const std::vector<std::size_t> at = study.place(p);
    const std::vector<double>& z = record.points[p].mean.at(f.z);
    if (y)
      heat.value[at[*y] * heat.x.size() + at[*x]] = z[0];
    else
      for (std::size_t k = 0; k < std::min(z.size(), heat.y.size()); ++k)
        heat.value[k * heat.x.size() + at[*x]] = z[k];
  }
  fit_scale(heat);
  Panel panel{.x = {.label = words(f.x)}, .y = {.label = words(f.y)}};
  const double top = heat.y.back();
  panel.heat = std::move(heat);
  for (std::size_t k = 0; k < f.overlay.size(); ++k) {
    require(record, f.overlay[k]);
    Series line = curve(k == 0 ? report::kVermillion : report::kPalette[k % 6], 3);
    line.title = words(f.overlay[k]);
    for (const std::size_t p : lines_along(study, *x).front()) {
      const double value = record.points[p].mean.at(f.overlay[k])[0];
      add_point(line, record.points[p].axes[*x], value <= top ? value : kNan);
    }
    panel.series.push_back(std::move(line));
  }
  return finish(f, std::move(panel), number,
                fmt::format("Mean of {} over {} and {}.", words(f.z), words(f.x), words(f.y)));
}

std::vector<StudyFigure> usual_figures(const Study& study, const SweepRecord& record) {
  std::vector<StudyFigure> figures;
  if (study.axes.empty() || std::isnan(record.points[0].axes[0])) return figures;
  const bool plane = study.grid && study.axes.size() == 2 && !std::isnan(record.points[0].axes[1]);
  for (const std::string& name : record.measures) {
    if (record.length.at(name) != 1 || figures.size() == kUsualFigures) continue;
    if (plane && study.axes[1].values.size() > 6)
      figures.push_back({.x = study.axes[0].name, .y = study.axes[1].name, .z = name});
    else
      figures.push_back({.x = study.axes[0].name, .y = name});
  }
  return figures;
}

}  // namespace

std::vector<PageFigure> sweep_figures(const Study& study, const SweepRecord& record) {
  std::vector<PageFigure> drawn;
  const std::vector<StudyFigure> wanted =
      study.figures.empty() ? usual_figures(study, record) : study.figures;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const StudyFigure& f = wanted[k];
    const auto axis = axis_of(study, f.x);
    if (!f.z.empty())
      drawn.push_back(heat_map(study, record, f, k + 1));
    else if (axis)
      drawn.push_back(against_axis(study, record, f, *axis, k + 1));
    else
      drawn.push_back(list_curves(study, record, f, k + 1));
  }
  return drawn;
}

}  // namespace attractor::lab
