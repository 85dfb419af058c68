#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
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

constexpr std::size_t kUsualFigures = 6, kNamedCurves = 12;

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

/// "0.1" of 0.1000000001; words as they are.
std::string value_words(const std::string& text) {
  double value = 0;
  return parse_real(text, value) ? fmt::format("{:.6g}", value) : text;
}

/// "beta 4, dynamics usa": the axes that differ from curve to curve.
std::string other_words(const Study& study, std::size_t point, std::size_t axis) {
  std::string text;
  for (std::size_t a = 0; a < study.axes.size(); ++a)
    if (a != axis && (study.grid || axis == study.axes.size()))
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", study.axes[a].name,
                          value_words(study.value(point, a)));
  return text;
}

/// An axis of the study: its numbers, or its words in their order.
struct StudyPlaces {
  report::Axis axis;
  std::map<std::string, double> words{};

  double at(const Study& study, const SweepPoint& point, std::size_t p, std::size_t a) const {
    return words.empty() ? point.axes[a] : words.at(study.value(p, a));
  }
};

StudyPlaces places_of(const Study& study, const SweepRecord& record, std::size_t a, bool log) {
  StudyPlaces places{.axis = {.label = words(study.axes[a].name)}};
  const bool numeric = std::none_of(record.points.begin(), record.points.end(),
                                    [a](const SweepPoint& p) { return std::isnan(p.axes[a]); });
  if (numeric) {
    places.axis.scale = log ? Scale::log : Scale::linear;
    return places;
  }
  for (std::size_t p = 0; p < record.points.size(); ++p) {
    const std::string& text = study.value(p, a);
    if (!places.words.emplace(text, static_cast<double>(places.words.size())).second) continue;
    places.axis.names.push_back(text);
  }
  return places;
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

PageFigure finish(const StudyFigure& f, Panel panel, std::size_t number, std::string title,
                  std::string caption) {
  return plot(fmt::format("figure{}", number), f.title.empty() ? std::move(title) : f.title,
              std::move(panel), std::move(caption));
}

/// Mean against an axis, with intervals as vertical strokes.
PageFigure against_axis(const Study& study, const SweepRecord& record, const StudyFigure& f,
                        std::size_t axis, std::size_t number) {
  require(record, f.y);
  const StudyPlaces places = places_of(study, record, axis, f.log_x);
  Panel panel{.x = places.axis,
              .y = {.label = words(f.y), .scale = f.log_y ? Scale::log : Scale::linear}};
  std::size_t colour = 0;
  for (const std::vector<std::size_t>& points : lines_along(study, axis)) {
    const report::Colour c = report::kPalette[colour++ % report::kPalette.size()];
    const bool joined = study.grid && places.words.empty();  // words have no order
    Series mean = curve(c, 2.2), strokes = curve(c, 1.2);
    Series dots{.mark = Mark::points, .colour = c, .size = 4};
    (joined ? mean : dots).title = other_words(study, points.front(), axis);
    for (const std::size_t p : points) {
      const SweepPoint& point = record.points[p];
      const double x = places.at(study, point, p, axis), y = point.mean.at(f.y)[0],
                   h = point.half.at(f.y)[0];
      add_point(mean, x, y);
      add_point(dots, x, y);
      for (const double end : {y - h, y + h, kNan})
        add_point(strokes, std::isnan(end) ? kNan : x, end);
    }
    panel.series.push_back(std::move(strokes));
    if (joined) panel.series.push_back(std::move(mean));
    panel.series.push_back(std::move(dots));
  }
  return finish(f, std::move(panel), number, fmt::format("{} against {}", words(f.y), words(f.x)),
                fmt::format("Mean of {} with its 95 % interval.", words(f.y)));
}

/// One list against another, or against its index: a curve for each point.
PageFigure list_curves(const Study& study, const SweepRecord& record, const StudyFigure& f,
                       std::size_t number) {
  if (!f.x.empty()) require(record, f.x);
  require(record, f.y);
  const std::string across = f.x.empty() ? "index" : words(f.x);
  Panel panel{
      .x = {.label = across, .scale = f.log_x ? Scale::log : Scale::linear, .whole = f.x.empty()},
      .y = {.label = words(f.y), .scale = f.log_y ? Scale::log : Scale::linear}};
  for (std::size_t p = 0; p < record.points.size(); ++p) {
    Series line = curve(report::kPalette[p % report::kPalette.size()], 2);
    line.dashed = p / report::kPalette.size() % 2 == 1;
    if (record.points.size() <= kNamedCurves) line.title = other_words(study, p, study.axes.size());
    const std::vector<double>& y = record.points[p].mean.at(f.y);
    for (std::size_t k = 0; k < y.size(); ++k) {
      const std::vector<double>* x = f.x.empty() ? nullptr : &record.points[p].mean.at(f.x);
      if (x == nullptr || k < x->size())
        add_point(line, x == nullptr ? static_cast<double>(k) : (*x)[k], y[k]);
    }
    panel.series.push_back(std::move(line));
  }
  return finish(f, std::move(panel), number, fmt::format("{} against {}", words(f.y), across),
                fmt::format("Means over replicates{}.",
                            record.points.size() > kNamedCurves ? ", a curve for each point" : ""));
}

PageFigure heat_map(const Study& study, const SweepRecord& record, const StudyFigure& f,
                    std::size_t number) {
  require(record, f.z);
  const auto x = axis_of(study, f.x), y = axis_of(study, f.y);
  if (!x || !study.grid)
    throw Error(fmt::format("a heat map needs an axis of a grid as x, not '{}'", f.x));
  if (!y) require(record, f.y);
  report::Heat heat{.x = heat_places(study.axes[*x]), .y = {}, .value = {}, .label = words(f.z)};
  heat.y = y ? heat_places(study.axes[*y]) : record.points[0].mean.at(f.y);
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
  Panel panel{.x = {.label = words(f.x), .scale = f.log_x ? Scale::log : Scale::linear},
              .y = {.label = words(f.y), .scale = f.log_y ? Scale::log : Scale::linear}};
  const double top = heat.y.back();
  const std::vector<std::size_t> along = lines_along(study, *x).front();
  panel.heat = std::move(heat);
  for (std::size_t k = 0; k < f.overlay.size(); ++k) {
    require(record, f.overlay[k]);
    Series line = curve(k == 0 ? report::kVermillion : report::kPalette[k % 6], 3);
    line.title = words(f.overlay[k]);
    for (const std::size_t p : along) {
      const double value = record.points[p].mean.at(f.overlay[k])[0];
      add_point(line, record.points[p].axes[*x], value <= top ? value : kNan);
    }
    panel.series.push_back(std::move(line));
  }
  PageFigure result = finish(f, std::move(panel), number, words(f.z),
                             fmt::format("Mean over {} and {}.", words(f.x), words(f.y)));
  result.figure.width = 640;
  result.figure.height = 440;
  return result;
}

bool is_numeric(const SweepRecord& record, std::size_t axis) {
  return std::none_of(record.points.begin(), record.points.end(),
                      [axis](const SweepPoint& p) { return std::isnan(p.axes[axis]); });
}

/// The last word of "series.log10_time".
std::string_view last_part(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

/// The list of times that belongs to a list: the same table, equally long. Empty: none.
std::string times_of(const SweepRecord& record, const std::string& name) {
  const std::string table = name.substr(0, name.size() - last_part(name).size());
  for (const std::string& other : record.measures)
    if (other != name && record.length.at(other) == record.length.at(name) &&
        other.substr(0, other.size() - last_part(other).size()) == table &&
        (last_part(other) == "time" || last_part(other) == "log10_time"))
      return other;
  return "";
}

bool is_clock(const std::string& name) {
  return last_part(name) == "time" || last_part(name) == "log10_time";
}

/// Every measure: plain ones against the first axis, lists against their times.
std::vector<StudyFigure> usual_figures(const Study& study, const SweepRecord& record) {
  std::vector<StudyFigure> figures;
  const bool plane = study.grid && study.axes.size() == 2 && is_numeric(record, 0) &&
                     is_numeric(record, 1) && study.axes[1].values.size() > 6;
  for (const std::string& name : record.measures) {
    if (figures.size() == kUsualFigures) break;
    if (record.length.at(name) > 1 && !is_clock(name))
      figures.push_back({.x = times_of(record, name), .y = name});
    if (record.length.at(name) != 1 || study.axes.empty()) continue;
    if (plane)
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
