#include "attractor/commands/forecast_turn.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/attention/normalisation.hpp"
#include "attractor/reductions/equiangular_layers.hpp"

namespace attractor::lab {
namespace {

TEST(TurningBeta, IsWhereTheVerdictChanges) {
  for (const double turn : {1e-5, 0.3, 7.0, 12.5, 4e5})
    for (const double beta : {0.0, 0.01, 1.0, 8.0, 1e6}) {
      int calls = 0;
      const auto found = turning_beta([&](double b) { return ++calls, b < turn; }, beta);
      ASSERT_TRUE(found) << turn << " " << beta;
      EXPECT_NEAR(*found / turn, 1, 1e-15);
      EXPECT_LT(calls, 120);
    }
}

TEST(TurningBeta, IsTheNearestOne) {
  const auto two = [](double b) { return b > 2 && b < 100; };
  EXPECT_NEAR(*turning_beta(two, 3), 2, 1e-14);
  EXPECT_NEAR(*turning_beta(two, 60), 100, 1e-12);
  EXPECT_NEAR(*turning_beta(two, 0.1), 2, 1e-14);
}

TEST(TurningBeta, MayNotExist) {
  EXPECT_FALSE(turning_beta([](double) { return true; }, 8));
  EXPECT_FALSE(turning_beta([](double b) { return b > 2e6; }, 0));
}

// What makes the turn a single one: attention that looks at itself more mixes less.
TEST(TurningBeta, CollapseFallsWithBeta) {
  for (const Normalisation norm : every<Normalisation>())
    for (const double rho : {0.0, 0.1, 0.6})
      for (const double tokens : {8.0, 8192.0, 1e12}) {
        double before = 2;
        for (double beta = 0.05; beta < 300; beta *= 1.1) {
          const meanfield::Equiangular e{
              .tokens = tokens, .beta = beta, .cosine0 = rho, .norm = norm, .switch_time = 7};
          const double cosine = meanfield::layers(e, 1, 30).back().cosine;
          EXPECT_LE(cosine, before * (1 + 1e-12)) << name(norm) << " " << rho << " " << beta;
          before = cosine;
        }
      }
}

}  // namespace
}  // namespace attractor::lab
