#include "attractor/commands/flow/flow_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <tuple>
#include <utility>

#include "attractor/observe/principal_axes.hpp"
#include "attractor/space/space.hpp"

namespace attractor::lab {
namespace {

constexpr std::size_t kMostShown = 2000;

std::vector<std::uint32_t> thinned(std::size_t tokens) {
  const std::size_t stride = (tokens + kMostShown - 1) / kMostShown;
  std::vector<std::uint32_t> shown;
  for (std::size_t i = 0; i < tokens; i += stride) shown.push_back(static_cast<std::uint32_t>(i));
  return shown;
}

std::size_t reference_snapshot(const FlowRecord& record) {
  const std::size_t last = record.snapshots.size() - 1;
  if (clusters_of(record.snapshots[last]) > 1) return last;
  std::size_t found = last;
  for (std::size_t s = last; s-- > 0;) {
    const std::size_t count = clusters_of(record.snapshots[s]);
    const bool first = found == last;
    if (count > 1 && (first || count <= report::kPalette.size())) found = s;
  }
  return found;
}

// The largest clusters get a colour each; beyond, colours repeat.
void colour_groups(const FlowRecord& record, FlowView& view) {
  const Snapshot& snapshot = record.snapshots[view.reference];
  view.group.assign(record.tokens, 0);
  view.palette = {report::kPalette[0]};
  if (snapshot.clusters.size() != record.tokens) return;
  std::vector<std::size_t> size(
      1 + *std::max_element(snapshot.clusters.begin(), snapshot.clusters.end()), 0);
  for (const std::uint32_t label : snapshot.clusters) ++size[label];
  if (*std::max_element(size.begin(), size.end()) == 1 && record.tokens > report::kPalette.size())
    return;
  std::vector<std::size_t> order(size.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
  std::vector<std::uint8_t> group(size.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    group[order[rank]] = static_cast<std::uint8_t>(rank % report::kPalette.size());
  view.palette.assign(report::kPalette.begin(), report::kPalette.end());
  for (std::size_t i = 0; i < record.tokens; ++i) view.group[i] = group[snapshot.clusters[i]];
}

// Looks from the side of the last state, a little turned and from above, the third axis upright.
std::array<double, 9> camera_towards(const Snapshot& last) {
  std::array<double, 3> mean{};
  for (std::size_t i = 0; i < last.positions.size(); ++i) mean[i % 3] += last.positions[i];
  const double flat = std::hypot(mean[0], mean[1]), length = std::hypot(flat, mean[2]);
  const bool known =
      std::isfinite(length) && length > 1e-3 * static_cast<double>(last.positions.size());
  constexpr double kDegree = std::numbers::pi / 180;
  const double azimuth = (known ? std::atan2(mean[1], mean[0]) : 0.6) - 28 * kDegree;
  const double latitude = known ? std::atan2(mean[2], flat) : 0.35;
  const double elevation = latitude < -8 * kDegree
                               ? std::clamp(latitude, -32 * kDegree, -14 * kDegree)
                               : std::clamp(latitude, 14 * kDegree, 32 * kDegree);
  const double ca = std::cos(azimuth), sa = std::sin(azimuth);
  const double ce = std::cos(elevation), se = std::sin(elevation);
  return {-sa, ca, 0, -se * ca, -se * sa, ce, ce * ca, ce * sa, se};
}

// Rows drawn evenly from all snapshots, without those that are not finite.
std::vector<double> pooled_rows(const FlowRecord& record, const std::vector<std::uint32_t>& shown) {
  const std::size_t d = record.dim, most = d <= 512 ? 4096 : 512;
  const std::size_t total = shown.size() * record.snapshots.size();
  const std::size_t stride = (total + most - 1) / most;
  std::vector<double> rows;
  for (std::size_t k = 0; k < total; k += stride) {
    const Snapshot& snapshot = record.snapshots[k / shown.size()];
    const auto row = std::span(snapshot.positions).subspan(shown[k % shown.size()] * d, d);
    if (std::all_of(row.begin(), row.end(), [](double x) { return std::isfinite(x); }))
      rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

// The linear map from a token to (right, up, towards): 3 x d, row after row.
std::vector<double> projection(const FlowRecord& record, FlowView& view) {
  const std::size_t d = record.dim;
  if (d <= 2) {
    view.caption = view.on_sphere ? "on the circle" : "in the plane";
    std::vector<double> flat(3 * d, 0.0);
    for (std::size_t a = 0; a < d; ++a) flat[a * d + a] = 1;
    return flat;
  }
  view.turnable = true;
  if (d == 3) {
    view.surface = view.on_sphere;
    view.caption = view.on_sphere ? "on the sphere, the far side faded" : "in space";
    view.camera = camera_towards(record.snapshots.back());
    return {view.camera.begin(), view.camera.end()};
  }
  observe::PrincipalAxes found = observe::principal_axes(pooled_rows(record, view.shown), d, 3);
  view.caption = fmt::format(
      "in the plane of their first two principal components over all snapshots ({:.0f} % of the "
      "variance; three components: {:.0f} %)",
      100 * found.shares[1], 100 * found.shares[2]);
  return std::move(found.axes);
}

// ---- Tokens on one spot: in one cell, or in neighbouring cells and close.

constexpr double kSpot = 0.02;  // narrower than a marker

using Cell = std::array<long, 3>;

Cell cell_of(const std::array<double, 3>& p) {
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

using Spots = std::map<Cell, Spot>;

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
      const Cell& cell = at->first;
      const auto other =
          spots.find({cell[0] + k % 3 - 1, cell[1] + k / 3 % 3 - 1, cell[2] + k / 9 - 1});
      if (other == spots.end() || other == at || other->second.count == 0) continue;
      const std::array<double, 3> p = at->second.centre(), q = other->second.centre();
      if (std::hypot(p[0] - q[0], p[1] - q[1], p[2] - q[2]) < kSpot)
        absorb(at->second, other->second);
    }
  }
}

}  // namespace

std::size_t clusters_of(const Snapshot& snapshot) {
  if (snapshot.clusters.empty()) return 0;
  return 1 + *std::max_element(snapshot.clusters.begin(), snapshot.clusters.end());
}

FlowView flow_view(const FlowRecord& record) {
  FlowView view;
  view.on_sphere = record.setup.space == depth::Geometry::sphere;
  if (record.snapshots.empty() || record.tokens == 0) return view;
  view.shown = thinned(record.tokens);
  view.reference = reference_snapshot(record);
  colour_groups(record, view);
  const std::vector<double> map = projection(record, view);
  const std::size_t d = record.dim;
  for (const Snapshot& snapshot : record.snapshots) {
    std::vector<double> xyz(3 * view.shown.size());
    double farthest = 0;
    for (std::size_t s = 0; s < view.shown.size(); ++s) {
      const auto token = std::span(snapshot.positions).subspan(view.shown[s] * d, d);
      const std::span<double> point(&xyz[3 * s], 3);
      for (std::size_t k = 0; k < 3; ++k) point[k] = dot(std::span(map).subspan(k * d, d), token);
      if (std::isfinite(norm(point))) farthest = std::max(farthest, norm(point));
    }
    view.unit.push_back(view.on_sphere || !(farthest > 0) ? 1 : farthest);
    for (double& value : xyz) value /= view.unit.back();
    view.xyz.push_back(std::move(xyz));
  }
  return view;
}

std::vector<Marker> markers(const FlowView& view, std::size_t snapshot, std::size_t stride) {
  Spots spots;
  const std::vector<double>& xyz = view.xyz[snapshot];
  for (std::size_t s = 0; s < view.shown.size(); s += stride) {
    const std::array<double, 3> p = {xyz[3 * s], xyz[3 * s + 1], view.surface ? xyz[3 * s + 2] : 0};
    if (!std::isfinite(p[0]) || !std::isfinite(p[1]) || !std::isfinite(p[2])) continue;
    Spot& spot = spots[cell_of(p)];
    for (std::size_t k = 0; k < 3; ++k) spot.sum[k] += p[k];
    ++spot.count;
    spot.groups.resize(view.palette.size());
    ++spot.groups[view.group[view.shown[s]]];
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

std::vector<std::size_t> telling_snapshots(const FlowView& view, std::size_t most) {
  const std::size_t count = view.xyz.size();
  std::vector<std::size_t> chosen(count);
  std::iota(chosen.begin(), chosen.end(), 0U);
  if (count <= most) return chosen;
  std::vector<double> moved(count, 0.0), path(count, 0.0);
  for (std::size_t k = 1; k < count; ++k) {
    for (std::size_t i = 0; i < view.xyz[k].size(); ++i) {
      const double step = view.xyz[k][i] - view.xyz[k - 1][i];
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

}  // namespace attractor::lab
