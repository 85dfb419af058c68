// Clusters of independent tokens on the circle: what is counted, when, and how that compares with
// linear theory.
#include "attractor/mean_field/cluster_count.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/stability/stability.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

struct Sample {
  double mean = 0, error = 0;
};

/// Mean of count(replicate) and its standard error.
template <class Count>
Sample sample(std::size_t replicates, const Count& count) {
  double sum = 0, squares = 0;
  const double n = static_cast<double>(replicates);
  for (std::size_t r = 0; r < replicates; ++r) {
    const double x = static_cast<double>(count(r));
    sum += x;
    squares += x * x;
  }
  return {sum / n, std::sqrt((squares / n - sum * sum / n / n) / (n - 1))};
}

/// Falling signs of the slope on a grid, each sum relative to its own largest term: it keeps its
/// sign where the density is e^{-10^4} of its mean.
std::size_t maxima_by_brute_force(double beta, const std::vector<double>& angles,
                                  std::size_t points) {
  const auto slope = [&](double at) {
    double nearest = -1, sum = 0;
    for (const double a : angles) nearest = std::max(nearest, std::cos(a - at));
    for (const double a : angles)
      sum += std::exp(beta * (std::cos(a - at) - nearest)) * std::sin(a - at);
    return sum;
  };
  std::size_t maxima = 0;
  double before = slope(0);
  for (std::size_t g = 1; g <= points; ++g) {
    const double here = slope(kTurn * static_cast<double>(g) / static_cast<double>(points));
    maxima += before > 0 && here <= 0;
    before = here;
  }
  return maxima;
}

TEST(ClusterCount, EmptyGapsHoldNoMaxima) {
  const struct {
    double beta;
    std::size_t tokens;
  } cases[] = {{100, 2}, {400, 5}, {6000, 59}, {30, 1}, {2000, 12}, {900, 200}, {5, 3}};
  for (const auto& [beta, tokens] : cases) {
    const CircleTokens flow({.beta = beta}, tokens);
    for (std::size_t r = 0; r < 6; ++r) {
      const auto angles = uniform_angles(tokens, 5, r);
      const std::size_t found = density_maxima(flow, beta, angles).size();
      EXPECT_LE(found, tokens);
      EXPECT_EQ(found, maxima_by_brute_force(beta, angles, 8192)) << beta << ' ' << tokens;
    }
  }
}

TEST(ClusterCount, LateClustersFarApartAreCountedOnce) {  // long after others have merged
  const double beta = 300;
  std::vector<double> angles;
  for (const double centre : {0.1, 2.0, 3.9})
    for (int i = 0; i < 100; ++i) angles.push_back(centre + 1e-4 * i);
  const CircleTokens flow({.beta = beta}, angles.size());
  EXPECT_EQ(density_maxima(flow, beta, angles).size(), 3U);
}

TEST(ClusterCount, TokensThatStandAloneAreRefused) {
  EXPECT_EQ(least_tokens(0), 1U);
  EXPECT_NEAR(static_cast<double>(least_tokens(1e4)), 4 * std::sqrt(std::numbers::pi * 1e4), 6);
  const auto history = [](double beta, std::size_t tokens) {
    return watch_clusters(
        {.beta = beta, .tokens = tokens, .end = e_foldings(Rule::softmax, beta, 12)});
  };
  for (const double beta : {9.0, 100.0}) {
    EXPECT_THROW(history(beta, least_tokens(beta) - 1), Error);
    for (const std::size_t times : {1, 4}) {
      const ClusterHistory run = history(beta, times * least_tokens(beta));
      EXPECT_FALSE(run.moments.front().formed()) << beta;  // there is something to form
      ASSERT_NE(run.formation(), nullptr) << beta;
    }
  }
}

TEST(ClusterCount, MaximaAreWhereTheClustersAre) {
  const double beta = 40, offset = 0.3;
  const std::size_t clusters = 5;
  std::vector<double> angles;
  for (std::size_t i = 0; i < 1000; ++i) {
    const double spread = 0.02 * (static_cast<double>(i / clusters) / 99.5 - 1);
    angles.push_back(offset + kTurn * static_cast<double>(i % clusters) / 5 + spread - 3 * kTurn);
  }
  angles.push_back(offset + kTurn / 10);  // a straggler half way is no cluster
  const CircleTokens tokens({.beta = beta}, angles.size());
  const auto maxima = density_maxima(tokens, beta, angles);
  ASSERT_EQ(maxima.size(), clusters);
  for (std::size_t c = 0; c < clusters; ++c)
    EXPECT_NEAR(maxima[c], offset + kTurn * static_cast<double>(c) / 5, 1e-3);
}

TEST(ClusterCount, DensityOfIndependentTokensHasAsManyMaximaAsRiceSays) {
  for (double beta : {1.0, 5.0, 16.0, 49.0}) {
    const CircleTokens tokens({.beta = beta}, 2000);
    const Sample s = sample(200, [&](std::size_t r) {
      return density_maxima(tokens, beta, uniform_angles(2000, 7, r)).size();
    });
    EXPECT_NEAR(s.mean, expected_density_maxima(beta), 4 * s.error) << beta;
  }
}

TEST(ClusterCount, LinearPhaseHasAsManyMaximaAsRiceSays) {
  const double beta = 25, grown = 2;
  const Sample s = sample(50, [&](std::size_t r) {
    return watch_clusters({.beta = beta,
                           .tokens = 1500,
                           .seed = 3,
                           .replicate = r,
                           .end = e_foldings(Rule::softmax, beta, grown)})
        .moments.back()
        .maxima;
  });
  EXPECT_NEAR(s.mean, expected_density_maxima(beta, grown), 4 * s.error);
  // The error must be small enough to tell it from the start.
  EXPECT_LT(4 * s.error, expected_density_maxima(beta, grown) - expected_density_maxima(beta));
}

// Independent starts scatter about the fastest mode, on the whole below it (theory A4: within 20%).
TEST(ClusterCount, TokensFormAboutTheClustersThatTheFastestModePredicts) {
  for (Rule rule : {Rule::softmax, Rule::unnormalised}) {
    const Sample s = sample(8, [&](std::size_t r) {
      const ClusterHistory history = watch_clusters({.rule = rule,
                                                     .beta = 16,
                                                     .tokens = 1000,
                                                     .seed = 1,
                                                     .replicate = r,
                                                     .end = e_foldings(rule, 16, 12)});
      EXPECT_EQ(history.status, flow::Status::complete);
      EXPECT_EQ(history.moments.size(), 49U);
      EXPECT_NEAR(history.moments.back().e_foldings, 12, 1e-12);
      EXPECT_GT(history.moments.front().loose, 0.5);
      const ClusterMoment* formed = history.formation();
      EXPECT_NE(formed, nullptr);
      if (!formed) return std::size_t{0};
      EXPECT_GT(formed->e_foldings, std::log(1000) / 2 - 1);  // growth from n^{-1/2}
      return formed->maxima;
    });
    EXPECT_NEAR(s.mean / std::sqrt(2 * 16.0), 1, 0.2) << name(rule);
  }
}

TEST(ClusterCount, WithoutTemperatureThereIsOneCluster) {
  const ClusterHistory history =
      watch_clusters({.beta = 0, .tokens = 500, .end = e_foldings(Rule::softmax, 0, 10)});
  for (const ClusterMoment& m : history.moments) EXPECT_EQ(m.maxima, 1U);
  ASSERT_NE(history.formation(), nullptr);
}

TEST(ClusterCount, ToleranceAndThreadsDoNotShow) {
  const auto counts = [](double tolerance, std::size_t threads) {
    set_threads(threads);
    std::vector<std::size_t> result;
    for (const ClusterMoment& m : watch_clusters({.beta = 16,
                                  .tokens = 2500,
                                  .seed = 2,
                                  .end = e_foldings(Rule::softmax, 16, 7),
                                  .tolerance = tolerance})
                                      .moments)
      result.push_back(m.maxima);
    set_threads(0);
    return result;
  };
  const auto usual = counts(1e-4, 2);
  EXPECT_EQ(usual, counts(1e-4, 1));
  EXPECT_EQ(usual, counts(1e-7, 2));
}

TEST(ClusterCount, TimeUnitIsTheGrowthOfTheFastestMode) {
  EXPECT_NEAR(e_foldings(Rule::softmax, 100, 3).value(), 3 / 0.7331761029782, 1e-11);
  EXPECT_NEAR(e_foldings(Rule::unnormalised, 100, 1).value() * 7.872490922006e41, 1, 1e-11);
  const Stability cold = stability({.rule = Rule::unnormalised, .beta = 1e6});
  EXPECT_NEAR(e_foldings(Rule::unnormalised, 1e6, 1).log(), -cold.log_growth(cold.fastest), 1e-9);
}

TEST(ClusterCount, StopsAndRefuses) {
  const ClusterHistory stopped =
      watch_clusters({.beta = 5, .tokens = 100, .end = e_foldings(Rule::softmax, 5, 5), .stop = [] {
                        return true;
                      }});
  EXPECT_EQ(stopped.status, flow::Status::interrupted);
  EXPECT_EQ(stopped.formation(), nullptr);
  EXPECT_THROW(watch_clusters({.beta = 5, .end = flow::Time(1e9)}), Error);
  EXPECT_THROW(watch_clusters({.beta = -1, .end = flow::Time(1)}), Error);
  EXPECT_THROW(watch_clusters({.tokens = 0, .end = flow::Time(1)}), Error);
}

}  // namespace
}  // namespace attractor::meanfield
