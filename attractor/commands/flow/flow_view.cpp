#include "attractor/commands/flow/flow_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "attractor/commands/time_axis.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/observe/principal_axes.hpp"
#include "attractor/report/scene_panel.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/components.hpp"

namespace attractor::lab {
namespace {

using report::TokenScene;

constexpr std::size_t kMostShown = 2000, kMostFrames = 100;
constexpr std::size_t kMostNumbers = 400'000;  // of a page: fewer frames for many tokens

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

/// Groups of R^d at the end, by the size of the cloud; no labels if tokens are not finite.
Components groups_in_space(const FlowRecord& record) {
  const std::size_t d = record.dim;
  std::vector<double> x = record.snapshots.back().positions, mean(d, 0.0);
  for (std::size_t i = 0; i < x.size(); ++i)
    mean[i % d] += x[i] / static_cast<double>(record.tokens);
  double square = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] -= mean[i % d];
    square += x[i] * x[i] / static_cast<double>(record.tokens);
  }
  if (!std::isfinite(square)) return {};
  if (square > 0)
    for (double& value : x) value /= std::sqrt(square);
  return components(x, d, kGroupShare);
}

// The largest clusters get a colour each; beyond, colours repeat.
void colour_groups(const std::vector<std::uint32_t>& labels, std::size_t tokens, FlowView& view) {
  view.group.assign(tokens, 0);
  view.scene.palette = {report::kPalette[0]};
  if (labels.size() != tokens) return;
  std::vector<std::size_t> size(1 + *std::max_element(labels.begin(), labels.end()), 0);
  for (const std::uint32_t label : labels) ++size[label];
  if (*std::max_element(size.begin(), size.end()) == 1 && tokens > report::kPalette.size()) return;
  std::vector<std::size_t> order(size.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return size[a] > size[b]; });
  std::vector<std::uint8_t> group(size.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    group[order[rank]] = static_cast<std::uint8_t>(rank % report::kPalette.size());
  view.scene.palette.assign(report::kPalette.begin(), report::kPalette.end());
  for (std::size_t i = 0; i < tokens; ++i) view.group[i] = group[labels[i]];
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
std::vector<double> projection(const FlowRecord& record, bool on_sphere, FlowView& view) {
  const std::size_t d = record.dim;
  TokenScene& scene = view.scene;
  scene.shape = !on_sphere ? TokenScene::Shape::space
                : d <= 2   ? TokenScene::Shape::circle
                : d == 3   ? TokenScene::Shape::sphere
                           : TokenScene::Shape::ball;
  if (d <= 2) {
    view.caption = on_sphere ? "on the circle" : "in the plane";
    scene.axes = {"x_{1}", "x_{2}"};
    std::vector<double> flat(3 * d, 0.0);
    for (std::size_t a = 0; a < d; ++a) flat[a * d + a] = 1;
    return flat;
  }
  scene.turnable = true;
  scene.axes = {"across the line of sight", "up"};
  if (d == 3) {
    view.caption = on_sphere ? "on the sphere, the far side faded" : "in space";
    scene.camera = camera_towards(record.snapshots.back());
    return {scene.camera.begin(), scene.camera.end()};
  }
  observe::PrincipalAxes found = observe::principal_axes(pooled_rows(record, view.shown), d, 3);
  if (!on_sphere) scene.axes = {"first principal axis", "second principal axis"};
  view.caption = fmt::format(
      "in the plane of their first two principal components over all snapshots ({:.0f} % of the "
      "variance; three components: {:.0f} %){}",
      100 * found.shares[1], 100 * found.shares[2],
      on_sphere ? ", the distance from the centre by angle: a token on the rim lies in that plane, "
                  "one on the circles 60° or 30° out of its complement"
                : "");
  return std::move(found.axes);
}

void project(const FlowRecord& record, bool on_sphere, const std::vector<double>& map,
             FlowView& view) {
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
    view.scene.unit.push_back(on_sphere || !(farthest > 0) ? 1 : farthest);
    for (double& value : xyz) value /= view.scene.unit.back();
    view.scene.xyz.push_back(std::move(xyz));
  }
}

std::string moment_label(const FlowRecord& record, const FlowView& view, std::size_t k) {
  std::string text = "t = " + time_text(record.snapshots[k].time);
  if (view.in_space()) return text + ", |x| ≤ " + power_text(std::log10(view.scene.unit[k]));
  const std::size_t count = clusters_of(record.snapshots[k]);
  if (count > 0) text += fmt::format(", {} cluster{}", count, count == 1 ? "" : "s");
  return text;
}

std::vector<double> log10_times(const FlowRecord& record) {
  std::vector<double> times;
  for (const auto& o : record.series) times.push_back(o.log10_time);
  return times;
}

}  // namespace

std::size_t clusters_of(const Snapshot& snapshot) {
  if (snapshot.clusters.empty()) return 0;
  return 1 + *std::max_element(snapshot.clusters.begin(), snapshot.clusters.end());
}

FlowView flow_view(const FlowRecord& record) {
  FlowView view;
  const bool on_sphere = record.setup.space == depth::Geometry::sphere;
  if (!on_sphere) view.scene.shape = TokenScene::Shape::space;
  if (record.snapshots.empty() || record.tokens == 0) return view;
  view.shown = thinned(record.tokens);
  view.reference = reference_snapshot(record);
  if (on_sphere) {
    colour_groups(record.snapshots[view.reference].clusters, record.tokens, view);
  } else {
    const Components found = groups_in_space(record);
    view.reference = record.snapshots.size() - 1;
    view.groups = found.count;
    colour_groups(found.label, record.tokens, view);
  }
  project(record, on_sphere, projection(record, on_sphere, view), view);
  for (const std::uint32_t token : view.shown) view.scene.group.push_back(view.group[token]);
  return view;
}

std::vector<std::size_t> played(const FlowView& view) {
  const std::size_t most =
      std::clamp<std::size_t>(kMostNumbers / (3 * view.shown.size()), 12, kMostFrames);
  return report::telling_moments(view.scene.xyz, most);
}

report::Scene flow_scene(const FlowRecord& record, const FlowView& view, std::size_t most) {
  report::Scene scene;
  scene.tokens = view.scene;
  scene.tokens->xyz.clear();
  scene.tokens->unit.clear();
  std::vector<double> times;
  for (const std::size_t k :
       most == 0 ? played(view) : report::telling_moments(view.scene.xyz, most)) {
    if (k == view.reference) scene.rest = scene.labels.size();
    scene.labels.push_back(moment_label(record, view, k));
    scene.tokens->xyz.push_back(view.scene.xyz[k]);
    scene.tokens->unit.push_back(view.scene.unit[k]);
    times.push_back(record.snapshots[k].time.log() / std::numbers::ln10);
  }
  const std::vector<double> outputs = log10_times(record);
  scene.clocks = {scene_clock(time_axis(outputs.empty() ? times : outputs), times)};
  scene.title = fmt::format("{} tokens moving {}", grouped(record.tokens),
                            record.dim > 3 ? fmt::format("in dimension {}", record.dim)
                                           : view.caption.substr(0, view.caption.find(',')));
  scene.note = view.scene.turnable ? "Drag to turn. " : "";
  if (record.dim > 3) scene.note += "Three principal components. ";
  if (view.shown.size() < record.tokens)
    scene.note += fmt::format("{} of {} tokens are shown. ", grouped(view.shown.size()),
                              grouped(record.tokens));
  scene.note += "Motion between snapshots is interpolated.";
  return scene;
}

}  // namespace attractor::lab
