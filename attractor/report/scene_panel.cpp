#include "attractor/report/scene_panel.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <tuple>
#include <utility>

namespace attractor::report {
namespace {

/// Values between those of two moments.
std::vector<double> mixed(const std::vector<std::vector<double>>& values, double position) {
  const std::size_t last = values.size() - 1;
  const auto k = std::min(last, static_cast<std::size_t>(std::max(0.0, position)));
  const double u = std::clamp(position - static_cast<double>(k), 0.0, 1.0);
  const std::vector<double>&a = values[k], &b = values[std::min(k + 1, last)];
  if (u == 0 || a.size() != b.size()) return a;
  std::vector<double> out(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) out[i] = a[i] * (1 - u) + b[i] * u;
  return out;
}

// ---- Tokens on one spot: in one cell, or in neighbouring cells and close.

constexpr double kSpot = 0.02;  // narrower than a marker

using SpotCell = std::array<long, 3>;

SpotCell cell_of(const std::array<double, 3>& p) {
  return {std::lround(p[0] / kSpot), std::lround(p[1] / kSpot), std::lround(p[2] / kSpot)};
}

struct Spot {
  std::array<double, 3> sum{};
  std::size_t count = 0;
  std::vector<std::size_t> groups;  // tokens of each

  std::array<double, 3> centre() const {
    const auto n = static_cast<double>(count);
    return {sum[0] / n, sum[1] / n, sum[2] / n};
  }
};

using Spots = std::map<SpotCell, Spot>;

void absorb(Spot& into, Spot& other) {
  for (std::size_t k = 0; k < 3; ++k) into.sum[k] += other.sum[k];
  for (std::size_t g = 0; g < into.groups.size(); ++g) into.groups[g] += other.groups[g];
  into.count += std::exchange(other.count, 0);
}

// The crowded spots take in what lies close to them, the most crowded first.
void join_neighbours(Spots& spots) {
  std::vector<Spots::iterator> order;
  for (auto at = spots.begin(); at != spots.end(); ++at) order.push_back(at);
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a->second.count > b->second.count; });
  for (const auto& at : order) {
    for (int k = 0; k < 27 && at->second.count > 1; ++k) {
      const SpotCell& cell = at->first;
      const auto other =
          spots.find({cell[0] + k % 3 - 1, cell[1] + k / 3 % 3 - 1, cell[2] + k / 9 - 1});
      if (other == spots.end() || other == at || other->second.count == 0) continue;
      const std::array<double, 3> p = at->second.centre(), q = other->second.centre();
      if (std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]) < kSpot)
        absorb(at->second, other->second);
    }
  }
}

// ---- Parts of a panel.

Series circle_line(double radius, Colour colour, double width) {
  Series series = curve(colour, width);
  for (int k = 0; k <= 180; ++k) {
    const double angle = k * std::numbers::pi / 90;
    add_point(series, radius * std::cos(angle), radius * std::sin(angle));
  }
  return series;
}

/// The far side is fainter; a rim of paper keeps neighbours apart.
Series marker_dots(const TokenScene& scene, const std::vector<Marker>& spots, std::size_t tokens,
                   double unit, double most, bool back) {
  Series series{.mark = Mark::points, .opacity = back ? 0.36 : 1.0, .rim = 0.9};
  for (const Marker& spot : spots) {
    if ((scene.shape == TokenScene::Shape::sphere && spot.z < 0) != back) continue;
    const auto [x, y] = ball_place(scene, spot.x, spot.y);
    add_point(series, x * unit, y * unit);
    series.sizes.push_back(marker_radius(spot.count, tokens, most));
    series.colours.push_back(scene.palette[spot.group]);
  }
  return series;
}

double unit_at(const TokenScene& scene, double position) {
  if (scene.unit.empty()) return 1;
  std::vector<std::vector<double>> logs;
  for (const double unit : scene.unit) logs.push_back({std::log(unit)});
  return std::exp(mixed(logs, position)[0]);
}

/// With a head of two strokes at the end of an arrow.
void add_line(const MovingLine& line, double position, double reach, Panel& panel) {
  Series series = curve(line.colour, line.width);
  series.mark = line.filled ? Mark::area : Mark::lines;
  series.dashed = line.dashed;
  series.x = mixed(line.x, position);
  series.y = mixed(line.y, position);
  const std::size_t n = series.x.size();
  Series head = curve(line.colour, line.width);
  if (line.arrow && n > 1) {
    const double dx = series.x[n - 1] - series.x[n - 2], dy = series.y[n - 1] - series.y[n - 2];
    const double length = std::hypot(dx, dy);
    for (const double turn : {2.6, 0.0, -2.6}) {  // radians from straight ahead
      const double c = std::cos(turn) * reach / length, s = std::sin(turn) * reach / length;
      const double ahead = turn == 0 ? 0 : 1;
      add_point(head, series.x[n - 1] + ahead * (c * dx - s * dy),
                series.y[n - 1] + ahead * (s * dx + c * dy));
    }
  }
  panel.series.push_back(std::move(series));
  if (!head.x.empty()) panel.series.push_back(std::move(head));
}

}  // namespace

std::vector<double> tokens_at(const TokenScene& scene, double position) {
  std::vector<double> out = mixed(scene.xyz, position);
  if (!scene.round()) return out;
  const std::size_t last = scene.xyz.size() - 1;
  const auto k = std::min(last, static_cast<std::size_t>(std::max(0.0, position)));
  const double u = std::clamp(position - static_cast<double>(k), 0.0, 1.0);
  const std::vector<double>&a = scene.xyz[k], &b = scene.xyz[std::min(k + 1, last)];
  for (std::size_t i = 0; i < out.size(); i += 3) {
    double now = 0, wanted = 0;
    for (std::size_t j = i; j < i + 3; ++j) {
      now += out[j] * out[j];
      wanted += a[j] * a[j] * (1 - u) + b[j] * b[j] * u;
    }
    if (now > 1e-6)
      for (std::size_t j = i; j < i + 3; ++j) out[j] *= std::sqrt(wanted / now);
  }
  return out;
}

std::vector<Marker> markers(const TokenScene& scene, std::span<const double> xyz,
                            std::size_t stride) {
  Spots spots;
  const bool deep = scene.shape == TokenScene::Shape::sphere;
  for (std::size_t s = 0; s < scene.group.size(); s += stride) {
    const std::array<double, 3> p = {xyz[3 * s], xyz[3 * s + 1], deep ? xyz[3 * s + 2] : 0};
    if (!std::isfinite(p[0]) || !std::isfinite(p[1]) || !std::isfinite(p[2])) continue;
    Spot& spot = spots[cell_of(p)];
    for (std::size_t k = 0; k < 3; ++k) spot.sum[k] += p[k];
    ++spot.count;
    spot.groups.resize(scene.palette.size());
    ++spot.groups[scene.group[s]];
  }
  join_neighbours(spots);
  std::vector<Marker> result;
  for (const auto& [cell, spot] : spots) {
    if (spot.count == 0) continue;
    const std::array<double, 3> p = spot.centre();
    const auto main = std::max_element(spot.groups.begin(), spot.groups.end());
    result.push_back(
        {p[0], p[1], p[2], static_cast<std::uint8_t>(main - spot.groups.begin()), spot.count});
  }
  std::stable_sort(result.begin(), result.end(), [](const Marker& a, const Marker& b) {
    return std::tuple(a.z >= 0, b.count, a.z) < std::tuple(b.z >= 0, a.count, b.z);
  });
  return result;
}

std::array<double, 2> ball_place(const TokenScene& scene, double x, double y) {
  const double r = std::hypot(x, y);
  if (scene.shape != TokenScene::Shape::ball || !(r > 1e-9)) return {x, y};
  const double s = std::asin(std::min(1.0, r)) / (std::numbers::pi / 2) / r;
  return {x * s, y * s};
}

double marker_radius(std::size_t count, std::size_t tokens, double most) {
  const auto n = static_cast<double>(tokens);
  const double least = most / 15 * (n <= 100 ? 3.4 : n <= 400 ? 2.6 : 1.8);
  const double share = n > 1 ? (static_cast<double>(count) - 1) / (n - 1) : 0;
  return std::sqrt(least * least + (most * most - least * least) * share);
}

Series graticule(const std::array<double, 9>& camera, bool back) {
  constexpr double kDegree = std::numbers::pi / 180;
  Series series = curve(back ? kBack : kFront, 1);
  const auto add = [&](double latitude, double longitude) {
    const double p[3] = {std::cos(latitude) * std::cos(longitude),
                         std::cos(latitude) * std::sin(longitude), std::sin(latitude)};
    const auto along = [&](std::size_t row) {
      return camera[3 * row] * p[0] + camera[3 * row + 1] * p[1] + camera[3 * row + 2] * p[2];
    };
    const bool seen = (along(2) < 0) == back;
    add_point(series, seen ? along(0) : kNan, seen ? along(1) : kNan);
  };
  for (int latitude = -60; latitude <= 60; latitude += 30) {
    for (int k = 0; k <= 72; ++k) add(latitude * kDegree, 5 * k * kDegree);
    add_point(series, kNan, kNan);
  }
  for (int longitude = 0; longitude < 360; longitude += 30) {
    for (int k = -18; k <= 18; ++k) add(5 * k * kDegree, longitude * kDegree);
    add_point(series, kNan, kNan);
  }
  return series;
}

Panel token_panel(const TokenScene& scene, double position, std::size_t stride, double most) {
  using Shape = TokenScene::Shape;
  const bool space = scene.shape == Shape::space;
  const double unit = space ? unit_at(scene, position) : 1;
  Panel panel{.bare = !space, .equal_scale = true};
  panel.x.low = panel.y.low = -1.1 * unit;
  panel.x.high = panel.y.high = 1.1 * unit;
  if (space) panel.x.label = scene.axes[0], panel.y.label = scene.axes[1];
  const std::vector<Marker> spots = markers(scene, tokens_at(scene, position), stride);
  const std::size_t drawn = (scene.group.size() + stride - 1) / stride;
  if (scene.shape == Shape::sphere) panel.series.push_back(graticule(scene.camera, true));
  if (scene.shape == Shape::ball)
    for (const double angle : {30.0, 60.0})
      panel.series.push_back(circle_line(angle / 90, kBack, 1));
  panel.series.push_back(marker_dots(scene, spots, drawn, unit, most, true));
  if (!space) panel.series.push_back(circle_line(1, kGrey, 1.2));
  if (scene.shape == Shape::sphere) panel.series.push_back(graticule(scene.camera, false));
  panel.series.push_back(marker_dots(scene, spots, drawn, unit, most, false));
  return panel;
}

Panel plane_panel(const PlaneScene& scene, double position) {
  Panel panel{.x = scene.x, .y = scene.y};
  panel.bare = scene.x.label.empty() && scene.y.label.empty();
  panel.equal_scale = panel.bare;
  const double reach = 0.025 * (scene.x.high - scene.x.low);
  for (const MovingLine& line : scene.lines) add_line(line, position, reach, panel);
  if (scene.size.empty()) return panel;
  const std::vector<double> size = mixed(scene.size, position);
  const double least = size.size() <= 100 ? 4 : 2.4, most = 18;
  Series rings{.mark = Mark::points, .colour = kInk};
  Series dots{.mark = Mark::points, .opacity = 0.9, .rim = 0.9};
  for (std::size_t i = 0; i < size.size(); ++i) {
    add_point(dots, scene.dot_x[i], scene.dot_y[i]);
    const double share = std::clamp(size[i], 0.0, 1.0);
    dots.sizes.push_back(std::sqrt(least * least + (most * most - least * least) * share));
    dots.colours.push_back(scene.dot_colour[i]);
    if (!scene.dot_ring[i]) continue;
    for (const auto& [more, colour] : {std::pair(4.2, kInk), {2.8, kPaper}}) {
      add_point(rings, scene.dot_x[i], scene.dot_y[i]);
      rings.sizes.push_back(dots.sizes.back() + more);
      rings.colours.push_back(colour);
    }
  }
  panel.series.push_back(std::move(rings));
  panel.series.push_back(std::move(dots));
  return panel;
}

Panel scene_panel(const Scene& scene, double position) {
  Panel panel = scene.tokens ? token_panel(*scene.tokens, position, 1, 22)
                             : plane_panel(*scene.plane, position);
  const double last = static_cast<double>(scene.moments()) - 1;
  panel.title =
      scene.labels[static_cast<std::size_t>(std::lround(std::clamp(position, 0.0, last)))];
  return panel;
}

std::vector<std::size_t> telling_moments(const std::vector<std::vector<double>>& xyz,
                                         std::size_t most) {
  const std::size_t count = xyz.size();
  std::vector<std::size_t> chosen(count);
  std::iota(chosen.begin(), chosen.end(), 0U);
  if (count <= most) return chosen;
  std::vector<double> moved(count, 0.0), path(count, 0.0);
  for (std::size_t k = 1; k < count; ++k) {
    for (std::size_t i = 0; i < xyz[k].size(); ++i) {
      const double step = xyz[k][i] - xyz[k - 1][i];
      if (std::isfinite(step)) moved[k] += step * step;
    }
    moved[k] = std::sqrt(moved[k]);
  }
  const double total = std::accumulate(moved.begin(), moved.end(), 0.0);
  const double even = 0.35 / static_cast<double>(count - 1);  // some for the passing of time
  for (std::size_t k = 1; k < count; ++k)
    path[k] = path[k - 1] + even + (total > 0 ? 0.65 * moved[k] / total : 0);
  chosen = {0};
  for (std::size_t p = 1; p + 1 < most; ++p) {
    const double target = path.back() * static_cast<double>(p) / static_cast<double>(most - 1);
    auto at =
        static_cast<std::size_t>(std::lower_bound(path.begin(), path.end(), target) - path.begin());
    at = std::clamp(at, chosen.back() + 1, count - (most - p));
    chosen.push_back(at);
  }
  chosen.push_back(count - 1);
  return chosen;
}

}  // namespace attractor::report
