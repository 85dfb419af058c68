// Power moments against sums over all pairs in long double; their polynomials against the
// exponential itself.
#include "attractor/kernels/moments/power_moments.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/moments/power_levels.hpp"
#include "attractor/kernels/moments/power_passes.hpp"
#include "attractor/kernels/moments/power_series.hpp"
#include "hwy/highway.h"
#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

using Real = long double;

enum class Kind { random, cluster, antipodal, lonely };
constexpr Kind kKinds[] = {Kind::random, Kind::cluster, Kind::antipodal, Kind::lonely};

/// Around the diagonal, where no monomial is small: `cluster` all of them, `antipodal` half of them
/// on the other side, `lonely` one only.
std::vector<double> power_points(std::size_t n, std::size_t dim, Kind kind) {
  const Stream stream(5, "power moments test");
  std::vector<double> points(n * dim);
  for (std::size_t i = 0; i < n; ++i) {
    double square = 0;
    double* x = points.data() + i * dim;
    for (std::size_t c = 0; c < dim; ++c) {
      x[c] = kind == Kind::random ? stream.normal(i, c) : 1 + 0.01 * stream.normal(i, c);
      square += x[c] * x[c];
    }
    const bool other = kind == Kind::antipodal ? i % 2 == 1 : kind == Kind::lonely && i == n / 2;
    for (std::size_t c = 0; c < dim; ++c) x[c] /= (other ? -1 : 1) * std::sqrt(square);
  }
  return points;
}

std::vector<double> power_weights(std::size_t n) {
  std::vector<double> weights(n);
  for (std::size_t i = 0; i < n; ++i) weights[i] = 0.5 + static_cast<double>(i % 5);
  return weights;
}

struct PowerTruth {
  std::vector<Real> pull, partition, along;
  Real energy = 0, smallest = 1;
};

PowerTruth power_truth(double beta, std::span<const double> x, std::span<const double> weights,
                       std::size_t dim) {
  const std::size_t n = x.size() / dim;
  PowerTruth truth{std::vector<Real>(n * dim), std::vector<Real>(n), std::vector<Real>(n)};
  Real total = 0;
  for (std::size_t i = 0; i < n; ++i) total += weights.empty() ? 1 : weights[i];
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      Real square = 0;
      for (std::size_t c = 0; c < dim; ++c)
        square += std::pow(static_cast<Real>(x[i * dim + c]) - x[j * dim + c], 2);
      const Real w = (weights.empty() ? 1 : weights[j]) / total * std::exp(-beta * square / 2);
      truth.partition[i] += w;
      truth.along[i] += w * (1 - square / 2);
      for (std::size_t c = 0; c < dim; ++c)
        truth.pull[i * dim + c] += w * (static_cast<Real>(x[j * dim + c]) - x[i * dim + c]);
    }
    Real radial = 0;
    for (std::size_t c = 0; c < dim; ++c) radial += truth.pull[i * dim + c] * x[i * dim + c];
    for (std::size_t c = 0; c < dim; ++c) truth.pull[i * dim + c] -= radial * x[i * dim + c];
    truth.energy += (weights.empty() ? 1 : weights[i]) / total * truth.partition[i];
    truth.smallest = std::min(truth.smallest, truth.partition[i]);
  }
  return truth;
}

/// The largest distance of rows of `dim` numbers.
double apart(std::span<const double> a, std::span<const Real> b, std::size_t dim) {
  Real largest = 0;
  for (std::size_t i = 0; i < a.size(); i += dim) {
    Real square = 0;
    for (std::size_t c = i; c < i + dim; ++c) square += (a[c] - b[c]) * (a[c] - b[c]);
    largest = std::max(largest, std::isnan(square) ? 1 : std::sqrt(square));
  }
  return static_cast<double>(largest);
}

TEST(PowerSeries, LeavesOutLessThanItSays) {
  for (const double beta : {0.0, 1e-5, 0.3, 2.0, 9.0, 30.0, 100.0}) {
    const PowerErrors errors = power_errors(beta, 4);
    for (const std::size_t degree : {1U, 2U, 5U, 12U, 25U, 40U}) {
      const PowerSeries series = power_series(beta, degree);
      ASSERT_EQ(series.degree(), degree);
      Real worst = 0;
      for (int k = 0; k <= 200; ++k) {
        const Real t = std::cos(k * 3.14159265358979L / 200), exact = std::exp(beta * (t - 1));
        Real phi = 0, slope = 0, psi = 0;
        for (std::size_t i = degree + 1; i-- > 0;) {
          slope = slope * t + phi;
          phi = phi * t + series.phi[i];
          psi = psi * t + series.psi[i];
        }
        worst =
            std::max({worst, std::abs(std::exp(-static_cast<Real>(beta)) + beta * phi - exact),
                      std::sqrt(1 - t * t) * std::abs(slope - exact), std::abs(psi - t * exact)});
      }
      EXPECT_LE(worst, errors.fixed[degree]) << beta << ' ' << degree;
      // It is no wild guess either.
      const bool cut = errors.fixed[degree] < 0.1 && errors.fixed[degree] > 1e-12;
      EXPECT_TRUE(!cut || worst >= 0.2 * errors.fixed[degree]) << beta << ' ' << degree;
    }
  }
}

TEST(PowerSeries, EvenPartitionIsTheMeanOverTheSphere) {
  // d = 3: (1 - e^{-2 beta}) / (2 beta).
  for (const double beta : {1e-3, 1.0, 20.0, 90.0})
    EXPECT_NEAR(even_partition(beta, 3) / (-std::expm1(-2 * beta) / (2 * beta)), 1, 1e-13);
  EXPECT_EQ(even_partition(0, 7), 1);
  EXPECT_NEAR(even_partition(10, 4), 2 * 0.12126268138445556 / 10, 1e-15);  // 2 e^-b I_1(b) / b
}

TEST(PowerMoments, AreWithinTheirErrorOfAllPairs) {
  const std::size_t n = 83;
  for (std::size_t dim = 3; dim <= 8; ++dim)
    for (const double beta : {0.0, 1e-3, 1.0, 6.0, 30.0})
      for (const Kind kind : kKinds)
        for (const double accuracy : {1e-4, 1e-8, 1e-11}) {
          const PowerMomentsSettings settings{
              .dim = dim, .beta = beta, .accuracy = accuracy, .means = false, .tokens = n};
          const PowerMomentsCost cost = power_moments_cost(settings);
          if (!cost.possible || cost.features > 3e4) continue;
          SCOPED_TRACE(std::to_string(dim) + " beta = " + std::to_string(beta) + " kind " +
                       std::to_string(static_cast<int>(kind)) + " accuracy " +
                       std::to_string(std::log10(accuracy)));
          const std::vector<double> x = power_points(n, dim, kind);
          const std::vector<double> weights =
              kind == Kind::random ? power_weights(n) : std::vector<double>();
          std::vector<double> pull(n * dim), partition(n), along(n);
          PowerMoments moments(settings);
          const SphereFieldSummary found =
              moments.evaluate(x, weights, {.pull = pull, .partition = partition, .along = along});
          const PowerTruth truth = power_truth(beta, x, weights, dim);
          ASSERT_TRUE(found.on_sphere);
          EXPECT_EQ(moments.features(), static_cast<std::size_t>(cost.features));
          EXPECT_LE(found.error, accuracy);
          EXPECT_LE(apart(pull, truth.pull, dim), found.error);
          EXPECT_LE(apart(partition, truth.partition, 1), found.error);
          EXPECT_LE(apart(along, truth.along, 1), found.error);
          EXPECT_NEAR(found.energy, static_cast<double>(truth.energy), found.error);
        }
}

// Rounding alone: degrees so high that nothing is left out.
TEST(PowerMoments, RoundAsTheySay) {
  struct Case {
    double beta;
    std::size_t degree, dim;
  };
  const std::size_t n = 64;
  for (const Case c : {Case{1, 20, 4},
                       {1, 18, 6},
                       {1, 18, 7},
                       {1, 16, 8},
                       {5, 32, 4},
                       {20, 60, 4},
                       {60, 140, 3}}) {
    const PowerErrors errors = power_errors(c.beta, c.dim);
    const PowerShape shape(c.dim, c.degree);
    const PowerSeries series = power_series(c.beta, c.degree);
    for (const Kind kind : kKinds) {
      const std::vector<double> x = power_points(n, c.dim, kind);
      const PowerTruth truth = power_truth(c.beta, x, {}, c.dim);
      PowerScratch chunk(shape);
      chunk.count = n;
      chunk.stride = shape.few_stride;
      std::fill_n(chunk.weight.get(), n, 1.0);
      for (std::size_t k = 0; k < n * c.dim; ++k)
        chunk.x[k % c.dim * chunk.stride + k / c.dim] = x[k];
      std::vector<double> sums(shape.features);
      add_power_moments(shape, chunk, sums.data());
      PowerLevels levels(shape);
      levels.fill(sums, 1.0 / n);
      fill_power_monomials(shape, chunk);
      evaluate_powers(shape, levels.coefficients(series.phi), true, chunk);
      std::vector<double> partition(n), pull(n * c.dim);
      for (std::size_t i = 0; i < n; ++i) {
        const auto slope = [&](std::size_t a) { return chunk.gradient[a * chunk.stride + i]; };
        double radial = 0;
        for (std::size_t a = 0; a < c.dim; ++a) radial += slope(a) * x[i * c.dim + a];
        for (std::size_t a = 0; a < c.dim; ++a)
          pull[i * c.dim + a] = slope(a) - radial * x[i * c.dim + a];
        partition[i] = std::exp(-c.beta) + c.beta * chunk.value[i];
      }
      const double bound = errors.at(c.degree, static_cast<double>(truth.energy));
      EXPECT_LE(bound, 2e-13);
      EXPECT_LE(apart(pull, truth.pull, c.dim), bound) << c.beta << ' ' << c.degree;
      EXPECT_LE(apart(partition, truth.partition, 1), bound) << c.beta << ' ' << c.degree;
    }
  }
}

TEST(PowerMoments, TheErrorOfMeansIsWhatWasAskedForWhereTokensAreLonely) {
  const std::size_t n = 200, dim = 4;
  const double beta = 6;
  for (const double accuracy : {1e-4, 1e-7}) {
    const PowerMomentsSettings settings{
        .dim = dim, .beta = beta, .accuracy = accuracy, .tokens = n};
    const std::vector<double> x = power_points(n, dim, Kind::lonely);
    std::vector<double> mean(n * dim);
    PowerMoments moments(settings);
    const SphereFieldSummary found = moments.evaluate(x, {}, {.mean = mean});
    PowerTruth truth = power_truth(beta, x, {}, dim);
    EXPECT_NEAR(found.smallest_partition / static_cast<double>(truth.smallest), 1, accuracy);
    EXPECT_GT(moments.degree(), power_moments_cost(settings).degree);
    EXPECT_LE(2 * found.error / found.smallest_partition, accuracy);
    for (std::size_t i = 0; i < n * dim; ++i) truth.pull[i] /= truth.partition[i / dim];
    EXPECT_LE(apart(mean, truth.pull, dim), accuracy);

    // What was evaluated before does not show.
    std::vector<double> again(n * dim);
    moments.evaluate(power_points(n, dim, Kind::random), {}, {.mean = again});
    EXPECT_EQ(moments.degree(), power_moments_cost(settings).degree);
    moments.evaluate(x, {}, {.mean = again});
    EXPECT_EQ(again, mean);
  }
}

TEST(PowerMoments, SayWhatTheyReachWhereMoreIsImpossible) {
  const std::size_t n = 1000, dim = 3;
  PowerMoments moments({.dim = dim, .beta = 20, .accuracy = 1e-11, .tokens = n});
  const std::vector<double> x = power_points(n, dim, Kind::lonely);  // Z = 1 / 1000
  std::vector<double> mean(n * dim);
  const SphereFieldSummary found = moments.evaluate(x, {}, {.mean = mean});
  PowerTruth truth = power_truth(20, x, {}, dim);
  for (std::size_t i = 0; i < n * dim; ++i) truth.pull[i] /= truth.partition[i / dim];
  const double reached = 2 * found.error / found.smallest_partition;
  EXPECT_GT(reached, 1e-11);
  EXPECT_LT(reached, 1e-9);
  EXPECT_LE(apart(mean, truth.pull, dim), reached);
}

class PowerMomentsTarget : public OnOneTarget {};

TEST_P(PowerMomentsTarget, KeepsTheErrorAtOddSizes) {
  for (const std::size_t n : {1U, 15U, 17U, 301U})
    for (std::size_t dim = 3; dim <= 8; ++dim) {
      const std::vector<double> x = power_points(n, dim, Kind::random), w = power_weights(n);
      std::vector<double> pull(n * dim), partition(n), along(n);
      PowerMoments moments({.dim = dim, .beta = 3, .accuracy = 1e-4, .tokens = n});
      const SphereFieldSummary found =
          moments.evaluate(x, w, {.pull = pull, .partition = partition, .along = along});
      const PowerTruth truth = power_truth(3, x, w, dim);
      EXPECT_LE(apart(pull, truth.pull, dim), found.error) << n << ' ' << dim;
      EXPECT_LE(apart(partition, truth.partition, 1), found.error) << n << ' ' << dim;
      EXPECT_LE(apart(along, truth.along, 1), found.error) << n << ' ' << dim;
    }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, PowerMomentsTarget, testing::ValuesIn(every_target()),
                         target_name);

TEST(PowerMoments, DoNotDependOnTheThreads) {
  const std::size_t n = 5000, before = threads();
  for (const std::size_t dim : {4U, 7U}) {
    const std::vector<double> x = power_points(n, dim, Kind::random), w = power_weights(n);
    std::vector<double> first;
    double energy = 0;
    for (const std::size_t count : {1U, 2U, 3U}) {
      set_threads(count);
      std::vector<double> mean(n * dim);
      PowerMoments moments({.dim = dim, .beta = 2, .accuracy = 1e-6, .tokens = n});
      const SphereFieldSummary found = moments.evaluate(x, w, {.mean = mean});
      if (first.empty()) first = mean, energy = found.energy;
      EXPECT_EQ(mean, first);
      EXPECT_EQ(found.energy, energy);
    }
  }
  set_threads(before);
}

TEST(PowerMoments, SummariesAreThoseOfTheTokens) {
  const std::size_t n = 300, dim = 5;
  const std::vector<double> x = power_points(n, dim, Kind::random);
  std::vector<double> pull(n * dim), mean(n * dim), partition(n), sum(dim);
  PowerMoments moments({.dim = dim, .beta = 3, .accuracy = 1e-9, .tokens = n});
  const SphereFieldSummary found =
      moments.evaluate(x, {}, {.pull = pull, .mean = mean, .partition = partition, .scale = 8});
  double largest_pull = 0, largest_mean = 0, order = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double p = 0, m = 0;
    for (std::size_t c = i * dim; c < (i + 1) * dim; ++c) {
      p += pull[c] * pull[c] / 64;
      m += mean[c] * mean[c] / 64;
      sum[c % dim] += x[c] / static_cast<double>(n);
    }
    largest_pull = std::max(largest_pull, std::sqrt(p));
    largest_mean = std::max(largest_mean, std::sqrt(m));
  }
  for (const double s : sum) order += s * s;
  EXPECT_NEAR(found.largest_pull, largest_pull, 1e-14);
  EXPECT_NEAR(found.largest_mean, largest_mean, 1e-14);
  EXPECT_NEAR(found.order, std::sqrt(order), 1e-13);
  EXPECT_EQ(found.smallest_partition, *std::min_element(partition.begin(), partition.end()));
  EXPECT_EQ(moments.evaluate(x, {}, {}).energy, found.energy);
}

TEST(PowerMoments, NoticeWhatIsNotOnTheSphere) {
  PowerMoments moments({.dim = 4, .beta = 1, .tokens = 2});
  std::vector<double> mean(8);
  for (const double bad : {0.0, 1.001, std::nan(""), HUGE_VAL}) {
    const std::vector<double> x = {0, 0, 0, 1, bad, 0, 0, 0};
    EXPECT_FALSE(moments.evaluate(x, {}, {.mean = mean}).on_sphere) << bad;
  }
}

std::string power_refusal(const PowerMomentsSettings& settings) {
  try {
    PowerMoments moments(settings);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(PowerMoments, RefuseWhatIsOutOfRange) {
  EXPECT_EQ(power_refusal({.dim = 9}), "dim = 9 is not allowed; allowed for moments: 3 .. 8");
  EXPECT_EQ(power_refusal({.dim = 2}), "dim = 2 is not allowed; allowed for moments: 3 .. 8");
  EXPECT_EQ(power_refusal({.beta = 101}),
            "beta = 101 is not allowed; allowed for moments: 0 .. 100");
  EXPECT_EQ(power_refusal({.beta = std::nan("")}).substr(0, 10), "beta = nan");
  EXPECT_EQ(power_refusal({.accuracy = 1e-12}),
            "accuracy = 1e-12 is not allowed; allowed: 1e-11 .. 1e-4");
  EXPECT_EQ(power_refusal({.tokens = 0}), "0 tokens are not allowed; allowed: at least 1");
  EXPECT_NE(power_refusal({.dim = 8, .beta = 30}).find("1 GB"), std::string::npos);
  EXPECT_EQ(power_refusal({.dim = 8, .beta = 0.5}), "");
}

}  // namespace
}  // namespace attractor::kernels
