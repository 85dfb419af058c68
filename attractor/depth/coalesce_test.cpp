// Coalescence: what it commits is bounded by what it reports, and it never joins what flows apart.
#include "attractor/depth/coalesce.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/tokens/generators.hpp"

namespace attractor::depth {
namespace {

using flow::Progress;
using flow::Status;
using flow::Time;

TEST(Coalescence, DisplacesNoTokenByMoreThanItsBound) {
  // Large radii, so that the committed error stands far above the error of the stepper.
  for (Rule rule : {Rule::softmax, Rule::unnormalised})
    for (double beta : {1.0, 9.0})
      for (double radius : {1e-2, 1e-3}) {
        const std::size_t n = 24;
        const double time = rule == Rule::softmax ? 20 : 300 * std::exp(-beta);
        const auto tokens = make_tokens({.tokens = n, .dim = 3, .seed = 5}).data;
        const flow::Plan plan{.end = Time(time), .tolerance = 1e-12};
        AttentionFlow exact({.rule = rule, .beta = beta, .dim = 3}, n, 0),
            merged({.rule = rule, .beta = beta, .dim = 3}, n, radius);
        Progress a{.state = tokens}, b{.state = tokens};
        ASSERT_EQ(flow::run(exact, flow::dormand_prince(), plan, a, {}), Status::complete);
        ASSERT_EQ(flow::run(merged, flow::dormand_prince(), plan, b, {}), Status::complete);
        ASSERT_LT(merged.groups().masses().size(), n)
            << "nothing coalesced: the test shows nothing";
        const auto all = merged.groups().expand(b.state);
        double worst = 0;
        for (std::size_t i = 0; i < n; ++i) {
          // Members still contract in the exact run: compare their centres.
          std::vector<double> centre(3, 0.0);
          for (std::size_t j = 0; j < n; ++j)
            if (merged.groups().owner()[j] == merged.groups().owner()[i])
              for (std::size_t k = 0; k < 3; ++k) centre[k] += a.state[j * 3 + k];
          Sphere(3).retract(centre);
          worst = std::max(worst,
                           std::sqrt(squared_distance(centre, std::span(all).subspan(i * 3, 3))));
        }
        EXPECT_LE(worst, merged.groups().merge_error() + 1e-10)
            << name(rule) << " beta=" << beta << " radius=" << radius;
        EXPECT_LT(merged.groups().merge_error(), 24 * 4 * (1 + beta) * radius * radius);
      }
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
      .state = make_tokens({.arrangement = "cap", .tokens = 8, .dim = 3, .cap_angle = 4e-4}).data};
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
