#include "attractor/training/problem.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/refusal.hpp"

namespace attractor::training {
namespace {

Problem small() {
  return {.inputs = 1,
          .tokens = 3,
          .dim = 2,
          .x = {1, 2, 3, 4, 5, 6},
          .labels = {-1},
          .head = {.v = {1, 10}},
          .prompt = {0, 0}};
}

TEST(Problem, KeysAndScoresWithoutW) {
  const Problem p = small();
  check(p);
  EXPECT_EQ(keys(p), p.x);
  EXPECT_EQ(scores(p), (std::vector<double>{-21, -43, -65}));
}

TEST(Problem, KeysAreRowsTimesW) {
  Problem p = small();
  p.weights = {1, 2, 3, 5};
  EXPECT_EQ(keys(p), (std::vector<double>{7, 12, 15, 26, 23, 40}));
}

// psi(x) = <v, relu(U x + b)> - lambda |x|^2 with U = (1, -1), b = 2, v = 3, lambda = 1/2.
TEST(Problem, ScoresThroughTheHead) {
  Problem p = small();
  p.x = {1, 2, 5, 4, 1, 6};
  p.head = {
      .v = {3}, .activation = Activation::relu, .hidden = {1, -1}, .bias = {2}, .penalty = .5};
  check(p);
  EXPECT_EQ(scores(p), (std::vector<double>{-(3 - 2.5), -(9 - 20.5), -(0 - 18.5)}));
}

TEST(Problem, RefusesWhatDoesNotFit) {
  const auto says = [](const char* part, const auto& change) {
    Problem p = small();
    change(p);
    EXPECT_SAYS(refusal([&] { check(p); }), part);
  };
  EXPECT_EQ(refusal([] { check(small()); }), "");
  says("at least one input", [](Problem& p) { p.inputs = 0; });
  says("at least 2", [](Problem& p) { p.tokens = 1; });
  says("dimension", [](Problem& p) { p.dim = 0; });
  says("X has 5 numbers; 6", [](Problem& p) { p.x.pop_back(); });
  says("Y has 2", [](Problem& p) { p.labels.push_back(1); });
  says("v has 3 numbers; 2", [](Problem& p) { p.head.v.push_back(1); });
  says("p0 has 0", [](Problem& p) { p.prompt.clear(); });
  says("W has 2 numbers; 4", [](Problem& p) { p.weights = {1, 2}; });
  says("z has 4 numbers; 2", [](Problem& p) { p.queries = {1, 2, 3, 4}; });
  says("both or none", [](Problem& p) { p.key_factor = {1, 2}; });
  says("2 and 4", [](Problem& p) { p.key_factor = {1, 2}, p.query_factor = {1, 2, 3, 4}; });
  says("U (of the head) has 3", [](Problem& p) { p.head.hidden = {1, 2, 3}; });
  says("b (of the head) has 1", [](Problem& p) { p.head.bias = {1}; });
}

TEST(Problem, RefusesWhatIsNotFinite) {
  for (const double bad : {NAN, INFINITY, -INFINITY}) {
    const auto says = [](const char* part, const auto& change) {
      Problem p = small();
      change(p);
      EXPECT_SAYS(refusal([&] { check(p); }), part);
    };
    says("X: number 4", [&](Problem& p) { p.x[4] = bad; });
    says("Y: number 0", [&](Problem& p) { p.labels[0] = bad; });
    says("v: number 1", [&](Problem& p) { p.head.v[1] = bad; });
    says("p0: number 0", [&](Problem& p) { p.prompt[0] = bad; });
    says("W: number 3", [&](Problem& p) { p.weights = {1, 0, 0, bad}; });
    says("z: number 1", [&](Problem& p) { p.queries = {1, bad}; });
    says("K: number 0", [&](Problem& p) { p.key_factor = {bad, 1}, p.query_factor = {1, 1}; });
    says("Q: number 1", [&](Problem& p) { p.key_factor = {1, 1}, p.query_factor = {1, bad}; });
    says("lambda", [&](Problem& p) { p.head.penalty = bad; });
  }
  Problem large = small();
  large.x[0] = large.head.v[0] = 1e200;
  EXPECT_SAYS(refusal([&] { check(large); }), "exceeds 1e150");
}

TEST(Problem, LabelsThatALossCannotUse) {
  Problem p = small();
  for (const Loss loss : {Loss::linear, Loss::logistic, Loss::exponential, Loss::squared})
    EXPECT_EQ(refusal([&] { check_labels(p, loss); }), "");
  p.labels = {0.5};
  EXPECT_SAYS(refusal([&] { check_labels(p, Loss::logistic); }), "label of input 0 is 0.5");
  EXPECT_EQ(refusal([&] { check_labels(p, Loss::linear); }), "");
  p.labels = {0};
  EXPECT_SAYS(refusal([&] { check_labels(p, Loss::linear); }), "label of input 0 is 0");
  EXPECT_EQ(refusal([&] { check_labels(p, Loss::squared); }), "");
}

TEST(Problem, NamesTokensThatCannotBeToldApart) {
  Problem p = small();
  EXPECT_EQ(refusal([&] { require_distinct_keys(p, keys(p)); }), "");
  p.x = {1, 2, 5, 6, 5, 7};
  p.weights = {1, 0, 0, 0};
  EXPECT_SAYS(refusal([&] { require_distinct_keys(p, keys(p)); }),
              "input 0: tokens 1 and 2 differ");
  p.x = {5, 6, 1, 2, 5, 6};
  p.weights.clear();
  EXPECT_SAYS(refusal([&] { require_distinct_keys(p, keys(p)); }),
              "input 0: tokens 0 and 2 are the same");
}

}  // namespace
}  // namespace attractor::training
