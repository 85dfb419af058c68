// `flow --log10-time`: times that no double holds, against the exact law of a pair of tokens.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "attractor/commands/registry.hpp"
#include "attractor/lab/flow/flow_experiment.hpp"
#include "attractor/reductions/cluster_pair.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

double log10_of(const flow::Time& time) { return time.log() / std::numbers::ln10; }

FlowSetup pair_at(Rule dynamics, double beta, double angle) {
  FlowSetup p;
  p.dynamics = dynamics;
  p.beta = beta;
  p.init = Arrangement::angles;
  p.angles = {0, angle};
  p.tolerance = 1e-11;
  return p;
}

double final_angle(const FlowRecord& record) {
  const std::span<const double> x = record.snapshots.back().positions;
  double apart = 0, together = 0;
  for (std::size_t c = 0; c < record.dim; ++c) {
    apart += (x[record.dim + c] - x[c]) * (x[record.dim + c] - x[c]);
    together += (x[record.dim + c] + x[c]) * (x[record.dim + c] + x[c]);
  }
  return 2 * std::atan2(std::sqrt(apart), std::sqrt(together));
}

TEST(LogTime, FollowsAPairBeyondTheRangeOfDoubles) {
  struct Case {
    Rule dynamics;
    double beta, angle;
  };
  for (const Case& c : {Case{Rule::unnormalised, 2000, 1.0},
                        {Rule::unnormalised, 2000, 2.4},
                        {Rule::unnormalised, 900, 0.3},
                        {Rule::softmax, 2000, 1.2},
                        {Rule::unnormalised, 1e5, 1.5},
                        {Rule::softmax, 3, 1.0}})
    for (const double share : {0.3, 0.95}) {
      SCOPED_TRACE(fmt::format("{} {} {}", c.dynamics, c.beta, c.angle));
      const meanfield::ClusterPair pair{.rule = c.dynamics, .beta = c.beta};
      const auto from = meanfield::PairAngle::of(c.angle);
      const double log10 =
          (meanfield::log_merge_time(pair, from) + std::log(share)) / std::numbers::ln10;
      FlowSetup p = pair_at(c.dynamics, c.beta, c.angle);
      p.log10_time = log10;
      check(p);
      const FlowRecord record = run_flow(p, {});
      EXPECT_EQ(record.status, flow::Status::complete);
      EXPECT_NEAR(log10_of(record.time), log10, 1e-12 * std::abs(log10) + 1e-15);
      EXPECT_NEAR(record.series.back().log10_time, log10, 1e-12 * std::abs(log10) + 1e-15);
      const double exact =
          meanfield::angle_after(pair, from, flow::Time(1, log10 * std::numbers::ln10)).angle();
      const double moved = c.angle - exact;
      EXPECT_GT(moved, 0);
      EXPECT_NEAR(final_angle(record), exact, 1e-6 * moved + 1e-9) << share;
    }
}

TEST(LogTime, IsTheTimeWhereADoubleHoldsIt) {
  FlowSetup p, q;
  p.tokens = q.tokens = 12;
  p.log10_time = 0.5;
  q.time = std::pow(10, 0.5);
  EXPECT_EQ(run_flow(p, {}).snapshots.back().positions, run_flow(q, {}).snapshots.back().positions);
  EXPECT_EQ(end_of(p).value(), end_of(q).value());
  p.log10_time = -400.25;
  EXPECT_NEAR(end_of(p).log(), -400.25 * std::numbers::ln10, 1e-12);
}

TEST(LogTime, HandsOutEveryMoment) {
  for (const Spacing spacing : {Spacing::linear, Spacing::log}) {
    FlowSetup p = pair_at(Rule::unnormalised, 2000, 1.0);
    p.log10_time = -469.5;
    p.output_spacing = spacing;
    p.outputs = 20;
    const FlowRecord record = run_flow(p, {});
    EXPECT_EQ(record.series.size(), 21U);
    double before = -1e300;
    for (std::size_t k = 1; k < record.series.size(); ++k) {
      EXPECT_GT(record.series[k].log10_time, before);
      before = record.series[k].log10_time;
    }
    EXPECT_NEAR(before, -469.5, 1e-11);
  }
}

TEST(LogTime, IsRefusedWhereItSaysNothing) {
  const auto says = [](const std::string& log10, std::optional<flow::Method> stepper, double time) {
    FlowSetup p;
    p.stepper = stepper;
    p.time = time;
    return refusal([&] {
      find(list(p), "log10-time").set(log10);
      check(p);
    });
  };
  EXPECT_EQ(says("2", {}, 10), "");
  EXPECT_SAYS(says("2", {}, 3), "time = 3 and log10-time = 2 say the same");
  EXPECT_SAYS(says("inf", {}, 10), "log10-time = 'inf' is not allowed");
  EXPECT_SAYS(says("x", {}, 10), "log10-time = 'x' is not allowed");
  EXPECT_SAYS(says("1e13", {}, 10), "a number from -1e12 to 1e12");
  EXPECT_SAYS(says("400", flow::Method::euler, 10), "out of reach of steps of 0.1");
  EXPECT_SAYS(says("-400", flow::Method::layers, 10), "out of reach");
  EXPECT_SAYS(says("-2", flow::Method::euler, 10), "step = 0.1 is longer than time = 0.01");
  FlowSetup p;
  p.log10_time = 1e13;
  EXPECT_SAYS(refusal([&] { check(p); }), "log10-time = '10000000000000' is not allowed");
}

TEST(LogTime, IsRefusedBesideATimeThatIsGivenEvenIfItIsTheUsualOne) {
  const auto says = [](const std::vector<std::string>& given) {
    const std::unique_ptr<Request> request =
        request_of(command_named("flow"), {{"time", "10"}, {"log10-time", "1"}});
    return refusal([&] { prepare(*request, given); });
  };
  EXPECT_EQ(says({"log10-time"}), "");
  EXPECT_SAYS(says({"time", "log10-time"}), "time = 10 and log10-time = 1 say the same");
}

}  // namespace
}  // namespace attractor::lab
