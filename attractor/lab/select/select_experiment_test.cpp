#include "attractor/lab/select/select_experiment.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "attractor/base/error.hpp"
#include "attractor/lab/byte_store.hpp"
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

SelectSetup matrices(Optimizer optimizer) {
  SelectSetup setup;
  setup.data.problem = std::make_shared<training::Problem>(training::general());
  setup.train = training::Train::W;
  setup.optimizer = optimizer;
  setup.decay = 0.5;
  setup.steps = 400;
  return setup;
}

// Averages of gradients are part of the state: a run that was stopped ends with the same bits.
TEST(SelectExperiment, AveragesGoOnFromACheckpoint) {
  for (const Optimizer optimizer : {Optimizer::adam, Optimizer::sign, Optimizer::muon}) {
    SelectSetup setup = matrices(optimizer);
    if (optimizer != Optimizer::adam) setup.momentum = 0.8;
    const SelectRecord whole = run_select(setup, {});
    const auto store = std::make_shared<ByteStore>("memory");
    int asked = 0;
    const SelectRecord part =
        run_select(setup, {.checkpoints = store, .stop = [&] { return ++asked > 300; }});
    ASSERT_EQ(part.status, flow::Status::interrupted);
    ASSERT_LT(part.steps, setup.steps);
    const SelectRecord rest = run_select(setup, {.checkpoints = store});
    EXPECT_EQ(rest.status, flow::Status::complete);
    EXPECT_EQ(rest.weights, whole.weights);
  }
}

// Signs have l_inf, polar factors the spectral norm; the direction knows which of five it is near.
TEST(SelectExperiment, AllMarginsAreComparedIfAsked) {
  SelectSetup setup = matrices(Optimizer::sign);
  setup.margins = MarginsAsked::all;
  setup.steps = 20'000;
  const SelectRecord r = run_select(setup, {});
  ASSERT_TRUE(r.margins);
  ASSERT_EQ(r.margins->norms.size(), 5u);
  for (const training::MarginApproach& n : r.margins->norms) {
    EXPECT_LE(n.svm.relative_gap, 1e-9) << n.norm;
    EXPECT_LE(n.share, 1 + 1e-9) << n.norm;
    EXPECT_GT(n.share, 0) << n.norm;
  }
  EXPECT_EQ(r.svm->norm, r.margins->norms[1].svm.norm);  // l_inf is the norm of signs
  EXPECT_GT(r.margins->norms[1].share, r.margins->norms[0].share);
  SelectSetup prompt = three_tokens();
  prompt.margins = MarginsAsked::all;
  EXPECT_EQ(run_select(prompt, {}).margins->norms.size(), 3u);
}

TEST(SelectExperiment, RefusesOptimisersThatHaveNoMeaning) {
  const auto refused = [](const auto& change) {
    SelectSetup setup = matrices(Optimizer::adam);
    change(setup);
    EXPECT_THROW(check(setup), Error);
  };
  refused([](SelectSetup& p) { p.optimizer = Optimizer::muon, p.train = training::Train::p; });
  refused([](SelectSetup& p) { p.optimizer = Optimizer::muon, p.train = training::Train::v_W; });
  refused([](SelectSetup& p) { p.momentum = 0.5; });
  refused([](SelectSetup& p) { p.mirror = 3; });
  refused([](SelectSetup& p) { p.beta1 = 0.9, p.beta2 = 0.5; });
  refused([](SelectSetup& p) { p.optimizer = Optimizer::flow; });  // decay
  refused([](SelectSetup& p) { p.path.values = {1, 2}; });
  refused([](SelectSetup& p) { p.train = training::Train::v, p.margins = MarginsAsked::all; });
  SelectSetup allowed = matrices(Optimizer::muon);
  EXPECT_NO_THROW(check(allowed));
}

// Steps on rounded tokens end next to those on the tokens; what is said of them is of the tokens.
TEST(SelectExperiment, TrainsOnTokensInSinglePrecision) {
  for (const Optimizer optimizer : {Optimizer::gd, Optimizer::ngd, Optimizer::adam}) {
    SelectSetup setup;
    setup.data.problem = std::make_shared<training::Problem>(training::authors_like());
    setup.optimizer = optimizer;
    setup.steps = 300;
    const SelectRecord exact = run_select(setup, {});
    setup.precision = kernels::Precision::f32;
    const SelectRecord single = run_select(setup, {});
    EXPECT_NE(single.weights, exact.weights);
    EXPECT_LT(squared_distance(single.weights, exact.weights),
              1e-10 * dot(exact.weights, exact.weights));
    EXPECT_EQ(single.selected, exact.selected);
    EXPECT_EQ(single.svm->solution, exact.svm->solution);
    EXPECT_NE(command(setup).find("--precision single"), std::string::npos);
  }
}

TEST(SelectExperiment, RefusesSinglePrecisionWhereItMeansNothing) {
  const auto refused = [](const auto& change) {
    SelectSetup setup = three_tokens();
    setup.precision = kernels::Precision::f32;
    EXPECT_NO_THROW((void)prepared(setup));
    change(setup);
    EXPECT_THROW((void)prepared(setup), Error);
  };
  refused([](SelectSetup& p) { p.optimizer = Optimizer::flow; });
  refused([](SelectSetup& p) { p.choice.values = {1}; });
  refused([](SelectSetup& p) { p.train = training::Train::v_p; });
}

}  // namespace
}  // namespace attractor::lab
