#include "attractor/commands/select/select_scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/select/select_plane.hpp"
#include "attractor/lab/words.hpp"
#include "attractor/report/scene_panel.hpp"
#include "attractor/training/objective.hpp"

namespace attractor::lab {
namespace {

using report::MovingLine;
using report::PlaneScene;

constexpr std::size_t kMoments = 100, kLooks = 400;  // drawn; looked at to choose them
constexpr std::size_t kInputs = 24, kTokens = 40;    // in rows

/// What is drawn of a problem: the first inputs and tokens.
struct Drawn {
  std::size_t inputs, tokens;
};

Drawn drawn_of(const SelectRecord& r, bool plane) {
  const std::size_t most = plane ? std::max<std::size_t>(1, 400 / r.problem.tokens) : kInputs;
  return {std::min(r.problem.inputs, most),
          plane ? r.problem.tokens : std::min(r.problem.tokens, kTokens)};
}

std::span<const double> state_of(const SelectRecord& r, const training::Objective& objective,
                                 std::size_t moment) {
  return std::span(r.trajectory).subspan(moment * objective.dim(), objective.dim());
}

/// Softmax weights of what is drawn, at one moment; empty if the weights are not finite.
std::vector<double> weights_at(const SelectRecord& r, const training::Objective& objective,
                               const Drawn& drawn, std::size_t moment) {
  const std::span<const double> state = state_of(r, objective, moment);
  if (!std::all_of(state.begin(), state.end(), [](double x) { return std::isfinite(x); }))
    return {};
  training::Evaluation e;
  objective.evaluate(state, e);
  std::vector<double> weights;
  for (std::size_t i = 0; i < drawn.inputs; ++i)
    for (std::size_t t = 0; t < drawn.tokens; ++t)
      weights.push_back(e.weight[i * r.problem.tokens + t]);
  return weights;
}

/// Moments between which attention changes, and the attention of each.
struct Moments {
  std::vector<std::size_t> index;
  std::vector<std::vector<double>> weights;
};

Moments moments_of(const SelectRecord& r, const training::Objective& objective,
                   const Drawn& drawn) {
  Moments all, chosen;
  const std::size_t count = r.series.size(), stride = (count + kLooks - 1) / kLooks;
  for (std::size_t k = 0; k < count; ++k) {
    if (k % stride != 0 && k + 1 != count) continue;
    std::vector<double> weights = weights_at(r, objective, drawn, k);
    if (weights.empty()) continue;
    all.index.push_back(k);
    all.weights.push_back(std::move(weights));
  }
  if (all.index.empty()) return all;
  for (const std::size_t k : report::telling_moments(all.weights, kMoments)) {
    chosen.index.push_back(all.index[k]);
    chosen.weights.push_back(std::move(all.weights[k]));
  }
  return chosen;
}

// ---- In the plane of the keys.

MovingLine resting_line(Colour colour, const PlanePoint& from, const PlanePoint& to) {
  return {.colour = colour,
          .width = 1.8,
          .dashed = true,
          .x = {{from[0], to[0]}},
          .y = {{from[1], to[1]}}};
}

void add_rays(const SelectRecord& r, const KeyPlane& plane, double reach, PlaneScene& scene) {
  const auto add = [&](const training::MaxMargin& svm, Colour colour) {
    const PlanePoint to = plane.of(svm.solution);
    const double size = std::hypot(to[0], to[1]);
    if (svm.feasible() && size > 0)
      scene.lines.push_back(
          resting_line(colour, {0, 0}, {to[0] / size * reach, to[1] / size * reach}));
  };
  if (r.local)
    for (std::size_t k = 0; k < std::min<std::size_t>(8, r.local->found.size()); ++k)
      if (r.local->found[k].chosen != r.selected) add(r.local->found[k], report::kGrey);
  if (r.svm) add(r.relaxed ? *r.relaxed : *r.svm, report::kVermillion);
}

/// p at every moment, from the origin.
void add_prompt(const SelectRecord& r, const training::Objective& objective, const KeyPlane& plane,
                const Moments& moments, double reach, PlaneScene& scene) {
  MovingLine arrow{.colour = report::kVermillion, .width = 3, .arrow = true};
  for (const std::size_t k : moments.index) {
    const PlanePoint p = plane.of(objective.attention_weights(state_of(r, objective, k)));
    const double length = std::hypot(p[0], p[1]), shown = length > 0 ? reach / (1 + length) : 0;
    arrow.x.push_back({0, p[0] * shown});
    arrow.y.push_back({0, p[1] * shown});
  }
  scene.lines.push_back(std::move(arrow));
}

PlaneScene key_scene(const SelectRecord& r, const training::Objective& objective,
                     const KeyPlane& plane, const Moments& moments, const Drawn& drawn) {
  PlaneScene scene{.x = {.label = plane.name[0]}, .y = {.label = plane.name[1]}};
  const training::Problem& p = r.problem;
  std::vector<PlanePoint> all;
  for (std::size_t i = 0; i < drawn.inputs; ++i)
    for (std::size_t t = 0; t < drawn.tokens; ++t) {
      all.push_back(plane.of(std::span(plane.keys).subspan((i * p.tokens + t) * p.dim, p.dim)));
      scene.dot_x.push_back(all.back()[0]);
      scene.dot_y.push_back(all.back()[1]);
    }
  frame_points(scene.x, scene.y, all, 0.25);
  const double half = 0.5 * (scene.x.high - scene.x.low);
  add_rays(r, plane, 4 * half, scene);
  add_prompt(r, objective, plane, moments, 0.85 * half, scene);
  return scene;
}

// ---- In rows.

PlaneScene row_scene(const Drawn& drawn) {
  PlaneScene scene{.x = {.label = "token", .whole = true}, .y = {.label = "input", .whole = true}};
  const auto wide = static_cast<double>(drawn.tokens), high = static_cast<double>(drawn.inputs);
  const double size = std::max(wide, high);  // cells are squares
  scene.x.low = 0.5 * (wide - 1) - 0.5 * size, scene.x.high = scene.x.low + size;
  scene.y.low = 0.5 * (high - 1) - 0.5 * size, scene.y.high = scene.y.low + size;
  for (std::size_t i = 0; i < drawn.inputs; ++i)
    for (std::size_t t = 0; t < drawn.tokens; ++t) {
      scene.dot_x.push_back(static_cast<double>(t));
      scene.dot_y.push_back(static_cast<double>(i));
    }
  return scene;
}

void add_dots(const SelectRecord& r, const Drawn& drawn, PlaneScene& scene) {
  scene.meaning = "weight";
  for (std::size_t i = 0; i < drawn.inputs; ++i)
    for (std::size_t t = 0; t < drawn.tokens; ++t) {
      scene.dot_colour.push_back(report::kPalette[i % report::kPalette.size()]);
      scene.dot_name.push_back(fmt::format("input {}, token {}", i, t));
      scene.dot_ring.push_back(i < r.selected.size() && r.selected[i] == t);
    }
}

std::string moment_label(const SelectRecord& r, std::size_t k) {
  const SelectMoment& m = r.series[k];
  const std::string when =
      r.setup.optimizer == Optimizer::flow
          ? "t = " + power_text(m.log10_time)
          : "step " + grouped(static_cast<std::uint64_t>(std::llround(m.steps)));
  return std::isfinite(m.softmax_min)
             ? fmt::format("{}, least weight {}", when, rounded(m.softmax_min))
             : when;
}

}  // namespace

bool has_scene(const SelectRecord& r) {
  const training::Trained trained(r.setup.train);
  return r.trained && trained.attention != training::AttentionPart::none && !r.series.empty() &&
         !r.trajectory.empty() && r.problem.tokens > 1;
}

std::optional<report::Scene> select_scene(const SelectRecord& r) {
  if (!has_scene(r)) return std::nullopt;
  const training::Objective objective(r.problem, r.setup.loss, training::Trained(r.setup.train));
  if (r.trajectory.size() != r.series.size() * objective.dim()) return std::nullopt;
  const std::optional<KeyPlane> plane = plane_of(r);
  const Drawn drawn = drawn_of(r, plane.has_value());
  Moments moments = moments_of(r, objective, drawn);
  if (moments.index.empty()) return std::nullopt;
  report::Scene scene;
  scene.plane = plane ? key_scene(r, objective, *plane, moments, drawn) : row_scene(drawn);
  add_dots(r, drawn, *scene.plane);
  scene.plane->size = std::move(moments.weights);
  report::SceneClock times{.name = "log10_time", .at = {}}, steps{.name = "steps", .at = {}};
  for (const std::size_t k : moments.index) {
    scene.labels.push_back(moment_label(r, k));
    times.at.push_back(std::isfinite(r.series[k].log10_time) ? r.series[k].log10_time : kNan);
    // Step 0 has no place on a logarithmic axis: the left end.
    steps.at.push_back(r.series[k].steps > 0 ? r.series[k].steps : kNan);
  }
  scene.clocks = {std::move(times), std::move(steps)};
  scene.rest = scene.labels.size() - 1;
  scene.title = "Attention while it is trained";
  scene.note =
      "Area: the softmax weight of a token, one colour for each input; ringed: selected in "
      "the end.";
  if (plane) scene.note += " Arrow: p, as long as |p| / (1 + |p|); dashed: max-margin directions.";
  if (drawn.inputs < r.problem.inputs || drawn.tokens < r.problem.tokens)
    scene.note += fmt::format(" The first {} inputs and {} tokens.", drawn.inputs, drawn.tokens);
  return scene;
}

}  // namespace attractor::lab
