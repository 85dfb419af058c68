#include "attractor/observe/inside_groups.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/depth/coalescence/offset_flow.hpp"
#include "attractor/observe/hemisphere.hpp"
#include "attractor/observe/pairs.hpp"
#include "attractor/tokens/components.hpp"

namespace attractor::observe {
namespace {

void add_spread(const depth::TokenGroups& groups, std::span<const double> state,
                std::span<const double> offsets, std::size_t dim, Observation& o) {
  const double total = groups.total();
  if (total < 2) return;
  std::vector<double> mean(dim, 0.0);
  for (std::size_t s = 0; s < groups.count(); ++s)
    for (std::size_t a = 0; a < dim; ++a)
      mean[a] += groups.masses()[s] / total * state[s * dim + a];
  double sum = 0;
  for (std::size_t i = 0; i * dim < offsets.size(); ++i) {
    const auto xi = offsets.subspan(i * dim, dim);
    sum += dot(xi, xi) * dot(mean, state.subspan(groups.owner()[i] * dim, dim));
  }
  o.one_minus_mean_cosine += sum / (total - 1);
  o.mean_cosine = 1 - o.one_minus_mean_cosine;
}

/// The largest |xi_i - xi_j|; of very many, the best of sweeps to the farthest from the last.
double diameter(std::span<const double> xi, std::size_t dim, std::size_t exact_limit) {
  const std::size_t n = xi.size() / dim;
  const auto farthest = [&](std::size_t from, double& squared) {
    std::size_t at = from;
    squared = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const double s = squared_distance(xi.subspan(from * dim, dim), xi.subspan(j * dim, dim));
      if (s > squared) squared = s, at = j;
    }
    return at;
  };
  double best = 0;
  std::size_t from = 0;
  for (std::size_t k = 0; k < (n <= exact_limit ? n : 8); ++k) {
    double squared = 0;
    const std::size_t next = farthest(n <= exact_limit ? k : from, squared);
    best = std::max(best, squared);
    from = next;
  }
  return std::sqrt(best);
}

void see_members(const depth::TokenGroups& groups, std::span<const double> state, std::size_t dim,
                 const ObserveOptions& options, Observation& o) {
  const std::vector<double> all = groups.expand(state), ones(groups.owner().size(), 1.0);
  const PairStatistics pairs = pair_statistics(all, dim, ones, options.pair_threshold, options.seed,
                                               options.exact_limit, false);
  o.pair_fraction = pairs.fraction;
  o.pair_fraction_error = pairs.fraction_error;
  o.smallest_cosine = pairs.smallest_cosine;
  o.largest_angle = pairs.largest_angle;
  const Components found = components(all, dim, options.cluster_radius);
  std::vector<double> size(found.count, 0.0);
  for (const std::uint32_t label : found.label) ++size[label];
  o.clusters = static_cast<double>(found.count);
  o.largest_cluster = *std::max_element(size.begin(), size.end());
  const Hemisphere h = hemisphere(all, dim);
  if (h.decided) {
    o.hemisphere = h.inside ? 1 : 0;
    o.hemisphere_depth = h.depth;
  }
}

double log_sum(double a, double b) {
  const double top = std::max(a, b);
  return std::isfinite(top) ? top + std::log(std::exp(a - top) + std::exp(b - top)) : top;
}

}  // namespace

bool members_visible(const depth::TokenGroups& groups) {
  if (!groups.has_offsets() || groups.owner().size() > kMembersSeen) return false;
  for (std::size_t s = 0; s < groups.count(); ++s)
    if (groups.extent(s) > 1e-15) return true;
  return false;
}

void observe_inside(const depth::AttentionFlow& flow, std::span<const double> state,
                    const ObserveOptions& options, Observation& o) {
  const depth::TokenGroups& groups = flow.groups();
  if (!groups.has_offsets()) return;
  const std::size_t dim = flow.attention().dim;
  const std::vector<double> offsets = groups.offsets();
  add_spread(groups, state, offsets, dim, o);
  const double inside = depth::log_inner_dissipation(flow.attention(), state, groups);
  if (!std::isnan(o.log_dissipation)) {
    o.log_dissipation = log_sum(o.log_dissipation, inside);
    o.dissipation = std::exp(o.log_dissipation);
  }
  if (groups.count() == 1) {
    o.largest_angle = diameter(offsets, dim, options.exact_limit);
    o.smallest_cosine = 1 - 0.5 * o.largest_angle * o.largest_angle;
  } else if (members_visible(groups)) {
    see_members(groups, state, dim, options, o);
  }
}

}  // namespace attractor::observe
