#include "attractor/depth/clumps/clump_plan.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

constexpr double kClumpRounding = 16 * std::numeric_limits<double>::epsilon();

/// What clump b does to rows of clump a, over t_i of the own clump: bounds for all its tokens.
struct Seen {
  double beta, distance, e;   // |D|, E_ab
  double most, least;         // of E t_i over t_i of the own clump
  double m0, m1, s, stretch;  // M0, |M1|; own: S; |M2|_F as seen from b
  double eps, growth;         // beta r_a r_b, e^eps
  double beta_r, r_a, reach;  // beta r_a; |D| + r_a + r_b
  double turn, drift;         // e^{beta |D| r_b}; e^{beta |D| (r_a + r_b)} - 1
  bool own;

  /// Left out of the partition sum, and of the pull.
  double missing_weight(ClumpOrder order) const {
    if (order == ClumpOrder::direct) return 0;
    const double second = own ? 0.5 * beta_r * beta_r * s * growth : 0.5 * eps * eps * growth * m0;
    return most * (second + (order == ClumpOrder::zero ? beta_r * m1 : 0));
  }
  double missing_pull(ClumpOrder order) const {
    if (order == ClumpOrder::direct) return 0;
    double missing =
        own ? beta_r * beta_r * r_a * growth * s : 0.5 * eps * eps * growth * m0 * reach;
    if (order == ClumpOrder::zero) missing += beta_r * (m1 * (distance + r_a) + stretch * turn);
    missing *= most;
    // M2 of another clump is taken as it is to itself, and for t_i that of the own clump.
    return order == ClumpOrder::one && !own ? missing + e * beta_r * stretch * drift : missing;
  }
  /// Moments hold the token itself too, so their rounding is that of all terms with it.
  double missing(ClumpOrder order, double slope) const {
    if (order == ClumpOrder::direct) return 0;
    const double rounding = kClumpRounding * (4 + beta * reach * reach) * most * m0 * reach;
    return missing_pull(order) + slope * missing_weight(order) + rounding;
  }
};

Seen seen_clump(const ClumpTables& t, double beta, std::size_t a, std::size_t b, std::size_t dim) {
  Seen x{};
  x.own = a == b;
  const double r_b = t.radius[b];
  x.r_a = t.radius[a];
  const double squared = squared_distance({t.centre(a), dim}, {t.centre(b), dim});
  x.beta = beta;
  x.distance = std::sqrt(squared);
  x.e = std::exp(-0.5 * beta * squared);
  const double swing = std::exp(beta * x.distance * x.r_a);
  x.most = x.e * swing;
  x.least = x.e / swing;
  x.m0 = t.m0(b, a);
  x.m1 = norm({t.m1(b, a), dim});
  x.s = t.spread[a];
  x.stretch = t.stretch[b];
  x.beta_r = beta * x.r_a;
  x.eps = x.beta_r * r_b;
  x.growth = std::exp(x.eps);
  x.reach = x.distance + x.r_a + r_b;
  x.turn = std::exp(beta * x.distance * r_b);
  x.drift = x.turn * swing - 1;
  return x;
}

/// Terms of a row of clump a: bounds from below and above, its partition sum from below, all over
/// t_i of the own clump.
struct RowTerms {
  double least = 0, most = 0, partition = 0;
};

RowTerms terms_of(std::span<const Seen> clumps) {
  RowTerms row;
  for (const Seen& x : clumps) {
    if (x.own) {
      const double variance = std::max(0.0, x.s - (x.m0 > 0 ? x.m1 * x.m1 / x.m0 : 0));
      if (x.r_a > 0) row.least += variance / (2 * x.r_a) / x.growth;
    } else {
      row.least += x.least * x.m0 / x.growth * std::max(0.0, 2 * x.distance - x.reach);
    }
    row.most += x.most * x.m0 * x.reach * x.growth;
    row.partition += x.least * x.m0 / x.growth;
  }
  return row;
}

/// Bounds of what tokens alone add to rows of each clump, over t_i: no error, but part of the
/// motion that an error of Z_i scales.
std::vector<double> pulls_of_alone(const ClumpSources& sources, const ClumpPartition& partition,
                                   const ClumpTables& tables) {
  const std::size_t dim = sources.task.dim;
  const double beta = sources.task.beta;
  const auto alone = std::span(partition.order).last(partition.alone());
  std::vector<double> most(tables.clumps, 0.0);
  parallel_for(tables.clumps, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t a = begin; a < end; ++a)
      for (const std::uint32_t j : alone) {
        const double r = tables.radius[a];
        const double away = std::sqrt(
            squared_distance(sources.points.subspan(j * dim, dim), {tables.centre(a), dim}));
        const double nearest = std::max(0.0, away - r);
        most[a] +=
            sources.masses[j] * std::exp(0.5 * beta * (r * r - nearest * nearest)) * (away + r);
      }
  });
  return most;
}

/// The least order of each clump: in all what is left out of a row is at most `budget`, a quarter
/// of it at order zero and at order one each, and a half of it of the own clump.
std::vector<ClumpOrder> orders_of(std::span<const Seen> clumps, double slope, double budget) {
  std::vector<ClumpOrder> result(clumps.size(), ClumpOrder::direct);
  std::vector<std::pair<double, std::size_t>> rest;
  for (std::size_t b = 0; b < clumps.size(); ++b) rest.emplace_back(0.0, b);
  for (const ClumpOrder order : {ClumpOrder::zero, ClumpOrder::one}) {
    for (auto& [loss, b] : rest) loss = clumps[b].missing(order, slope);
    std::sort(rest.begin(), rest.end());
    double sum = 0;
    std::erase_if(rest, [&](const auto& entry) {
      const auto [loss, b] = entry;
      const bool own = clumps[b].own;
      if (!((own ? loss : sum + loss) <= (own ? 0.5 : 0.25) * budget)) return false;
      if (!own) sum += loss;
      result[b] = order;
      return true;
    });
  }
  return result;
}

}  // namespace

ClumpPlan plan_clumps(const ClumpSources& sources, const ClumpPartition& partition,
                      const ClumpTables& tables) {
  const std::size_t k = tables.clumps, dim = sources.task.dim;
  const double beta = sources.task.beta, accuracy = sources.task.accuracy;
  double total = 0;
  for (const double m : sources.masses) total += m;
  ClumpPlan plan;
  plan.order.assign(k * k, ClumpOrder::zero);
  plan.coupling.assign(k * k, 0.0);
  const std::vector<double> alone = pulls_of_alone(sources, partition, tables);
  std::vector<Seen> row(k);
  for (std::size_t a = 0; a < k; ++a) {
    for (std::size_t b = 0; b < k; ++b) row[b] = seen_clump(tables, beta, a, b, dim);
    const RowTerms terms = terms_of(row);
    const double slope = terms.partition > 0 ? (terms.most + alone[a]) / terms.partition : 0;
    const std::vector<ClumpOrder> orders = orders_of(row, slope, accuracy * terms.least);
    const auto size = [&](std::size_t c) {
      return static_cast<double>(partition.begin[c + 1] - partition.begin[c]);
    };
    double missing = 0, missing_weight = 0;
    for (std::size_t b = 0; b < k; ++b) {
      missing += row[b].missing(orders[b], slope);
      missing_weight += row[b].missing_weight(orders[b]);
      plan.order[a * k + b] = orders[b];
      plan.coupling[a * k + b] = row[b].e;
      ++plan.outcome.pairs[static_cast<std::size_t>(orders[b])];
      // Of the own clump each pair is summed once; rows between clumps take longer than that.
      if (orders[b] == ClumpOrder::direct)
        plan.direct_pairs += size(a) * size(b) * (a == b ? 0.5 : 1.6);
    }
    const double rounding = kClumpRounding * (4 + beta);
    if (terms.least > 0)
      plan.outcome.relative = std::max(plan.outcome.relative, missing / terms.least + rounding);
    if (terms.partition > 0)
      plan.outcome.weight =
          std::max(plan.outcome.weight, missing_weight / terms.partition + rounding);
    const double over = sources.softmax ? terms.partition : total;
    if (over > 0) plan.outcome.absolute = std::max(plan.outcome.absolute, missing / over);
  }
  return plan;
}

}  // namespace attractor::depth
