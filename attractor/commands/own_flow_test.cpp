// Flows of a caller's own against closed solutions, and what they are refused.
#include "attractor/commands/own_flow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/report/collected_arrays.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

/// x'' = -x as points (x, v) of the plane.
OwnFlow oscillator() {
  return {.drift =
              [](double, std::span<const double> p, std::span<double> out) {
                for (std::size_t k = 0; k < p.size(); k += 2) {
                  out[k] = p[k + 1];
                  out[k + 1] = -p[k];
                }
              },
          .points = {1, 0, 0, 2},
          .dim = 2,
          .observables = {{"energy", "of the first point", [](const observe::TokenView& v) {
                             return 0.5 * (v.tokens[0] * v.tokens[0] + v.tokens[1] * v.tokens[1]);
                           }}}};
}

std::vector<double> array(const Result& result, const std::string& path) {
  CollectedArrays all;
  result.arrays(all);
  for (const auto& [name, data] : all.arrays)
    if (name == path) return std::get<std::vector<double>>(data.values);
  return {};
}

double end_error(const OwnFlowSetup& setup) {
  const Result result = run_own_flow(oscillator(), setup, {});
  const std::vector<double> x = array(result, "/positions");
  const double t = setup.time;
  return std::hypot(x[x.size() - 4] - std::cos(t), x[x.size() - 3] + std::sin(t));
}

TEST(OwnFlow, HasTheOrderOfItsStepper) {
  OwnFlowSetup setup{.space = OwnSpace::euclidean, .time = 2};
  for (const auto& [method, order] :
       {std::pair(flow::Method::euler, 1.0), std::pair(flow::Method::rk4, 4.0)}) {
    setup.stepper = method;
    setup.step = 0.05;
    const double coarse = end_error(setup);
    setup.step = 0.025;
    EXPECT_NEAR(std::log2(coarse / end_error(setup)), order, 0.1) << name(method);
  }
  setup.stepper.reset();
  setup.tolerance = 1e-10;
  EXPECT_LT(end_error(setup), 2 * 1e-10);  // per unit of time, two of them
}

TEST(OwnFlow, KeepsObservablesAndPositionsAtTheTimesAskedFor) {
  OwnFlowSetup setup{
      .space = OwnSpace::euclidean, .time = 3, .tolerance = 1e-11, .at = {0, 1, 2.5}};
  const Result result = run_own_flow(oscillator(), setup, {});
  EXPECT_EQ(result.values.at("status").get<std::string>(), "complete");
  EXPECT_EQ(array(result, "/series/time"), (std::vector<double>{0, 1, 2.5}));
  for (const double e : array(result, "/series/energy")) EXPECT_NEAR(e, 0.5, 1e-9);
  const std::vector<double> x = array(result, "/positions");
  ASSERT_EQ(x.size(), 3U * 4);
  EXPECT_NEAR(x[4], std::cos(1.0), 1e-9);
  EXPECT_NEAR(x[8 + 2], 2 * std::sin(2.5), 1e-9);  // the second point is (2 sin t, 2 cos t)
}

TEST(OwnFlow, MayDependOnTime) {
  OwnFlow flow{.drift = [](double t, std::span<const double>,
                           std::span<double> out) { out[0] = std::cos(t); },
               .autonomous = false,
               .points = {0},
               .dim = 1};
  const Result result =
      run_own_flow(flow, {.space = OwnSpace::euclidean, .time = 20, .tolerance = 1e-10}, {});
  EXPECT_NEAR(array(result, "/positions").back(), std::sin(20.0), 20 * 1e-10);
}

// Oja's flow: the drift A x is projected, and without an end it stops at an eigenvector.
TEST(OwnFlow, OnTheSphereItIsProjectedAndComesToRest) {
  OwnFlow flow{.drift =
                   [](double, std::span<const double> x, std::span<double> out) {
                     for (std::size_t k = 0; k < 3; ++k)
                       out[k] = (1 - static_cast<double>(k)) * x[k];
                   },
               .points = {1, 2, 2},  // is put on the sphere
               .dim = 3};
  const Result once = run_own_flow(flow, {.time = 1, .tolerance = 1e-11}, {});
  const std::vector<double> x = array(once, "/positions");
  const double size = std::sqrt(std::exp(2.0) + 4 + 4 * std::exp(-2.0));
  EXPECT_NEAR(x[x.size() - 3], std::exp(1.0) / size, 1e-10);
  const Result rest = run_own_flow(flow, {.time = kInfinity}, {});
  EXPECT_EQ(rest.values.at("status").get<std::string>(), "at_equilibrium");
  EXPECT_EQ(rest.not_delivered, "");
  const std::vector<double> end = array(rest, "/positions");
  EXPECT_NEAR(end[end.size() - 3], 1, 1e-6);  // the tolerance of 1e-8, a hundred times
}

TEST(OwnFlow, SaysWhatItCouldNotDeliver) {
  OwnFlow blow_up{.drift = [](double, std::span<const double> x,
                              std::span<double> out) { out[0] = x[0] * x[0]; },
                  .points = {1},
                  .dim = 1};
  const Result result = run_own_flow(blow_up, {.space = OwnSpace::euclidean, .time = 2}, {});
  EXPECT_NE(result.not_delivered, "");
  EXPECT_FALSE(array(result, "/positions").empty());
}

TEST(OwnFlow, StopsWhenToldToWithWhatThereIs) {
  int asked = 0;
  const Result result = run_own_flow(oscillator(), {.space = OwnSpace::euclidean, .time = 1000},
                                     {.stop = [&] { return ++asked > 100; }});
  EXPECT_SAYS(result.interrupted, "at t = ");
  EXPECT_GT(array(result, "/series/time").size(), 0U);
}

TEST(OwnFlow, RefusesWhatCannotBeRun) {
  const auto refused = [](OwnFlow flow, const OwnFlowSetup& setup) {
    return refusal([&] { run_own_flow(std::move(flow), setup, {}); });
  };
  const OwnFlow good = oscillator();
  EXPECT_SAYS(refused(good, {.noise = 1, .stepper = flow::Method::rk4}),
              "noise needs stepper euler-maruyama, not rk4");
  EXPECT_SAYS(refused(good, {.time = kInfinity, .stepper = flow::Method::rk4}), "time = inf needs");
  EXPECT_SAYS(refused(good, {.at = {2, 1}}), "ascending");
  EXPECT_SAYS(refused(good, {.time = 1, .at = {2}}), "after time = 1");
  EXPECT_SAYS(refused(good, {.tolerance = -1}), "tolerance = '-1' is not allowed");
  OwnFlow empty = good;
  empty.points.clear();
  EXPECT_SAYS(refused(empty, {}), "points is empty");
  OwnFlow zero = good;
  zero.points[0] = 0;
  EXPECT_SAYS(refused(zero, {}), "point 0 is zero");
  OwnFlow infinite = good;
  infinite.points[0] = kInfinity;
  EXPECT_SAYS(refused(infinite, {.space = OwnSpace::euclidean}), "not finite");
  OwnFlow twice = good;
  twice.observables.push_back(twice.observables[0]);
  EXPECT_SAYS(refused(twice, {.space = OwnSpace::euclidean}), "'energy' exists already");
}

}  // namespace
}  // namespace attractor::lab
