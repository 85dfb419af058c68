// Every engine against sums in long double, token by token and pair by pair, on random, clustered,
// collapsed and antipodal tokens, beta = 0 .. 10^4; and what happens to what an engine cannot give.
//
// With w_ij = m_j e^{-beta |x_j - x_i|^2 / 2} the velocity in the natural unit of time (1 for SA,
// e^-beta for USA) is P_i sum_j w_ij (x_j - x_i) over Z_i = sum_j w_ij (SA) or sum_j m_j (USA).
// What each engine promises of its error, the first column of `allowed`:
//
//   dense          relative to sum_j w_ij |x_j - x_i|, same divisor: rounding, also inside clusters
//   layers         logits from inner products: rounding of beta, relative to the values
//   circle, sphere accuracy asked for, SA 2 accuracy / Z_i with weights of sum 1
//   moments        accuracy asked for, where it can be reached; else what it says
//   clumps         relative, as dense, within what it says (depth/clumps/clump_sums_test.cpp)
//   Fourier sums   rounding of the phases k theta, k up to a few sqrt(beta), over Z_i
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <optional>
#include <string>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/depth/circle_flow.hpp"
#include "attractor/depth/layer_flow.hpp"
#include "attractor/depth/moments_flow.hpp"
#include "attractor/depth/sphere_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/lab/flow/flow_setup.hpp"
#include "attractor/lab/flow/observed_flow.hpp"
#include "attractor/mean_field/circle_tokens.hpp"

namespace attractor::lab {
namespace {

using Real = long double;
constexpr double kEps = std::numeric_limits<double>::epsilon();
constexpr double kBetas[] = {0, 1e-3, 1, 10, 100, 1e3, 1e4};
constexpr Rule kRules[] = {Rule::softmax, Rule::unnormalised};

// ---- Tokens.

void normalise(std::span<double> x) {
  double square = 0;
  for (const double c : x) square += c * c;
  for (double& c : x) c /= std::sqrt(square);
}

/// Unit vectors around `centres` random ones (0: none, all random), each coordinate off by up to
/// `radius`; every second one on the other side if `antipodal`, some of them exactly.
struct Pattern {
  const char* name;
  std::size_t centres = 0;
  double radius = 0;
  bool antipodal = false;
};

constexpr Pattern kPatterns[] = {
    {"random"}, {"clustered", 3, 1e-3}, {"collapsed", 1, 1e-9}, {"antipodal", 1, 1e-6, true}};

std::vector<double> tokens_of(const Pattern& pattern, std::size_t n, std::size_t dim) {
  const Stream stream(17, pattern.name);
  std::vector<double> x(n * dim);
  for (std::size_t i = 0; i < n; ++i) {
    const auto point = std::span(x).subspan(i * dim, dim);
    if (pattern.centres == 0) {
      stream.normals(i, point);
    } else {
      stream.normals(1000 + i % pattern.centres, point);
      normalise(point);
      const bool exact = pattern.antipodal && i < 4;
      for (std::size_t c = 0; c < dim && !exact; ++c)
        point[c] += pattern.radius * (2 * stream.uniform(i, c) - 1);
    }
    normalise(point);
    if (pattern.antipodal && i % 2 == 1)
      for (double& c : point) c = -c;
  }
  return x;
}

/// Whole numbers: a token of mass m stands for m of them in every engine.
std::vector<double> masses_of(std::size_t n, bool weighted) {
  std::vector<double> masses(n, 1.0);
  for (std::size_t i = 0; weighted && i < n; ++i) masses[i] = static_cast<double>(1 + i % 3);
  return masses;
}

// ---- The truth.

struct Truth {
  std::vector<Real> velocity;   // n x dim
  std::vector<Real> terms;      // sum_j w_ij |x_j - x_i| over the divisor
  std::vector<Real> partition;  // Z_i for masses of sum 1
};

Truth truth_of(Rule rule, double beta, std::span<const double> x, std::size_t dim,
               std::span<const double> masses) {
  const std::size_t n = masses.size();
  Truth truth{std::vector<Real>(n * dim), std::vector<Real>(n), std::vector<Real>(n)};
  Real total = 0;
  for (const double m : masses) total += m;
  for (std::size_t i = 0; i < n; ++i) {
    Real* v = truth.velocity.data() + i * dim;
    const auto at = [&](std::size_t j, std::size_t c) { return static_cast<Real>(x[j * dim + c]); };
    Real z = 0;
    for (std::size_t j = 0; j < n; ++j) {
      Real square = 0;
      for (std::size_t c = 0; c < dim; ++c) square += (at(j, c) - at(i, c)) * (at(j, c) - at(i, c));
      const Real w = masses[j] * std::exp(-static_cast<Real>(beta) * square / 2);
      z += w;
      truth.terms[i] += w * std::sqrt(square);
      for (std::size_t c = 0; c < dim; ++c) v[c] += w * (at(j, c) - at(i, c));
    }
    const Real divisor = rule == Rule::softmax ? z : total;
    Real radial = 0, length = 0;
    for (std::size_t c = 0; c < dim; ++c) radial += v[c] * at(i, c), length += at(i, c) * at(i, c);
    for (std::size_t c = 0; c < dim; ++c) v[c] = (v[c] - radial / length * at(i, c)) / divisor;
    truth.terms[i] /= divisor;
    truth.partition[i] = z / total;
  }
  return truth;
}

/// The largest error of a velocity over allowed(i).
double worst(const Truth& truth, std::span<const double> velocity, std::size_t dim,
             const std::function<double(std::size_t)>& allowed) {
  double largest = 0;
  for (std::size_t i = 0; i < truth.terms.size(); ++i) {
    Real square = 0;
    for (std::size_t c = i * dim; c < (i + 1) * dim; ++c)
      square += (velocity[c] - truth.velocity[c]) * (velocity[c] - truth.velocity[c]);
    const double error = static_cast<double>(std::sqrt(square));
    if (error > 0) largest = std::max(largest, error / allowed(i));
    if (std::isnan(error)) return error;
  }
  return largest;
}

/// Calls body(rule, beta, pattern, weighted) for all of them, with a trace for failures.
void for_each_case(const std::function<void(Rule, double, const Pattern&, bool)>& body) {
  for (const Rule rule : kRules)
    for (const double beta : kBetas)
      for (const Pattern& pattern : kPatterns)
        for (const bool weighted : {false, true}) {
          SCOPED_TRACE(std::string(name(rule)) + " beta = " + std::to_string(beta) + ' ' +
                       pattern.name + (weighted ? " weighted" : ""));
          body(rule, beta, pattern, weighted);
        }
}

// ---- Engines in any dimension.

TEST(Engines, DenseIsExactToRoundingAlsoInsideClusters) {
  const std::size_t n = 61;
  for (const std::size_t dim : {2U, 3U, 16U, 65U})
    for_each_case([&](Rule rule, double beta, const Pattern& pattern, bool weighted) {
      const std::vector<double> x = tokens_of(pattern, n, dim), masses = masses_of(n, weighted);
      std::vector<std::uint32_t> owner;
      for (std::uint32_t i = 0; i < n; ++i)
        owner.insert(owner.end(), static_cast<std::size_t>(masses[i]), i);
      depth::AttentionFlow flow({.rule = rule, .beta = beta, .dim = dim}, owner.size(), 0);
      flow.groups().restore(owner, {}, {}, dim);
      std::vector<double> v(n * dim);
      flow.drift(x, flow.log_unit(), v);
      const Truth truth = truth_of(rule, beta, x, dim, masses);
      const double relative = (20 + 2 * beta) * kEps;
      EXPECT_LE(worst(truth, v, dim,
                      [&](std::size_t i) {
                        return relative * static_cast<double>(truth.terms[i]) + 1e-300;
                      }),
                1)
          << dim;
    });
}

TEST(Engines, LayersAreExactToTheRoundingOfLogits) {
  const std::size_t n = 61;
  for (const std::size_t dim : {2U, 3U, 16U})
    for_each_case([&](Rule rule, double beta, const Pattern& pattern, bool weighted) {
      if (weighted) return;  // a layer has tokens only
      const std::vector<double> x = tokens_of(pattern, n, dim), masses = masses_of(n, false);
      depth::Architecture architecture;
      architecture.layer.rule = rule;
      architecture.layer.beta = beta;
      architecture.layer.dim = dim;
      const depth::LayerFlow flow(architecture, n);
      std::vector<double> v(n * dim);
      flow.drift(x, -(rule == Rule::softmax ? 0 : beta), v);
      const Truth truth = truth_of(rule, beta, x, dim, masses);
      EXPECT_LE(worst(truth, v, dim, [&](std::size_t) { return (10 + beta) * kEps; }), 1) << dim;
    });
}

// ---- Engines on the circle.

std::vector<double> angles_of(std::span<const double> points) {
  std::vector<double> angles;
  for (std::size_t i = 0; i < points.size(); i += 2)
    angles.push_back(std::atan2(points[i + 1], points[i]));
  return angles;
}

/// Of angles themselves: points of rounded angles are other points.
Truth circle_truth(Rule rule, double beta, std::span<const double> angles,
                   std::span<const double> masses) {
  const std::size_t n = angles.size();
  Truth truth{std::vector<Real>(n), std::vector<Real>(n), std::vector<Real>(n)};
  Real total = 0;
  for (const double m : masses) total += m;
  for (std::size_t i = 0; i < n; ++i) {
    Real z = 0, pull = 0;
    for (std::size_t j = 0; j < n; ++j) {
      const Real apart = static_cast<Real>(angles[j]) - angles[i], half = std::sin(apart / 2);
      const Real w = masses[j] * std::exp(-2 * static_cast<Real>(beta) * half * half);
      z += w;
      pull += w * std::sin(apart);
    }
    truth.velocity[i] = pull / (rule == Rule::softmax ? z : total);
    truth.partition[i] = z / total;
  }
  return truth;
}

TEST(Engines, CircleKeepsTheAccuracyAskedFor) {
  const std::size_t n = 101;
  for_each_case([&](Rule rule, double beta, const Pattern& pattern, bool weighted) {
    const std::vector<double> angles = angles_of(tokens_of(pattern, n, 2));
    const std::vector<double> masses = masses_of(n, weighted);
    const Truth truth = circle_truth(rule, beta, angles, masses);
    for (const double accuracy : {1e-4, 1e-8, 1e-12}) {
      const depth::CircleFlowSettings settings{.rule = rule, .beta = beta, .accuracy = accuracy};
      const depth::CircleFlow flow =
          weighted ? depth::CircleFlow(settings, masses) : depth::CircleFlow(settings, n);
      std::vector<double> v(n);
      flow.drift(angles, flow.log_unit(), v);
      const auto allowed = [&](std::size_t i) {
        return rule == Rule::softmax ? 2 * accuracy / static_cast<double>(truth.partition[i])
                                     : accuracy;
      };
      EXPECT_LE(worst(truth, v, 1, allowed), 1) << accuracy;
      // What it says of its own error holds too.
      EXPECT_LE(worst(truth, v, 1, [&](std::size_t) { return flow.speed_error(); }), 1) << accuracy;
    }
  });
}

TEST(Engines, FourierSumsAreExactToTheRoundingOfPhases) {
  const std::size_t n = 61;
  for_each_case([&](Rule rule, double beta, const Pattern& pattern, bool weighted) {
    const std::vector<double> angles = angles_of(tokens_of(pattern, n, 2));
    const std::vector<double> masses = masses_of(n, weighted);
    const meanfield::CircleTokens flow({.rule = rule, .beta = beta}, masses);
    std::vector<double> v(n);
    flow.drift(angles, flow.log_unit(), v);
    const Truth truth = circle_truth(rule, beta, angles, masses);
    const auto allowed = [&](std::size_t i) {
      const double z = rule == Rule::softmax ? static_cast<double>(truth.partition[i]) : 1;
      return 20 * (1 + std::sqrt(beta)) * kEps / z;
    };
    EXPECT_LE(worst(truth, v, 1, allowed), 1);
  });
}

// ---- The sphere.

// Its tables take long for large beta: fewer cases there.
TEST(Engines, SphereKeepsTheAccuracyAskedFor) {
  const std::size_t n = 61, dim = 3;
  for_each_case([&](Rule rule, double beta, const Pattern& pattern, bool weighted) {
    if (beta > 100 && (weighted || rule == Rule::unnormalised)) return;
    if (beta > 1e3 && pattern.centres != 3) return;
    const std::vector<double> x = tokens_of(pattern, n, dim), masses = masses_of(n, weighted);
    const Truth truth = truth_of(rule, beta, x, dim, masses);
    for (const double accuracy : {1e-4, 1e-7, 1e-11}) {
      if ((weighted || beta > 100) && accuracy != (beta > 1e3 ? 1e-4 : 1e-7)) continue;
      const depth::SphereFlowSettings settings{.rule = rule, .beta = beta, .accuracy = accuracy};
      const depth::SphereFlow flow =
          weighted ? depth::SphereFlow(settings, masses) : depth::SphereFlow(settings, n);
      std::vector<double> v(n * dim);
      flow.drift(x, flow.log_unit(), v);
      const auto allowed = [&](std::size_t i) {
        return rule == Rule::softmax ? 2 * accuracy / static_cast<double>(truth.partition[i])
                                     : accuracy;
      };
      EXPECT_LE(worst(truth, v, dim, allowed), 1) << accuracy;
      EXPECT_LE(worst(truth, v, dim, [&](std::size_t) { return flow.speed_error(); }), 1)
          << accuracy;
    }
  });
}

// Moments are too many for large beta: then it is refused. Where a token is so lonely that rounding
// over Z_i exceeds the accuracy, the engine says so.
TEST(Engines, MomentsKeepTheAccuracyAskedForOrSaySo) {
  const std::size_t n = 61;
  std::size_t kept = 0, said = 0;
  for (const std::size_t dim : {3U, 4U, 5U, 6U, 8U})
    for_each_case([&](Rule rule, double beta, const Pattern& pattern, bool weighted) {
      const std::vector<double> x = tokens_of(pattern, n, dim), masses = masses_of(n, weighted);
      const Truth truth = truth_of(rule, beta, x, dim, masses);
      for (const double accuracy : {1e-4, 1e-7, 1e-11}) {
        if (weighted && accuracy != 1e-7) continue;
        const depth::FieldFlowSettings settings{
            .rule = rule, .beta = beta, .accuracy = accuracy, .dim = dim};
        const kernels::PowerMomentsCost cost = kernels::power_moments_cost(
            {.dim = dim, .beta = beta, .accuracy = accuracy, .means = rule == Rule::softmax});
        if (!cost.possible) {
          EXPECT_THROW(depth::MomentsFlow(settings, n), Error) << dim;
          continue;
        }
        if (cost.features > 2e4) continue;
        const depth::MomentsFlow flow =
            weighted ? depth::MomentsFlow(settings, masses) : depth::MomentsFlow(settings, n);
        std::vector<double> v(n * dim);
        flow.drift(x, flow.log_unit(), v);
        flow.speed_error() <= accuracy ? ++kept : ++said;
        EXPECT_LE(worst(truth, v, dim, [&](std::size_t) { return flow.speed_error(); }), 1)
            << dim << ' ' << accuracy;
        EXPECT_TRUE(beta > 10 || flow.speed_error() <= accuracy) << dim;
      }
    });
  EXPECT_GT(kept, 400U);
  EXPECT_LT(said, kept / 20);
}

// ---- What an engine cannot give.

std::string refusal(const std::function<void()>& work) {
  try {
    work();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

/// The engine that is taken, in a word.
std::string taken(const FlowSetup& p, std::size_t tokens, std::size_t dim) {
  const std::optional<depth::Engine> engine = engine_of(p, tokens, dim);
  return engine ? std::string(name(*engine)) : "layers";
}

FlowSetup on_circle(std::optional<depth::Engine> engine) {
  FlowSetup p;
  p.dim = 2;
  p.tokens = 100;
  p.engine = engine;
  return p;
}

TEST(Engines, AutoTakesTheCircleForManyTokensAndFallsBackToDense) {
  struct Case {
    const char* what;
    std::function<void(FlowSetup&)> change;
    std::size_t tokens, dim;
    const char* engine;
  };
  const auto same = [](FlowSetup&) {};
  const Case cases[] = {
      {"many tokens", same, 20'000, 2, "circle"},
      {"few tokens", same, 19'999, 2, "dense"},
      {"another dimension", same, 20'000, 9, "dense"},
      {"beta beyond its range", [](auto& p) { p.beta = 1.1e4; }, 20'000, 2, "dense"},
      {"times it cannot resolve", [](auto& p) { p.time = 1e5; }, 20'000, 2, "dense"},
      {"until the end", [](auto& p) { p.time = INFINITY; }, 20'000, 2, "dense"},
      {"few until the end", [](auto& p) { p.time = INFINITY; }, 19'999, 2, "dense"},
      {"a merge radius", [](auto& p) { p.merge_radius = 1e-6; }, 20'000, 2, "dense"},
      {"single precision", [](auto& p) { p.precision = Precision::f32; }, 20'000, 9, "dense"},
      {"clumps asked for", [](auto& p) { p.engine = depth::Engine::clumps; }, 10, 5, "clumps"},
      {"layers", [](auto& p) { p.stepper = flow::Method::layers; }, 20'000, 2, "dense"},
      {"weights", [](auto& p) { p.value = WeightKind::gaussian; }, 20'000, 2, "dense"},
      {"R^d", [](auto& p) { p.space = depth::Geometry::euclidean; }, 20'000, 2, "dense"},
      {"a mask", [](auto& p) { p.mask = MaskKind::causal; }, 20'000, 2, "layers"},
      {"dense asked for", [](auto& p) { p.engine = depth::Engine::dense; }, 20'000, 2, "dense"},
      {"circle asked for", [](auto& p) { p.engine = depth::Engine::circle; }, 10, 2, "circle"},
  };
  for (const Case& c : cases) {
    FlowSetup p = on_circle({});
    c.change(p);
    EXPECT_EQ(taken(p, c.tokens, c.dim), c.engine) << c.what;
  }
}

TEST(Engines, WhatClumpsCannotGiveIsRefused) {
  const auto checked = [](const std::function<void(FlowSetup&)>& change) {
    FlowSetup p;
    p.engine = depth::Engine::clumps;
    p.dim = 16;
    change(p);
    return refusal([&] { check(p); });
  };
  EXPECT_EQ(checked([](auto&) {}), "");
  EXPECT_EQ(checked([](auto& p) { p.time = INFINITY; }), "");
  const std::string needs = "engine clumps needs ";
  EXPECT_EQ(
      checked([](auto& p) { p.mask = MaskKind::causal; }),
      needs +
          "one head, full mask, norm post and no noise, not other layers (leave the engine out)");
  EXPECT_EQ(checked([](auto& p) { p.dynamics = Rule::relu; }), needs + "sa or usa, not relu");
  EXPECT_EQ(checked([](auto& p) { p.value = WeightKind::goe; }),
            needs + "identity weights, not given query, key or value");
  EXPECT_EQ(checked([](auto& p) { p.space = depth::Geometry::euclidean; }),
            needs + "space sphere, not euclidean");
  EXPECT_EQ(checked([](auto& p) { p.stepper = flow::Method::layers; }),
            needs + "stepper adaptive, euler or rk4, not layers");
  EXPECT_EQ(checked([](auto& p) { p.precision = Precision::f32; }),
            needs + "precision double, not single");
}

TEST(Engines, TheModelSaysWhichOneItTookAndItsError) {
  const std::size_t n = 100;
  const std::vector<double> tokens = tokens_of(kPatterns[0], n, 2);
  for (const depth::Engine engine : {depth::Engine::circle, depth::Engine::dense}) {
    FlowSetup p = on_circle(engine);
    p.beta = 20;
    p.accuracy = 1e-6;
    ObservedFlow model(p, n, 2, 0);
    EXPECT_EQ(model.flow().engine(), name(engine));
    const std::vector<double> state = model.flow().begin(tokens);
    std::vector<double> v(state.size());
    model.flow().drift(state, 0, v);
    if (engine == depth::Engine::dense) {
      EXPECT_EQ(model.flow().drift_error(), 0);
      continue;
    }
    const Truth truth = circle_truth(Rule::softmax, 20, state, masses_of(n, false));
    EXPECT_GE(model.flow().drift_error(), 2e-6);
    EXPECT_LE(worst(truth, v, 1, [&](std::size_t) { return model.flow().drift_error(); }), 1);
  }
}

TEST(Engines, WhatTheCircleCannotGiveIsRefused) {
  const auto checked = [](const std::function<void(FlowSetup&)>& change) {
    FlowSetup p = on_circle(depth::Engine::circle);
    change(p);
    return refusal([&] { check(p); });
  };
  EXPECT_EQ(checked([](auto&) {}), "");
  // The reason is named before given tokens are looked at.
  for (const Arrangement init : {Arrangement::uniform, Arrangement::file}) {
    const auto reason = [&](const std::function<void(FlowSetup&)>& change) {
      const std::string words = checked([&](FlowSetup& p) {
        p.init = init;
        change(p);
      });
      EXPECT_EQ(words.substr(0, 20), "engine circle needs ") << words;
      return words.size() < 20 ? words : words.substr(20);
    };
    EXPECT_EQ(reason([](auto& p) { p.beta = 2e4; }), "beta up to 10000, not 20000");
    EXPECT_EQ(
        reason([](auto& p) { p.mask = MaskKind::causal; }),
        "one head, full mask, norm post and no noise, not other layers (leave the engine out)");
    EXPECT_EQ(reason([](auto& p) { p.dynamics = Rule::relu; }), "sa or usa, not relu");
    EXPECT_EQ(reason([](auto& p) { p.value = WeightKind::goe; }),
              "identity weights, not given query, key or value");
    EXPECT_EQ(reason([](auto& p) { p.space = depth::Geometry::euclidean; }),
              "space sphere, not euclidean");
    EXPECT_EQ(reason([](auto& p) { p.time = INFINITY; }), "a finite time, not inf");
    EXPECT_EQ(reason([](auto& p) { p.stepper = flow::Method::layers; }),
              "stepper adaptive, euler or rk4, not layers");
  }
  EXPECT_EQ(checked([](auto& p) { p.dim = 3; }),
            "engine circle needs tokens of dimension 2, not 3");

  // A file may turn out to have another dimension.
  EXPECT_EQ(refusal([] { ObservedFlow(on_circle(depth::Engine::circle), 100, 3, 0); }),
            "engine circle needs tokens of dimension 2, not 3");
}

// ---- Fixed steps: one map, whatever the engine.

/// Tokens of a state in the order in which they were given.
std::vector<double> as_given(const ObservedFlow& model, std::span<const double> state,
                             std::size_t dim) {
  std::vector<double> storage;
  const std::span<const double> shape = model.flow().directions(state, storage);
  std::vector<double> result(shape.size());
  for (std::size_t i = 0; i < shape.size() / dim; ++i)
    std::copy_n(shape.begin() + static_cast<std::ptrdiff_t>(dim * model.groups().owner()[i]), dim,
                result.begin() + static_cast<std::ptrdiff_t>(dim * i));
  return result;
}

std::vector<double> stepped(const FlowSetup& p, std::vector<double> tokens, std::size_t dim) {
  const std::size_t n = tokens.size() / dim;
  ObservedFlow model(p, n, dim, 0);
  EXPECT_EQ(model.flow().engine(), name(p.engine.value()));
  flow::Progress progress{.state = model.flow().begin(std::move(tokens))};
  model.enter(progress.time, progress.state);
  EXPECT_EQ(flow::run(model.flow(), flow::tableau(stepper_of(p)),
                      {.end = flow::Time(p.time), .step = p.step}, progress, {}),
            flow::Status::complete);
  return as_given(model, progress.state, dim);
}

TEST(Engines, FixedStepsAreTheSameMap) {
  struct Case {
    depth::Engine engine;
    std::size_t dim;
  };
  using enum depth::Engine;
  for (const Case& c : {Case{circle, 2}, {sphere, 3}, {moments, 3}, {moments, 4}})
    for (const Rule dynamics : kRules)
      for (const flow::Method stepper : {flow::Method::euler, flow::Method::rk4})
        for (const double beta : {0.0, 4.0, 9.0}) {
          FlowSetup p;
          p.dynamics = dynamics;
          p.beta = beta;
          p.stepper = stepper;
          p.engine = c.engine;
          p.dim = c.dim;
          // Steps so long that angles and chords, or another order of both, would show.
          p.step = 0.7 * (p.dynamics == Rule::unnormalised ? std::exp(-beta) : 1);
          p.time = 5.3 * p.step;
          const std::vector<double> tokens = tokens_of(kPatterns[0], 60, c.dim);
          const std::vector<double> fast = stepped(p, tokens, c.dim);
          p.engine = depth::Engine::dense;
          const std::vector<double> dense = stepped(p, tokens, c.dim);
          for (std::size_t k = 0; k < dense.size(); ++k)
            ASSERT_NEAR(fast[k], dense[k], 2e-8)
                << name(c.engine) << ' ' << name(dynamics) << ' ' << name(stepper) << ' ' << beta;
        }
}

// ---- Steps are not judged below the error of the velocity itself.

TEST(Engines, CoarseVelocitiesDoNotStallAdaptiveSteps) {
  struct Case {
    depth::Engine engine;
    Rule dynamics;
    std::size_t dim;
    double beta, accuracy;
  };
  using enum depth::Engine;
  const Case cases[] = {
      {circle, Rule::softmax, 2, 1, 1e-4},       {circle, Rule::softmax, 2, 30, 1e-5},
      {circle, Rule::unnormalised, 2, 12, 1e-4}, {sphere, Rule::softmax, 3, 9, 1e-4},
      {sphere, Rule::unnormalised, 3, 4, 1e-5},  {moments, Rule::softmax, 4, 3, 1e-4}};
  const std::size_t n = 300;
  for (const Case& c : cases) {
    SCOPED_TRACE(fmt::format("{} {} {}", c.engine, c.dynamics, c.beta));
    FlowSetup p;
    p.engine = c.engine;
    p.dynamics = c.dynamics;
    p.dim = c.dim;
    p.beta = c.beta;
    struct End {
      std::vector<double> tokens;
      double loosened, error;
    };
    const auto run_to = [&](double units, double accuracy) {
      p.accuracy = accuracy;
      ObservedFlow model(p, n, c.dim, 0);
      flow::Progress progress{.state = model.flow().begin(tokens_of(kPatterns[0], n, c.dim))};
      model.enter(progress.time, progress.state);
      const flow::Plan plan{.end = flow::Time(units, model.flow().log_unit()),
                            .tolerance = 1e-8,
                            .max_steps = 20'000};
      EXPECT_EQ(flow::run(model.flow(), flow::dormand_prince(), plan, progress, {}),
                flow::Status::complete);
      EXPECT_LT(progress.steps + progress.rejected, 2000U);
      return End{as_given(model, progress.state, c.dim), progress.loosened,
                 model.flow().drift_error()};
    };
    run_to(10, c.accuracy);
    // Meanwhile the error is what the errors of velocities make of it.
    const End coarse = run_to(1, c.accuracy), fine = run_to(1, 1e-10);
    EXPECT_EQ(fine.loosened, 0);  // where velocities are good, the tolerance is kept
    EXPECT_LE(coarse.loosened, coarse.error);
    double apart = 0;
    for (std::size_t k = 0; k < fine.tokens.size(); ++k)
      apart = std::max(apart, std::abs(coarse.tokens[k] - fine.tokens[k]));
    EXPECT_LT(apart, 20 * coarse.error);
  }
}

TEST(Engines, TheSphereIsTakenForManyTokensAndSaysItsError) {
  FlowSetup p;
  p.dim = 3;
  EXPECT_EQ(taken(p, 20'000, 3), "sphere");
  EXPECT_EQ(taken(p, 1000, 3), "dense");
  p.engine = depth::Engine::sphere;
  p.beta = 20;
  p.accuracy = 1e-6;
  EXPECT_EQ(taken(p, 100, 3), "sphere");
  ObservedFlow model(p, 200, 3, 0);
  FlowSetup dense = p;
  dense.engine = depth::Engine::dense;
  ObservedFlow truth(dense, 200, 3, 0);
  const std::vector<double> tokens = tokens_of(kPatterns[0], 200, 3);
  const std::vector<double> state = model.flow().begin(tokens);
  std::vector<double> v(600), exact(600);
  model.flow().drift(state, 0, v);
  truth.flow().drift(tokens, 0, exact);
  const std::span<const std::uint32_t> owner = model.groups().owner();  // where tokens were put
  double worst_error = 0;
  for (std::size_t i = 0; i < 200; ++i)
    for (std::size_t c = 0; c < 3; ++c)
      worst_error = std::max(worst_error, std::abs(v[3 * owner[i] + c] - exact[3 * i + c]));
  EXPECT_GE(model.flow().drift_error(), 2e-6);
  EXPECT_LE(worst_error, model.flow().drift_error());
  EXPECT_GT(worst_error, 0);

  p.accuracy = 1e-12;
  EXPECT_EQ(refusal([&] { check(p); }),
            "accuracy = 1e-12 is out of reach of engine sphere; allowed: 1e-11 to 1e-4");
  p.accuracy = 1e-8;
  p.dim = 4;
  EXPECT_EQ(refusal([&] { check(p); }), "engine sphere needs tokens of dimension 3, not 4");
}

TEST(Engines, MomentsAreTakenWhereTheyBeatDense) {
  struct Case {
    double beta, accuracy;
    std::size_t tokens, dim;
    const char *automatic, *asked;  // what auto takes, and what engine moments gives
  };
  const Case cases[] = {
      {1, 1e-11, 20'000, 4, "moments", "moments"},   {1, 1e-11, 19'999, 4, "dense", "moments"},
      {9, 1e-11, 20'000, 4, "moments", "moments"},   {45, 1e-11, 20'000, 4, "dense", "dense"},
      {30, 1e-11, 100'000, 4, "moments", "moments"}, {99, 1e-4, 1'000'000, 4, "dense", "dense"},
      {101, 1e-4, 1'000'000, 4, "dense", "dense"},   {10, 1e-8, 100'000, 5, "moments", "moments"},
      {2, 1e-8, 100'000, 6, "moments", "moments"},   {1, 1e-8, 20'000, 8, "moments", "moments"},
      {5, 1e-8, 100'000, 8, "dense", "dense"},       {0, 1e-11, 20'000, 8, "moments", "moments"},
      {1, 1e-11, 1'000'000, 9, "dense", "dense"},    {1, 1e-11, 100, 3, "dense", "moments"},
      {1, 1e-11, 100, 2, "dense", "dense"},          {1, 1e-12, 20'000, 4, "dense", "dense"},
  };
  for (const Case& c : cases) {
    FlowSetup p;
    p.beta = c.beta;
    p.accuracy = c.accuracy;
    EXPECT_EQ(taken(p, c.tokens, c.dim), c.automatic) << c.beta << ' ' << c.dim;
    p.time = 1e5;
    EXPECT_EQ(taken(p, c.tokens, c.dim), "dense") << c.beta << ' ' << c.dim;
    p.time = 1;
    p.engine = depth::Engine::moments;
    EXPECT_EQ(taken(p, c.tokens, c.dim), c.asked) << c.beta << ' ' << c.dim;
    p.value = WeightKind::gaussian;
    EXPECT_EQ(taken(p, c.tokens, c.dim), "dense") << c.beta << ' ' << c.dim;
  }
}

TEST(Engines, MomentsSayTheirErrorAndWhyTheyAreRefused) {
  FlowSetup p;
  p.dim = 5;
  p.engine = depth::Engine::moments;
  p.beta = 4;
  p.accuracy = 1e-6;
  const std::size_t n = 200, dim = 5;
  ObservedFlow model(p, n, dim, 0);
  EXPECT_EQ(model.flow().engine(), "moments");
  const std::vector<double> tokens = tokens_of(kPatterns[0], n, dim);
  const std::vector<double> state = model.flow().begin(tokens);
  EXPECT_EQ(state, tokens);
  std::vector<double> v(n * dim);
  model.flow().drift(state, 0, v);
  const Truth truth = truth_of(Rule::softmax, 4, tokens, dim, masses_of(n, false));
  EXPECT_LE(model.flow().drift_error(), 1e-6);
  EXPECT_GT(model.flow().drift_error(), 1e-9);
  EXPECT_LE(worst(truth, v, dim, [&](std::size_t) { return model.flow().drift_error(); }), 1);
  EXPECT_GT(worst(truth, v, dim, [](std::size_t) { return 1e-12; }), 1);  // it is no dense sum

  const auto checked = [&](const std::function<void(FlowSetup&)>& change) {
    FlowSetup changed = p;
    change(changed);
    return refusal([&] { check(changed); });
  };
  EXPECT_EQ(checked([](auto&) {}), "");
  EXPECT_EQ(checked([](auto& q) { q.accuracy = 1e-12; }),
            "accuracy = 1e-12 is out of reach of engine moments; allowed: 1e-11 to 1e-4");
  EXPECT_EQ(checked([](auto& q) { q.beta = 300; }),
            "engine moments takes longer than dense for 64 tokens at beta = 300 in dimension 5 "
            "with accuracy = 1e-06, or more than 1 GB; give a smaller beta, a larger accuracy "
            "or engine dense");
  const std::string needs = "engine moments needs ";
  EXPECT_EQ(checked([](auto& q) { q.dim = 9; }), needs + "tokens of dimension 3 to 8, not 9");
  EXPECT_EQ(checked([](auto& q) { q.time = INFINITY; }), needs + "a finite time, not inf");
  EXPECT_EQ(checked([](auto& q) { q.stepper = flow::Method::layers; }),
            needs + "stepper adaptive, euler or rk4, not layers");
  EXPECT_EQ(refusal([&] { ObservedFlow(p, 100, 9, 0); }),
            needs + "tokens of dimension 3 to 8, not 9");
  p.beta = 60;
  EXPECT_EQ(refusal([&] { ObservedFlow(p, 100, 5, 0); }).substr(0, 33),
            "engine moments takes longer than ");
}

// Single precision: within its stated error of double, and refused where that is not enough.
//
// Two caps of tokens opposite each other, even within: pulls cancel, so that velocities are far
// below the sizes of the terms and single precision has no relative digit of them.
std::vector<double> balanced_caps(std::size_t n, std::size_t dim) {
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i) {
    const double side = i % 2 == 0 ? 1 : -1;
    const double turn =
        2 * std::numbers::pi * static_cast<double>(i / 4) / static_cast<double>(n / 4);
    const std::size_t first = x.size();
    x.resize(first + dim, 0.0);
    x[first] = side;
    const double lean = i % 4 < 2 ? 1 : -1;
    x[first + 1] = lean * 0.4 * std::cos(turn);
    if (dim > 2) x[first + 2] = lean * 0.4 * std::sin(turn);
    normalise(std::span(x).subspan(first, dim));
  }
  return x;
}

TEST(Engines, SinglePrecisionStatesItsError) {
  const std::size_t n = 512;
  double most = 0, relative = 0;
  for (const Rule dynamics : kRules)
    for (const std::size_t dim : {2U, 3U, 16U, 64U})
      for (const double beta : {0.0, 1.0, 9.0, 40.0, 99.0})
        for (const WeightInput& value : {WeightInput(), WeightInput(WeightKind::goe)})
          for (const bool caps : {false, true}) {
            FlowSetup p;
            p.dynamics = dynamics;
            p.dim = dim;
            p.beta = beta;
            p.tolerance = 1e-5;
            p.value = value;
            FlowSetup single = p;
            single.precision = Precision::f32;
            ObservedFlow exact(p, n, dim, 0), rounded(single, n, dim, 0);
            const std::vector<double> tokens =
                caps ? balanced_caps(n, dim) : tokens_of(kPatterns[1], n, dim);
            std::vector<double> v(dim * n), w(dim * n);
            const double unit = exact.flow().log_unit();
            exact.flow().drift(tokens, unit, v);
            rounded.flow().drift(tokens, unit, w);
            for (std::size_t c = 0; c < v.size(); c += dim) {
              double error = 0, square = 0;
              for (std::size_t k = c; k < c + dim; ++k) {
                error += (v[k] - w[k]) * (v[k] - w[k]);
                square += v[k] * v[k];
              }
              const double speed = std::sqrt(square);
              most = std::max(most, std::sqrt(error) / rounded.flow().drift_error());
              if (speed > 0) relative = std::max(relative, std::sqrt(error) / speed);
            }
          }
  EXPECT_LE(most, 1);
  EXPECT_GT(most, 0.01);   // the bound says something
  EXPECT_GT(relative, 1);  // relative digits there are none
  FlowSetup single;
  single.precision = Precision::f32;
  single.tolerance = 1e-5;
  single.beta = 100;
  EXPECT_NE(refusal([&] { check(single); }).find("beta = 100 needs precision double"),
            std::string::npos);
  single.beta = 9;
  single.tolerance = 1e-8;
  EXPECT_NE(refusal([&] { check(single); }).find("tolerance = 1e-08"), std::string::npos);
}

TEST(Engines, AccuraciesOutOfRangeAreRefusedByName) {
  FlowSetup p;
  const ParameterList parameters = list(p);
  for (const char* text : {"1e-13", "1e-3", "0", "nan"}) {
    const std::string words = refusal([&] { find(parameters, "accuracy").set(text); });
    EXPECT_NE(words.find("accuracy"), std::string::npos) << text << ": " << words;
    EXPECT_NE(words.find(text), std::string::npos) << words;
  }
  EXPECT_EQ(refusal([] { depth::CircleFlow({.accuracy = 1e-13}, 10); }),
            "accuracy = 1e-13 is not allowed; allowed: 1e-12 .. 1e-4");
  EXPECT_EQ(refusal([] { depth::CircleFlow({.beta = 20000}, 10); }),
            "beta = 20000 is not allowed; allowed on the circle: 0 .. 1e4");
  for (const std::string& words : {refusal([] { depth::SphereFlow({.accuracy = 1e-12}, 10); }),
                                   refusal([] { depth::SphereFlow({.accuracy = 1e-3}, 10); })})
    EXPECT_EQ(words.substr(0, 11), "accuracy = ") << words;
  EXPECT_EQ(refusal([] { depth::SphereFlow({.beta = 20000}, 10); }).substr(0, 12), "beta = 20000");
}

}  // namespace
}  // namespace attractor::lab
