// Noise against exact laws: Brownian motion on the sphere, E<x(t), x(0)> = e^{-kappa (d-1) t}, and
// Euler-Maruyama for dx = -x dt + sqrt(2 kappa) dB in R^d, whose stationary variance is exactly
// kappa / (1 - h/2). Multiplicative noise: angles to a pole follow tan(phi/2) ~ e^{-clock}, path by
// path. Noise with axes: on the circle its law of rest is uniform, as no other reading's is.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/flow/run.hpp"

namespace attractor::flow {
namespace {

class NoisyDecay final : public Flow {
 public:
  NoisyDecay(std::unique_ptr<Space> space, double rate, double noise)
      : space_(std::move(space)), rate_(rate), noise_(noise) {}
  const Space& space() const override { return *space_; }
  NoiseLaw noise() const override { return {.own = noise_}; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override {
    for (std::size_t i = 0; i < state.size(); ++i) out[i] = -rate_ * state[i] * std::exp(log_unit);
  }

 private:
  std::unique_ptr<Space> space_;
  double rate_, noise_;
};

std::vector<double> poles(std::size_t count, std::size_t dim) {
  std::vector<double> state(count * dim, 0.0);
  for (std::size_t i = 0; i < count; ++i) state[i * dim] = 1;
  return state;
}

std::vector<double> after(NoisyDecay& flow, std::vector<double> start, double time, double step,
                          std::uint64_t seed) {
  Progress progress{.state = std::move(start)};
  const Status status =
      run(flow, euler_maruyama(), {.end = Time(time), .step = step, .noise = {.seed = seed}},
          progress, {});
  EXPECT_EQ(status, Status::complete);
  return progress.state;
}

struct Mean {
  double value, error;
};

template <class Value>
Mean mean(std::size_t count, const Value& value) {
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < count; ++i) sum += value(i), squares += value(i) * value(i);
  const double n = static_cast<double>(count), m = sum / n;
  return {m, std::sqrt((squares / n - m * m) / n)};
}

TEST(Noise, IsBrownianMotionOnTheSphere) {
  constexpr std::size_t kPoints = 4'000;
  for (const std::size_t dim : {2, 3, 8}) {
    const double kappa = 0.5, time = 0.4, step = 8e-3;
    NoisyDecay flow(std::make_unique<Sphere>(dim), 0, kappa);
    const std::vector<double> x = after(flow, poles(kPoints, dim), time, step, 7);
    const Mean height = mean(kPoints, [&](std::size_t i) { return x[i * dim]; });
    const double decay = kappa * static_cast<double>(dim - 1);
    // The bias of the method is below h decay^2 t.
    EXPECT_NEAR(height.value, std::exp(-decay * time),
                4 * height.error + step * decay * decay * time)
        << dim;
    for (std::size_t i = 0; i < kPoints; ++i)
      ASSERT_NEAR(norm(std::span(x).subspan(i * dim, dim)), 1, 1e-14);
  }
}

TEST(Noise, HasTheStationaryVarianceOfTheMethod) {
  constexpr std::size_t kPoints = 10'000;
  const double kappa = 0.3, step = 0.2;
  NoisyDecay flow(std::make_unique<Euclidean>(1), 1, kappa);
  const std::vector<double> x = after(flow, std::vector<double>(kPoints, 0.0), 20, step, 3);
  const Mean square = mean(kPoints, [&](std::size_t i) { return x[i] * x[i]; });
  EXPECT_NEAR(square.value, kappa / (1 - step / 2), 4 * square.error);
}

TEST(Noise, DependsOnTheSeedAndNotOnThreads) {
  NoisyDecay flow(std::make_unique<Sphere>(3), 0, 0.1);
  const std::vector<double> start = poles(10'000, 3);
  set_threads(1);
  const std::vector<double> one = after(flow, start, 1, 0.1, 1);
  const std::vector<double> other = after(flow, start, 1, 0.1, 2);
  set_threads(3);
  EXPECT_EQ(after(flow, start, 1, 0.1, 1), one);
  set_threads(0);
  EXPECT_NE(other, one);
}

TEST(Noise, ContinuesWithTheSameBits) {
  NoisyDecay flow(std::make_unique<Sphere>(3), 0.5, 0.1);
  const std::vector<double> whole = after(flow, poles(10, 3), 1, 0.1, 1);
  Progress progress{.state = poles(10, 3)};
  int asked = 0;
  const Plan plan{.end = Time(1), .step = 0.1, .noise = {.seed = 1}};
  EXPECT_EQ(run(flow, euler_maruyama(), plan, progress, {.stop = [&] { return ++asked > 4; }}),
            Status::interrupted);
  EXPECT_EQ(run(flow, euler_maruyama(), plan, progress, {}), Status::complete);
  EXPECT_EQ(progress.state, whole);
}

// With the same path the difference between steps of h and much finer ones is the strong error:
// order 1/2 or better, and not the order-0 difference of two independent paths.
TEST(Noise, CoarseStepsFollowTheSamePath) {
  constexpr std::size_t kPoints = 200, kDim = 3;
  const auto end = [&](std::uint64_t substeps) {
    NoisyDecay flow(std::make_unique<Sphere>(kDim), 0, 0.2);
    Progress progress{.state = poles(kPoints, kDim)};
    const double finest = 1. / 1024;
    run(flow, euler_maruyama(),
        {.end = Time(1),
         .step = finest * static_cast<double>(substeps),
         .noise = {.seed = 5, .substeps = substeps}},
        progress, {});
    return progress.state;
  };
  const std::vector<double> exact = end(1);
  const auto error = [&](std::uint64_t substeps) {
    return std::sqrt(squared_distance(end(substeps), exact) / kPoints);
  };
  const double coarse = error(256), fine = error(16);
  EXPECT_LT(coarse, 0.3);
  EXPECT_GT(std::log(coarse / fine) / std::log(16.0), 0.45);
}

TEST(Noise, CommonNoiseMovesEqualPointsEqually) {
  class Common final : public Flow {
   public:
    const Space& space() const override { return sphere_; }
    NoiseLaw noise() const override { return {.common = 0.3}; }
    void drift(std::span<const double> x, double, std::span<double> out) const override {
      std::fill_n(out.begin(), x.size(), 0.0);
    }

   private:
    Sphere sphere_{3};
  } flow;
  Progress progress{.state = poles(5, 3)};
  EXPECT_EQ(run(flow, euler_maruyama(), {.end = Time(1), .step = 0.1}, progress, {}),
            Status::complete);
  EXPECT_LT(progress.state[0], 0.99);
  for (std::size_t i = 3; i < progress.state.size(); ++i)
    EXPECT_EQ(progress.state[i], progress.state[i % 3]);
}

/// Every point goes to the first axis, phi' = -sin phi, on its own clock and that of all.
class RandomClock final : public Flow {
 public:
  const Space& space() const override { return sphere_; }
  NoiseLaw noise() const override {
    return {.own = kOwn, .common = kCommon, .kind = NoiseKind::multiplicative};
  }
  double log_unit() const override { return kUnit; }
  void drift(std::span<const double> x, double log_unit, std::span<double> out) const override {
    for (std::size_t i = 0; i < x.size(); i += kDim) {
      std::fill_n(out.begin() + static_cast<std::ptrdiff_t>(i), kDim, 0.0);
      out[i] = std::exp(log_unit);
      sphere_.project(x.subspan(i, kDim), out.subspan(i, kDim));
    }
  }
  /// dt + sqrt(2 kappa) dB of a point over `steps` of length h, from the numbers of the seed.
  static double clock(std::uint64_t seed, std::size_t point, std::uint64_t steps, double h) {
    const Stream own(seed, "noise"), common(seed, "common noise");
    double clock = static_cast<double>(steps) * h;
    for (std::uint64_t k = 0; k < steps; ++k)
      clock += std::sqrt(2 * kOwn * h) * own.normal(point, k * kDim) +
               std::sqrt(2 * kCommon * h) * common.normal(0, k * kDim);
    return clock;
  }

  static constexpr std::size_t kDim = 3;
  static constexpr double kOwn = 0.3, kCommon = 0.2, kUnit = -1.5;

 private:
  Sphere sphere_{kDim};
};

TEST(Noise, MultiplicativeIsARandomClock) {
  constexpr std::size_t kPoints = 50;
  constexpr std::uint64_t kSteps = 1024, kSeed = 11;
  constexpr double kFinest = 1. / kSteps, kAngle = 1.2;
  std::vector<double> start(kPoints * 3, 0.0);
  for (std::size_t i = 0; i < start.size(); i += 3)
    start[i] = std::cos(kAngle), start[i + 1] = std::sin(kAngle);
  const auto error = [&](std::uint64_t substeps) {
    RandomClock flow;
    Progress progress{.state = start};
    const double step = kFinest * static_cast<double>(substeps);
    EXPECT_EQ(run(flow, rk4(),
                  {.end = Time(1), .step = step, .noise = {.seed = kSeed, .substeps = substeps}},
                  progress, {}),
              Status::complete);
    double worst = 0;
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double angle = 2 * std::atan(std::tan(kAngle / 2) *
                                         std::exp(-RandomClock::clock(kSeed, i, kSteps, kFinest)));
      worst = std::max(
          worst, std::abs(std::atan2(progress.state[3 * i + 1], progress.state[3 * i]) - angle));
    }
    return worst;
  };
  // A step is off by its clock to the fifth power, h^{5/2} and of any sign: h^2 in all.
  EXPECT_LT(error(1), 1e-6);
  EXPECT_LT(error(1), 0.05 * error(8));
}

TEST(Noise, OtherMethodsTakeNoMultiplicativeNoise) {
  const NoiseLaw law = RandomClock().noise();
  EXPECT_TRUE(rk4().takes(law));
  EXPECT_FALSE(euler_maruyama().takes(law));
  EXPECT_FALSE(dormand_prince().takes(law));
  EXPECT_FALSE(rk4().takes({.own = 1}));
  EXPECT_FALSE(rk4().takes({.kind = NoiseKind::multiplicative}));
}

/// No drift; noise of different strength along the axes.
class AxisNoise final : public Flow {
 public:
  explicit AxisNoise(std::vector<double> axes) : axes_(std::move(axes)), sphere_(axes_.size()) {}
  const Space& space() const override { return sphere_; }
  NoiseLaw noise() const override { return {.own = 0.5, .axes = axes_}; }
  void drift(std::span<const double> x, double, std::span<double> out) const override {
    std::fill_n(out.begin(), x.size(), 0.0);
  }

 private:
  std::vector<double> axes_;
  Sphere sphere_;
};

// Ito's reading would end at a mean of cos 2 phi of -1/3, Stratonovich's at -0.17.
TEST(Noise, AlongAxesKeepsTheCircleUniform) {
  constexpr std::size_t kPoints = 40'000;
  std::vector<double> start(2 * kPoints);
  for (std::size_t i = 0; i < kPoints; ++i) {
    const double phi = 2 * std::numbers::pi * (static_cast<double>(i) + 0.5) / kPoints;
    start[2 * i] = std::cos(phi), start[2 * i + 1] = std::sin(phi);
  }
  AxisNoise flow({1, 2});
  Progress progress{.state = start};
  EXPECT_EQ(run(flow, euler_maruyama(), {.end = Time(1.5), .step = 0.005}, progress, {}),
            Status::complete);
  const std::vector<double>& x = progress.state;
  const Mean wave = mean(
      kPoints, [&](std::size_t i) { return x[2 * i] * x[2 * i] - x[2 * i + 1] * x[2 * i + 1]; });
  EXPECT_NEAR(wave.value, 0, 4 * wave.error + 0.005);
}

// One small step: the mean goes by -2 kappa h P D^2 x, whatever the dimension.
TEST(Noise, AlongAxesDriftsToTheQuietOnes) {
  constexpr std::size_t kPoints = 400'000;
  constexpr double kStep = 0.004;
  const std::vector<double> axes{0.5, 1, 2}, x{0.6, 0, 0.8};
  std::vector<double> start;
  for (std::size_t i = 0; i < kPoints; ++i) start.insert(start.end(), x.begin(), x.end());
  AxisNoise flow(axes);
  Progress progress{.state = start};
  run(flow, euler_maruyama(), {.end = Time(kStep), .step = kStep}, progress, {});
  std::vector<double> expected(3);
  for (std::size_t c = 0; c < 3; ++c) expected[c] = -axes[c] * axes[c] * x[c];  // 2 kappa = 1
  Sphere(3).project(x, expected);
  for (const std::vector<double>& tangent : {std::vector<double>{0.8, 0, -0.6}, {0, 1, 0}}) {
    const Mean shift = mean(kPoints, [&](std::size_t i) {
      return dot(std::span(progress.state).subspan(3 * i, 3), tangent) / kStep;
    });
    EXPECT_NEAR(shift.value, dot(expected, tangent), 4 * shift.error + 10 * kStep);
  }
}

TEST(Noise, MovesAStateThatHasNoDrift) {
  NoisyDecay flow(std::make_unique<Euclidean>(2), 1, 0.1);
  const std::vector<double> origin(20, 0.0);
  EXPECT_NE(after(flow, origin, 1, 0.1, 1), origin);
}

}  // namespace
}  // namespace attractor::flow
