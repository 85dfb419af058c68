// Coalescence: what it commits is bounded by what it reports, and it never joins what flows apart.
#include "attractor/depth/coalescence/coalesce.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/tokens/generators.hpp"

namespace attractor::depth {
namespace {

using flow::Progress;
using flow::Status;
using flow::Time;

/// One random flow, with and without coalescence.
struct Draw {
  std::size_t tokens, dim;
  Attention attention;
  double radius;
  Time end;

  explicit Draw(std::uint64_t k) {
    const Stream stream(77, "draw");
    const auto u = [&](std::uint64_t index) { return stream.uniform(k, index); };
    tokens = 2 + static_cast<std::size_t>(u(0) * 23);
    dim = std::array<std::size_t, 4>{2, 3, 4, 8}[static_cast<std::size_t>(u(1) * 4)];
    const double beta = 0.3 * std::pow(100, u(2)), time = std::pow(60, u(4));
    const Rule rule = u(3) < 0.5 ? Rule::softmax : Rule::unnormalised;
    attention = {.rule = rule, .beta = beta, .dim = dim};
    // Large radii, so that the committed error stands far above the error of the stepper.
    radius = std::min(1e-4 * std::pow(100, u(5)), 0.05 / std::sqrt(1 + beta));
    end = rule == Rule::softmax ? Time(time) : Time(time * static_cast<double>(tokens), -beta);
  }
};

struct Outcome {
  std::size_t replaced;
  double error, reported;  // of the farthest token
};

Outcome run_both(const Draw& draw, std::uint64_t seed) {
  const auto tokens = make_tokens({.tokens = draw.tokens, .dim = draw.dim, .seed = seed}).data;
  AttentionFlow exact(draw.attention, draw.tokens, 0),
      merged(draw.attention, draw.tokens, draw.radius);
  Progress a{.state = tokens}, b{.state = tokens};
  flow::run(exact, flow::dormand_prince(), {.end = draw.end, .tolerance = 1e-13}, a, {});
  flow::run(merged, flow::dormand_prince(), {.end = draw.end, .tolerance = 1e-12}, b, {});
  const auto all = merged.groups().expand(b.state);
  double worst = 0;
  for (std::size_t i = 0; i < all.size(); i += draw.dim)
    worst = std::max(worst, squared_distance(std::span(all).subspan(i, draw.dim),
                                             std::span(a.state).subspan(i, draw.dim)));
  return {merged.groups().coalescences().size(), std::sqrt(worst), merged.groups().merge_error()};
}

// Random tokens, dimensions, beta, rules, times and radii: every token is where it would be without
// coalescence, to within what is reported, and what is reported is not far more than that.
TEST(Coalescence, ReportsWhatItDisplaces) {
  constexpr double kStepper = 5e-11;  // of both runs at these tolerances, amplified
  int seen = 0, above = 0;
  std::vector<double> ratios;
  for (std::uint64_t k = 0; k < 300; ++k) {
    const Outcome o = run_both(Draw(k), k);
    if (o.replaced == 0) continue;
    ++seen;
    above += o.error > o.reported + kStepper;
    EXPECT_LE(o.error, 10 * o.reported + kStepper) << "draw " << k;
    if (o.error > 10 * kStepper) ratios.push_back(o.reported / o.error);
  }
  ASSERT_GE(seen, 200);
  EXPECT_LE(above, seen / 100);
  ASSERT_GE(ratios.size(), 100U);
  std::nth_element(ratios.begin(), ratios.begin() + static_cast<std::ptrdiff_t>(ratios.size() / 2),
                   ratios.end());
  EXPECT_LE(ratios[ratios.size() / 2], 100);
}

// Two tokens at angle D: D' = -2 sin D / (1 + e^{beta (1 - cos D)}), to any size of D.
double pair_angle(double start, double beta, double time) {
  const auto rate = [&](double log) {  // of ln D
    const double d = std::exp(log);
    return -2 * std::sin(d) / d / (1 + std::exp(2 * beta * std::pow(std::sin(0.5 * d), 2)));
  };
  double log = std::log(start);
  const int steps = 20'000;
  const double h = time / steps;
  for (int k = 0; k < steps; ++k) {
    const double a = rate(log), b = rate(log + 0.5 * h * a), c = rate(log + 0.5 * h * b),
                 d = rate(log + h * c);
    log += h / 6 * (a + 2 * b + 2 * c + d);
  }
  return std::exp(log);
}

TEST(Coalescence, MembersKeepTheirDistance) {
  struct Case {
    double angle, beta, time;
  };
  for (const Case& c :
       {Case{1, 1, 12.5}, Case{1, 1, 40}, Case{0.5, 3, 200}, Case{2, 0.2, 25}, Case{0.3, 20, 30}}) {
    AttentionFlow flow({.rule = Rule::softmax, .beta = c.beta, .dim = 2}, 2, 1e-4);
    Progress progress{.state = {1, 0, std::cos(c.angle), std::sin(c.angle)}};
    ASSERT_EQ(flow::run(flow, flow::dormand_prince(), {.end = Time(c.time), .tolerance = 1e-13},
                        progress, {}),
              Status::complete);
    ASSERT_EQ(flow.groups().count(), 1U);
    const auto xi = flow.groups().offsets();
    const double angle = std::hypot(xi[0] - xi[2], xi[1] - xi[3]);
    // What the stepper leaves, 1e-13, is relative to the radius here.
    EXPECT_NEAR(angle / pair_angle(c.angle, c.beta, c.time), 1, flow.groups().offset_error() + 1e-8)
        << "beta " << c.beta << " t " << c.time;
  }
}

// Distances within groups, relative to the extent of the group, against a flow that replaces
// nothing.
TEST(Coalescence, DistancesWithinGroupsHaveTheStatedRelativeError) {
  int pairs = 0;
  for (const std::size_t dim : {2UL, 3UL, 6UL})
    for (const double beta : {0.5, 4.0, 12.0}) {
      const std::size_t n = 20;
      const auto tokens = make_tokens({.tokens = n, .dim = dim, .seed = 3}).data;
      AttentionFlow exact({.rule = Rule::softmax, .beta = beta, .dim = dim}, n, 0),
          merged({.rule = Rule::softmax, .beta = beta, .dim = dim}, n, 1e-4);
      Progress a{.state = tokens}, b{.state = tokens};
      const Time end(beta < 1 ? 14 : 18);
      flow::run(exact, flow::dormand_prince(), {.end = end, .tolerance = 1e-13}, a, {});
      flow::run(merged, flow::dormand_prince(), {.end = end, .tolerance = 1e-12}, b, {});
      const auto xi = merged.groups().offsets();
      if (xi.empty()) continue;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < i; ++j) {
          if (merged.groups().owner()[i] != merged.groups().owner()[j]) continue;
          const auto row = [&](std::span<const double> x, std::size_t k) {
            return x.subspan(k * dim, dim);
          };
          const double truth = std::sqrt(squared_distance(row(a.state, i), row(a.state, j)));
          const double extent = merged.groups().extent(merged.groups().owner()[i]);
          if (extent < 1e-8) continue;  // below what the uncoalesced flow knows
          EXPECT_NEAR(std::sqrt(squared_distance(row(xi, i), row(xi, j))) / extent, truth / extent,
                      2 * merged.groups().offset_error() + 1e-6)
              << dim << " " << beta;
          ++pairs;
        }
    }
  EXPECT_GE(pairs, 50);
}

TEST(Coalescence, KeepsEveryTokenAndItsMass) {
  AttentionFlow flow({.rule = Rule::softmax, .beta = 5, .dim = 3}, 40, 1e-6);
  Progress progress{.state = make_tokens({.tokens = 40, .dim = 3, .seed = 2}).data};
  EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {}, progress, {}), Status::collapsed);
  EXPECT_EQ(flow.groups().masses().size(), 1U);
  EXPECT_EQ(flow.groups().masses()[0], 40);
  EXPECT_EQ(flow.groups().coalescences().size(), 39U);
  for (std::uint32_t owner : flow.groups().owner()) EXPECT_EQ(owner, 0U);
}

TEST(Coalescence, RefusesAPairThatStraddlesASeparatrix) {
  // Two tokens 1e-8 apart half-way between two heavy clusters are pulled to different sides.
  const double angle = 0.9, gap = 0.5e-8;
  std::vector<double> angles(20, -angle);
  angles.resize(40, angle);
  angles.push_back(-gap);
  angles.push_back(gap);
  std::vector<double> tokens;
  for (double a : angles) tokens.insert(tokens.end(), {std::cos(a), std::sin(a)});
  AttentionFlow flow({.rule = Rule::softmax, .beta = 9, .dim = 2}, 42, 1e-6);
  Progress progress{.state = tokens};
  ASSERT_TRUE(flow.simplify(Time(0), progress.state));
  EXPECT_EQ(flow.groups().masses().size(), 4U);  // the clusters coalesce, the pair does not
  flow::run(flow, flow::dormand_prince(), {.end = Time(40), .tolerance = 1e-10}, progress, {});
  const auto all = flow.groups().expand(progress.state);
  EXPECT_GT(std::abs(all[41 * 2 + 1] - all[40 * 2 + 1]), 0.1);
}

TEST(Coalescence, LeavesRepellingTokensAlone) {
  std::vector<double> minus = {-1, 0, 0, 0, -1, 0, 0, 0, -1};
  AttentionFlow flow({.rule = Rule::softmax, .beta = 1, .dim = 3, .value = minus}, 8, 1e-3);
  Progress progress{
      .state =
          make_tokens({.arrangement = Arrangement::cap, .tokens = 8, .dim = 3, .cap_angle = 4e-4})
              .data};
  EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.end = Time(5)}, progress, {}),
            Status::complete);
  EXPECT_EQ(flow.groups().masses().size(), 8U);
}

// T_SA of two equal clusters (theory A5), from the closed form with exponential integrals.
TEST(Coalescence, TwoClustersMergeAtTheExactTime) {
  struct Case {
    double beta, time;  // from 90 degrees to cosine 0.999
  };
  for (const Case& c :
       {Case{4, 10.83120700999}, Case{16, 279981.1600994}, Case{49, 1.947901436997e19}}) {
    AttentionFlow flow({.rule = Rule::softmax, .beta = c.beta, .dim = 2}, 2, 1e-8);
    Progress progress{.state = {1, 0, 0, 1}};
    double crossed = 0;
    flow::Hooks hooks;
    hooks.step = [&](const flow::Step& step) {
      std::vector<double> x(2), y(2);
      const auto cosine = [&](double theta) {
        step.stepper.interpolate_point(0, theta, x);
        step.stepper.interpolate_point(1, theta, y);
        return 1 - 0.5 * squared_distance(x, y);
      };
      if (crossed != 0 || cosine(1) < 0.999) return;
      double low = 0, high = 1;
      while (high - low > 1e-14)
        (cosine(0.5 * (low + high)) < 0.999 ? low : high) = 0.5 * (low + high);
      crossed = step.at(high).value();
    };
    EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.tolerance = 1e-12}, progress, hooks),
              Status::collapsed);
    EXPECT_NEAR(crossed / c.time, 1, 1e-9) << c.beta;
  }
}

}  // namespace
}  // namespace attractor::depth
