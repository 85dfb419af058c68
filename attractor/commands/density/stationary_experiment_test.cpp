#include "attractor/commands/density/stationary_experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/commands/density/stationary_figures.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

const Table* found_table(const Result& answer, std::string_view name) {
  for (const Table& t : answer.tables)
    if (t.name == name) return &t;
  return nullptr;
}

TEST(StationaryExperiment, FirstOrderAnswer) {
  const Result a =
      ask(StationarySetup{.dynamics = Rule::unnormalised, .beta = 4, .noise_ratio = 1.02}, {});
  EXPECT_EQ(a.not_delivered, "");
  EXPECT_NEAR(a.values["critical_noise"].get<double>(), 2.439866288426, 1e-11);
  EXPECT_NEAR(a.values["tricritical_beta"].get<double>(), 2.446918311289, 1e-11);
  EXPECT_EQ(a.values["transition"], "discontinuous");
  EXPECT_NEAR(a.values["transition_noise_ratio"].get<double>(), 1.046959, 6e-7);
  EXPECT_NEAR(a.values["fold_noise_ratio"].get<double>(), 1.058877, 6e-7);
  EXPECT_NEAR(a.values["jump"].get<double>(), 0.668806, 6e-7);
  EXPECT_NEAR(a.values["fold_noise"].get<double>(), 1.058877 * 2.439866288426, 2e-6);
  const Table* states = found_table(a, "states");
  ASSERT_TRUE(states);
  ASSERT_EQ(states->rows.size(), 3U);  // uniform, unstable, stable
  EXPECT_EQ(states->rows[0].back(), 1);
  EXPECT_EQ(states->rows[1].back(), 0);
  EXPECT_EQ(states->rows[2].back(), 1);
  EXPECT_LT(states->rows[2][1], 0);  // below kappa_c order is preferred
  for (const Table& t : a.tables)
    for (const auto& row : t.rows) EXPECT_EQ(row.size(), t.columns.size()) << t.name;
  EXPECT_EQ(a.draw().size(), 3U);
}

// The branch as it is drawn: every state on it is one, and the line never turns by more than a few
// degrees from piece to piece (of a plot as wide as high).
TEST(StationaryExperiment, TheBranchIsDrawnWithoutKinks) {
  using meanfield::StationaryState;
  for (const double beta : {1.0, 4.0, 9.0}) {
    meanfield::StationarySolver solver({.rule = Rule::unnormalised, .dim = 2, .beta = beta});
    const meanfield::Branch branch = trace_branch(solver);
    const std::vector<StationaryState> path = smooth_branch(solver, branch);
    EXPECT_GE(path.size(), branch.states.size());
    EXPECT_EQ(path.front().order, 0);
    const double wide = branch.fold ? 4 * (branch.fold->noise_ratio - 1) : 1;
    double sharpest = 0;
    for (std::size_t k = 2; k < path.size(); ++k) {
      const auto way = [&](std::size_t i) {
        return std::atan2(path[i].order - path[i - 1].order,
                          (path[i].noise_ratio - path[i - 1].noise_ratio) / wide);
      };
      ASSERT_GT(path[k].order, path[k - 1].order);
      sharpest = std::max(sharpest, std::abs(std::remainder(way(k) - way(k - 1), 2 * M_PI)));
    }
    EXPECT_LT(sharpest, 0.25) << "beta = " << beta;
    for (const StationaryState& s : path) EXPECT_LT(s.residual, 1e-9);
  }
}

TEST(StationaryExperiment, ContinuousAnswer) {
  for (const Rule rule : {Rule::unnormalised, Rule::softmax}) {
    const Result a = ask(StationarySetup{.dynamics = rule, .beta = 1, .noise_ratio = 0.5}, {});
    EXPECT_EQ(a.values["transition"], "continuous");
    EXPECT_TRUE(a.values["fold_noise"].is_null());
    EXPECT_EQ(a.values["transition_noise"], a.values["critical_noise"]);
    EXPECT_EQ(a.values["jump"], 0.0);
    const Table* states = found_table(a, "states");
    ASSERT_EQ(states->rows.size(), 2U);
    EXPECT_EQ(states->rows[0].back(), 0);
    EXPECT_NEAR(states->rows[1][0], rule == Rule::unnormalised ? 0.90497698810 : 0.82691850059,
                1e-10);
    EXPECT_EQ(std::isnan(states->rows[1][1]), rule == Rule::softmax);
  }
}

TEST(StationaryExperiment, NoiseAndItsRatioSayTheSame) {
  const Result a = ask(StationarySetup{.beta = 2, .noise_ratio = 0.8}, {});
  const Result b = ask(StationarySetup{.beta = 2, .noise = 0.63625474185496}, {});
  EXPECT_NEAR(b.values["noise_ratio"].get<double>(), 0.8, 1e-12);
  EXPECT_NEAR(found_table(a, "states")->rows[1][0], 0.80332160877, 1e-10);
  EXPECT_NEAR(found_table(b, "states")->rows[1][0], 0.80332160877, 1e-10);
}

TEST(StationaryExperiment, DiagramOpensAtTheTricriticalPoint) {
  const Result a = ask(StationarySetup{.dim = 3, .beta = 2.5, .diagram = true}, {});
  const double star = a.values["tricritical_beta"].get<double>();
  const Table* diagram = found_table(a, "diagram");
  ASSERT_TRUE(diagram);
  for (const auto& row : diagram->rows) {
    EXPECT_EQ(row[2] > 1, row[0] > star) << row[0];
    EXPECT_EQ(row[5] > 0, row[0] > star) << row[0];
  }
}

TEST(StationaryExperiment, ParticlesSweepBothWays) {
  const Result a = ask(StationarySetup{.dynamics = Rule::softmax,
                                       .beta = 1,
                                       .particles = 40,
                                       .sweep_steps = 3,
                                       .settle = 1,
                                       .average = 1},
                       {});
  const Table* sweep = found_table(a, "sweep");
  ASSERT_TRUE(sweep);
  EXPECT_EQ(sweep->labels, (std::vector<std::string>{"up", "up", "up", "down", "down", "down"}));
  EXPECT_EQ(sweep->rows[2][0], sweep->rows[3][0]);
}

TEST(StationaryExperiment, DeliversItsRange) {
  struct Case {
    Rule rule;
    std::uint64_t dim;
    double most;
  };
  using enum Rule;
  for (const Case& c : {Case{unnormalised, 2, 100},
                        {unnormalised, 4, 50},
                        {unnormalised, 5, 20},
                        {unnormalised, 9, 10},
                        {unnormalised, 10, 5},
                        {unnormalised, 200, 5},
                        {softmax, 2, 100},
                        {softmax, 200, 20}}) {
    const Result a = ask(StationarySetup{.dynamics = c.rule, .dim = c.dim, .beta = c.most}, {});
    EXPECT_EQ(a.not_delivered, "") << name(c.rule) << " " << c.dim;
    EXPECT_TRUE(a.values["fold_noise"].is_null() == (c.rule == softmax)) << c.dim;
  }
}

TEST(StationaryExperiment, NamesTheLimitOfItsRange) {
  const std::pair<StationarySetup, const char*> cases[] = {
      {{.beta = 101}, "beta = '101' is not allowed; allowed: 0 to 100"},
      {{.dim = 4, .beta = 51}, "dimension 4: 0 to 50"},
      {{.dim = 100, .beta = 20}, "dimension 100: 0 to 5"},
      {{.dynamics = Rule::softmax, .dim = 21, .beta = 60}, "dimension 21: 0 to 40"},
      {{.dim = 201}, "dim = '201' is not allowed; allowed: whole number, 2 to 200"},
      {{.settle = 3}, "settle has no effect without particles"},
      {{.sweep_steps = 3}, "sweep-steps has no effect without particles"},
      {{.average = 3}, "average has no effect without particles"},
  };
  for (const auto& [parameters, words] : cases)
    EXPECT_SAYS(refusal([&, &p = parameters] { ask(p, {}); }), words);
}

TEST(StationaryExperiment, NamesTheNoiseItCouldReach) {
  const std::string says = ask(StationarySetup{.beta = 1, .noise_ratio = 1e-7}, {}).not_delivered;
  EXPECT_SAYS(says, "take a noise ratio above");
  const double reached = std::stod(says.substr(says.rfind("above ") + 6));
  EXPECT_EQ(ask(StationarySetup{.beta = 1, .noise_ratio = 1.01 * reached}, {}).not_delivered, "");
}

TEST(StationaryExperiment, SweepsFarAboveTheTricriticalPoint) {  // the fold is at 5 kappa_#
  const Result a = ask(
      StationarySetup{.beta = 100, .particles = 2, .sweep_steps = 2, .settle = 0, .average = 1e-12},
      {});
  EXPECT_EQ(found_table(a, "sweep")->rows.size(), 4U);
}

TEST(StationaryExperiment, StopsWhenAsked) {
  int asked = 0;
  ask(StationarySetup{.beta = 100, .diagram = true}, {.stop = [&] { return ++asked > 20; }});
  EXPECT_GT(asked, 20);
  EXPECT_LT(asked, 1000);  // a state that is stopped is not found, and a search for it ends
}

TEST(StationaryExperiment, SaysWhatItCannotDo) {
  EXPECT_THROW(ask(StationarySetup{.noise = 1, .noise_ratio = 1}, {}), Error);
  EXPECT_THROW(ask(StationarySetup{.noise_ratio = -1}, {}), Error);
  StationarySetup p;
  EXPECT_THROW(find(list(p), "noise-ratio").set("1,2"), Error);
  EXPECT_THROW(ask(StationarySetup{.dim = 3, .particles = 10}, {}), Error);
  EXPECT_THROW(ask(StationarySetup{.beta = 1e6}, {}), Error);
}

}  // namespace
}  // namespace attractor::lab
