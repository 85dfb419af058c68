// The linearly implicit method on flows with closed solutions, smooth and stiff.
#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/flow/run.hpp"

namespace attractor::flow {
namespace {

// r' = r (1 - r^2), angle' = 1 in the plane: 1/r^2 = 1 + (1/r_0^2 - 1) e^{-2t}.
class Cycle final : public Flow {
 public:
  const Space& space() const override { return plane_; }
  void drift(std::span<const double> x, double log_unit, std::span<double> out) const override {
    const double pull = 1 - x[0] * x[0] - x[1] * x[1], unit = std::exp(log_unit);
    out[0] = unit * (pull * x[0] - x[1]);
    out[1] = unit * (pull * x[1] + x[0]);
  }
  bool jacobian(std::span<const double> x, double log_unit, std::span<double> out) const override {
    const double pull = 1 - x[0] * x[0] - x[1] * x[1], unit = std::exp(log_unit);
    out[0] = unit * (pull - 2 * x[0] * x[0]);
    out[1] = unit * (-1 - 2 * x[0] * x[1]);
    out[2] = unit * (1 - 2 * x[0] * x[1]);
    out[3] = unit * (pull - 2 * x[1] * x[1]);
    return true;
  }

 private:
  Euclidean plane_{2};
};

const std::vector<double> kStart = {0.3, 0};

double distance_to_cycle(std::span<const double> x, double t) {
  const double r = 1 / std::sqrt(1 + (1 / 0.09 - 1) * std::exp(-2 * t));
  return std::hypot(x[0] - r * std::cos(t), x[1] - r * std::sin(t));
}

// The largest error of outputs that no step hits, and of the end.
double worst(const Tableau& method, Plan plan) {
  Cycle flow;
  Progress progress{.state = kStart};
  double largest = 0;
  Hooks hooks;
  hooks.output = [&](const Time& t, std::span<const double> x) {
    largest = std::max(largest, distance_to_cycle(x, t.value()));
  };
  for (int k = 0; k <= 97; ++k) plan.outputs.emplace_back(plan.end.value() * k / 97.0);
  EXPECT_EQ(run(flow, method, plan, progress, hooks), Status::complete);
  return largest;
}

TEST(Rodas, HasOrderFourAndADenseOutputOfOrderThree) {
  Tableau method = rodas();
  method.error.clear();
  const auto error = [&](int steps) {
    Cycle flow;
    Progress progress{.state = kStart};
    run(flow, method, {.end = Time(2), .step = 2.0 / steps}, progress, {});
    return distance_to_cycle(progress.state, 2);
  };
  EXPECT_NEAR(std::log2(error(64) / error(128)), 4, 0.3);
  const double coarse = worst(method, {.end = Time(2), .step = 1. / 32});
  EXPECT_GT(std::log2(coarse / worst(method, {.end = Time(2), .step = 1. / 128})) / 2, 2.9);
}

TEST(Rodas, EstimatesItsErrorWithItsOrderAndKeepsTheTolerance) {
  const Cycle flow;
  const auto estimate = [&](double h) { return *Stepper(rodas()).attempt(flow, {}, kStart, h, 0); };
  EXPECT_NEAR(std::log2(estimate(0.02) / estimate(0.01)), 4, 0.3);
  for (const double tolerance : {1e-5, 1e-8, 1e-10})
    EXPECT_LT(worst(rodas(), {.end = Time(6), .tolerance = tolerance}), 10 * tolerance);
}

// x' = -R diag(1, stiffness) R^T x: after the fast direction has died out the solution is smooth.
class Valley final : public Flow {
 public:
  explicit Valley(double stiffness) : stiffness_(stiffness) {}
  const Space& space() const override { return plane_; }
  void drift(std::span<const double> x, double log_unit, std::span<double> out) const override {
    const double unit = std::exp(log_unit), a = kCos * x[0] + kSin * x[1],
                 b = kCos * x[1] - kSin * x[0];
    out[0] = unit * (-kCos * a + kSin * stiffness_ * b);
    out[1] = unit * (-kSin * a - kCos * stiffness_ * b);
  }
  bool jacobian(std::span<const double>, double log_unit, std::span<double> out) const override {
    for (const int column : {0, 1}) {
      const double x[2] = {column == 0 ? 1.0 : 0.0, column == 1 ? 1.0 : 0.0};
      double y[2];
      drift(x, log_unit, y);
      out[static_cast<std::size_t>(column)] = y[0];
      out[2 + static_cast<std::size_t>(column)] = y[1];
    }
    return true;
  }
  static std::vector<double> exact(double t, double stiffness) {
    const double a = kCos * std::exp(-t), b = -kSin * std::exp(-stiffness * t);
    return {kCos * a - kSin * b, kSin * a + kCos * b};
  }

 private:
  static constexpr double kCos = 0.8, kSin = 0.6;
  Euclidean plane_{2};
  double stiffness_;
};

// The drift is rounded to 1e-16 of the stiffness, which must be below the tolerance.
TEST(Rodas, TakesNoMoreStepsWhereMoreIsStiff) {
  for (const double stiffness : {1e3, 1e5, 1e7}) {
    Valley flow(stiffness);
    Progress progress{.state = {1, 0}};
    ASSERT_EQ(
        run(flow, rodas(), {.end = Time(5), .tolerance = 1e-8, .max_steps = 3000}, progress, {}),
        Status::complete);
    EXPECT_LT(std::sqrt(squared_distance(progress.state, Valley::exact(5, stiffness))), 1e-7);
  }
}

TEST(Plan, AStiffMethodTakesOverAndGoesOnWithTheSameBits) {
  const Plan plan{
      .end = Time(5), .tolerance = 1e-8, .max_steps = 5000, .stiff = rodas(), .patience = 200};
  const auto go_on = [&](Progress& progress, std::uint64_t until) {
    Valley flow(1e6);
    Hooks hooks;
    hooks.stop = [&] { return progress.steps + progress.rejected >= until; };
    return run(flow, dormand_prince(), plan, progress, hooks);
  };
  Progress whole{.state = {1, 0}};
  ASSERT_EQ(go_on(whole, UINT64_MAX), Status::complete);
  EXPECT_LT(std::sqrt(squared_distance(whole.state, Valley::exact(5, 1e6))), 1e-7);
  for (const std::uint64_t cut : {17, 199, 200, 201, 230}) {
    Progress parts{.state = {1, 0}};
    EXPECT_EQ(go_on(parts, cut), Status::interrupted);
    EXPECT_EQ(go_on(parts, UINT64_MAX), Status::complete);
    EXPECT_EQ(parts.state, whole.state) << cut;
    EXPECT_EQ(parts.steps, whole.steps) << cut;
  }
  Progress alone{.state = {1, 0}};
  Valley flow(1e6);
  EXPECT_EQ(run(flow, dormand_prince(), {.end = Time(5), .tolerance = 1e-8, .max_steps = 5000},
                alone, {}),
            Status::too_many_steps);
}

TEST(Rodas, SaysThatADriftWithoutDerivativeCannotBeFollowed) {
  class Bare final : public Flow {
   public:
    const Space& space() const override { return line_; }
    void drift(std::span<const double>, double, std::span<double> out) const override {
      out[0] = 1;
    }

   private:
    Euclidean line_{1};
  } flow;
  Progress progress{.state = {0}};
  EXPECT_EQ(run(flow, rodas(), {.end = Time(1)}, progress, {}), Status::step_underflow);
}

}  // namespace
}  // namespace attractor::flow
