// Sums over clumps against sums in long double, pair by pair, on clumps that overlap, are
// antipodal, coincide, differ in mass by 10^6 or hold all tokens; and what they promise of their
// errors.
#include "attractor/depth/clumps/clump_sums.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

using ClumpNumbers = std::vector<double>;

/// Clumps around random centres; the second centre is the first one's antipode, the third lies
/// within its clump, the fourth is `near` it; tokens alone and copies at the end.
struct Clumps {
  std::size_t centres = 5, each = 12, alone = 2, copies = 3;
  double radius = 1e-3, near = 0.3;
  bool giant = false;    // the first clump has all but two tokens of each other
  bool unequal = false;  // masses from 1 to 10^6
};

struct ClumpCase {
  ClumpNumbers points, masses;
  std::size_t dim;
};

void to_sphere(std::span<double> x) { Sphere(x.size()).retract(x); }

ClumpCase clump_case(const Clumps& c, std::size_t dim, std::uint64_t seed) {
  const Stream stream(seed, "clump sums test");
  std::vector<ClumpNumbers> centre(c.centres, ClumpNumbers(dim));
  for (std::size_t k = 0; k < c.centres; ++k) {
    stream.normals(k, centre[k]);
    to_sphere(centre[k]);
    for (std::size_t a = 0; a < dim; ++a) {
      if (k == 1) centre[k][a] = -centre[0][a];
      if (k == 2) centre[k][a] = centre[0][a] + 0.7 * c.radius * centre[k][a];
      if (k == 3) centre[k][a] = centre[0][a] + c.near * centre[k][a];
    }
    to_sphere(centre[k]);
  }
  ClumpCase result{.dim = dim};
  ClumpNumbers x(dim);
  const auto add = [&](const ClumpNumbers& at, double radius) {
    const std::size_t i = result.masses.size();
    stream.normals(1000 + i, x);
    to_sphere(x);
    const double length = radius * stream.uniform(i, 7);
    for (std::size_t a = 0; a < dim; ++a) x[a] = at[a] + length * x[a];
    to_sphere(x);
    result.points.insert(result.points.end(), x.begin(), x.end());
    result.masses.push_back(c.unequal ? std::pow(10, 6 * stream.uniform(i, 8)) : 1);
  };
  for (std::size_t k = 0; k < c.centres; ++k)
    for (std::size_t i = 0; i < (c.giant ? (k == 0 ? 8 * c.each : 2) : c.each); ++i)
      add(centre[k], c.radius * (k % 2 == 0 ? 1 : 0.01));
  for (std::size_t i = 0; i < c.alone; ++i) {
    stream.normals(500 + i, x);
    to_sphere(x);
    add(ClumpNumbers(x), 0);
  }
  for (std::size_t i = 0; i < c.copies; ++i) add(centre[0], 0);
  return result;
}

constexpr double kVanishing = 1e-300;  // what e^{-700} drops

/// Errors over what was promised, the largest of all tokens.
struct ClumpWorst {
  double relative = 0, absolute = 0;
};

ClumpWorst clump_worst(const ClumpCase& c, double beta, bool softmax, const ClumpOutcome& outcome,
                       const ClumpNumbers& pull, const ClumpNumbers& weight) {
  using Real = long double;
  ClumpWorst worst;
  const double total = std::accumulate(c.masses.begin(), c.masses.end(), 0.0);
  for (std::size_t i = 0; i < c.masses.size(); ++i) {
    std::vector<Real> sum(c.dim, 0);
    Real z = c.masses[i], terms = 0, error = 0;
    for (std::size_t j = 0; j < c.masses.size(); ++j) {
      if (j == i) continue;
      const auto way = [&](std::size_t a) {
        return static_cast<Real>(c.points[j * c.dim + a]) - c.points[i * c.dim + a];
      };
      Real squared = 0;
      for (std::size_t a = 0; a < c.dim; ++a) squared += way(a) * way(a);
      const Real w = c.masses[j] * std::exp(-beta * squared / 2);
      z += w;
      terms += w * std::sqrt(squared);
      for (std::size_t a = 0; a < c.dim; ++a) sum[a] += w * way(a);
    }
    const Real over = softmax ? z : total;
    const double found = softmax ? c.masses[i] + weight[i] : total;
    for (std::size_t a = 0; a < c.dim; ++a) {
      const Real apart = sum[a] / over - static_cast<Real>(pull[i * c.dim + a]) / found;
      error += apart * apart;
    }
    const auto size = static_cast<double>(std::sqrt(error));
    if (size == 0) continue;
    worst.relative = std::max(
        worst.relative, size / (outcome.relative * static_cast<double>(terms / over) + kVanishing));
    const double rounding = 16 * std::numeric_limits<double>::epsilon() * (4 + beta);
    worst.absolute = std::max(
        worst.absolute,
        size / (outcome.absolute + rounding * static_cast<double>(terms / over) + kVanishing));
    EXPECT_FALSE(std::isnan(size));
  }
  return worst;
}

TEST(ClumpSums, ErrorsAreWithinWhatIsReportedOnAdversarialClumps) {
  const Clumps kinds[] = {{},
                          {.giant = true},
                          {.unequal = true},
                          {.near = 1e-2, .giant = true, .unequal = true},
                          {.centres = 1, .each = 40, .alone = 0, .copies = 0},
                          {.centres = 2, .each = 2, .alone = 0, .copies = 0}};
  std::size_t used[3] = {0, 0, 0};
  for (const std::size_t dim : {2U, 3U, 16U, 65U})
    for (std::size_t number = 0; number < std::size(kinds); ++number)
      for (const double radius : {1e-9, 1e-6, 1e-4, 1e-3, 1e-2, 0.1})
        for (const double beta : {0.0, 1.0, 16.0, 1000.0}) {
          Clumps kind = kinds[number];
          kind.radius = radius;
          const ClumpCase c = clump_case(kind, dim, dim + static_cast<std::size_t>(beta));
          const ClumpPartition partition = gather(c.points, dim, 2.5 * radius);
          for (const double accuracy : {1e-4, 1e-8, 1e-11})
            for (const bool softmax : {true, false}) {
              SCOPED_TRACE(testing::Message() << "dim " << dim << " kind " << number << " radius "
                                              << radius << " beta " << beta << " accuracy "
                                              << accuracy << " softmax " << softmax);
              ClumpNumbers pull(c.points.size()), weight(c.masses.size());
              const ClumpOutcome outcome = clump_sums({.task = {dim, beta, accuracy},
                                                       .points = c.points,
                                                       .masses = c.masses,
                                                       .softmax = softmax,
                                                       .most_of_dense = kInfinity},
                                                      partition, pull, weight);
              if (!outcome.taken) continue;
              for (int k = 0; k < 3; ++k) used[k] += outcome.pairs[k];
              EXPECT_LE(outcome.relative, accuracy + 1e-14 * (4 + beta));
              const ClumpWorst worst = clump_worst(c, beta, softmax, outcome, pull, weight);
              EXPECT_LE(worst.relative, 1);
              EXPECT_LE(worst.absolute, 1);
            }
        }
  for (const std::size_t count : used) EXPECT_GT(count, 1000U);  // of each order
}

TEST(ClumpSums, AreTheSameForAnyNumberOfThreads) {
  const ClumpCase c = clump_case({.each = 900, .radius = 1e-4}, 9, 4);
  std::vector<ClumpNumbers> pulls;
  for (const std::size_t count : {1U, 2U, 5U}) {
    set_threads(count);
    const ClumpPartition partition = find_clumps({9, 16, 1e-8}, c.points);
    EXPECT_GT(partition.count(), 2U);
    ClumpNumbers pull(c.points.size()), weight(c.masses.size());
    EXPECT_TRUE(clump_sums({.task = {9, 16, 1e-8}, .points = c.points, .masses = c.masses},
                           partition, pull, weight)
                    .taken);
    pull.insert(pull.end(), weight.begin(), weight.end());
    pulls.push_back(pull);
  }
  set_threads(0);
  EXPECT_EQ(pulls[0], pulls[1]);
  EXPECT_EQ(pulls[0], pulls[2]);
}

TEST(ClumpSums, ScatteredTokensHaveNone) {
  const ClumpCase c = clump_case({.centres = 0, .alone = 3000, .copies = 0}, 16, 5);
  EXPECT_EQ(find_clumps({16, 16, 1e-8}, c.points).count(), 0U);
  EXPECT_EQ(find_clumps({2, 16, 1e-8}, ClumpNumbers{1, 0}).count(), 0U);
  ClumpNumbers pull(2), weight(1);
  EXPECT_FALSE(
      clump_sums({.task = {2, 16, 1e-8}, .points = ClumpNumbers{1, 0}, .masses = ClumpNumbers{1}},
                 {}, pull, weight)
          .taken);
}

TEST(ClumpPartition, HoldsEveryTokenOnceWithinReachOfALeader) {
  const ClumpCase c = clump_case({.centres = 6, .each = 70, .alone = 9, .radius = 1e-2}, 5, 6);
  const ClumpPartition p = gather(c.points, 5, 0.03);
  EXPECT_GE(p.count(), 3U);
  EXPECT_GE(p.alone(), 1U);
  std::vector<std::uint32_t> sorted = p.order;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i);
  for (std::size_t k = 0; k < p.count(); ++k) {
    EXPECT_GE(p.begin[k + 1], p.begin[k] + 2);
    for (std::size_t at = p.begin[k]; at < p.begin[k + 1]; ++at)
      EXPECT_LE(
          std::sqrt(squared_distance(std::span(c.points).subspan(p.order[at] * 5, 5),
                                     std::span(c.points).subspan(p.order[p.begin[k]] * 5, 5))),
          0.03);
  }
}

// A step that is far too long leaves the clumps: it is given up without a row of all pairs.
TEST(ClumpSums, AStepTooLongIsNotSummedByRows) {
  ClumpCase c = clump_case({.centres = 12, .each = 300, .alone = 0, .radius = 1e-3}, 16, 8);
  const std::size_t n = c.masses.size();
  AttentionFlow flow({.beta = 16, .dim = 16}, n, 0);
  flow.set_clumps(1e-8);
  flow::Progress progress{.state = c.points, .step = 60};
  flow.enter(progress.time, progress.state);
  ASSERT_GT(flow.clumps(), 2U);
  ClumpNumbers far = c.points, drift(far.size());
  const Stream stream(9, "clump sums test");
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = std::span(far).subspan(i * 16, 16);
    stream.normals(i, x);
    to_sphere(x);
  }
  flow.drift(c.points, 0, drift);
  EXPECT_TRUE(std::isfinite(drift[0]));
  flow.try_out(true);
  flow.drift(far, 0, drift);
  EXPECT_TRUE(std::isnan(drift[0]));
  flow.try_out(false);
  flow.drift(far, 0, drift);
  EXPECT_TRUE(std::isfinite(drift[0])) << "where a step begins all pairs are summed if need be";
  AttentionFlow scattered({.beta = 16, .dim = 16}, n, 0);
  scattered.set_clumps(1e-8);
  scattered.enter(progress.time, progress.state);
  scattered.drift(far, 0, drift);
  EXPECT_EQ(scattered.clumps(), 0U) << "clumps that are of no use where a step begins";
  scattered.try_out(true);
  scattered.drift(far, 0, drift);
  EXPECT_TRUE(std::isfinite(drift[0])) << "are of none in that step";
  EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.end = flow::Time(1), .tolerance = 1e-8},
                      progress, {}),
            flow::Status::complete);
  EXPECT_GT(progress.rejected, 0U);
  EXPECT_EQ(flow.clump_history().steps_by_rows, 0U);
}

// From loose clumps to few tokens: clumps first, then coalesced tokens, beside dense rows.
TEST(ClumpSums, AFlowOfClumpsIsThatOfDenseRows) {
  const ClumpCase c = clump_case({.each = 70, .alone = 1, .radius = 3e-3}, 16, 7);
  const std::size_t n = c.masses.size();
  std::vector<ClumpNumbers> ends;
  std::size_t clumps = 0, left = 0;
  for (const double accuracy : {0.0, 1e-9}) {
    AttentionFlow flow({.beta = 16, .dim = 16}, n, 2e-6);
    if (accuracy > 0) flow.set_clumps(accuracy);
    flow::Progress progress{.state = c.points};
    flow.enter(progress.time, progress.state);
    clumps = std::max(clumps, flow.clumps());
    flow::Hooks hooks;
    hooks.step = [&](const flow::Step&) { clumps = std::max(clumps, flow.clumps()); };
    EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.end = flow::Time(12), .tolerance = 1e-9},
                        progress, hooks),
              flow::Status::complete);
    ends.push_back(flow.groups().expand(progress.state));
    left = flow.groups().count();
  }
  EXPECT_GT(clumps, 2U);
  EXPECT_LT(left, 10U);
  for (std::size_t k = 0; k < ends[0].size(); ++k) EXPECT_NEAR(ends[0][k], ends[1][k], 2e-8);
}

}  // namespace
}  // namespace attractor::depth
