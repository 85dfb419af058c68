#include "attractor/kernels/sphere/sphere_field.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/sphere/sphere_cells.hpp"
#include "attractor/kernels/sphere/sphere_passes.hpp"
#include "attractor/kernels/sphere/sphere_transform.hpp"

namespace attractor::kernels {
namespace {

/// Blocks are fixed, so that sums are too. A block of tokens in random order should have many of
/// them in each cell; its tokens are gathered, so it should stay in a cache.
std::size_t block_size(std::size_t tokens, std::size_t cells) {
  const std::size_t most = std::clamp<std::size_t>(128 * cells, 1U << 15, 1U << 17);
  return std::clamp<std::size_t>((tokens + 3) / 4, 4096, most);
}

/// Power sums of so many blocks are gathered at once, whatever the threads: enough for them to
/// share, but within 256 MB and with more tokens than sums.
std::size_t group_count(std::size_t tokens, std::size_t blocks, const SphereCells& cells) {
  const std::size_t worth = std::clamp<std::size_t>(tokens / (128 * cells.count), 4, 16);
  const std::size_t fit = (std::size_t{1} << 25) / (cells.count * cells.stride);
  return std::clamp<std::size_t>(std::min(worth, fit), 1, blocks);
}

}  // namespace

struct SphereField::Plan {
  SphereFieldSettings settings;
  SphereModes modes;
  SphereDesign design;
  SphereCells cells;
  SphereTransform transform;
  std::vector<SphereBlock> blocks;
  std::vector<std::uint32_t> order;
  std::vector<std::vector<double>> moments;  // of each group of blocks, cells x stride
  std::vector<std::vector<std::uint32_t>> scratch;
  std::vector<double> slope, along;

  // A tenth of the error for the modes left out, half for the polynomials, the rest for rounding.
  explicit Plan(const SphereFieldSettings& s)
      : settings(s),
        modes(sphere_modes(s.beta, 0.1 * s.accuracy)),
        design(sphere_design(modes, 0.7 * s.accuracy, s.tokens)),
        cells(sphere_cells(design)),
        transform(modes, cells),
        order(s.tokens) {
    const std::size_t size = block_size(s.tokens, cells.count);
    for (std::size_t begin = 0; begin < s.tokens; begin += size)
      blocks.push_back({.begin = begin, .end = std::min(s.tokens, begin + size)});
    const std::size_t sums = cells.count * cells.stride;
    moments.assign(group_count(s.tokens, blocks.size(), cells), std::vector<double>(sums));
    scratch.resize(moments.size());
  }

  bool gather(const SphereJob& job);
  double add_groups();
};

/// Each group adds up its blocks in order, whichever thread runs it. False: not on the sphere.
bool SphereField::Plan::gather(const SphereJob& job) {
  const std::size_t groups = moments.size();
  parallel_for(groups, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t g = begin; g < end; ++g) {
      std::fill(moments[g].begin(), moments[g].end(), 0.0);
      for (std::size_t b = g * blocks.size() / groups; b < (g + 1) * blocks.size() / groups; ++b) {
        sort_into_cells(job, blocks[b], scratch[g]);
        if (!blocks[b].on_sphere) break;
        gather_moments(job, blocks[b], moments[g].data());
      }
    }
  });
  return std::all_of(blocks.begin(), blocks.end(), [](const auto& b) { return b.on_sphere; });
}

/// All groups into the first; returns the sum of the weights, T_0 T_0 of all cells.
double SphereField::Plan::add_groups() {
  parallel_for(cells.count, 64, [&](std::size_t begin, std::size_t end) {
    double* sum = moments[0].data();
    for (std::size_t g = 1; g < moments.size(); ++g)
      for (std::size_t k = begin * cells.stride; k < end * cells.stride; ++k)
        sum[k] += moments[g][k];
  });
  double total = 0;
  for (std::size_t c = 0; c < cells.count; ++c) total += moments[0][c * cells.stride];
  return total;
}

SphereField::SphereField(const SphereFieldSettings& s) {
  if (!(s.beta >= 0 && s.beta <= 1e4))
    throw Error(fmt::format("beta = {} is not allowed; allowed on the sphere: 0 .. 1e4", s.beta));
  if (!(s.accuracy >= 1e-11 && s.accuracy <= 1e-4))
    throw Error(fmt::format("accuracy = {} is not allowed; allowed: 1e-11 .. 1e-4", s.accuracy));
  if (s.tokens == 0) throw Error("0 tokens are not allowed; allowed: at least 1");
  plan_ = std::make_unique<Plan>(s);
}
SphereField::~SphereField() = default;
SphereField::SphereField(SphereField&&) noexcept = default;
SphereField& SphereField::operator=(SphereField&&) noexcept = default;

std::size_t SphereField::cells() const { return plan_->cells.count; }
std::size_t SphereField::degree() const { return plan_->cells.degree; }
std::size_t SphereField::modes() const { return plan_->modes.highest(); }
double SphereField::error_bound() const { return plan_->design.bound; }

std::vector<std::uint32_t> SphereField::in_cells(std::span<const double> points) const {
  std::vector<std::uint32_t> order(points.size() / 3), scratch;
  SphereBlock all{.begin = 0, .end = order.size()};
  sort_into_cells({.points = points.data(), .cells = &plan_->cells, .order = order.data()}, all,
                  scratch);
  return all.on_sphere ? order : std::vector<std::uint32_t>();
}

SphereFieldSummary SphereField::evaluate(std::span<const double> points,
                                         std::span<const double> weights,
                                         const SphereFieldOut& out) {
  Plan& plan = *plan_;
  assert(points.size() == 3 * plan.settings.tokens);
  assert(weights.empty() || 3 * weights.size() == points.size());
  SphereJob job{.points = points.data(),
                .weights = weights.empty() ? nullptr : weights.data(),
                .cells = &plan.cells,
                .order = plan.order.data()};
  SphereFieldSummary summary;
  summary.error = plan.settings.accuracy;
  summary.on_sphere = plan.gather(job);
  if (!summary.on_sphere) return summary;
  std::size_t pieces = 0;
  for (const SphereBlock& block : plan.blocks) pieces += block.pieces.size();
  summary.scattered = pieces > 2 * (plan.cells.count + plan.blocks.size());
  job.total = plan.add_groups();
  const bool along = !out.along.empty();
  const bool any = along || !out.pull.empty() || !out.mean.empty() || !out.partition.empty();
  if (any) plan.slope.resize(plan.moments[0].size());
  if (along) plan.along.resize(plan.moments[0].size());
  const SphereSums sums =
      plan.transform.apply(plan.moments[0].data(), job.total, any ? plan.slope.data() : nullptr,
                           along ? plan.along.data() : nullptr);
  summary.energy = sums.energy;
  summary.order = sums.order;
  if (!any) return summary;
  job.slope = plan.slope.data();
  job.along = along ? plan.along.data() : nullptr;
  job.beta = plan.settings.beta;
  job.mean_kernel = plan.modes.value[0];
  job.out = &out;
  parallel_for(plan.blocks.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) evaluate_polynomials(job, plan.blocks[b]);
  });
  for (const SphereBlock& block : plan.blocks) {
    summary.smallest_partition = std::min(summary.smallest_partition, block.smallest_partition);
    summary.largest_mean = std::max(summary.largest_mean, block.largest_mean);
    summary.largest_pull = std::max(summary.largest_pull, block.largest_pull);
  }
  return summary;
}

}  // namespace attractor::kernels
