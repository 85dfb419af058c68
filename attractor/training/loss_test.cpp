// Losses, slopes and rises against long double arithmetic and limits that doubles cannot hold.
#include "attractor/training/loss.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/refusal.hpp"

namespace attractor::training {
namespace {

constexpr Loss kAll[] = {Loss::linear, Loss::correlation, Loss::logistic, Loss::exponential,
                         Loss::squared};

TEST(Loss, PullIsMinusTheSlope) {
  for (Loss loss : kAll)
    for (double f : {-3.0, -0.2, 0.4, 5.0})
      for (double y : {-1.0, 1.0}) {
        const double h = 1e-4;
        const double slope = (8 * (value(loss, f + h, y) - value(loss, f - h, y)) -
                              (value(loss, f + 2 * h, y) - value(loss, f - 2 * h, y))) /
                             (12 * h);
        const Pull p = pull(loss, f, y);
        EXPECT_NEAR(p.sign * std::exp(p.log_size), -slope, 1e-11 * (1 + std::abs(slope)));
      }
}

TEST(Loss, RiseIsTheDifference) {
  for (Loss loss : {Loss::linear, Loss::logistic, Loss::exponential})
    for (double f : {-2.0, 0.3, 4.0})
      for (double y : {-1.0, 1.0})
        for (double deficit : {1e-3, 0.5, 3.0}) {
          const auto exact = [&](long double x) -> long double {
            if (loss == Loss::linear) return -y * x;
            return loss == Loss::logistic ? std::log1p(std::exp(-y * x)) : std::exp(-y * x);
          };
          const long double rise = exact(f - static_cast<long double>(y) * deficit) - exact(f);
          EXPECT_NEAR(log_rise(loss, f, y, std::log(deficit)), static_cast<double>(std::log(rise)),
                      1e-12);
        }
}

TEST(Loss, RiseHoldsBeyondTheRangeOfDoubles) {
  // Far right of a logistic loss it is e^{-f}: the rise is (e^drop - 1) e^{-f}.
  EXPECT_NEAR(log_rise(Loss::logistic, 3000, 1, std::log(1500)), -1500, 1e-9);
  EXPECT_NEAR(log_rise(Loss::logistic, 3000, 1, std::log(0.5)), std::log(std::expm1(0.5)) - 3000,
              1e-9);
  EXPECT_NEAR(log_rise(Loss::logistic, 3000, 1, -5000), -8000, 1e-9);
  // Across the bend it becomes linear: drop - f.
  EXPECT_NEAR(log_rise(Loss::logistic, 3000, 1, std::log(4000)), std::log(1000), 1e-12);
  EXPECT_NEAR(log_rise(Loss::exponential, 10, 1, std::log(2000)), 1990, 1e-9);
  EXPECT_EQ(log_value(Loss::logistic, 2000, 1), -2000);
}

TEST(Loss, HasNames) {
  for (Loss loss : kAll) EXPECT_EQ(named<Loss>("loss", name(loss)), loss);
  EXPECT_SAYS(refusal([] { named<Loss>("loss", "hinge"); }), "unknown");
}

}  // namespace
}  // namespace attractor::training
