#include "attractor/flow/clock.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "attractor/flow/run.hpp"

namespace attractor::flow {
namespace {

// int_0^theta e^{-a u} du = (1 - e^{-a theta}) / a, for slopes that a step may have.
TEST(Clock, IntegratesASteepExponential) {
  for (const double slope : {-3000.0, -30.0, -0.5, 0.01, 2.0, 45.0, 1e3, 1e6}) {
    const auto phi = [&](double theta) { return 7 - slope * theta; };
    const Clock clock(phi, phi(0), phi(1), true, 1e-12);
    const auto passed = [&](double theta) { return -std::expm1(-slope * theta) / slope; };
    const double whole = -std::expm1(-std::abs(slope)) / std::abs(slope);  // beside its maximum
    EXPECT_NEAR(clock.log_unit(), slope > 0 ? 7 : 7 - slope, 1e-12);
    EXPECT_NEAR(clock.time() / whole, 1, 1e-12) << slope;
    if (std::abs(slope) > 300) continue;
    for (const double theta : {0.0, 1e-3, 0.2, 0.7, 1.0}) {
      const double share = passed(theta) / passed(1);
      EXPECT_NEAR(clock.share(theta), share, 1e-12) << slope << " " << theta;
      if (share > 1e-8 && share < 1 - 1e-8) {
        EXPECT_NEAR(clock.theta(clock.share(theta)), theta, 1e-12) << slope;
      }
    }
  }
}

// A pair on its way from 90 degrees to 60: phi = beta (1 - cos) - ln sin, to midpoints of 4e6
// pieces.
TEST(Clock, FollowsThePairLaw) {
  const double beta = 50, from = std::acos(0.0), way = from / 3;
  const auto phi = [&](double theta) {
    const double angle = from - way * theta;
    return beta * (1 - std::cos(angle)) - std::log(std::sin(angle));
  };
  double sum = 0;
  constexpr int kPieces = 4'000'000;
  for (int k = 0; k < kPieces; ++k) sum += std::exp(phi((k + 0.5) / kPieces) - beta) / kPieces;
  const Clock clock(phi, phi(0), phi(1), true, 1e-10);
  EXPECT_NEAR(clock.time() * std::exp(clock.log_unit() - beta) / sum, 1, 1e-9);
  EXPECT_LT(clock.error(), 1e-9);
}

// What is largest inside is not taken for steep.
TEST(Clock, SeesAMaximumInside) {
  const auto phi = [](double theta) { return -800 * (theta - 0.4) * (theta - 0.4); };
  const Clock clock(phi, phi(0), phi(1), false, 1e-10);
  EXPECT_NEAR(clock.time() * std::exp(clock.log_unit()), std::sqrt(std::acos(-1.0) / 800), 1e-10);
  EXPECT_NEAR(clock.share(0.4), 0.5, 1e-9);
}

TEST(Clock, RunsEvenlyByItself) {
  const Clock even;
  EXPECT_EQ(even.share(0.3), 0.3);
  EXPECT_EQ(even.theta(0.3), 0.3);
  EXPECT_EQ(even.time(), 1);
}

// theta' = -e^{-beta (1 - cos theta)} sin theta on the circle: t in closed form by quadrature.
class SteepAngle final : public Flow {
 public:
  explicit SteepAngle(double beta) : beta_(beta) {}
  const Space& space() const override { return circle_; }
  void drift(std::span<const double> x, double log_unit, std::span<double> out) const override {
    const double speed = std::exp(log_unit - beta_ * (1 - x[0])) * x[1];
    out[0] = speed * x[1];
    out[1] = -speed * x[0];
  }
  double fitting_log_unit(std::span<const double> x, double) const override {
    return beta_ * (1 - x[0]);
  }
  Steepness steepness() const override { return {.slope = beta_, .slow = 1e-3}; }

 private:
  double beta_;
  Sphere circle_{2};
};

double time_to(double beta, double from, double to) {  // ln
  double sum = 0;
  constexpr int kPieces = 2'000'000;
  for (int k = 0; k < kPieces; ++k) {  // denser where the time passes
    const double u = (k + 0.5) / kPieces, angle = from - (from - to) * u * u;
    sum += std::exp(beta * (std::cos(from) - std::cos(angle))) / std::sin(angle) * 2 * u *
           (from - to) / kPieces;
  }
  return std::log(sum) + beta * (1 - std::cos(from));
}

TEST(StepsOfDisplacement, EndAndGiveOutputsInMidStep) {
  for (const double beta : {60.0, 2000.0}) {
    SteepAngle flow(beta);
    const double end = time_to(beta, 1.5, 1.5 - 8 / beta), half = end - std::log(2.0);
    const Plan plan{.end = Time(1, end), .outputs = {Time(1, half), Time(1, end)}};
    Progress progress{.state = {std::cos(1.5), std::sin(1.5)}};
    std::vector<double> angles;
    Hooks hooks;
    std::uint64_t ways = 0;
    hooks.step = [&](const Step& step) { ways += step.way.has_value(); };
    hooks.output = [&](const Time&, std::span<const double> x) {
      angles.push_back(std::atan2(x[1], x[0]));
    };
    EXPECT_EQ(run(flow, dormand_prince(), plan, progress, hooks), Status::complete);
    EXPECT_GT(ways, 0U);
    EXPECT_LT(progress.steps, 60U);
    ASSERT_EQ(angles.size(), 2U);
    EXPECT_NEAR(time_to(beta, 1.5, angles[0]), half, 1e-6) << beta;
    EXPECT_NEAR(time_to(beta, 1.5, angles[1]), end, 1e-6) << beta;
  }
}

TEST(StepsOfDisplacement, StoppedAnywhereEndWithTheSameBits) {
  SteepAngle flow(300);
  const Plan plan{.end = Time(1, time_to(300, 1.5, 1.48))};
  Progress whole{.state = {std::cos(1.5), std::sin(1.5)}}, parts = whole;
  run(flow, dormand_prince(), plan, whole, {});
  int interruptions = 0;
  for (;;) {
    int budget = 20;  // asked between stages too: stops in the middle of a step as well
    Hooks hooks;
    hooks.stop = [&] { return budget-- == 0; };
    if (run(flow, dormand_prince(), plan, parts, hooks) != Status::interrupted) break;
    ++interruptions;
  }
  EXPECT_GT(interruptions, 0);
  EXPECT_EQ(whole.state, parts.state);
  EXPECT_EQ(whole.steps, parts.steps);
  EXPECT_EQ(whole.rejected, parts.rejected);
}

}  // namespace
}  // namespace attractor::flow
