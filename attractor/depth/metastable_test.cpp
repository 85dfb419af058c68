// Runs of a few tokens to collapse against references of 50 digits, and the pair law at large beta.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/observe/merge_tree.hpp"
#include "attractor/tokens/generators.hpp"

namespace attractor::depth {
namespace {

constexpr double kUsualTolerance = 1e-8;

struct Collapse {
  std::vector<double> log_times;  // of the mergers, in natural units
  std::uint64_t steps = 0, rejected = 0;
  double merge_error = 0;
};

Collapse collapse(const Attention& attention, std::vector<double> tokens,
                  double tolerance = kUsualTolerance) {
  const std::size_t dim = attention.dim, n = tokens.size() / dim;
  for (std::size_t i = 0; i < n; ++i) Sphere(dim).retract(std::span(tokens).subspan(i * dim, dim));
  const double radius = std::max(1e-9, 0.1 * std::sqrt(tolerance / (1 + attention.beta)));
  AttentionFlow flow(attention, n, radius);
  observe::MergeTree tree(n, dim, std::sqrt(2 * std::min(1e-3, 1 / (20 * attention.beta))));
  tree.start({}, tokens, flow.groups().owner());
  flow::Progress progress{.state = tokens};
  flow::Hooks hooks;
  hooks.step = [&](const flow::Step& step) { tree.watch(step, flow.groups().owner()); };
  EXPECT_EQ(flow::run(flow, flow::dormand_prince(), {.tolerance = tolerance}, progress, hooks),
            flow::Status::collapsed);
  Collapse result{.steps = progress.steps,
                  .rejected = progress.rejected,
                  .merge_error = flow.groups().merge_error()};
  for (const observe::Merge& m : tree.merges())
    result.log_times.push_back(m.time.log() - flow.log_unit());
  return result;
}

// Directions of tokens, and ln of the times in natural units at which their clusters come within
// 1 - cos = min(1e-3, 1 / 20 beta). Made with 60 digits (Boost.Multiprecision) by a program of its
// own: positions and time together by extrapolation of Gragg, Bulirsch and Stoer of order 22 with
// error 1e-34, in arc length while motion is slow and in time else, time in units of what has
// passed; clusters become one token below a distance of 1e-19; moments by bisection.
const std::vector<double> kThree = {1, 0, 0, 3, 4, 0, 1, 2, 9};
const std::vector<double> kFour = {2, 1, 0, -1, 3, 1, 0, -1, 5, 4, -3, -2};
struct Reference {
  double beta;
  Rule rule;
  const std::vector<double>& tokens;
  std::vector<double> log_times;
};
const std::vector<Reference>& references() {
  static const std::vector<Reference> kReferences = {
      {1e2, Rule::softmax, kThree, {35.167624262494, 75.230989083359}},
      {1e2, Rule::softmax, kFour, {53.378629903195, 82.892132483718, 136.520668447515}},
      {1e2, Rule::unnormalised, kThree, {36.266236551162, 76.147279815233}},
      {1e2, Rule::unnormalised, kFour, {54.764924264315, 84.278426844838, 137.213815628075}},
      {1e4, Rule::softmax, kThree, {3990.542987134134, 8060.940039542967}},
      {1e4, Rule::softmax, kFour, {5838.011862146012, 8807.485829218321, 14154.114588937711}},
      {1e4, Rule::unnormalised, kThree, {3991.641599422802, 8061.856330274841}},
      {1e4, Rule::unnormalised, kFour, {5839.398156507132, 8808.872123579441, 14154.807736118271}},
      {1e6, Rule::softmax, kThree, {399985.937631239112, 807088.177250180885}},
      {1e6, Rule::softmax, kFour, {584758.281316564740, 881723.026229424715, 1416368.459097289517}},
      {1e6, Rule::unnormalised, kThree, {399987.036243527780, 807089.093540912759}},
      {1e6,
       Rule::unnormalised,
       kFour,
       {584759.667610925860, 881724.412523785835, 1416369.152244470077}},
  };
  return kReferences;
}

// Issue 20, must-show 1.
TEST(Metastable, MergersAgreeWithFiftyDigits) {
  for (const Reference& r : references()) {
    const Collapse run = collapse({.rule = r.rule, .beta = r.beta, .dim = 3}, r.tokens);
    ASSERT_EQ(run.log_times.size(), r.log_times.size()) << r.beta;
    for (std::size_t k = 0; k < r.log_times.size(); ++k) {
      const double error = std::abs(run.log_times[k] - r.log_times[k]);
      EXPECT_LE(error, 1e-6 * std::max(1.0, r.log_times[k])) << r.beta;
      EXPECT_LE(error, 10 * r.beta * (run.merge_error + kUsualTolerance)) << r.beta;
    }
    EXPECT_LT(run.steps + run.rejected, 400U) << r.beta;
  }
}

// The error of ln t follows the tolerance.
TEST(Metastable, MergersConverge) {
  const Reference& r = references()[4];  // beta = 1e4, three tokens
  double before = 0;
  for (const double tolerance : {1e-5, 1e-7, 1e-9}) {
    const Collapse run = collapse({.beta = r.beta, .dim = 3}, r.tokens, tolerance);
    ASSERT_EQ(run.log_times.size(), r.log_times.size());
    double error = 0;
    for (std::size_t k = 0; k < r.log_times.size(); ++k)
      error = std::max(error, std::abs(run.log_times[k] - r.log_times[k]));
    EXPECT_LE(error, std::max(r.beta * tolerance, 1e-10 * r.log_times.back()));
    if (before > 0) {
      EXPECT_LT(error, std::max(before / 5, 1e-10 * r.log_times.back()));
    }
    before = error;
  }
}

// T = e^beta / 2 beta (1 + 2 / beta^2 + ...) from 90 degrees; the way ends where cos is nearly 1.
TEST(Metastable, PairsKeepToTheirLaw) {
  for (const double beta : {1e3, 1e4, 1e5, 1e6}) {
    const Collapse run = collapse({.beta = beta, .dim = 2}, {1, 0, 0, 1});
    ASSERT_EQ(run.log_times.size(), 1U);
    const double law = beta - std::log(2 * beta) + std::log1p(2 / (beta * beta));
    EXPECT_NEAR(run.log_times[0], law, 1e-9 * beta + 1e-7) << beta;
  }
}

// Steps to collapse from scattered tokens do not depend on beta.
TEST(Metastable, StepsToCollapseDoNotGrowWithBeta) {
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    std::vector<double> steps;
    for (const double beta : {1e2, 1e4, 1e6}) {
      const auto tokens = make_tokens({.tokens = 64, .dim = 3, .seed = 1}).data;
      const Collapse run = collapse({.rule = rule, .beta = beta, .dim = 3}, tokens);
      EXPECT_EQ(run.log_times.size(), 63U) << beta;
      steps.push_back(static_cast<double>(run.steps + run.rejected));
    }
    const auto [least, most] = std::minmax_element(steps.begin(), steps.end());
    EXPECT_LT(*most, 2 * *least);
  }
}

}  // namespace
}  // namespace attractor::depth
