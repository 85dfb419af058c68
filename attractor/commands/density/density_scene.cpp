#include "attractor/commands/density/density_scene.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"
#include "attractor/lab/words.hpp"

namespace attractor::lab {
namespace {

constexpr double kInner = 0.42, kOuter = 0.98;  // radii of the ring
constexpr std::size_t kSpokes = 240;

/// A polygon, its inner circle as a second one.
struct Ring {
  std::vector<double> x, y;

  void add(double radius, double angle) {
    x.push_back(radius * std::cos(angle));
    y.push_back(radius * std::sin(angle));
  }
  void lift() {
    x.push_back(kNan);
    y.push_back(kNan);
  }
};

/// The density at an angle of the picture, counted from the right; linear between grid points.
double value_at(const DensityHistory& h, std::span<const double> density, double angle) {
  using std::numbers::pi;
  double at = h.circle ? angle : std::abs(std::remainder(angle - pi / 2, 2 * pi));
  while (h.circle && at < h.angles.front()) at += 2 * pi;
  while (h.circle && at >= h.angles.front() + 2 * pi) at -= 2 * pi;
  const auto above = std::upper_bound(h.angles.begin(), h.angles.end(), at);
  const std::size_t last = h.angles.size() - 1;
  if (above == h.angles.begin()) return density.front();
  if (above == h.angles.end() && !h.circle) return density.back();
  const auto k = static_cast<std::size_t>(above - h.angles.begin()) - 1,
             next = k == last ? 0 : k + 1;
  const double width =
      next == 0 ? h.angles[0] + 2 * pi - h.angles[last] : h.angles[next] - h.angles[k];
  const double u = std::clamp((at - h.angles[k]) / width, 0.0, 1.0);
  return density[k] * (1 - u) + density[next] * u;
}

Ring ring_of(const DensityHistory& h, std::span<const double> density, double most) {
  Ring ring;
  const double step = 2 * std::numbers::pi / static_cast<double>(kSpokes);
  const auto spokes = [&](const auto& radius) {
    for (std::size_t k = 0; k <= kSpokes; ++k) {
      const double angle = step * static_cast<double>(k);
      ring.add(radius(angle), angle);
    }
  };
  spokes([&](double angle) {
    const double f = std::max(0.0, value_at(h, density, angle));
    return kInner + (kOuter - kInner) * std::log1p(f) / std::log1p(most);
  });
  ring.lift();
  spokes([](double) { return kInner; });
  return ring;
}

/// Places where the density is not known (NaN) do not count.
double peak(std::span<const double> density) {
  double most = 0;
  for (const double f : density) most = std::max(most, f);
  return most;
}

}  // namespace

std::size_t crowds(std::span<const double> density, bool circle) {
  constexpr double kCrowded = 1.05;
  std::size_t count = 0;
  for (std::size_t k = 0; k < density.size(); ++k) {
    const bool before = k > 0 ? density[k - 1] > kCrowded : circle && density.back() > kCrowded;
    if (density[k] > kCrowded && !before) ++count;
  }
  const bool all = !density.empty() && density.front() > kCrowded && count == 0;
  return all ? 1 : count;
}

report::Scene density_scene(const DensityHistory& h) {
  double most = 1;
  for (const std::vector<double>& row : h.density) most = std::max(most, peak(row));
  report::Scene scene;
  report::MovingLine ring{.colour = report::kBlue, .width = 1.6, .filled = true, .x = {}, .y = {}};
  for (std::size_t k = 0; k < h.density.size(); ++k) {
    Ring now = ring_of(h, h.density[k], most);
    ring.x.push_back(std::move(now.x));
    ring.y.push_back(std::move(now.y));
    scene.labels.push_back(fmt::format("t = {}, at most {} × uniform", rounded(h.times[k]),
                                       rounded(peak(h.density[k]))));
  }
  const std::vector<double> even(h.angles.size(), 1.0);
  Ring uniform = ring_of(h, even, most);
  uniform.x.resize(kSpokes + 1);
  uniform.y.resize(kSpokes + 1);
  report::MovingLine level{.colour = report::kGrey,
                           .width = 1.2,
                           .dashed = true,
                           .x = {std::move(uniform.x)},
                           .y = {std::move(uniform.y)}};
  scene.plane = report::PlaneScene{};
  scene.plane->x.low = scene.plane->y.low = -1.05;
  scene.plane->x.high = scene.plane->y.high = 1.05;
  scene.plane->lines = {std::move(ring), std::move(level)};
  scene.clocks = {{"time", h.times}};
  scene.rest = scene.labels.size() - 1;
  scene.title = "The density of tokens over time";
  scene.note =
      std::string(h.circle ? "Thickness of the ring: ln(1 + density / uniform) at that angle"
                           : "A section through the axis, which points up. Thickness of the "
                             "ring: ln(1 + density / uniform) at that polar angle") +
      "; dashed: uniform.";
  return scene;
}

}  // namespace attractor::lab
