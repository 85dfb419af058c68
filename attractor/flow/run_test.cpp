// The steppers and the time loop on flows with closed solutions.
#include "attractor/flow/run.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace attractor::flow {
namespace {

// Points on the sphere turning towards the pole e_1 of R^3: tan(angle/2) = tan(angle_0/2) e^{-rate
// t}.
class Polar final : public Flow {
 public:
  explicit Polar(double log_rate = 0) : log_rate_(log_rate) {}
  const Space& space() const override { return sphere_; }
  void drift(std::span<const double> x, double log_unit, std::span<double> out) const override {
    for (std::size_t i = 0; i < x.size(); i += 3) {
      out[i] = std::exp(log_unit + log_rate_);
      out[i + 1] = out[i + 2] = 0;
      sphere_.project(x.subspan(i, 3), out.subspan(i, 3));
    }
  }
  double fitting_log_unit(std::span<const double>, double) const override { return -log_rate_; }

 private:
  Sphere sphere_{3};
  double log_rate_;
};

// The same, counting.
class Counted final : public Flow {
 public:
  mutable std::size_t drifts = 0;
  const Space& space() const override { return flow_.space(); }
  void drift(std::span<const double> x, double log_unit, std::span<double> out) const override {
    ++drifts;
    flow_.drift(x, log_unit, out);
  }

 private:
  Polar flow_;
};

std::vector<double> at_angle(double angle) { return {std::cos(angle), 0, std::sin(angle)}; }
double exact_angle(double start, double t) {
  return 2 * std::atan(std::tan(start / 2) * std::exp(-t));
}
double angle_of(std::span<const double> x) { return std::atan2(x[2], x[0]); }

// The largest error over starts all around: no single cancellation can pose as an order.
double final_error(const Tableau& method, double step) {
  Polar flow;
  Progress progress;
  const std::vector<double> starts = {0.4, 0.9, 1.3, 1.8, 2.2, 2.7, 3.0};
  for (double start : starts) {
    const auto point = at_angle(start);
    progress.state.insert(progress.state.end(), point.begin(), point.end());
  }
  EXPECT_EQ(run(flow, method, {.end = Time(1), .step = step}, progress, {}), Status::complete);
  double worst = 0;
  for (std::size_t k = 0; k < starts.size(); ++k)
    worst = std::max(worst, std::abs(angle_of(std::span(progress.state).subspan(3 * k, 3)) -
                                     exact_angle(starts[k], 1)));
  return worst;
}

double slope(const std::function<double(double)>& error, double coarse, double fine) {
  return std::log(error(coarse) / error(fine)) / std::log(coarse / fine);
}

TEST(FixedSteps, ConvergeWithTheirOrder) {
  for (const Tableau& method : {layers(), euler(), rk4()}) {
    const double measured =
        slope([&](double h) { return final_error(method, h); }, 1. / 64, 1. / 256);
    EXPECT_NEAR(measured, method.order, 0.1) << method.name;
  }
}

// x' = t^2 x in R: x = e^{t^3/3}.
class Clocked final : public Flow {
 public:
  const Space& space() const override { return line_; }
  bool autonomous() const override { return false; }
  void drift(std::span<const double>, double, std::span<double>) const override { FAIL(); }
  void drift_at(const Time& now, std::span<const double> x, double log_unit,
                std::span<double> out) const override {
    const double t = now.value();
    for (std::size_t i = 0; i < x.size(); ++i) out[i] = t * t * x[i] * std::exp(log_unit);
  }

 private:
  Euclidean line_{1};
};

double clocked_error(const Tableau& method, double step) {
  Clocked flow;
  Progress progress{.state = {1}};
  EXPECT_EQ(run(flow, method, {.end = Time(1.5), .step = step}, progress, {}), Status::complete);
  return std::abs(progress.state[0] - std::exp(1.5 * 1.5 * 1.5 / 3));
}

TEST(FixedSteps, KeepTheirOrderWhenTheFlowDependsOnTime) {
  for (const Tableau& method : {euler(), rk4()})
    EXPECT_NEAR(slope([&](double h) { return clocked_error(method, h); }, 1. / 64, 1. / 256),
                method.order, 0.1)
        << method.name;
  Tableau fixed = dormand_prince();
  fixed.error.clear();
  EXPECT_NEAR(slope([&](double h) { return clocked_error(fixed, h); }, 1. / 16, 1. / 32), 5, 0.2);
  EXPECT_LT(clocked_error(dormand_prince(), 1), 1e-6);
}

TEST(DormandPrince, ConvergesWithOrderFiveAtFixedSteps) {
  Tableau method = dormand_prince();
  method.error.clear();  // no step control: the formula alone
  EXPECT_NEAR(slope([&](double h) { return final_error(method, h); }, 1. / 16, 1. / 64), 5, 0.1);
}

TEST(EmbeddedPairs, ConvergeWithTheirOrderAtFixedSteps) {
  for (Tableau method : {bogacki_shampine(), dormand_prince_8()}) {
    method.error.clear();
    const double coarse = method.order == 3 ? 1. / 64 : 1. / 2;
    EXPECT_NEAR(slope([&](double h) { return final_error(method, h); }, coarse, coarse / 4),
                method.order, 0.35)
        << method.name;
    EXPECT_NEAR(slope([&](double h) { return clocked_error(method, h); }, coarse, coarse / 4),
                method.order, 0.35)
        << method.name;
  }
}

TEST(EmbeddedPairs, KeepStagesThatAreNeededTogetherApart) {
  const auto arrays = [](const Tableau& method) {
    const std::vector<std::size_t> place = method.places();
    return *std::max_element(place.begin(), place.end()) + 1;
  };
  // Of the seven drifts of Dormand and Prince the second is not needed any more when the last is
  // made.
  EXPECT_EQ(dormand_prince().places(), (std::vector<std::size_t>{0, 1, 2, 3, 4, 5, 1}));
  EXPECT_EQ(arrays(bogacki_shampine()), 4U);
  EXPECT_EQ(arrays(rk4()), 4U);
  EXPECT_LT(arrays(dormand_prince_8()), dormand_prince_8().stages());
  EXPECT_EQ(arrays(euler()), 1U);
}

// The estimate is of size h^order: one step of 2h against one of h.
TEST(EmbeddedPairs, EstimateTheirErrorWithTheirOrder) {
  for (const Tableau& method : {bogacki_shampine(), dormand_prince(), dormand_prince_8()}) {
    const Polar flow;
    const std::vector<double> x = at_angle(1.1);
    const auto estimate = [&](double h) {
      Stepper stepper(method);
      return *stepper.attempt(flow, {}, x, h, 0);
    };
    const double h = method.order == 8 ? 0.3 : 0.02;
    EXPECT_NEAR(std::log2(estimate(2 * h) / estimate(h)), method.order, 0.5) << method.name;
  }
}

// The largest error of 98 outputs, at times that no step hits.
double worst_output(Flow& flow, const Tableau& method, Plan plan) {
  Progress progress{.state = at_angle(2)};
  double worst = 0;
  Hooks hooks;
  hooks.output = [&](const Time& t, std::span<const double> x) {
    worst = std::max(worst, std::abs(angle_of(x) - exact_angle(2, t.value())));
  };
  for (int k = 0; k <= 97; ++k) plan.outputs.emplace_back(plan.end.value() * k / 97.0);
  EXPECT_EQ(run(flow, method, plan, progress, hooks), Status::complete) << method.name;
  return worst;
}

// Errors follow the tolerance with every pair; the higher the order, the fewer drifts a fine
// tolerance takes.
TEST(EmbeddedPairs, KeepTheTolerance) {
  std::vector<std::size_t> drifts;
  for (const Tableau& method : {bogacki_shampine(), dormand_prince(), dormand_prince_8()})
    for (double tolerance : {1e-5, 1e-8, 1e-12}) {
      if (method.order == 3 && tolerance < 1e-8) continue;  // a million steps
      Counted flow;
      const double worst = worst_output(flow, method, {.end = Time(6), .tolerance = tolerance});
      EXPECT_LT(worst, 10 * tolerance + 1e-14) << method.name << " " << tolerance;
      if (tolerance < 1e-5) drifts.push_back(flow.drifts);  // of 3: 1e-8; of 5, 8: 1e-8, 1e-12
    }
  EXPECT_LT(10 * drifts[1], drifts[0]);
  EXPECT_LT(2 * drifts[4], drifts[2]);
}

TEST(DenseOutput, IsWithinOneOrderOfTheMethod) {
  for (Tableau method :
       {euler(), rk4(), bogacki_shampine(), dormand_prince(), dormand_prince_8()}) {
    method.error.clear();
    const auto error = [&](double h) {
      Polar flow;
      return worst_output(flow, method, {.end = Time(1), .step = h});
    };
    const double coarse = method.order == 8 ? 1. / 2 : 1. / 16;
    const double order = slope(error, coarse, coarse / 4);
    EXPECT_GT(order, std::max(1, method.order - 1) - 0.1) << method.name;
  }
}

TEST(Adaptive, GlobalErrorIsProportionalToTheTolerance) {
  double previous = 1;
  for (double tolerance : {1e-6, 1e-8, 1e-10, 1e-12}) {
    Polar flow;
    Progress progress{.state = at_angle(3)};
    run(flow, dormand_prince(), {.end = Time(3), .tolerance = tolerance}, progress, {});
    const double error = std::abs(angle_of(progress.state) - exact_angle(3, 3));
    EXPECT_LT(error, 3 * tolerance);  // at most tolerance per unit of time
    EXPECT_LT(error, previous);
    previous = error;
  }
}

TEST(Adaptive, ControlsTheWorstPointNotTheAverage) {
  Polar flow;
  std::vector<double> many;
  for (int k = 0; k < 1000; ++k) many.insert(many.end(), {1, 0, 0});  // at rest
  const auto moving = at_angle(3);
  many.insert(many.end(), moving.begin(), moving.end());
  Progress alone{.state = moving}, crowd{.state = many};
  const Plan plan{.end = Time(2), .tolerance = 1e-9};
  run(flow, dormand_prince(), plan, alone, {});
  run(flow, dormand_prince(), plan, crowd, {});
  EXPECT_EQ(alone.steps, crowd.steps);
  EXPECT_EQ(alone.state[2], crowd.state[3002]);
}

TEST(Run, AnswersInAnyUnitOfTime) {
  for (double log_rate : {-1e6, -900.0, 0.0, 900.0}) {
    Polar flow(log_rate);
    Progress progress{.state = at_angle(2)};
    EXPECT_EQ(
        run(flow, dormand_prince(), {.end = Time(1, -log_rate), .tolerance = 1e-12}, progress, {}),
        Status::complete);
    EXPECT_NEAR(angle_of(progress.state), exact_angle(2, 1), 1e-11) << log_rate;
  }
}

TEST(Run, HandsOutEveryRequestedTimeOnceAndInOrder) {
  for (const Tableau& method : {euler(), rk4(), dormand_prince()}) {
    Polar flow;
    Progress progress{.state = at_angle(2)};
    Plan plan{.end = Time(1),
              .outputs = {Time(0), Time(0.1), Time(0.1), Time(0.55), Time(1)},
              .step = 0.25};
    std::vector<double> seen;
    Hooks hooks;
    hooks.output = [&](const Time& t, std::span<const double>) { seen.push_back(t.value()); };
    run(flow, method, plan, progress, hooks);
    EXPECT_EQ(seen, (std::vector<double>{0, 0.1, 0.1, 0.55, 1})) << method.name;
  }
}

TEST(Run, LayersAreHandedOutAtWholeSteps) {
  Polar flow;
  Progress progress{.state = at_angle(2)};
  Plan plan{.end = Time(1), .outputs = {Time(0), Time(0.2), Time(0.3), Time(1)}, .step = 0.25};
  std::vector<double> seen;
  Hooks hooks;
  hooks.output = [&](const Time& t, std::span<const double>) { seen.push_back(t.value()); };
  run(flow, layers(), plan, progress, hooks);
  EXPECT_EQ(seen, (std::vector<double>{0, 0.25, 0.5, 1}));
}

TEST(Run, StoppedAnywhereAndContinuedEndsWithTheSameBits) {
  for (const Tableau& method : {layers(), rk4(), dormand_prince()}) {
    Polar flow;
    const Plan plan{.end = Time(2), .tolerance = 1e-8, .step = 0.01};
    Progress whole{.state = at_angle(3)}, parts{.state = at_angle(3)};
    run(flow, method, plan, whole, {});
    int interruptions = 0;
    for (;;) {
      int budget = 25;  // asked between stages too: stops in the middle of a step as well
      Hooks hooks;
      hooks.stop = [&] { return budget-- == 0; };
      if (run(flow, method, plan, parts, hooks) != Status::interrupted) break;
      ++interruptions;
    }
    EXPECT_GT(interruptions, 2) << method.name;
    EXPECT_EQ(whole.state, parts.state) << method.name;
    EXPECT_EQ(whole.steps, parts.steps) << method.name;
    EXPECT_EQ(whole.time.value(), parts.time.value()) << method.name;
  }
}

TEST(Run, GivesUpAfterTheStepLimit) {
  Polar flow;
  Progress progress{.state = at_angle(2)};
  EXPECT_EQ(run(flow, dormand_prince(), {.end = Time(10), .max_steps = 5}, progress, {}),
            Status::too_many_steps);
}

// x' = x^2 in R blows up at t = 1/x_0.
class Exploding final : public Flow {
 public:
  const Space& space() const override { return line_; }
  void drift(std::span<const double> x, double log_unit, std::span<double> out) const override {
    out[0] = std::exp(log_unit) * x[0] * x[0];
  }

 private:
  Euclidean line_{1};
};

TEST(Run, ReportsABlowUpInsteadOfNaN) {
  Exploding flow;
  Progress adaptive{.state = {1}}, fixed{.state = {1}};
  const Status status = run(flow, dormand_prince(),
                            {.end = Time(2), .tolerance = 1e-8, .max_steps = 100000}, adaptive, {});
  EXPECT_FALSE(delivered(status)) << name(status);
  EXPECT_TRUE(std::isfinite(adaptive.state[0]));
  EXPECT_NEAR(adaptive.time.value(), 1, 1e-3);
  EXPECT_EQ(run(flow, euler(), {.end = Time(100), .step = 0.1}, fixed, {}), Status::not_finite);
  EXPECT_TRUE(std::isfinite(fixed.state[0]));
}

TEST(Tableau, RowsAreConsistent) {
  for (const Tableau& t : {layers(), euler(), rk4(), dormand_prince()}) {
    double b = 0, error = 0;
    for (double w : t.b) b += w;
    for (double w : t.error) error += w;
    EXPECT_NEAR(b, 1, 1e-15) << t.name;
    EXPECT_NEAR(error, 0, 1e-15) << t.name;
    for (std::size_t s = 0; s < t.stages(); ++s) EXPECT_LE(t.a[s].size(), s) << t.name;
    if (!t.dense) continue;
    const auto start = t.dense(0), end = t.dense(1);
    for (std::size_t s = 0; s < t.stages(); ++s) {
      EXPECT_EQ(start[s], 0) << t.name;
      EXPECT_NEAR(end[s], t.b[s], 1e-15) << t.name;
    }
  }
}

}  // namespace
}  // namespace attractor::flow
