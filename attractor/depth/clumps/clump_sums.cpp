#include "attractor/depth/clumps/clump_sums.hpp"

#include <algorithm>

#include "attractor/base/threads.hpp"
#include "attractor/depth/clumps/clump_passes.hpp"
#include "attractor/kernels/dense/attention_rows.hpp"
#include "attractor/kernels/dense/block_rows.hpp"
#include "attractor/kernels/dense/symmetric_rows.hpp"

namespace attractor::depth {
namespace {

constexpr double kMostSwing = 300;  // logits across a clump, which an exponential must hold

/// ClumpTokens that lie one after the other.
struct ClumpTokens {
  std::vector<double> points, masses;
};

ClumpTokens tokens_of_clump(const ClumpSources& sources, std::span<const std::uint32_t> which) {
  const std::size_t dim = sources.task.dim;
  ClumpTokens t{std::vector<double>(which.size() * dim), std::vector<double>(which.size())};
  parallel_for(which.size(), 1024, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      std::copy_n(&sources.points[which[k] * dim], dim, &t.points[k * dim]);
      t.masses[k] = sources.masses[which[k]];
    }
  });
  return t;
}

kernels::DistanceSources rows_of(const ClumpSources& sources, const ClumpTokens& tokens) {
  return {.dim = sources.task.dim,
          .points = tokens.points,
          .masses = tokens.masses,
          .beta = sources.task.beta};
}

/// Adds sums of tokens `at` of the caller.
struct Added {
  std::span<double> pull, weight;
  std::size_t dim;
  void add(std::uint32_t token, std::size_t k, const ClumpTokens& sums) const {
    for (std::size_t c = 0; c < dim; ++c) pull[token * dim + c] += sums.points[k * dim + c];
    weight[token] += sums.masses[k];
  }
};

/// Pulls and weights of the tokens in `targets` by those in `others`, none of which is theirs; or
/// among themselves, if they are the same.
void add_direct(const ClumpSources& sources, std::span<const std::uint32_t> targets,
                std::span<const std::uint32_t> others, const Added& out) {
  const std::size_t dim = sources.task.dim;
  ClumpTokens sums{std::vector<double>(targets.size() * dim), std::vector<double>(targets.size())};
  const ClumpTokens from = tokens_of_clump(sources, others);
  const kernels::DistanceSources rows = rows_of(sources, from);
  const kernels::RowSums place{.pull = sums.points, .weight = sums.masses};
  if (targets.data() != others.data()) {
    const ClumpTokens at = tokens_of_clump(sources, targets);
    kernels::distance_rows_between({.points = at.points}, rows, place);
  } else if (kernels::symmetric_rows_apply(rows)) {
    kernels::symmetric_rows(rows, place);
  } else {
    kernels::distance_rows(rows, {}, place);
  }
  for (std::size_t k = 0; k < targets.size(); ++k) out.add(targets[k], k, sums);
}

/// Rows of tokens alone by all, and those of the others by them.
void add_alone(const ClumpSources& sources, const ClumpPartition& partition, const Added& out) {
  const std::span<const std::uint32_t> order = partition.order;
  const auto members = order.first(partition.begin.back()), alone = order.last(partition.alone());
  if (alone.empty()) return;
  add_direct(sources, members, alone, out);
  const std::size_t dim = sources.task.dim;
  ClumpTokens sums{std::vector<double>(alone.size() * dim), std::vector<double>(alone.size())};
  kernels::distance_rows(
      {.dim = dim, .points = sources.points, .masses = sources.masses, .beta = sources.task.beta},
      alone, {.pull = sums.points, .weight = sums.masses});
  for (std::size_t k = 0; k < alone.size(); ++k) out.add(alone[k], k, sums);
}

}  // namespace

ClumpOutcome clump_sums(const ClumpSources& sources, const ClumpPartition& partition,
                        std::span<double> pull, std::span<double> weight) {
  const std::size_t dim = sources.task.dim, n = sources.masses.size(), k = partition.count();
  if (k == 0 || partition.order.size() != n) return {};
  GatheredClumps clumps = gather_clumps(sources, partition);
  const double widest = *std::max_element(clumps.tables.radius.begin(), clumps.tables.radius.end());
  if (!(2 * sources.task.beta * widest <= kMostSwing)) return {};
  sum_moments(clumps);
  ClumpPlan plan = plan_clumps(sources, partition, clumps.tables);
  const double alone = static_cast<double>(partition.alone());
  plan.outcome.cost =
      clump_cost(n, dim, k, plan.direct_pairs + 2 * alone * static_cast<double>(n)) /
      dense_cost(n, dim);
  if (plan.outcome.cost > sources.most_of_dense) return {};
  const std::size_t wide = clumps.tables.wide, members = partition.begin.back();
  std::vector<double> rows(members * wide), weights(members);
  sum_rows(clumps, plan, rows, weights);
  std::fill(pull.begin(), pull.end(), 0.0);
  std::fill(weight.begin(), weight.end(), 0.0);
  for (std::size_t at = 0; at < members; ++at) {
    std::copy_n(&rows[at * wide], dim, &pull[partition.order[at] * dim]);
    weight[partition.order[at]] = weights[at];
  }
  const Added out{pull, weight, dim};
  const auto clump = [&](std::size_t a) {
    return std::span(partition.order)
        .subspan(partition.begin[a], partition.begin[a + 1] - partition.begin[a]);
  };
  for (std::size_t a = 0; a < k; ++a)
    for (std::size_t b = 0; b < k; ++b)
      if (plan.at(a, b, k) == ClumpOrder::direct) add_direct(sources, clump(a), clump(b), out);
  add_alone(sources, partition, out);
  ClumpOutcome outcome = plan.outcome;
  outcome.taken = true;
  return outcome;
}

}  // namespace attractor::depth
