#include "attractor/commands/phase_experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/refusal.hpp"
#include "tests/support/result_table.hpp"

namespace attractor::lab {
namespace {

PhaseSetup small() {
  PhaseSetup p;
  p.beta = {1, 5, 9};
  p.replicates = 16;
  p.outputs = 6;
  p.time = 12;
  p.tokens = 16;
  return p;
}

// theory.md A6: n = 32, g from 0 to 0.999.
TEST(PhaseTest, TheCurveIsThatOfEquiangularTokens) {
  PhaseSetup p = small();
  p.tokens = 32;
  p.replicates = 1;
  const Table curves = table(ask(p, {}), "curves");
  EXPECT_NEAR(curves.rows[1][2], 9.54, 0.005);
  EXPECT_NEAR(curves.rows[2][2], 178.7, 0.05);
}

TEST(PhaseTest, TheDiagramHasARowForEachTimeAndRisesWithIt) {
  const Result answer = ask(small(), {});
  const Table diagram = table(answer, "diagram");
  ASSERT_EQ(diagram.rows.size(), 18U);
  for (std::size_t k = 0; k < 18; ++k) {
    const std::vector<double>& row = diagram.rows[k];
    EXPECT_EQ(row[0], (std::vector<double>{1, 5, 9})[k / 6]);
    EXPECT_DOUBLE_EQ(row[1], 2.0 * static_cast<double>(k % 6 + 1));
    EXPECT_GE(row[2], 0);
    EXPECT_LE(row[2], 1);
    if (k % 6 > 0) {
      EXPECT_GE(row[2], diagram.rows[k - 1][2] - 1e-12);
    }
  }
  EXPECT_EQ(answer.values["final_fraction"], diagram.rows.back()[2]);
}

// Halves of the replicates, weighted alike, are the whole.
TEST(PhaseTest, PartsShareASeed) {
  PhaseSetup whole = small();
  whole.beta = {5};  // starts are numbered through all betas
  PhaseSetup first = whole, second = whole;
  first.replicates = second.replicates = 8;
  second.first_replicate = 8;
  const Table a = table(ask(whole, {}), "diagram"), b = table(ask(first, {}), "diagram"),
              c = table(ask(second, {}), "diagram");
  for (std::size_t k = 0; k < a.rows.size(); ++k)
    EXPECT_NEAR(a.rows[k][2], (b.rows[k][2] + c.rows[k][2]) / 2, 1e-14);
}

// The published scheme lags the flow: with a tenth of its step the lag is a tenth.
TEST(PhaseTest, LayersConvergeToTheFlow) {
  PhaseSetup p = small();
  p.dim = 64;
  p.beta = {1};
  p.outputs = 240;
  const auto half = [&](depth::BatchMethod scheme, double step) {
    p.scheme = scheme;
    p.step = step;
    return table(ask(p, {}), "curves").rows[0][1];
  };
  const double flow = half(depth::BatchMethod::rk4, 0.05),
               coarse = half(depth::BatchMethod::layers, 0.1),
               fine = half(depth::BatchMethod::layers, 0.01);
  EXPECT_GT(coarse, flow * 1.03);
  EXPECT_NEAR((fine - flow) / (coarse - flow), 0.1, 0.05);
}

TEST(PhaseTest, RefusesWhatHasNoMeaning) {
  PhaseSetup p = small();
  p.beta = {3, 1};
  EXPECT_SAYS(refusal([&] { ask(p, {}); }), "beta = '3,1' must ascend");
  p.beta = {};
  EXPECT_SAYS(refusal([&] { ask(p, {}); }), "beta is empty");
  p.beta = {1e9};
  EXPECT_SAYS(refusal([&] { ask(p, {}); }), "beta holds '1000000000'");
  EXPECT_SAYS(refusal([&] { find(list(p), "beta").set("1e9"); }), "beta holds '1e9'");
}

}  // namespace
}  // namespace attractor::lab
