// Flows stepped by hand: where they get to, that they go on to the same bits, what is refused.
#include "attractor/lab/flow/simulation.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/lab/flow/flow_experiment.hpp"
#include "attractor/reductions/equiangular.hpp"
#include "attractor/space/space.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

/// One of each kind of flow.
std::vector<FlowSetup> kinds() {
  return {
      {.beta = 9, .tokens = 24, .seed = 3},
      {.dynamics = Rule::unnormalised, .beta = 3, .tokens = 24, .dim = 2},
      {.beta = 2, .mask = MaskKind::causal, .norm = Normalisation::pre, .tokens = 12},
      {.query = WeightKind::gaussian, .redraw = 0.5, .tokens = 12, .stepper = flow::Method::rk4},
      {.noise = 0.1, .tokens = 12, .step = 0.05},
      {.beta = 4, .tokens = 50, .dim = 2, .engine = depth::Engine::circle},
      {.beta = 4, .tokens = 50, .dim = 3, .engine = depth::Engine::sphere},
      {.tokens = 12, .stepper = flow::Method::layers, .step = 0.25}};
}

TEST(Simulation, GoesOnFromItsBytesToTheSameBits) {
  for (const FlowSetup& setup : kinds()) {
    SCOPED_TRACE(command(setup));
    Simulation straight(setup);
    EXPECT_EQ(straight.step(7), flow::Status::complete);
    EXPECT_EQ(straight.steps(), 7U);
    const std::string bytes = straight.bytes();
    Simulation other(setup);
    other.restore(bytes);
    EXPECT_EQ(other.tokens(), straight.tokens());
    EXPECT_EQ(other.bytes(), bytes);
    for (Simulation* s : {&straight, &other}) EXPECT_EQ(s->run_until(3), flow::Status::complete);
    EXPECT_EQ(other.tokens(), straight.tokens());
    EXPECT_EQ(other.time().value(), 3);
    EXPECT_EQ(other.bytes(), straight.bytes());
  }
}

// Steps one by one are the steps of a run.
TEST(Simulation, StepsOfFixedLengthAreThoseOfFlow) {
  const FlowSetup setup{
      .beta = 3, .tokens = 16, .time = 2, .stepper = flow::Method::rk4, .step = 0.1};
  const FlowRecord record = run_flow(setup, {});
  Simulation simulation(setup);
  for (int k = 0; k < 20; ++k) simulation.step(1);
  EXPECT_EQ(simulation.tokens(), record.snapshots.back().positions);
  EXPECT_NEAR(simulation.time().value(), 2, 1e-12);
}

TEST(Simulation, AgreesWithTheExactReduction) {
  FlowSetup setup{.beta = 2, .init = Arrangement::equiangular, .tokens = 6, .dim = 8};
  setup.tolerance = 1e-11;
  Simulation simulation(setup);
  simulation.run_until(1.5);
  const std::vector<double> x = simulation.tokens();
  const double truth =
      meanfield::EquiangularFlow({.tokens = 6, .beta = 2}).at(std::log(1.5)).cosine;
  EXPECT_NEAR(dot(std::span(x).first(8), std::span(x).subspan(8, 8)), truth, 1e-9);
}

TEST(Simulation, TellsWhichTokensMoveAsOne) {
  Simulation simulation({.beta = 20, .tokens = 16, .seed = 1});
  EXPECT_EQ(simulation.distinct(), 16U);
  EXPECT_EQ(simulation.run_until(kInfinity), flow::Status::collapsed);
  EXPECT_EQ(simulation.distinct(), 1U);
  for (const std::uint32_t group : simulation.owner()) EXPECT_EQ(group, 0U);
  EXPECT_EQ(simulation.tokens().size(), 16U * 3);
  EXPECT_EQ(simulation.step(1), flow::Status::collapsed);
}

TEST(Simulation, KeepsTheMergeTreeOfTheSameFlow) {
  const FlowSetup setup{.beta = 20, .tokens = 16, .seed = 1, .time = kInfinity};
  const FlowRecord record = run_flow(setup, {});
  Simulation simulation(setup);
  EXPECT_TRUE(simulation.merges().empty());
  simulation.watch_merges();
  simulation.run_until(kInfinity);
  const std::vector<observe::Linkage> merges = simulation.merges();
  ASSERT_EQ(merges.size(), record.merges.size());
  for (std::size_t k = 0; k < merges.size(); ++k) {
    EXPECT_EQ(merges[k].left, record.merges[k].left);
    EXPECT_EQ(merges[k].right, record.merges[k].right);
    EXPECT_TRUE(merges[k].time == record.merges[k].time) << k;
  }
  EXPECT_EQ(simulation.clusters(), std::vector<std::uint32_t>(16, 0));
}

TEST(Simulation, ObservesWhatAFlowObserves) {
  const FlowSetup setup{.beta = 5, .tokens = 24, .time = 2};
  const FlowRecord record = run_flow(setup, {});
  Simulation simulation(setup);
  simulation.run_until(2);
  const observe::Observation mine = simulation.observe(), &theirs = record.series.back();
  EXPECT_NEAR(mine.mean_cosine, theirs.mean_cosine, 1e-7);  // steps of a flow end at its outputs
  EXPECT_NEAR(mine.energy_ratio, theirs.energy_ratio, 1e-7);
  EXPECT_EQ(mine.clusters, theirs.clusters);
  EXPECT_EQ(simulation.clusters(), record.snapshots.back().clusters);
}

TEST(Simulation, StopsBetweenStepsWhenToldTo) {
  Simulation simulation({.beta = 5, .tokens = 64});
  int asked = 0;
  EXPECT_EQ(simulation.run_until(1000, [&] { return ++asked > 50; }), flow::Status::interrupted);
  EXPECT_LT(simulation.time().value(), 1000);
  const double time = simulation.time().value();
  EXPECT_EQ(simulation.run_until(time + 1), flow::Status::complete);
}

TEST(Simulation, RefusesTimesAndBytesThatAreNotItsOwn) {
  Simulation simulation({.tokens = 8});
  simulation.run_until(1);
  EXPECT_SAYS(refusal([&] { simulation.run_until(0.5); }), "has passed");
  EXPECT_SAYS(refusal([&] { simulation.run_until(kNan); }), "not allowed");
  Simulation fixed({.tokens = 8, .stepper = flow::Method::rk4, .step = 0.1});
  EXPECT_SAYS(refusal([&] { fixed.run_until(0.25); }), "whole number of steps");
  const std::string bytes = simulation.bytes();
  EXPECT_SAYS(refusal([&] { fixed.restore(bytes); }), "another one");
  for (const std::size_t at : {0U, 30U, 100U}) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 1);
    EXPECT_THROW(simulation.restore(damaged), Error) << at;
  }
  for (const std::size_t length : {0U, 10U, 60U})
    EXPECT_THROW(simulation.restore(bytes.substr(0, length)), Error);
  EXPECT_THROW(Simulation({.noise = 1, .tokens = 8, .stepper = flow::Method::rk4}), Error);
}

}  // namespace
}  // namespace attractor::lab
