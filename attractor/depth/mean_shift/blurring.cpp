#include "attractor/depth/mean_shift/blurring.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "attractor/base/numbers.hpp"
#include "attractor/depth/mean_shift/kernel_density.hpp"
#include "attractor/depth/points.hpp"
#include "attractor/tokens/components.hpp"

namespace attractor::depth {
namespace {

/// One step; the farthest that a point moved. NaN: stopped, and nothing has moved.
double blur(std::vector<double>& points, std::size_t dim, const BlurringOptions& options,
            const std::function<bool()>& stop) {
  std::vector<double> shift(points.size()), height(points.size() / dim);
  if (!KernelDensity(points, dim, options.beta).evaluate(points, shift, height, stop)) return kNan;
  double farthest = 0;
  for (std::size_t i = 0; i < height.size(); ++i) {
    const std::span<double> x = row(std::span(points), dim, i);
    const std::vector<double> before(x.begin(), x.end());
    for (std::size_t a = 0; a < dim; ++a) x[a] += shift[i * dim + a];
    if (options.on_sphere && norm(x) > 0) Sphere(dim).retract(x);
    farthest = std::max(farthest, distance(x, before));
  }
  return farthest;
}

/// Mean of each group.
std::vector<double> centres_of(Points points, std::size_t dim, const Components& groups,
                               bool on_sphere) {
  std::vector<double> centres(groups.count * dim, 0.0);
  std::vector<double> sizes(groups.count, 0.0);
  for (std::size_t i = 0; i < groups.label.size(); ++i) {
    ++sizes[groups.label[i]];
    for (std::size_t a = 0; a < dim; ++a) centres[groups.label[i] * dim + a] += points[i * dim + a];
  }
  for (std::size_t k = 0; k < centres.size(); ++k) centres[k] /= sizes[k / dim];
  if (on_sphere)
    for (std::size_t g = 0; g < groups.count; ++g)
      Sphere(dim).retract(row(std::span(centres), dim, g));
  return centres;
}

/// Labels and centres, the largest cluster first.
void sort_groups(const Components& groups, Points centres, std::size_t dim, Blurring& result) {
  std::vector<std::size_t> sizes(groups.count, 0);
  for (const std::uint32_t label : groups.label) ++sizes[label];
  std::vector<std::uint32_t> order(groups.count), rank(groups.count);
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return sizes[a] > sizes[b]; });
  for (std::uint32_t k = 0; k < order.size(); ++k) rank[order[k]] = k;
  result.centres = gathered(centres, dim, order);
  for (const std::uint32_t g : order) result.sizes.push_back(sizes[g]);
  for (const std::uint32_t label : groups.label) result.labels.push_back(rank[label]);
}

}  // namespace

Blurring blurring_mean_shift(Points points, std::size_t dim, const BlurringOptions& options) {
  assert(dim > 0 && !points.empty());
  const double bandwidth = 1 / std::sqrt(options.beta);
  Blurring result{.points = {points.begin(), points.end()}};
  while (!result.gathered && result.iterations < options.iterations) {
    const auto stop = [&] { return !options.watch(result.iterations); };
    if (options.watch && stop()) break;
    const double moved =
        blur(result.points, dim, options, options.watch ? std::function<bool()>(stop) : nullptr);
    if (std::isnan(moved)) break;
    result.gathered = moved <= options.tolerance * bandwidth;
    ++result.iterations;
  }
  const Components groups = components(result.points, dim, options.merge * bandwidth);
  const std::vector<double> centres = centres_of(result.points, dim, groups, options.on_sphere);
  sort_groups(groups, centres, dim, result);
  return result;
}

}  // namespace attractor::depth
