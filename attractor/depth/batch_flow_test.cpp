#include "attractor/depth/batch_flow.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/stepper.hpp"
#include "attractor/observe/pairs.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

BatchPlan small_plan() {
  return {.replicates = 11,
          .tokens = 9,
          .dim = 3,
          .betas = {0.5, 4, 9},
          .steps = {0.1},
          .outputs = {0, 0.05, 1, 2},
          .threshold = 0.9,
          .seed = 7};
}

// Diagrams re-measured elsewhere with 256 replicates, layers of 0.1, n = 32 (t = 5, 10, 20, 30).
struct Diagram {
  std::size_t dim, replicates;
  double beta;
  std::vector<double> fraction;
};

TEST(BatchFlow, PublishedDiagramsAreMetWithinTheSamplingError) {
  const std::vector<Diagram> diagrams = {{2, 512, 9, {.190, .296, .327, .341}},
                                         {16, 256, 5, {.002, .417, .774, .851}},
                                         {128, 128, 7, {0, 0, .001, .670}}};
  for (const Diagram& diagram : diagrams) {
    const BatchResult result = run_batch({.replicates = diagram.replicates,
                                          .dim = diagram.dim,
                                          .betas = {diagram.beta},
                                          .steps = {0.1},
                                          .outputs = {5, 10, 20, 30}});
    for (std::size_t t = 0; t < 4; ++t) {
      const double ratio = static_cast<double>(diagram.replicates) / 256;
      const double error = result.error_at(0, t) * std::sqrt(1 + ratio);
      EXPECT_NEAR(result.mean_at(0, t), diagram.fraction[t], 4 * error + 0.0005)
          << "d " << diagram.dim << " output " << t << " +- " << error;
    }
  }
}

// Layers by the flow of single systems, statistics by observe/.
TEST(BatchFlow, MeansAndErrorsAreThoseOfSingleFlows) {
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    BatchPlan plan = small_plan();
    plan.rule = rule;
    if (rule == Rule::unnormalised) {
      plan.steps.clear();
      for (const double beta : plan.betas) plan.steps.push_back(unnormalised_step(0.1, beta));
      plan.outputs = {0, 1e-5, 3e-4, 6e-4};
    }
    const BatchResult result = run_batch(plan);
    for (std::size_t b = 0; b < plan.betas.size(); ++b) {
      const double h = plan.steps[plan.steps.size() == 1 ? 0 : b];
      for (std::size_t t = 0; t < plan.outputs.size(); ++t) {
        std::vector<double> fractions;
        for (std::size_t k = 0; k < plan.replicates; ++k) {
          Attention attention;
          attention.rule = rule;
          attention.beta = plan.betas[b];
          attention.dim = plan.dim;
          const AttentionFlow flow(attention, plan.tokens, 0);
          std::vector<double> x = batch_start(plan, b * plan.replicates + k);
          flow::Stepper stepper(flow::layers());
          for (double now = 0; now < plan.outputs[t] - 1e-9 * h; now += h) {
            stepper.restart();
            stepper.attempt(flow, {}, x, h, 0);
            x.assign(stepper.next().begin(), stepper.next().end());
          }
          const std::vector<double> masses(plan.tokens, 1.0);
          fractions.push_back(
              observe::pair_statistics(x, plan.dim, masses, plan.threshold, 1).fraction);
        }
        double mean = 0, squares = 0;
        for (const double f : fractions) mean += f / 11;
        for (const double f : fractions) squares += (f - mean) * (f - mean);
        EXPECT_NEAR(result.mean_at(b, t), mean, 1e-14) << name(rule) << " " << b << " " << t;
        const double agreed = std::max(mean, 1 - mean) / 11;
        EXPECT_NEAR(result.error_at(b, t), squares > 0 ? std::sqrt(squares / 110) : agreed, 1e-14);
      }
    }
  }
}

// No error bar of zero on what chance decides: one replicate, or many that agree.
TEST(BatchFlow, AgreementIsNoProof) {
  BatchPlan plan = small_plan();
  plan.outputs = {0, 1000};
  plan.threshold = 0.5;
  for (const std::size_t replicates : {1, 2, 12}) {
    plan.replicates = replicates;
    const BatchResult result = run_batch(plan);
    for (std::size_t b = 0; b < plan.betas.size(); ++b)
      for (std::size_t t = 0; t < 2; ++t)
        EXPECT_GE(result.error_at(b, t), 1e-3) << replicates << " " << b << " " << t;
  }
}

// Cosines of uniform tokens have mean 0 and variance 1/d; the same from Bartlett's factor. Numbers
// of replicates make the expected deviations 1/400 of a variance.
TEST(BatchFlow, StartsHaveTheMomentsOfUniformTokens) {
  for (const std::size_t dim : {2, 5, 8, 9, 40, 5000}) {
    const BatchPlan plan{.tokens = 8, .dim = dim, .betas = {1}, .steps = {1}, .outputs = {0}};
    const std::size_t systems = 6000, width = std::min<std::size_t>(8, dim);
    double first = 0, second = 0, fourth = 0;
    for (std::uint64_t s = 0; s < systems; ++s) {
      const std::vector<double> x = batch_start(plan, s);
      for (std::size_t i = 0; i < 8; ++i) {
        const auto row = std::span(x).subspan(i * width, width);
        EXPECT_NEAR(norm(row), 1, 1e-14);
        for (std::size_t j = 0; j < i; ++j) {
          const double c = dot(row, std::span(x).subspan(j * width, width));
          first += c;
          second += c * c;
          fourth += c * c * c * c;
        }
      }
    }
    const auto d = static_cast<double>(dim), pairs = 28.0 * static_cast<double>(systems);
    EXPECT_NEAR(std::sqrt(d) * first / pairs, 0, 0.012) << dim;
    EXPECT_NEAR(d * second / pairs, 1, 0.02) << dim;
    EXPECT_NEAR(d * (d + 2) / 3 * fourth / pairs, 1, 0.06) << dim;
  }
}

TEST(BatchFlow, BitsDependOnNeitherThreadsNorTheSplitOfADiagram) {
  for (const std::size_t dim : {3, 40}) {
    BatchPlan plan = small_plan();
    plan.dim = dim;
    plan.replicates = 70;  // batches are of 64 at least
    const BatchResult whole = run_batch(plan);
    for (const std::size_t threads : {1, 3}) {
      set_threads(threads);
      EXPECT_EQ(run_batch(plan).mean, whole.mean);
      EXPECT_EQ(run_batch(plan).error, whole.error);
    }
    set_threads(0);
    std::vector<double> joined;
    for (std::size_t b = 0; b < plan.betas.size(); ++b) {
      BatchPlan part = plan;
      part.betas = {plan.betas[b]};
      part.first_system = b * plan.replicates;
      const std::vector<double> mean = run_batch(part).mean;
      joined.insert(joined.end(), mean.begin(), mean.end());
    }
    EXPECT_EQ(joined, whole.mean);
  }
}

TEST(BatchFlow, StopsBetweenBatchesAndSaysHowManyWereMeasured) {
  BatchPlan plan = small_plan();
  plan.steps = {0.1, 0.2, 0.1};
  int asked = 0;
  double share = 0;
  plan.stop = [&] { return ++asked > 2; };
  plan.progress = [&](double s) { share = s; };
  const BatchResult result = run_batch(plan);
  EXPECT_TRUE(result.stopped);
  EXPECT_EQ(result.replicates, (std::vector<std::size_t>{11, 11, 0}));
  EXPECT_NEAR(share, 2.0 / 3, 1e-15);
  EXPECT_TRUE(std::isnan(result.mean_at(2, 0)));
}

// One system of many tokens takes its 300 steps in pieces: the same bits as in one, and a stop is
// heard between them.
TEST(BatchFlow, LongBatchesAreTakenInPieces) {
  BatchPlan plan{.replicates = 1,
                 .tokens = 512,
                 .dim = 2,
                 .betas = {4},
                 .steps = {0.01},
                 .outputs = {0, 0.5, 1.18, 1.19, 1.2, 3},
                 .threshold = 0.9};
  std::vector<double> tokens = batch_start(plan, 0), close(plan.outputs.size());
  const std::vector<double> beta = {4}, step = {0.01};
  const std::vector<std::uint64_t> counted = {0, 50, 118, 119, 120, 300};
  kernels::batch_advance({plan.tokens, 2, true, beta}, {plan.method, step, 300, counted, 0.9},
                         tokens, close);
  EXPECT_EQ(run_batch(plan).mean, close);
  int asked = 0;
  plan.stop = [&] { return ++asked > 1; };
  const BatchResult stopped = run_batch(plan);
  EXPECT_TRUE(stopped.stopped);
  EXPECT_EQ(stopped.replicates[0], 0U);
}

TEST(BatchFlow, RefusesBadPlans) {
  struct Case {
    const char* what;
    void (*change)(BatchPlan&);
  };
  const std::vector<Case> cases = {
      {"replicates = 0", [](BatchPlan& p) { p.replicates = 0; }},
      {"tokens = 0", [](BatchPlan& p) { p.tokens = 0; }},
      {"tokens = 513", [](BatchPlan& p) { p.tokens = 513; }},
      {"dim = 1", [](BatchPlan& p) { p.dim = 1; }},
      {"number of betas = 0", [](BatchPlan& p) { p.betas.clear(); }},
      {"beta = -1", [](BatchPlan& p) { p.betas[1] = -1; }},
      {"beta = nan", [](BatchPlan& p) { p.betas[0] = NAN; }},
      {"number of steps = 2",
       [](BatchPlan& p) {
         p.steps = {0.1, 0.1};
       }},
      {"step = 0", [](BatchPlan& p) { p.steps = {0}; }},
      {"step = 1.5", [](BatchPlan& p) { p.steps = {1.5}; }},
      {"step = 1e-12", [](BatchPlan& p) { p.steps = {1e-12}; }},
      {"step = nan", [](BatchPlan& p) { p.steps = {NAN}; }},
      {"step e^beta = ", [](BatchPlan& p) { p.rule = Rule::unnormalised; }},
      {"number of outputs = 0", [](BatchPlan& p) { p.outputs.clear(); }},
      {"output time = 1",
       [](BatchPlan& p) {
         p.outputs = {2, 1};
       }},
      {"output time = inf", [](BatchPlan& p) { p.outputs = {INFINITY}; }},
      {"threshold = 2", [](BatchPlan& p) { p.threshold = 2; }}};
  for (const Case& bad : cases) {
    BatchPlan plan = small_plan();
    bad.change(plan);
    try {
      run_batch(plan);
      FAIL() << bad.what << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()).rfind(bad.what, 0), 0U) << error.what();
    }
  }
}

}  // namespace
}  // namespace attractor::depth
