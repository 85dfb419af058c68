#include "attractor/lab/select/select_experiment.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "attractor/space/space.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::lab {
namespace {

SelectSetup three_tokens() {
  SelectSetup setup;
  setup.data.problem = std::make_shared<training::Problem>(training::single_input({1, .9, 0}));
  setup.steps = 200;
  return setup;
}

TEST(SelectExperiment, LeadsAreThoseOfTheWeightsReached) {
  const SelectRecord r = run_select(three_tokens(), {});
  ASSERT_TRUE(r.trained);
  ASSERT_EQ(r.selected.size(), 1u);
  double lead = 1e300;
  for (std::size_t t = 0; t < r.problem.tokens; ++t)
    if (t != r.selected[0])
      lead = std::min(lead, dot(r.problem.token(0, r.selected[0]), r.weights) -
                                dot(r.problem.token(0, t), r.weights));
  ASSERT_EQ(r.leads.size(), 1u);
  EXPECT_NEAR(r.leads[0], lead / norm(r.weights), 1e-14);
}

TEST(SelectExperiment, LeadsOfAChoiceAreItsMargin) {
  for (const double token : {0.0, 1.0}) {
    SelectSetup setup = three_tokens();
    setup.choice.values = {token};
    const SelectRecord r = run_select(setup, {});
    ASSERT_FALSE(r.trained);
    ASSERT_TRUE(r.svm && r.svm->feasible()) << token;
    ASSERT_EQ(r.leads.size(), 1u);
    EXPECT_NEAR(r.leads[0], 1 / r.svm->norm, 1e-12) << token;
  }
}

}  // namespace
}  // namespace attractor::lab
