// Steps of fixed-step methods: exactly as long as asked for, so that a run is the beginning of a
// longer one, bit for bit.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "attractor/flow/run.hpp"

namespace attractor::flow {
namespace {

// Points of the sphere turning towards a pole, faster with time, with noise if asked.
class Turning final : public Flow {
 public:
  explicit Turning(double noise = 0, double unit = 0) : noise_(noise), unit_(unit) {}
  const Space& space() const override { return sphere_; }
  bool autonomous() const override { return false; }
  double log_unit() const override { return unit_; }
  NoiseLaw noise() const override { return {.own = noise_}; }
  void drift(std::span<const double>, double, std::span<double>) const override { FAIL(); }
  void drift_at(const Time& now, std::span<const double> x, double log_unit,
                std::span<double> out) const override {
    for (std::size_t i = 0; i < x.size(); i += 3) {
      out[i] = std::exp(log_unit) * (1 + 0.3 * std::sin(now.value()));
      out[i + 1] = out[i + 2] = 0;
      sphere_.project(x.subspan(i, 3), out.subspan(i, 3));
    }
  }
  void increment_at(const Time& now, std::span<const double> x, double log_unit,
                    std::span<double> out) const override {
    drift_at(now, x, log_unit, out);
  }

 private:
  Sphere sphere_{3};
  double noise_, unit_;
};

struct Seen {
  std::vector<double> times;
  std::vector<std::vector<double>> states;
  std::vector<double> steps;
  std::uint64_t count = 0;
};

Seen walked(const Tableau& method, double step, double end, std::size_t outputs, double unit = 0) {
  Turning flow(method.stochastic ? 0.1 : 0, unit);
  Progress progress{.state = {std::cos(2.5), 0, std::sin(2.5), 0, 0.6, 0.8}};
  Plan plan{.end = Time(end), .step = step};
  for (std::size_t k = 0; k <= outputs; ++k)
    plan.outputs.emplace_back(end * (static_cast<double>(k) / static_cast<double>(outputs)));
  Seen seen;
  const Hooks hooks{.output =
                        [&](const Time& t, std::span<const double> x) {
                          seen.times.push_back(t.value());
                          seen.states.emplace_back(x.begin(), x.end());
                        },
                    .step = [&](const Step& s) { seen.steps.push_back(s.h); }};
  EXPECT_EQ(run(flow, method, plan, progress, hooks), Status::complete);
  seen.count = progress.steps;
  if (!method.layer_map) {
    EXPECT_EQ(progress.time.value(), end);
  }
  return seen;
}

const Tableau kMethods[] = {layers(), euler(), rk4(), euler_maruyama()};

TEST(FixedStepRuns, AreTheBeginningOfLongerOnes) {
  std::size_t runs = 0;
  for (const double step : {0.1, 0.01, 0.3, 1. / 3, 0.07, 0.0123, 0.125, 1e-3})
    for (const int count : {3, 6, 7, 10, 29, 49, 98, 103, 187})
      for (const Tableau& method : kMethods) {
        const std::string where =
            std::string(method.name) + ' ' + std::to_string(step) + " x " + std::to_string(count);
        const double end = step * count;
        const auto outputs = static_cast<std::size_t>(count);
        const Seen once = walked(method, step, end, outputs);
        const Seen twice = walked(method, step, 2 * end, 2 * outputs);
        EXPECT_EQ(once.count, outputs) << where;
        EXPECT_EQ(twice.count, 2 * outputs) << where;
        for (const double h : twice.steps) ASSERT_EQ(h, step) << where;
        ASSERT_EQ(once.states.size(), outputs + 1) << where;
        ASSERT_GE(twice.states.size(), once.states.size()) << where;
        for (std::size_t k = 0; k < once.states.size(); ++k) {
          ASSERT_EQ(once.states[k], twice.states[k]) << where << " at " << k;
          ASSERT_NEAR(once.times[k], twice.times[k], 1e-15 * end) << where;
        }
        ++runs;
      }
  EXPECT_EQ(runs, 288U);
}

// Outputs between steps are interpolated: at the same times the same bits too.
TEST(FixedStepRuns, InterpolateTheSame) {
  for (const double step : {0.1, 0.3, 0.0123})
    for (const Tableau& method : {euler(), rk4()}) {
      const Seen once = walked(method, step, 49 * step, 37),
                 twice = walked(method, step, 98 * step, 74);
      for (std::size_t k = 0; k < once.states.size(); ++k)
        ASSERT_EQ(once.states[k], twice.states[k]) << method.name << ' ' << step << ' ' << k;
    }
}

TEST(FixedStepRuns, KeepTheStepInOtherUnitsOfTime) {
  for (const double unit : {-3.3, 2.0})
    for (const Tableau& method : kMethods) {
      const Seen once = walked(method, 0.01, 0.49, 49, unit);
      const Seen twice = walked(method, 0.01, 0.98, 98, unit);
      EXPECT_EQ(once.count, 49U);
      for (const double h : twice.steps) ASSERT_EQ(h, twice.steps.front());
      for (std::size_t k = 0; k < once.states.size(); ++k)
        ASSERT_EQ(once.states[k], twice.states[k]) << method.name << ' ' << unit << ' ' << k;
    }
}

TEST(FixedStepRuns, CutOnlyTheLastStepShort) {
  for (const double step : {0.1, 0.3, 0.07})
    for (const double part : {0.25, 0.5, 1e-6})
      for (const Tableau& method : kMethods) {
        const double end = step * (12 + part);
        const Seen seen = walked(method, step, end, 5);
        EXPECT_EQ(seen.count, 13U);
        for (std::size_t k = 0; k < 12; ++k) ASSERT_EQ(seen.steps[k], step);
        EXPECT_NEAR(seen.steps[12], method.layer_map ? step : part * step, 1e-14) << method.name;
        EXPECT_NEAR(seen.times.back(), method.layer_map ? 13 * step : end, 1e-14) << method.name;
      }
}

TEST(FixedStepRuns, CountStepsToRounding) {
  for (const double step : {0.1, 0.3, 1e-7, 3e5})
    for (const double count : {1.0, 7.0, 1e5, 123456789.0}) {
      for (const double end :
           {step * count, std::nextafter(step * count, 0.0), std::nextafter(step * count, 1e300)}) {
        const FixedSteps steps = fixed_steps(Time(end), step);
        EXPECT_TRUE(steps.whole) << step << ' ' << count;
        EXPECT_EQ(static_cast<double>(steps.count), count);
      }
      const FixedSteps more = fixed_steps(Time(step * count * (1 + 1e-13)), step);
      EXPECT_FALSE(more.whole);
      EXPECT_EQ(static_cast<double>(more.count), count + 1);
    }
  EXPECT_EQ(fixed_steps(Time(0), 0.1).count, 0U);
}

}  // namespace
}  // namespace attractor::flow
