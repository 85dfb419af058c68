// Every architecture against what is known exactly: the closed (cosine, norm) system of
// equiangular tokens, discrete layers, the fused flow, clock changes, and reference values of
// tokens that are not equiangular.
#include "attractor/depth/layer_flow.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <cmath>
#include <functional>

#include "attractor/attention/weights.hpp"
#include "attractor/base/matrix_exponential.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/reductions/equiangular.hpp"
#include "attractor/reductions/equiangular_layers.hpp"
#include "attractor/tokens/generators.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::depth {
namespace {

using flow::Time;

Architecture architecture(Normalisation norm, double beta, std::size_t dim) {
  Architecture a;
  a.layer.beta = beta;
  a.layer.dim = dim;
  a.norm = norm;
  return a;
}

// The rows sin(1 + 3i + 7a + ia), normalised.
std::vector<double> sine_tokens(std::size_t n, std::size_t dim) {
  std::vector<double> x(n * dim);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t a = 0; a < dim; ++a)
      x[i * dim + a] = std::sin(static_cast<double>(1 + 3 * i + 7 * a + i * a));
    Sphere(dim).retract(std::span(x).subspan(i * dim, dim));
  }
  return x;
}

// As the experiment does it: one run up to the switch of mix, one from there.
std::vector<double> flow_to(const Architecture& a, std::vector<double> start, double time,
                            const flow::Tableau& method = flow::dormand_prince(),
                            double step = 0.1) {
  LayerFlow flow(a, start.size() / a.layer.dim);
  flow::Progress progress{.state = std::move(start)};
  std::vector<double> ends = {time};
  if (a.norm == Normalisation::mix && a.switch_time < time) ends = {a.switch_time, time};
  for (const double end : ends)
    EXPECT_EQ(
        flow::run(flow, method, {.end = Time(end), .tolerance = 1e-13, .step = step}, progress, {}),
        flow::Status::complete);
  return progress.state;
}

double cosine(std::span<const double> x, std::size_t i, std::size_t j, std::size_t dim) {
  const auto a = x.subspan(i * dim, dim), b = x.subspan(j * dim, dim);
  return dot(a, b) / norm(a) / norm(b);
}

meanfield::Equiangular reduced(const Architecture& a, double tokens, double cosine0) {
  return {.tokens = tokens,
          .beta = a.layer.beta,
          .cosine0 = cosine0,
          .norm = a.norm,
          .alpha = a.alpha,
          .switch_time = a.switch_time,
          .deepnorm_scale = a.deepnorm_scale};
}

Architecture architecture(Normalisation norm) {
  Architecture a = architecture(norm, 2, 8);
  a.alpha = 0.7;
  a.switch_time = 1;
  a.deepnorm_scale = 1.5;
  return a;
}

TEST(LayerFlow, EquiangularTokensFollowTheClosedSystemOfEveryScheme) {
  for (const Normalisation norm_ : every<Normalisation>()) {
    const Architecture a = architecture(norm_);
    const meanfield::EquiangularFlow exact(reduced(a, 8, 0.1));
    for (const double time : {0.5, 1.0, 4.0}) {
      const auto x = flow_to(a, equiangular(8, 8, 0.1).data, time);
      const meanfield::EquiangularState state = exact.at(std::log(time));
      EXPECT_NEAR(cosine(x, 0, 5, 8), state.cosine, 1e-10) << attractor::name(norm_) << time;
      EXPECT_NEAR(norm(std::span(x).first(8)), state.norm(), 1e-9)
          << attractor::name(norm_) << time;
    }
  }
}

TEST(LayerFlow, LayersAreThoseOfTheArchitecture) {
  for (const Normalisation norm_ : every<Normalisation>()) {
    Architecture a = architecture(norm_);
    a.switch_time = 4;
    const auto exact = meanfield::layers(reduced(a, 8, 0), 1, 10).back();
    const auto x = flow_to(a, equiangular(8, 8, 0).data, 10, flow::layers(), 1);
    EXPECT_NEAR(cosine(x, 0, 5, 8), exact.cosine, 1e-12) << attractor::name(norm_);
    EXPECT_NEAR(norm(std::span(x).first(8)), exact.norm(), 1e-11) << attractor::name(norm_);
  }
}

TEST(LayerFlow, LayersConvergeToTheFlowWithOrderOne) {
  const std::vector<double> start = sine_tokens(7, 4);
  for (const Normalisation norm_ : every<Normalisation>()) {
    Architecture a = architecture(norm_);
    a.layer.dim = 4;
    const auto exact = flow_to(a, start, 2);
    const auto error = [&](double step) {
      return std::sqrt(squared_distance(flow_to(a, start, 2, flow::layers(), step), exact));
    };
    EXPECT_NEAR(std::log2(error(1. / 64) / error(1. / 128)), 1, 0.05) << attractor::name(norm_);
  }
}

// theory: dettok(7,4), beta = 1.5, t = 3.
TEST(LayerFlow, TokensThatAreNotEquiangular) {
  const auto pre = flow_to(architecture(Normalisation::pre, 1.5, 4), sine_tokens(7, 4), 3);
  EXPECT_NEAR(norm(std::span(pre).first(4)), 3.034216782038, 1e-10);
  EXPECT_NEAR(cosine(pre, 0, 6, 4), 0.9365553172835, 1e-10);
  const auto peri = flow_to(architecture(Normalisation::peri, 1.5, 4), sine_tokens(7, 4), 3);
  EXPECT_NEAR(norm(std::span(peri).first(4)), 3.561360706266, 1e-10);
  EXPECT_NEAR(cosine(peri, 0, 6, 4), 0.9539648173684, 1e-10);
}

TEST(LayerFlow, CausalReferenceAndTheFirstTokenStays) {
  Architecture a = architecture(Normalisation::post, 1.5, 4);
  a.layer.mask.causal = true;
  const std::vector<double> start = sine_tokens(7, 4);
  const auto x = flow_to(a, start, 1);
  EXPECT_NEAR(x[6 * 4 + 3], 0.7605337827248, 1e-11);
  const auto late = flow_to(a, start, 50);
  // Its velocity is exactly zero; what is left is the rounding of x / |x|.
  EXPECT_LT(squared_distance(std::span(late).first(4), std::span(start).first(4)), 1e-30);
  for (std::size_t i = 1; i < 7; ++i) EXPECT_NEAR(cosine(late, 0, i, 4), 1, 1e-12);
}

// Near consensus the distances delta_k to the first token obey delta_k' = (1/k) sum_{j<=k} delta_j
// - delta_k: rates (k - 1) / k, and finally e^{-t/2} for all.
TEST(LayerFlow, CausalTokensApproachTheFirstAtTheirOwnRates) {
  constexpr std::size_t kTokens = 5;
  Architecture a = architecture(Normalisation::post, 3, 2);
  a.layer.mask.causal = true;
  std::vector<double> start;
  Eigen::VectorXd angles(kTokens);
  for (std::size_t k = 0; k < kTokens; ++k) {
    angles(static_cast<Eigen::Index>(k)) = 1e-4 * static_cast<double>((k * k * 3) % 7);
    start.push_back(std::cos(angles(static_cast<Eigen::Index>(k))));
    start.push_back(std::sin(angles(static_cast<Eigen::Index>(k))));
  }
  Eigen::MatrixXd linear = -Eigen::MatrixXd::Identity(kTokens, kTokens);
  for (Eigen::Index k = 0; k < static_cast<Eigen::Index>(kTokens); ++k)
    for (Eigen::Index j = 0; j <= k; ++j) linear(k, j) += 1 / static_cast<double>(k + 1);
  const double time = 6;
  const Eigen::VectorXd exact = matrix_exponential(time * linear) * angles;
  const auto x = flow_to(a, start, time);
  for (std::size_t k = 0; k < kTokens; ++k)
    EXPECT_NEAR(std::atan2(x[2 * k + 1], x[2 * k]), exact(static_cast<Eigen::Index>(k)), 1e-11);
  EXPECT_NEAR(exact(1), angles(1) * std::exp(-time / 2), 1e-18);
}

TEST(LayerFlow, EqualsTheFusedFlowWhereBothApply) {
  const std::size_t n = 21, dim = 5;
  const std::vector<double> x = make_tokens({.tokens = n, .dim = dim, .seed = 3}).data;
  for (const bool softmax : {true, false}) {
    for (const bool weights : {false, true}) {
      Architecture a = architecture(Normalisation::post, 3, dim);
      a.layer.rule = softmax ? Rule::softmax : Rule::unnormalised;
      if (weights)
        a.layer.heads = {draw_head({.query = WeightKind::gaussian,
                                    .key = WeightKind::goe,
                                    .value = WeightKind::orthogonal},
                                   dim, 1, 0, 0)};
      const Head& head = a.layer.heads[0];
      const AttentionFlow fused({.rule = softmax ? Rule::softmax : Rule::unnormalised,
                                 .beta = 3,
                                 .dim = dim,
                                 .query = head.query,
                                 .key = head.key,
                                 .value = head.value},
                                n, 0);
      const LayerFlow general(a, n);
      EXPECT_NEAR(general.log_unit(), fused.log_unit(), 1e-12);
      std::vector<double> expected(n * dim), found(n * dim);
      fused.drift(x, -1, expected);
      general.drift(x, -1, found);
      const double size = norm(expected);
      EXPECT_LT(std::sqrt(squared_distance(expected, found)), 1e-13 * size);
      fused.increment(x, 0, expected);
      general.increment_at(Time(0), x, 0, found);
      EXPECT_LT(std::sqrt(squared_distance(expected, found)), 1e-13 * norm(expected));
    }
  }
}

// Schemes that only change the clock: exact for any tokens.
TEST(LayerFlow, ScalingWithDepthIsAChangeOfClock) {
  const std::vector<double> start = sine_tokens(7, 4);
  const double time = 3, clock = 2 * (std::sqrt(1 + time) - 1);
  const std::pair<Normalisation, Normalisation> pairs[] = {
      {Normalisation::ln_scaling, Normalisation::pre},
      {Normalisation::damped_post, Normalisation::post}};
  for (const auto& [scaled, plain] : pairs) {
    const auto a = flow_to(architecture(scaled, 1.5, 4), start, time);
    const auto b = flow_to(architecture(plain, 1.5, 4), start, clock);
    EXPECT_LT(std::sqrt(squared_distance(a, b)), 1e-10) << attractor::name(scaled);
  }
  Architecture slow = architecture(Normalisation::ngpt, 1.5, 4);
  slow.alpha = 0.6;
  slow.alpha_power = 0.5;  // integral of alpha_t: 1.2 (sqrt(1 + t) - 1)
  Architecture steady = architecture(Normalisation::ngpt, 1.5, 4);
  EXPECT_LT(
      std::sqrt(squared_distance(flow_to(slow, start, time), flow_to(steady, start, 0.6 * clock))),
      1e-10);
}

TEST(LayerFlow, RescaledTokensAreThoseOfTheEuclideanFlow) {
  const std::size_t dim = 3;
  const std::vector<double> start = make_tokens({.tokens = 6, .dim = dim, .on_sphere = false}).data;
  Architecture a = architecture(Normalisation::post, 0.7, dim);
  a.layer.heads = {draw_head({.value = WeightKind::gaussian}, dim, 4, 0, 0)};
  a.geometry = Geometry::euclidean;
  const double time = 1.5;
  const std::vector<double> x = flow_to(a, start, time);
  a.geometry = Geometry::rescaled;
  const std::vector<double> z = flow_to(a, start, time);
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Matrix v = Eigen::Map<const Matrix>(a.layer.heads[0].value.data(), 3, 3);
  const Matrix back =
      Eigen::Map<const Matrix>(x.data(), 6, 3) * matrix_exponential(-time * v).transpose();
  EXPECT_LT((back - Eigen::Map<const Matrix>(z.data(), 6, 3)).norm(), 1e-10);
}

// Mean shift in R^d: the velocity is the gradient of the log kernel density over beta.
TEST(LayerFlow, AttractedByAGaussianKernelIsMeanShift) {
  const std::size_t dim = 3, n = 6;
  const double beta = 2;
  const std::vector<double> x = make_tokens({.tokens = n, .dim = dim, .on_sphere = false}).data;
  Architecture a = architecture(Normalisation::post, beta, dim);
  a.geometry = Geometry::attracted;
  a.layer.rule = Rule::radial;
  std::vector<double> velocity(x.size());
  LayerFlow(a, n).drift(x, 0, velocity);
  const auto log_density = [&](std::vector<double> at) {
    double sum = 0;
    for (std::size_t j = 0; j < n; ++j)
      sum += std::exp(-beta / 2 * squared_distance(at, std::span(x).subspan(j * dim, dim)));
    return std::log(sum);
  };
  for (std::size_t c = 0; c < dim; ++c) {
    std::vector<double> up(x.begin(), x.begin() + 3), down = up;
    up[c] += 1e-6;
    down[c] -= 1e-6;
    EXPECT_NEAR(velocity[c], (log_density(up) - log_density(down)) / 2e-6 / beta, 1e-8);
  }
}

// B = -I: tokens collapse geometrically to one point; B = I: vertices of the hull stay.
TEST(LayerFlow, HardmaxIsFrankWolfe) {
  const std::size_t dim = 2;
  const std::vector<double> start =
      make_tokens({.tokens = 12, .dim = dim, .seed = 2, .on_sphere = false}).data;
  Architecture a = architecture(Normalisation::post, 1, dim);
  a.geometry = Geometry::attracted;
  a.layer.rule = Rule::hardmax;
  const auto x = flow_to(a, start, 30, flow::euler(), 0.5);
  std::size_t fixed = 0;
  for (std::size_t i = 0; i < 12; ++i) {
    const auto token = std::span(start).subspan(i * dim, dim);
    std::size_t best = 0;
    for (std::size_t j = 0; j < 12; ++j)
      if (dot(token, std::span(start).subspan(j * dim, dim)) >
          dot(token, std::span(start).subspan(best * dim, dim)))
        best = j;
    if (best != i) continue;
    ++fixed;
    // Others arrive here and tie with it once they are within the tie tolerance.
    EXPECT_LT(squared_distance(token, std::span(x).subspan(i * dim, dim)), 1e-22);
  }
  EXPECT_GT(fixed, 1U);
  a.layer.heads[0].query = {-1, 0, 0, -1};
  const auto y = flow_to(a, start, 30, flow::euler(), 0.5);
  double diameter = 0;
  for (std::size_t i = 1; i < 12; ++i)
    diameter =
        std::max(diameter, squared_distance(std::span(y).first(2), std::span(y).subspan(2 * i, 2)));
  EXPECT_LT(diameter, 1e-6);
}

TEST(LayerFlow, FeedForwardAddsItsBlock) {
  Architecture a = architecture(Normalisation::pre, 1, 3);
  a.feed_forward = draw_feed_forward(Activation::relu, 3, 5, 2, 7, 0);
  const std::vector<double> x = sine_tokens(4, 3);
  std::vector<double> with(x.size()), without(x.size());
  LayerFlow(a, 4).drift(x, 0, with);
  const FeedForward block = a.feed_forward;
  a.feed_forward = {};
  LayerFlow(a, 4).drift(x, 0, without);
  for (std::size_t i = 0; i < 4; ++i)
    for (std::size_t c = 0; c < 3; ++c) {
      double sum = 0;
      for (std::size_t w = 0; w < 5; ++w)
        sum += block.out[c * 5 + w] * std::max(0.0, dot(std::span(block.in).subspan(w * 3, 3),
                                                        std::span(x).subspan(i * 3, 3)));
      EXPECT_NEAR(with[i * 3 + c] - without[i * 3 + c], 2 * sum, 1e-14);
    }
}

TEST(LayerFlow, GainScalesWhatTheBlockReads) {
  Architecture a = architecture(Normalisation::pre, 1, 2);
  a.gain = {2, 0.5};
  const std::vector<double> x = {1, 0, 0, 3};
  std::vector<double> velocity(4), expected(4);
  LayerFlow(a, 2).drift(x, 0, velocity);
  LayerOutput out;
  attend(a.layer, std::vector<double>{2, 0, 0, 0.5}, {}, out);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(velocity[k], out.out[k], 1e-15);
}

// delta' = -2 sin delta / (1 + e^{beta (1 - cos delta)}), usa -e^{beta cos delta} sin delta, from
// delta = 2: mpmath's odefun, 30 digits.
TEST(LayerFlow, PairsAtNegativeBetaFollowTheirEquation) {
  const std::vector<double> start = {1, 0, std::cos(2.0), std::sin(2.0)};
  Architecture a = architecture(Normalisation::post, -3, 2);
  EXPECT_NEAR(std::acos(cosine(flow_to(a, start, 1.5), 0, 1, 2)), 0.3340236249763014346807, 1e-11);
  a.layer.rule = Rule::unnormalised;
  EXPECT_NEAR(std::acos(cosine(flow_to(a, start, 0.5), 0, 1, 2)), 1.38417187215210300739, 1e-11);
  EXPECT_EQ(LayerFlow(a, 2).log_unit(), -3);
}

TEST(LayerFlow, WithoutOwnValuesPreIsPost) {
  const std::vector<double> start = sine_tokens(9, 4);
  Architecture post = architecture(Normalisation::post, 2, 4), pre = post;
  pre.norm = Normalisation::pre;
  pre.layer.self = SelfAttention::remove_own_value;
  const std::vector<double> a = flow_to(post, start, 3), b = flow_to(pre, start, 3);
  for (std::size_t k = 0; k < a.size(); ++k) EXPECT_NEAR(a[k], b[k], 1e-11);
}

TEST(LayerFlow, AFixedFirstTokenStays) {
  const std::vector<double> start = sine_tokens(5, 3);
  Architecture a = architecture(Normalisation::pre, 2, 3);
  a.layer.mask.causal = true;
  a.layer.heads[0].value = {0, -1, 0, 1, 0, 0, 0, 0, 1};
  a.first_fixed = true;
  const std::vector<double> end = flow_to(a, start, 2);
  for (std::size_t k = 0; k < 3; ++k) EXPECT_EQ(end[k], start[k]);
  EXPECT_GT(std::abs(end[3] - start[3]), 1e-2);
  a.layer.mask.causal = false;
  EXPECT_EQ(refusal([&] { validate(a); }), "a fixed first token needs a causal mask and no noise");
}

TEST(LayerFlow, RefusesWhatHasNoMeaning) {
  const auto refused = [](const std::function<void(Architecture&)>& change) {
    Architecture a = architecture(Normalisation::post, 1, 3);
    change(a);
    return refusal([&] { validate(a); });
  };
  EXPECT_SAYS(refused([](Architecture& a) {
                a.geometry = Geometry::euclidean;
                a.norm = Normalisation::pre;
              }),
              "norm pre needs space sphere");
  EXPECT_SAYS(refused([](Architecture& a) { a.gain = {1, 2}; }), "gain has 2 numbers");
  EXPECT_SAYS(refused([](Architecture& a) {
                a.geometry = Geometry::rescaled;
                a.layer.heads.resize(2);
              }),
              "one head, not 2");
  EXPECT_SAYS(refused([](Architecture& a) {
                a.noise = 1;
                a.norm = Normalisation::pre;
              }),
              "noise on the sphere");
  EXPECT_SAYS(refused([](Architecture& a) { a.noise_axes = {1, 2}; }), "noise-axes has 2 numbers");
  EXPECT_SAYS(refused([](Architecture& a) { a.noise_axes = {1, -1, 1}; }), "noise-axes holds -1");
  EXPECT_SAYS(refused([](Architecture& a) {
                a.noise_axes = {1, 1, 1};
                a.noise_kind = flow::NoiseKind::multiplicative;
              }),
              "a clock has no axes");
  EXPECT_EQ(refused([](Architecture& a) {  // lengths grow by the same clock
              a.noise = 1;
              a.norm = Normalisation::pre;
              a.noise_kind = flow::NoiseKind::multiplicative;
            }),
            "");
  EXPECT_EQ(refused([](Architecture&) {}), "");
}

}  // namespace
}  // namespace attractor::depth
