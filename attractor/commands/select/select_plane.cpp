#include "attractor/commands/select/select_plane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/select/select_words.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/space/space.hpp"

namespace attractor::lab {
namespace {

using training::MaxMargin;

constexpr std::size_t kPathPoints = 1000;  // of a line

// ---- In the plane of the keys.

double length(const PlanePoint& p) { return std::hypot(p[0], p[1]); }

/// Takes the part along a unit vector away.
void project_out(std::span<double> x, std::span<const double> unit) {
  const double part = dot(x, unit);
  for (std::size_t a = 0; a < x.size(); ++a) x[a] -= part * unit[a];
}

std::string tokens_words(std::span<const std::size_t> chosen) {
  return (chosen.size() == 1 ? "token " : "tokens ") + token_list(chosen);
}

struct Ray {
  PlanePoint to;
  std::string title;
  Colour colour;
};

/// Max-margin solutions: of the run's choice, relaxed, and of other locally optimal choices.
std::vector<Ray> rays_of(const SelectRecord& r, const KeyPlane& plane) {
  constexpr std::array<Colour, 4> kOthers = {report::kGreen, report::kPurple, report::kSky,
                                             report::kOrange};
  std::vector<Ray> rays;
  if (r.svm && r.svm->feasible())
    rays.push_back({plane.of(r.svm->solution),
                    "max-margin direction of " + tokens_words(r.svm->chosen) +
                        (r.relaxed   ? ", all inputs"
                         : r.trained ? ", selected"
                                     : ""),
                    r.relaxed ? report::kGrey : report::kVermillion});
  if (r.relaxed && r.relaxed->feasible())
    rays.push_back(
        {plane.of(r.relaxed->solution), "the same, relaxed where v has room", report::kVermillion});
  std::size_t others = 0;
  for (const MaxMargin& svm : r.local ? r.local->found : std::vector<MaxMargin>{}) {
    if (!svm.feasible() || svm.chosen == r.selected || others == kOthers.size()) continue;
    rays.push_back({plane.of(svm.solution),
                    fmt::format("locally optimal: {}{}", tokens_words(svm.chosen),
                                svm.globally_optimal ? ", the best" : ""),
                    kOthers[others++]});
  }
  return rays;
}

Series dashed_line(const PlanePoint& from, const PlanePoint& to, Colour colour, double width) {
  Series line = curve(colour, width);
  line.dashed = true;
  add_point(line, from[0], from[1]);
  add_point(line, to[0], to[1]);
  return line;
}

/// From the origin far beyond the panel.
Series ray_line(const Ray& ray, double reach) {
  const double size = length(ray.to);
  if (!(size > 0)) return {};
  return dashed_line({0, 0}, {ray.to[0] / size * reach, ray.to[1] / size * reach}, ray.colour, 2);
}

/// Where the other tokens of an input must stay behind: <p^mm, k_selected - k> = 1.
Series margin_line(const KeyPlane& plane, const MaxMargin& svm, std::span<const double> key,
                   double reach, Colour colour) {
  const PlanePoint w = plane.of(svm.solution), selected = plane.of(key);
  const double square = w[0] * w[0] + w[1] * w[1], size = std::sqrt(square);
  const PlanePoint foot = {selected[0] - w[0] / square, selected[1] - w[1] / square};
  Series line = curve(colour, 1);
  for (const double side : {-1.0, 1.0})
    add_point(line, foot[0] - w[1] / size * reach * side, foot[1] + w[0] / size * reach * side);
  return line;
}

void frame(Panel& panel, const std::vector<PlanePoint>& points, double room) {
  frame_points(panel.x, panel.y, points, room);
  panel.equal_scale = true;
}

Series dots(const std::vector<PlanePoint>& points, double radius,
            const std::vector<Colour>& colours) {
  Series series{.mark = Mark::points, .size = radius, .colours = colours};
  for (const PlanePoint& p : points) add_point(series, p[0], p[1]);
  return series;
}

Panel key_panel(const SelectRecord& r, const KeyPlane& plane, const std::vector<Ray>& rays) {
  constexpr std::size_t kDots = 2000;
  const training::Problem& p = r.problem;
  const std::size_t inputs = std::min(p.inputs, std::max<std::size_t>(1, kDots / p.tokens));
  const auto key = [&](std::size_t i, std::size_t t) {
    return std::span(plane.keys).subspan((i * p.tokens + t) * p.dim, p.dim);
  };
  std::vector<PlanePoint> all, selected;
  std::vector<Colour> colours, inks;
  for (std::size_t i = 0; i < inputs; ++i)
    for (std::size_t t = 0; t < p.tokens; ++t) {
      all.push_back(plane.of(key(i, t)));
      colours.push_back(report::kPalette[i % report::kPalette.size()]);
      if (i >= r.selected.size() || r.selected[i] != t) continue;
      selected.push_back(all.back());
      inks.push_back(report::kInk);
    }
  Panel panel{
      .title = "keys of the tokens", .x = {.label = plane.name[0]}, .y = {.label = plane.name[1]}};
  frame(panel, all, 0.2);
  const double reach = 4 * (panel.x.high - panel.x.low);
  if (r.svm && r.svm->feasible() && !r.relaxed && inputs <= 3 && r.selected.size() == p.inputs)
    for (std::size_t i = 0; i < inputs; ++i)
      panel.series.push_back(
          margin_line(plane, *r.svm, key(i, r.selected[i]), reach, report::kPalette[i]));
  for (const Ray& ray : rays) panel.series.push_back(ray_line(ray, reach));
  for (std::size_t k = 0; k < rays.size(); ++k)
    panel.series[panel.series.size() - rays.size() + k].title = rays[k].title;
  panel.series.push_back(dots(selected, 8, inks));
  panel.series.push_back(dots(selected, 6.4, std::vector<Colour>(inks.size(), report::kPaper)));
  panel.series.push_back(dots(all, 4.2, colours));
  return panel;
}

/// Radius r is drawn at r, or at log10(1 + r) where the path is long.
struct Radius {
  bool compressed;
  double at(double r) const { return compressed ? std::log10(1 + r) : r; }
  PlanePoint at(const PlanePoint& p) const {
    const double size = length(p);
    return size > 0 ? PlanePoint{p[0] / size * at(size), p[1] / size * at(size)} : p;
  }
};

std::vector<PlanePoint> path_of(const SelectRecord& r, const training::Objective& objective,
                                const std::string& block, const KeyPlane& plane) {
  std::vector<PlanePoint> path;
  const std::size_t size = objective.dim(), stride = r.series.size() / kPathPoints + 1;
  for (const training::Block& b : objective.blocks()) {
    if (b.name != block || b.size != plane.axis[0].size()) continue;
    for (std::size_t k = 0; (k + 1) * size <= r.trajectory.size(); ++k)
      if (k % stride == 0 || (k + 2) * size > r.trajectory.size())
        path.push_back(plane.of(b.of(std::span(r.trajectory).subspan(k * size, size))));
  }
  return path;
}

/// Line, arrow heads at equal distances, an open dot at the start and a full one at the end.
void add_path(Panel& panel, const std::vector<PlanePoint>& path, Colour colour, std::string title) {
  constexpr int kArrows = 9;
  if (path.empty()) return;
  Series line = curve(colour, 2.4), heads = curve(colour, 2);
  line.title = std::move(title);
  double whole = 0, walked = 0;
  for (std::size_t k = 1; k < path.size(); ++k)
    whole += std::hypot(path[k][0] - path[k - 1][0], path[k][1] - path[k - 1][1]);
  const double head = 0.022 * (panel.x.high - panel.x.low);
  int next = 1;
  for (std::size_t k = 0; k < path.size(); ++k) {
    add_point(line, path[k][0], path[k][1]);
    if (k == 0) continue;
    const double x = path[k][0] - path[k - 1][0], y = path[k][1] - path[k - 1][1];
    const double step = std::hypot(x, y);
    walked += step;
    if (!(step > 0) || walked < whole * next / (kArrows + 1.0)) continue;
    next = static_cast<int>(walked / whole * (kArrows + 1)) + 1;
    for (const double turn : {2.6, 0.0, -2.6}) {  // radians from straight ahead
      const double c = std::cos(turn) * head / step, s = std::sin(turn) * head / step;
      const double ahead = turn == 0 ? 0 : 1;
      add_point(heads, path[k][0] + ahead * (c * x - s * y), path[k][1] + ahead * (s * x + c * y));
    }
    add_point(heads, kNan, kNan);
  }
  panel.series.push_back(std::move(line));
  panel.series.push_back(std::move(heads));
  panel.series.push_back(dots({path.front(), path.back()}, 5.4, {colour, colour}));
  panel.series.push_back(dots({path.front()}, 3.2, {report::kPaper}));
}

Series circle(double radius) {
  Series series = curve(report::kFront, 1);
  for (int k = 0; k <= 120; ++k) {
    const double angle = k * std::numbers::pi / 60;
    add_point(series, radius * std::cos(angle), radius * std::sin(angle));
  }
  return series;
}

/// What the panel's circles are: "1, 10, 100".
struct PathPanel {
  Panel panel;
  std::string circles;
};

// The paths of p from further starts.
std::vector<std::vector<PlanePoint>> other_paths(const SelectRecord& r, const KeyPlane& plane) {
  std::vector<std::vector<PlanePoint>> paths;
  const std::size_t d = plane.axis[0].size();
  for (const OtherStart& other : r.others) {
    paths.emplace_back();
    for (std::size_t k = 0; k + d <= other.trajectory.size(); k += d)
      paths.back().push_back(plane.of(std::span(other.trajectory).subspan(k, d)));
  }
  return paths;
}

PathPanel path_panel(const SelectRecord& r, const training::Objective& objective,
                     const KeyPlane& plane, const std::vector<Ray>& rays) {
  std::vector<PlanePoint> p = path_of(r, objective, "p", plane), v;
  if (r.problem.dim == 2) v = path_of(r, objective, "v", plane);
  std::vector<std::vector<PlanePoint>> others = other_paths(r, plane);
  std::vector<std::vector<PlanePoint>*> paths{&p, &v};
  for (std::vector<PlanePoint>& path : others) paths.push_back(&path);
  double most = 0;
  for (const std::vector<PlanePoint>* path : paths)
    for (const PlanePoint& point : *path)
      if (std::isfinite(length(point))) most = std::max(most, length(point));
  const Radius radius{most > 12};
  std::vector<PlanePoint> all;
  for (std::vector<PlanePoint>* path : paths)
    for (PlanePoint& point : *path) all.push_back(point = radius.at(point));
  PathPanel result;
  Panel& panel = result.panel;
  panel.title = v.empty() ? "path of p" : "paths of p and v";
  if (radius.compressed) {
    panel.bare = true;
    all.push_back({-radius.at(most), -radius.at(most)});
    all.push_back({radius.at(most), radius.at(most)});
  } else {
    panel.x.label = plane.name[0];
    panel.y.label = plane.name[1];
  }
  frame(panel, all, 0.1);
  for (double mark = 1; radius.compressed && mark <= most; mark *= 10) {
    panel.series.push_back(circle(radius.at(mark)));
    result.circles += (mark > 1 ? ", " : "") + power_text(std::log10(mark));
  }
  const double reach = 4 * (panel.x.high - panel.x.low);
  for (const Ray& ray : rays) panel.series.push_back(ray_line(ray, reach));
  if (!v.empty() && r.label && r.label->svm.status == solve::MarginStatus::optimal)
    panel.series.push_back(ray_line({plane.of(r.label->svm.p), "", report::kBlue}, reach));
  const std::size_t below = panel.series.size();
  for (const std::vector<PlanePoint>& path : others) add_path(panel, path, report::kVermillion, "");
  for (std::size_t k = below; k < panel.series.size(); ++k) panel.series[k].opacity = 0.45;
  add_path(panel, v, report::kBlue, "v, with its label margin direction");
  add_path(panel, p, report::kVermillion, v.empty() ? "" : "p");
  return result;
}

// ---- Basins.

Colour basin_colour(const training::Basins& basins, std::size_t limit) {
  return limit < basins.limits.size() ? report::kPalette[limit % report::kPalette.size()]
                                      : report::kFront;
}

std::string basin_title(const training::Basins& basins, std::size_t limit, std::size_t count) {
  const double share = 100 * static_cast<double>(count) / static_cast<double>(basins.starts.size());
  if (limit == basins.limits.size()) return fmt::format("not settled: {:.1f} %", share);
  const MaxMargin& svm = basins.limits[limit];
  return fmt::format("{}{}: {:.1f} %", tokens_words(svm.chosen),
                     svm.globally_optimal ? ", the best" : "", share);
}

/// One dot for each start.
Panel basin_map(const training::Basins& basins) {
  Panel panel{.x = {.label = fmt::format("start, coordinate {}", basins.axes[0])},
              .y = {.label = fmt::format("start, coordinate {}", basins.axes[1])}};
  const std::vector<std::size_t> counts = basin_counts(basins);
  const double radius = std::clamp(0.36 * 420 / static_cast<double>(basins.side), 1.0, 9.0);
  const auto at = [&](std::span<const double> w) {
    return PlanePoint{w[basins.axes[0]], w[basins.axes[1]]};
  };
  std::vector<PlanePoint> all;
  for (std::size_t limit = 0; limit < counts.size(); ++limit) {
    if (counts[limit] == 0) continue;
    Series series{.mark = Mark::points, .colour = basin_colour(basins, limit), .size = radius};
    if (limit < 6 || limit == basins.limits.size())
      series.title = basin_title(basins, limit, counts[limit]);
    for (const training::BasinStart& s : basins.starts) {
      if (std::min(s.limit, basins.limits.size()) != limit) continue;
      all.push_back(at(s.start));
      add_point(series, all.back()[0], all.back()[1]);
    }
    panel.series.push_back(std::move(series));
  }
  frame(panel, all, 2.2 / static_cast<double>(basins.side));
  const double reach = 4 * (panel.x.high - panel.x.low);
  for (const MaxMargin& svm : basins.limits) {
    if (!svm.feasible()) continue;
    panel.series.push_back(ray_line({at(svm.solution), "", report::kInk}, reach));
    panel.series.back().dashed = !svm.globally_optimal;
  }
  return panel;
}

Panel basin_bars(const training::Basins& basins) {
  Panel panel{.x = {.ticks = false}, .y = {.label = "share of the starts", .low = 0}};
  const std::vector<std::size_t> counts = basin_counts(basins);
  panel.x.low = -0.6;
  panel.x.high = std::max(3.6, static_cast<double>(counts.size()) - 0.4);
  Series bars{.mark = Mark::boxes};
  for (std::size_t limit = 0; limit < counts.size(); ++limit) {
    const auto at = static_cast<double>(limit);
    add_point(bars, at,
              static_cast<double>(counts[limit]) / static_cast<double>(basins.starts.size()));
    bars.colours.push_back(basin_colour(basins, limit));
    if (counts[limit] == 0 || (limit >= 6 && limit < basins.limits.size())) continue;
    Series entry{.title = basin_title(basins, limit, counts[limit]),
                 .mark = Mark::points,
                 .colour = basin_colour(basins, limit)};
    add_point(entry, at, -1);  // out of sight: for the legend only
    panel.series.push_back(std::move(entry));
  }
  panel.y.high = 1.05 * *std::max_element(bars.y.begin(), bars.y.end());
  panel.series.push_back(std::move(bars));
  return panel;
}

}  // namespace

PlanePoint KeyPlane::of(std::span<const double> x) const {
  return {dot(axis[0], x), dot(axis[1], x)};
}

// Gram-Schmidt, the largest difference first. Where all differences lie in two coordinates, these
// are the axes.
std::optional<KeyPlane> plane_of(const SelectRecord& r) {
  constexpr std::size_t kMost = 1'000'000;  // numbers
  constexpr double kZero = 1e-9;
  const training::Problem& p = r.problem;
  const bool prompt = training::Trained(r.setup.train).attention == training::AttentionPart::prompt;
  if (!prompt || p.dim < 2 || p.x.size() > kMost) return std::nullopt;
  KeyPlane plane{.keys = training::keys(p)};
  std::vector<double> rest(plane.keys);  // differences to the first token of the input
  for (std::size_t row = p.inputs * p.tokens; row-- > 0;)
    for (std::size_t a = 0; a < p.dim; ++a)
      rest[row * p.dim + a] -= plane.keys[(row - row % p.tokens) * p.dim + a];
  std::vector<std::size_t> moving;
  for (std::size_t a = 0; a < p.dim; ++a) {
    bool moves = p.dim == 2;
    for (std::size_t k = a; k < rest.size(); k += p.dim) moves = moves || rest[k] != 0;
    if (moves) moving.push_back(a);
  }
  if (moving.size() == 2) {
    for (std::size_t c : {0, 1}) {
      plane.axis[c].assign(p.dim, 0.0);
      plane.axis[c][moving[c]] = 1;
      plane.name[c] = fmt::format("coordinate {}", moving[c]);
    }
    return plane;
  }
  double first = 0;
  for (std::size_t c : {0, 1, 2}) {
    double most = -1;
    std::span<const double> largest;
    for (std::size_t k = 0; k < rest.size(); k += p.dim) {
      const auto row = std::span<const double>(rest).subspan(k, p.dim);
      if (norm(row) > most) most = norm(row), largest = row;
    }
    if (c == 0) first = most;
    if (most <= kZero * first) return c == 2 ? std::optional(plane) : std::nullopt;
    if (c == 2) return std::nullopt;
    plane.axis[c].assign(largest.begin(), largest.end());
    for (double& x : plane.axis[c]) x /= most;
    plane.name[c] = fmt::format("coordinate {} in the plane", c);
    for (std::size_t k = 0; k < rest.size(); k += p.dim)
      project_out(std::span(rest).subspan(k, p.dim), plane.axis[c]);
  }
  return std::nullopt;
}

void frame_points(Axis& x, Axis& y, const std::vector<PlanePoint>& points, double room) {
  PlanePoint low = {0, 0}, high = {0, 0};
  for (const PlanePoint& p : points)
    for (std::size_t c : {0, 1})
      if (std::isfinite(p[c])) low[c] = std::min(low[c], p[c]), high[c] = std::max(high[c], p[c]);
  double half = 0;
  for (std::size_t c : {0, 1}) half = std::max(half, 0.5 * (high[c] - low[c]) * (1 + room));
  if (half == 0) half = 1;
  for (std::size_t c : {0, 1}) {
    Axis& axis = c == 0 ? x : y;
    axis.low = 0.5 * (low[c] + high[c]) - half;
    axis.high = 0.5 * (low[c] + high[c]) + half;
  }
}

std::optional<PageFigure> plane_figure(const SelectRecord& r,
                                       const training::Objective& objective) {
  const std::optional<KeyPlane> plane = plane_of(r);
  if (!plane) return std::nullopt;
  const std::vector<Ray> rays = rays_of(r, *plane);
  PageFigure result{.figure = {.id = "plane"}};
  result.figure.panels = {key_panel(r, *plane, rays)};
  result.figure.width = kHalf;
  result.figure.height = kSquare;
  result.caption =
      "Keys, one colour for each input, selected ones in a ring; dashed: max-margin "
      "directions.";
  if (r.problem.inputs <= 3 && !r.relaxed && r.svm && r.svm->feasible())
    result.caption +=
        " Thin lines: all other tokens of the input stay behind, those on it are "
        "support vectors.";
  if (r.trajectory.empty()) return result;
  PathPanel path = path_panel(r, objective, *plane, rays);
  result.caption += " Right: where training goes from its start (open dot).";
  if (!path.circles.empty())
    result.caption +=
        " Its distance from the centre is log10(1 + norm); circles: norm " + path.circles + ".";
  result.figure.panels.push_back(std::move(path.panel));
  result.figure.columns = 2;
  result.figure.width = kWide;
  result.wide = true;
  return result;
}

std::optional<PageFigure> basin_figure(const SelectRecord& r) {
  if (!r.basins || r.basins->starts.empty()) return std::nullopt;
  const training::Basins& basins = *r.basins;
  const bool map = basins.axes.size() == 2 && basins.side > 0;
  PageFigure result{.figure = {.id = "basins", .title = "Where training ends, start by start"}};
  result.figure.panels = {map ? basin_map(basins) : basin_bars(basins)};
  result.figure.width = kHalf;
  result.figure.height = map ? kSquare : kPlot;
  result.caption =
      map ? "Every dot is a start, its colour the tokens selected in the limit; lines: "
            "their max-margin directions, solid for the best tokens."
          : fmt::format("Limits of {} random starts of length {}.", basins.starts.size(),
                        rounded(basins.radius));
  return result;
}

}  // namespace attractor::lab
