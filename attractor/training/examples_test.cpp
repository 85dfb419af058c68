#include "attractor/training/examples.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "attractor/base/threads.hpp"
#include "attractor/solve/hard_margin.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::training {
namespace {

using Tokens = std::vector<std::size_t>;

std::size_t best_token(const Problem& p, std::size_t input) {
  const std::vector<double> gamma = scores(p);
  const auto first = gamma.begin() + static_cast<std::ptrdiff_t>(input * p.tokens);
  return static_cast<std::size_t>(
      std::max_element(first, first + static_cast<std::ptrdiff_t>(p.tokens)) - first);
}

solve::HardMargin margin(const Problem& p, Tokens chosen) {
  const std::vector<double> k = keys(p);
  return solve::hard_margin(solve::TokenDifferences(k, p.tokens, p.dim, {.chosen = chosen}));
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected,
                 double tolerance) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t a = 0; a < found.size(); ++a) EXPECT_NEAR(found[a], expected[a], tolerance) << a;
}

double length(std::span<const double> x) {
  long double square = 0;
  for (const double c : x) square += static_cast<long double>(c) * c;
  return static_cast<double>(std::sqrt(square));
}

TEST(Examples, AllAreProblemsOfTheirSizeWithDistinctKeys) {
  std::set<std::string> names;
  for (const ExampleInfo& info : examples()) {
    SCOPED_TRACE(info.name);
    names.insert(info.name);
    EXPECT_FALSE(info.help.empty());
    for (const std::uint64_t seed : {0U, 1U, 2U}) {
      const Problem p = example({.name = info.name, .seed = seed});
      EXPECT_EQ(refusal([&] { check(p); }), "");
      EXPECT_EQ(refusal([&] { check_labels(p, Loss::logistic); }), "");
      EXPECT_EQ(refusal([&] { require_distinct_keys(p, keys(p)); }), "");
      EXPECT_EQ(p.inputs, info.inputs);
      EXPECT_EQ(p.tokens, info.tokens);
      EXPECT_EQ(p.dim, info.dim);
    }
  }
  EXPECT_EQ(names.size(), 13);
}

TEST(Examples, SameSeedSameBitsOnAnyNumberOfThreads) {
  const std::size_t before = threads();
  for (const ExampleInfo& info : examples()) {
    SCOPED_TRACE(info.name);
    ExampleOptions o{.name = info.name, .seed = 5, .queries = "unit"};
    if (info.free_inputs) o.inputs = 50;
    if (info.free_shape) o.tokens = 40, o.dim = 30;
    set_threads(1);
    const Problem one = example(o);
    set_threads(3);
    const Problem other = example(o);
    EXPECT_EQ(one.x, other.x);
    EXPECT_EQ(one.labels, other.labels);
    EXPECT_EQ(one.head.v, other.head.v);
    EXPECT_EQ(one.queries, other.queries);
    o.seed = 6;
    EXPECT_EQ(example(o).x != one.x, info.free_inputs);
  }
  set_threads(before);
}

// shared/reference/single_input_g*.json, in decimal digits.
TEST(Examples, SingleInputs) {
  const Problem equal = example({.name = "single-equal"}),
                local = example({.name = "single-local"});
  EXPECT_EQ(scores(equal), (std::vector<double>{1, 0.9, 0.9}));
  EXPECT_EQ(scores(local), (std::vector<double>{1, 0.9, 0}));
  for (const Problem& p : {equal, local}) {
    EXPECT_EQ(keys(p), (std::vector<double>{-0.1, 1, 0, 1, 0, 0, 0, 0, 0}));
    expect_near(margin(p, {0}).p, {-10.0 / 101, 100.0 / 101, 0}, 1e-15);
    expect_near(margin(p, {1}).p, {1, 0, 0}, 1e-15);
    expect_near(margin(p, {2}).p, {-1, -1.1, 0}, 1e-15);
  }
}

// theory.md B3 and B5b.
TEST(Examples, KnownMargins) {
  const Problem like = example({.name = "authors-like"});
  EXPECT_NEAR(margin(like, {0, 0, 0}).norm, 0.7351361561944, 5e-14);
  expect_near(margin(like, {0, 0, 0}).p, {0.7029137519805, 0.2152612956874, 0}, 5e-14);
  const Problem counter = example({.name = "counterexample"});
  EXPECT_NEAR(margin(counter, {0, 0, 0}).norm, 2.515870613374, 5e-13);
  EXPECT_NEAR(margin(counter, {2, 0, 0}).norm, 0.7407530046134, 5e-14);
  for (const Problem& p : {like, counter})
    for (std::size_t k = 0; k < p.inputs * p.tokens; ++k)
      EXPECT_EQ(scores(p)[k], k % p.tokens == 0 ? 1 : 0.5);
}

// The recorded draw has another generator; what must agree is the law around the centres.
TEST(Examples, MultiHasTheCentresAndSpreadOfTheAuthors) {
  const std::size_t n = 4000;
  const Problem p = example({.name = "multi", .inputs = n});
  const double centres[7][2] = {{1, 0},     {-1, 1},    {-1, 1},   {-1, 1},
                                {-.5, -.5}, {-.5, -.5}, {-.5, -.5}};
  for (std::size_t t = 0; t < 7; ++t)
    for (std::size_t a = 0; a < 2; ++a) {
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const double z = (p.token(i, t)[a] - centres[t][a]) / 0.2;
        sum += z, squares += z * z;
      }
      EXPECT_LT(std::abs(sum) / std::sqrt(n), 5) << t << a;
      EXPECT_LT(std::abs(squares - n) / std::sqrt(2.0 * n), 5) << t << a;
    }
  const Problem still = example({.name = "multi", .noise = 0});
  EXPECT_EQ(still.token(2, 3)[0], -1);
  EXPECT_EQ(still.token(2, 3)[1], 1);
  EXPECT_EQ(scores(still)[7], 1);
  EXPECT_EQ(scores(still)[8], 0.5);
}

// theory.md B7; v^mm = (0, 1) separates the selected tokens with margin 1.
TEST(Examples, JointData) {
  const Problem tight = example({.name = "joint-tight"}), wide = example({.name = "joint-relaxed"});
  expect_near(margin(tight, {1, 1, 1}).p, {4.0 / 3, 1.0 / 3}, 1e-15);
  expect_near(margin(wide, {1, 1, 1}).p, {1.25, 0.25}, 1e-15);
  for (const Problem& p : {tight, wide}) {
    EXPECT_EQ(p.prompt, (std::vector<double>{0, -1}));
    EXPECT_EQ(p.head.v, (std::vector<double>{-1, 0}));
    EXPECT_EQ(p.labels, (std::vector<double>{1, -1, 1}));
    for (std::size_t i = 0; i < 3; ++i) EXPECT_GE(p.labels[i] * p.token(i, 1)[1], 1);
  }
}

TEST(Examples, LossesScaleOneScore) {
  const Problem p = example({.name = "losses", .score = 100});
  EXPECT_EQ(scores(p), (std::vector<double>{0, 100, 0, 1}));
  expect_near(margin(p, {1, 1}).p, {1, 0, 0}, 1e-15);
}

TEST(Examples, RandomTokensAndQueriesAreUnit) {
  const Problem p = example({.name = "random", .inputs = 30, .queries = "unit"});
  for (std::size_t row = 0; row < p.inputs * p.tokens; ++row)
    EXPECT_NEAR(length(p.token(row / p.tokens, row % p.tokens)), 1, 1e-15);
  for (std::size_t i = 0; i < p.inputs; ++i)
    EXPECT_NEAR(length(std::span(p.queries).subspan(i * p.dim, p.dim)), 1, 1e-15);
  EXPECT_NEAR(length(p.head.v), 1, 1e-15);
  const auto positive = std::count(p.labels.begin(), p.labels.end(), 1.0);
  EXPECT_TRUE(positive > 5 && positive < 25) << positive;
  EXPECT_TRUE(example({.name = "random"}).queries.empty());
}

TEST(Examples, SelfAttentionAsksWithTheFirstToken) {
  const Problem p = example({.name = "self-attention"});
  ASSERT_EQ(p.queries.size(), p.inputs * p.dim);
  for (std::size_t i = 0; i < p.inputs; ++i)
    for (std::size_t a = 0; a < p.dim; ++a) EXPECT_EQ(p.queries[i * p.dim + a], p.token(i, 0)[a]);
}

// Without noise an input has two kinds of tokens; q* = (relevant - irrelevant - Y v) / (1 + delta).
TEST(Examples, ContextualTokensOfTwoKinds) {
  const ExampleOptions o{.name = "contextual", .noise = 0, .relevant = 0.3, .delta = 0.5};
  const Problem p = example(o);
  EXPECT_NEAR(length(p.head.v), 1, 1e-15);
  const std::vector<double> gamma = scores(p);
  std::set<std::size_t> places;
  for (std::size_t i = 0; i < p.inputs; ++i) {
    std::size_t relevant = 0;
    for (std::size_t t = 0; t < p.tokens; ++t) {
      const double score = gamma[i * p.tokens + t];
      const bool is_relevant = score > 0.5;
      relevant += is_relevant;
      if (is_relevant) places.insert(t);
      EXPECT_NEAR(score, is_relevant ? 1 : 0, 1e-15);
      EXPECT_NEAR(length(p.token(i, t)), is_relevant ? std::sqrt(2) : 0.5, 1e-15);
    }
    EXPECT_EQ(relevant, 3);
  }
  EXPECT_EQ(places.size(), p.tokens);
  // The noise has the length that is asked for, on average over 200 tokens.
  const Problem noisy = example({.name = "contextual", .noise = 2, .relevant = 0.3, .delta = 0.5});
  long double squares = 0;
  for (std::size_t k = 0; k < p.x.size(); ++k)
    squares += std::pow(static_cast<long double>(noisy.x[k]) - p.x[k], 2);
  const double tokens = static_cast<double>(p.inputs * p.tokens), d = static_cast<double>(p.dim);
  EXPECT_NEAR(static_cast<double>(squares) / (4 * tokens), 1, 5 * std::sqrt(2 / (tokens * d)));
}

TEST(Examples, MultiTokenHasTies) {
  for (const auto& [fraction, count] : {std::pair{0.0, 1}, {0.25, 2}, {0.5, 4}, {1.0, 7}}) {
    const Problem p = example({.name = "multi-token", .relevant = fraction});
    const std::vector<double> gamma = scores(p);
    for (auto at = gamma.begin(); at != gamma.end(); at += 8) {
      EXPECT_EQ(std::count(at, at + 8, 1.0), count);
      EXPECT_EQ(std::count(at, at + 8, 0.0), 8 - count);
    }
  }
}

TEST(Examples, SelectableHasItsMargin) {
  for (const double planted : {0.01, 0.5, 3.0})
    for (const auto& [n, tokens, dim] : {std::array<std::uint64_t, 3>{20, 10, 20}, {64, 32, 16}}) {
      const Problem p = example(
          {.name = "selectable", .inputs = n, .tokens = tokens, .dim = dim, .margin = planted});
      Tokens best;
      for (std::size_t i = 0; i < p.inputs; ++i) best.push_back(best_token(p, i));
      EXPECT_GT(std::set(best.begin(), best.end()).size(), 5);
      const solve::HardMargin found = margin(p, best);
      EXPECT_EQ(found.status, solve::MarginStatus::optimal);
      EXPECT_LE(found.norm, (1 + 1e-12) / planted);
      const std::vector<double> k = keys(p), gamma = scores(p);
      for (std::size_t row = 0; row < n * tokens; ++row) {
        const bool is_best = best[row / tokens] == row % tokens;
        EXPECT_NEAR(length(std::span(k).subspan(row * dim, dim)),
                    is_best ? std::hypot(1, planted) : 1, 1e-15 * (1 + planted));
        EXPECT_TRUE(is_best ? gamma[row] == 1 : gamma[row] < 0.9);
      }
    }
}

TEST(Examples, RefuseWhatTheyCannotDo) {
  const auto says = [](const char* part, const ExampleOptions& o) {
    EXPECT_SAYS(refusal([&] { example(o); }), part);
  };
  says("'none' is no example; allowed: single-equal", {.name = "none"});
  says("'' is no example", {.name = ""});
  says("inputs = 2 is not allowed; single-equal has 1", {.name = "single-equal", .inputs = 2});
  says("tokens = 8 is not allowed; multi has 7", {.name = "multi", .tokens = 8});
  says("tokens = 1", {.name = "random", .tokens = 1});
  says("dim = 2", {.name = "random", .dim = 2});
  says("at most 268435456 numbers", {.name = "random", .inputs = 1 << 20, .tokens = 1 << 20});
  says("at most", {.name = "random", .inputs = UINT64_MAX, .tokens = UINT64_MAX});
  says("dimension 16384", {.name = "random", .inputs = 1, .tokens = 2, .dim = 1 << 15});
  says("noise = -1 is not allowed; allowed: 0 to", {.name = "multi", .noise = -1});
  says("noise = nan", {.name = "multi", .noise = NAN});
  says("score = inf", {.name = "losses", .score = INFINITY});
  says("relevant = 1.5", {.name = "contextual", .relevant = 1.5});
  says("delta = nan", {.name = "contextual", .delta = NAN});
  says("margin = 0 is not", {.name = "selectable", .margin = 0});
  says("queries = 'all'", {.name = "random", .queries = "all"});
}

}  // namespace
}  // namespace attractor::training
