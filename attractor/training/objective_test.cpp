// Loss and gradient of everything that can be trained against the reference values of the theory
// (B1), finite differences, and long double sums where the gradient underflows.
#include "attractor/training/objective.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/training_problems.hpp"

namespace attractor::training {
namespace {

double loss_at(const Objective& objective, std::span<const double> state) {
  Evaluation e;
  objective.evaluate(state, e);
  return objective.loss(e);
}

std::vector<double> gradient_at(const Objective& objective, std::span<const double> state) {
  Evaluation e;
  objective.evaluate(state, e);
  std::vector<double> gradient(objective.dim());
  for (std::size_t k = 0; k < objective.blocks().size(); ++k) {
    const Block& b = objective.blocks()[k];
    for (std::size_t j = b.begin; j < b.begin + b.size; ++j)
      gradient[j] = -std::exp(e.log_scale[k]) * e.descent[j];
  }
  return gradient;
}

// Fourth-order differences: error about h^4 plus rounding / h.
void expect_gradient(const Objective& objective, const std::string& what) {
  std::vector<double> state = objective.start();
  const std::vector<double> gradient = gradient_at(objective, state);
  for (std::size_t j = 0; j < state.size(); ++j) {
    const auto at = [&](double h) {
      std::vector<double> moved = state;
      moved[j] += h;
      return loss_at(objective, moved);
    };
    const double h = 1e-3;
    const double slope = (8 * (at(h) - at(-h)) - (at(2 * h) - at(-2 * h))) / (12 * h);
    EXPECT_NEAR(gradient[j], slope, 3e-11 * (1 + std::abs(slope))) << what << " coordinate " << j;
  }
}

TEST(Objective, IsTheReferenceOfTheTheory) {
  Problem p = general();
  p.queries.clear();
  const auto gradient = [&](const char* train) {
    const Objective objective(p, Loss::logistic, named<Train>("train", train));
    EXPECT_NEAR(loss_at(objective, objective.start()), 1.020356874973, 1e-12) << train;
    return gradient_at(objective, objective.start());
  };
  EXPECT_NEAR(gradient("p")[0], 0.05886603903661, 1e-13);
  EXPECT_NEAR(gradient("W")[24], -0.01704484644667, 1e-13);
  EXPECT_NEAR(gradient("v")[2], -0.04317682950822, 1e-13);
  EXPECT_NEAR(gradient("v,p")[0], 0.05886603903661, 1e-13);
  EXPECT_NEAR(gradient("v,p")[5 + 2], -0.04317682950822, 1e-13);
}

TEST(Objective, GradientIsTheDerivativeForEveryPartAndLoss) {
  for (const char* train : {"p", "W", "KQ", "v", "v,p", "v,W", "v,KQ"})
    for (Loss loss :
         {Loss::linear, Loss::correlation, Loss::logistic, Loss::exponential, Loss::squared})
      for (bool queries : {false, true}) {
        Problem p = general();
        if (!queries) p.queries.clear();
        if (!needs_signs(loss)) p.labels = {0.7, -1.3, 2};
        const Trained trained = named<Train>("train", train);
        if (queries && trained.attention == AttentionPart::prompt) continue;
        expect_gradient(Objective(p, loss, trained),
                        std::string(train) + " " + std::string(name(loss)));
      }
}

TEST(Objective, GradientIsTheDerivativeForEveryHead) {
  for (Activation activation : {Activation::identity, Activation::relu, Activation::gelu,
                                Activation::tanh, Activation::softplus, Activation::sin})
    for (double penalty : {0.0, 0.3})
      for (bool wide : {false, true}) {
        Problem p = general();
        p.queries.clear();
        p.head.activation = activation;
        p.head.penalty = penalty;
        if (wide) {
          p.head.v = deterministic(1, 1, 7, 9);
          p.head.hidden = deterministic(1, 7, 5, 10);
          p.head.bias = deterministic(1, 1, 7, 11);
        }
        for (const char* train : {"p", "W", "v,KQ"})
          expect_gradient(Objective(p, Loss::logistic, named<Train>("train", train)),
                          name(activation) + " " + train);
      }
  Problem mixed = general();
  mixed.queries.clear();
  mixed.head.activation = activation_named("tanh,sin,identity,gelu,softplus");
  expect_gradient(Objective(mixed, Loss::exponential, Train::v_p), "mixed");
}

// Far out the gradient underflows; its direction against the same sum with a huge exponent range.
TEST(Objective, DirectionIsRightWhereTheGradientUnderflows) {
  if (std::exp(-2000.0L) == 0) GTEST_SKIP() << "no exponentials beyond those of doubles here";
  const Problem problem = authors_like();
  const Objective objective(problem, Loss::logistic, {});
  const std::vector<double> k = keys(problem), gamma = scores(problem);
  for (double length : {10.0, 1e3, 5e3}) {
    const std::vector<double> p = {length * 0.9, length * 0.3, 0};
    Evaluation e;
    objective.evaluate(p, e);
    std::vector<long double> exact(3, 0);
    for (std::size_t i = 0; i < 3; ++i) {
      std::vector<long double> s(7);
      long double sum = 0, f = 0;
      for (std::size_t t = 0; t < 7; ++t) {
        long double logit = 0;
        for (std::size_t a = 0; a < 3; ++a)
          logit += static_cast<long double>(k[(i * 7 + t) * 3 + a] - k[i * 7 * 3 + a]) * p[a];
        sum += s[t] = std::exp(logit);
      }
      for (std::size_t t = 0; t < 7; ++t) f += (s[t] /= sum) * gamma[i * 7 + t];
      for (std::size_t t = 0; t < 7; ++t)
        for (std::size_t u = 0; u < t; ++u)
          for (std::size_t a = 0; a < 3; ++a)
            exact[a] += s[t] * s[u] * (gamma[i * 7 + t] - gamma[i * 7 + u]) *
                        (k[(i * 7 + t) * 3 + a] - k[(i * 7 + u) * 3 + a]) / (1 + std::exp(f));
    }
    const long double size = std::hypot(exact[0], exact[1]);
    ASSERT_GT(size, 0);
    for (std::size_t a = 0; a < 2; ++a)
      EXPECT_NEAR(e.descent[a] / norm(e.descent), static_cast<double>(exact[a] / size),
                  1e-12 + 1e-16 * length)
          << length;
    EXPECT_NEAR(e.log_scale[0] + std::log(norm(e.descent)), static_cast<double>(std::log(size / 3)),
                1e-12 * length);
  }
}

// Two tokens share the best score: weight between them moves nothing, the third token does.
TEST(Objective, TiedTokensDoNotHideTheOthers) {
  const Problem problem = with_scores(1, 3, 2, {1, 0, 1, 0.1, -1, 0}, {1, 1, 0});
  const Objective objective(problem, Loss::linear, {});
  for (double length : {1.0, 100.0, 2000.0}) {
    Evaluation e;
    objective.evaluate(std::vector<double>{length, 0, 0}, e);
    // s = (1, 1, r)/(2 + r), r = e^{-2 length}: -grad = sum_{t<u} s_t s_u (g_t - g_u)(k_t - k_u)
    //   = r/(2+r)^2 ((2, 0) + (2, 0.1)).
    const double r = std::exp(-2 * length), scale = -2 * length - 2 * std::log(2 + r);
    EXPECT_NEAR(std::log(e.descent[0]) + e.log_scale[0], std::log(4) + scale, 1e-12 * length);
    EXPECT_NEAR(e.descent[1] / e.descent[0], 0.1 / 4, 1e-14);
  }
}

TEST(Objective, ExcessIsTheLossAboveTheBestTokens) {
  for (Loss loss : {Loss::linear, Loss::logistic, Loss::exponential}) {
    Problem p = authors_like();
    p.labels = {1, -1, 1};
    const Objective objective(p, loss, {});
    const std::vector<double> gamma = scores(p);
    double least = 0;
    for (std::size_t i = 0; i < 3; ++i)
      least += value(loss, p.labels[i] * *std::max_element(&gamma[i * 7], &gamma[i * 7] + 7),
                     p.labels[i]) /
               3;
    Evaluation e;
    objective.evaluate(std::vector<double>{0.3, -0.2, 0}, e);
    EXPECT_NEAR(std::exp(objective.log_excess(e, objective.best())), objective.loss(e) - least,
                1e-15);
  }
  // Far out: -y f is linear in the weights of the others, here r / (1 + 2 r) each.
  const Problem p = single_input({1, .9, 0});
  const Objective objective(p, Loss::linear, {});
  Evaluation e;
  objective.evaluate(std::vector<double>{0, 3000, 0}, e);  // logits 3000, 0, 0
  EXPECT_NEAR(objective.log_excess(e, objective.best()), -3000 + std::log(0.1 + 1), 1e-12);
}

TEST(Objective, WeightsAreSoftmax) {
  const Problem p = general();
  const Objective objective(p, Loss::logistic, Train::W);
  Evaluation e;
  objective.evaluate(objective.start(), e);
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<double> s(4);
    double sum = 0;
    for (std::size_t t = 0; t < 4; ++t) {
      double logit = 0;
      for (std::size_t a = 0; a < 5; ++a)
        for (std::size_t b = 0; b < 5; ++b)
          logit += p.token(i, t)[a] * p.weights[a * 5 + b] * p.queries[i * 5 + b];
      sum += s[t] = std::exp(logit);
    }
    for (std::size_t t = 0; t < 4; ++t) EXPECT_NEAR(e.weight[i * 4 + t], s[t] / sum, 1e-14);
  }
}

TEST(Objective, RefusesWhatCannotBeTrained) {
  Problem p = general();
  EXPECT_SAYS(refusal([&] { Objective(p, Loss::logistic, Train::p); }), "has no prompt");
  std::fill_n(p.queries.begin() + 5, 5, 0.0);
  EXPECT_SAYS(refusal([&] { Objective(p, Loss::logistic, Train::W); }), "query of input 1 is 0");
  p.queries.clear();
  p.prompt.assign(5, 0.0);
  EXPECT_SAYS(refusal([&] { Objective(p, Loss::logistic, Train::W); }), "p0 = 0");
  p.key_factor.clear(), p.query_factor.clear();
  p.prompt[0] = 1;
  EXPECT_SAYS(refusal([&] { Objective(p, Loss::logistic, Train::KQ); }), "need");
  p.labels[1] = 2;
  EXPECT_SAYS(refusal([&] { Objective(p, Loss::logistic, Train::p); }), "label of input 1 is 2");
  p.labels[1] = 0;
  EXPECT_SAYS(refusal([&] { Objective(p, Loss::linear, Train::p); }), "is 0");
  EXPECT_SAYS(refusal([&] { named<Train>("train", "q"); }), "unknown");
  for (const Train train : every<Train>()) EXPECT_EQ(named<Train>("train", name(train)), train);
  EXPECT_EQ(named<Train>("train", "v,KQ"), Train::v_KQ);
  for (const auto& [train, attention, head] : {std::tuple{Train::p, AttentionPart::prompt, false},
                                               {Train::W, AttentionPart::weights, false},
                                               {Train::KQ, AttentionPart::factors, false},
                                               {Train::v, AttentionPart::none, true},
                                               {Train::v_p, AttentionPart::prompt, true},
                                               {Train::v_W, AttentionPart::weights, true},
                                               {Train::v_KQ, AttentionPart::factors, true}}) {
    EXPECT_EQ(Trained(train).attention, attention) << name(train);
    EXPECT_EQ(Trained(train).head, head) << name(train);
  }
}

// Many tokens of many numbers, as vectors take them.
Problem many_tokens() {
  Problem p{.inputs = 40, .tokens = 37, .dim = 19};
  p.x = deterministic(p.inputs, p.tokens, p.dim, 5);
  for (std::size_t i = 0; i < p.inputs; ++i) p.labels.push_back(i % 3 == 0 ? -1 : 1);
  p.head.v = deterministic(1, 1, p.dim, 7);
  p.prompt = deterministic(1, 1, p.dim, 11);
  return p;
}

TEST(Objective, GradientIsTheDerivativeOfManyTokens) {
  const Problem p = many_tokens();
  for (const Train train : {Train::p, Train::v_p})
    expect_gradient(Objective(p, Loss::logistic, train), "many tokens");
}

TEST(Objective, IsTheSameOnAnyThreads) {
  const Problem p = many_tokens();
  for (const auto stored : {kernels::Precision::f64, kernels::Precision::f32}) {
    const Objective objective(p, Loss::logistic, Train::p, stored);
    Evaluation one, e;
    set_threads(1);
    objective.evaluate(p.prompt, one);
    for (std::size_t count : {2UL, 3UL, 7UL}) {
      set_threads(count);
      objective.evaluate(p.prompt, e);
      EXPECT_EQ(e.descent, one.descent);
      EXPECT_EQ(e.output, one.output);
      EXPECT_EQ(e.weight, one.weight);
    }
    set_threads(0);
  }
}

TEST(Objective, StoredAsFloatsIsTheObjectiveOfThoseFloats) {
  Problem p = many_tokens();
  const Problem given = p;
  for (double& x : p.x) x = static_cast<double>(static_cast<float>(x));
  for (double size : {1.0, 50.0, 1e5, 1e300}) {
    std::vector<double> state = p.prompt;
    for (double& x : state) x *= size;
    Evaluation exact, single, rounded;
    Objective(p, Loss::logistic, Train::p).evaluate(state, exact);
    Objective(p, Loss::logistic, Train::p, kernels::Precision::f32).evaluate(state, single);
    EXPECT_EQ(single.descent, exact.descent);
    EXPECT_EQ(single.log_scale, exact.log_scale);
    EXPECT_EQ(single.output, exact.output);
    if (size > 1) continue;
    // Weights move by their logits, those by 2^-24 sum_b |x_b u_b| either way; twice that in all.
    Objective(given, Loss::logistic, Train::p).evaluate(state, exact);
    Objective(given, Loss::logistic, Train::p, kernels::Precision::f32).evaluate(state, rounded);
    double most = 0;
    for (std::size_t row = 0; row < p.inputs * p.tokens; ++row) {
      double sum = 0;
      for (std::size_t b = 0; b < p.dim; ++b) sum += std::abs(given.x[row * p.dim + b] * state[b]);
      most = std::max(most, sum * 0x1p-24);
    }
    EXPECT_NE(rounded.weight, exact.weight);
    for (std::size_t k = 0; k < exact.weight.size(); ++k)
      EXPECT_NEAR(rounded.weight[k] / exact.weight[k], 1, 2.01 * most);
  }
}

TEST(Objective, RefusesFloatsWhereTheyMeanNothing) {
  Problem p = many_tokens();
  const auto stored = [&](Train train) {
    return refusal([&] { Objective(p, Loss::logistic, train, kernels::Precision::f32); });
  };
  EXPECT_EQ(stored(Train::p), "");
  EXPECT_SAYS(stored(Train::v), "fixed");
  EXPECT_SAYS(stored(Train::v_p), "fixed");
  p.x[5] = 1e39;
  EXPECT_SAYS(stored(Train::p), "cannot hold 1e+39");
  p.x[5] = 1e-60;
  EXPECT_SAYS(stored(Train::p), "cannot hold 1e-60");
  for (std::size_t b = 0; b < p.dim; ++b) p.x[p.dim + b] = p.x[b] = 1 + static_cast<double>(b);
  p.x[3] += 1e-12;
  EXPECT_SAYS(stored(Train::p), "precision single: ");
  p = many_tokens();
  p.head.activation = Activation::tanh;
  EXPECT_SAYS(stored(Train::p), "linear head");
}

}  // namespace
}  // namespace attractor::training
