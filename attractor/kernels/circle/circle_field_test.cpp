// The field on the circle against direct O(n^2) sums in long double.
#include "attractor/kernels/circle/circle_field.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/circle/circle_series.hpp"
#include "hwy/highway.h"
#include "tests/support/every.hpp"
#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

using std::numbers::pi;

struct Tokens {
  std::vector<double> angles, weights;
};

/// Sorted angles: offset + shape(u) with independent uniform u, and weights of 0.1 .. 1.1.
template <class Shape>
Tokens tokens(std::size_t count, std::uint64_t seed, const Shape& shape) {
  const Stream stream(seed, "circle field test");
  Tokens t;
  const double offset = 2 * stream.uniform(count, 0) - 1;
  for (std::size_t i = 0; i < count; ++i) {
    t.angles.push_back(offset + shape(i, stream.uniform(i, 1)));
    t.weights.push_back(0.1 + stream.uniform(i, 2));
  }
  std::sort(t.angles.begin(), t.angles.end());
  return t;
}

Tokens random_tokens(std::size_t count, std::uint64_t seed) {
  return tokens(count, seed, [](std::size_t, double u) { return pi * (2 * u - 1); });
}
/// Five groups of width 1e-3, unevenly spread, and a few tokens between them.
Tokens clustered(std::size_t count, std::uint64_t seed) {
  return tokens(count, seed, [](std::size_t i, double u) {
    if (i % 50 == 0) return pi * (2 * u - 1);
    const double group = static_cast<double>(i % 5);
    return 0.2 * group * group - 1.5 + 1e-3 * u;
  });
}
Tokens collapsed(std::size_t count, std::uint64_t seed) {
  return tokens(count, seed, [](std::size_t, double u) { return 1e-9 * u; });
}
/// One group that the first token cuts in two, at both ends of the turn; half of it at rest.
Tokens divided(std::size_t count, std::uint64_t seed) {
  return tokens(count, seed, [](std::size_t i, double u) {
    const double spread = i % 2 == 0 ? 0.0 : 1e-6 * u;
    return i % 4 < 2 ? spread : 2 * pi - 1.1e-6 + spread;
  });
}

struct Truth {
  long double pull = 0, partition = 0;
};

Truth direct(const Tokens& t, bool weighted, double beta, std::size_t i) {
  Truth truth;
  long double total = 0;
  for (std::size_t j = 0; j < t.angles.size(); ++j) {
    const long double between = static_cast<long double>(t.angles[j]) - t.angles[i];
    const long double sine = std::sin(between / 2), weight = weighted ? t.weights[j] : 1.0;
    const long double term = weight * std::exp(-2 * beta * sine * sine);
    truth.partition += term;
    truth.pull += term * std::sin(between);
    total += weight;
  }
  return {truth.pull / total, truth.partition / total};
}

std::vector<Truth> direct(const Tokens& t, bool weighted, double beta,
                          const std::vector<std::size_t>& targets) {
  std::vector<Truth> truths;
  for (const std::size_t i : targets) truths.push_back(direct(t, weighted, beta, i));
  return truths;
}

/// The largest error over the targets, in units of the accuracy asked for.
double worst_error(const CircleFieldSettings& s, const Tokens& t, bool weighted,
                   const std::vector<std::size_t>& targets, const std::vector<Truth>& truths) {
  const std::size_t n = t.angles.size();
  CircleField field(s);
  EXPECT_LE(field.error_bound(), s.accuracy);
  std::vector<double> pull(n), partition(n), mean(n);
  const auto weights = weighted ? std::span<const double>(t.weights) : std::span<const double>();
  const auto summary =
      field.evaluate(t.angles, weights, {.pull = pull, .partition = partition, .mean = mean});
  EXPECT_TRUE(summary.in_order);
  double worst = 0;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const std::size_t i = targets[k];
    const Truth& truth = truths[k];
    const long double errors[] = {
        std::abs(pull[i] - truth.pull), std::abs(partition[i] - truth.partition),
        std::abs(mean[i] - truth.pull / truth.partition) * truth.partition / 2};
    for (const long double e : errors) worst = std::max(worst, static_cast<double>(e));
  }
  return worst / s.accuracy;
}

double worst_error(const CircleFieldSettings& s, const Tokens& t, bool weighted,
                   std::size_t stride) {
  const std::vector<std::size_t> targets = every(stride, t.angles.size());
  return worst_error(s, t, weighted, targets, direct(t, weighted, s.beta, targets));
}

TEST(CircleField, KeepsTheAccuracyAskedForOnAnyConfiguration) {
  const std::size_t n = 311;
  const std::vector<std::size_t> targets = every(23, n);
  for (const double beta : {0.0, 1e-6, 0.3, 1.0, 10.0, 100.0, 1e3, 1e4})
    for (const auto& make : {random_tokens, clustered, collapsed, divided})
      for (const bool weighted : {false, true}) {
        const Tokens t = make(n, 7);
        const std::vector<Truth> truths = direct(t, weighted, beta, targets);
        for (const double accuracy : {1e-4, 1e-6, 1e-8, 1e-10, 1e-12})
          EXPECT_LE(worst_error({beta, accuracy, n}, t, weighted, targets, truths), 1)
              << "beta " << beta << " accuracy " << accuracy << " weighted " << weighted;
      }
}

TEST(CircleField, IsRightForEverySmallNumberOfTokens) {
  for (std::size_t n = 1; n <= 80; ++n) {
    const Tokens t = n % 2 == 0 ? clustered(n, n) : random_tokens(n, n);
    EXPECT_LE(worst_error({5, 1e-11, n}, t, n % 3 == 0, 1), 1) << n;
  }
}

// An edge is known to rounding: a token on it may count for either cell, but for one of them.
TEST(CircleField, TakesTokensOnTheEdgesOfCells) {
  for (const double origin : {0.0, -0.1, -1.7, -3.0}) {
    const CircleFieldSettings settings{20, 1e-11, 900};
    const double cells = static_cast<double>(CircleField(settings).cells());
    Tokens t;
    for (std::size_t i = 0; i < settings.tokens; ++i) {
      const double edge =
          origin + std::floor(static_cast<double>(i / 3) * cells / 300) * (2 * pi / cells);
      t.angles.push_back(i < 3 ? origin
                               : std::nextafter(edge, 10 * (static_cast<double>(i % 3) - 1)));
      t.weights.push_back(1);
    }
    std::sort(t.angles.begin(), t.angles.end());
    EXPECT_LE(worst_error(settings, t, false, 37), 1) << origin;
  }
}

TEST(CircleField, IsRightInManyBlocks) {
  const std::size_t n = 40'000;
  for (const auto& make : {random_tokens, clustered, collapsed, divided})
    for (const bool weighted : {false, true})
      EXPECT_LE(worst_error({300, 1e-12, n}, make(n, 5), weighted, 17'919), 1);
}

class CircleFieldTarget : public OnOneTarget {};

TEST_P(CircleFieldTarget, KeepsTheAccuracyToo) {
  const std::size_t n = 203;
  for (const auto& make : {random_tokens, clustered, collapsed})
    for (const bool weighted : {false, true})
      EXPECT_LE(worst_error({40, 1e-12, n}, make(n, 3), weighted, 9), 1);
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, CircleFieldTarget, testing::ValuesIn(every_target()),
                         target_name);

TEST(CircleField, EnergyAndOrderAreThePairSums) {
  const std::size_t n = 150;
  for (const double beta : {0.0, 2.0, 500.0})
    for (const auto& make : {random_tokens, clustered}) {
      const Tokens t = make(n, 11);
      long double energy = 0, total = 0;
      std::complex<long double> order = 0;
      for (std::size_t i = 0; i < n; ++i) total += t.weights[i];
      for (std::size_t i = 0; i < n; ++i) {
        energy += direct(t, true, beta, i).partition * t.weights[i] / total;
        order += std::polar<long double>(t.weights[i] / total, t.angles[i]);
      }
      CircleField field({beta, 1e-12, n});
      const auto summary = field.evaluate(t.angles, t.weights, {});
      EXPECT_NEAR(summary.energy, static_cast<double>(energy), 1e-12) << beta;
      EXPECT_NEAR(summary.order, static_cast<double>(std::abs(order)), 1e-12) << beta;
    }
}

TEST(CircleField, SummaryHoldsTheExtremesAndScaleMultiplies) {
  const Tokens t = clustered(500, 2);
  CircleField field({30, 1e-10, 500});
  std::vector<double> pull(500), partition(500), mean(500), twice(500);
  const auto s = field.evaluate(t.angles, {}, {.pull = pull, .partition = partition, .mean = mean});
  const auto largest = [](const std::vector<double>& x) {
    return std::abs(*std::max_element(
        x.begin(), x.end(), [](double a, double b) { return std::abs(a) < std::abs(b); }));
  };
  EXPECT_EQ(s.largest_pull, largest(pull));
  EXPECT_EQ(s.largest_mean, largest(mean));
  EXPECT_EQ(s.smallest_partition, *std::min_element(partition.begin(), partition.end()));
  field.evaluate(t.angles, {}, {.mean = twice, .scale = 2});
  for (std::size_t i = 0; i < 500; ++i) EXPECT_EQ(twice[i], 2 * mean[i]);
}

// Two tokens 1e-9 apart in one cell attract each other at the rate of the linearised field, though
// their velocity is only known to 1e-6: the derivative of an error polynomial of p powers is at
// most p^2 times its size (Markov).
TEST(CircleField, IsSmoothInsideACell) {
  const double apart = 1e-9, accuracy = 1e-6;
  const Tokens t{{-2, 1.0, 1.0 + apart, 1.5}, {}};
  CircleField field({4, accuracy, 4});
  std::vector<double> pull(4);
  field.evaluate(t.angles, {}, {.pull = pull});
  const long double exact = direct(t, false, 4, 2).pull - direct(t, false, 4, 1).pull;
  const double p = static_cast<double>(field.powers()),
               half = pi / static_cast<double>(field.cells());
  EXPECT_GT(std::abs(pull[1] - static_cast<double>(direct(t, false, 4, 1).pull)), apart);
  EXPECT_NEAR((pull[2] - pull[1]) / apart, static_cast<double>(exact) / apart,
              accuracy * p * p / half);
}

TEST(CircleField, NothingDependsOnTheThreads) {
  const std::size_t n = 70'001, before = threads();
  for (const auto& make : {random_tokens, clustered, collapsed}) {
    const Tokens t = make(n, 4);
    for (const bool weighted : {false, true}) {
      std::vector<double> first;
      for (const std::size_t count : {1U, 2U, 3U}) {
        set_threads(count);
        CircleField field({50, 1e-10, n});
        std::vector<double> mean(n);
        const auto weights =
            weighted ? std::span<const double>(t.weights) : std::span<const double>();
        field.evaluate(t.angles, weights, {.mean = mean});
        if (first.empty()) first = mean;
        EXPECT_EQ(mean, first) << count;
      }
    }
  }
  set_threads(before);
}

TEST(CircleField, TakesTokensOutOfOrderByLittleAndRefusesMore) {
  const std::size_t n = 400;
  const CircleFieldSettings settings{20, 1e-11, n};
  CircleField field(settings);
  const double cell = 2 * pi / static_cast<double>(field.cells());
  Tokens t = random_tokens(n, 9);
  const Stream stream(1, "jitter");
  for (std::size_t i = 0; i < n; ++i) t.angles[i] += 4e-4 * cell * (stream.uniform(i, 0) - 0.5);
  EXPECT_LE(worst_error(settings, t, true, 7), 1);

  std::vector<double> out(n);
  const auto accepted = [&](std::size_t i, double angle) {
    std::vector<double> angles = random_tokens(n, 9).angles;
    angles[i] = angle;
    return field.evaluate(angles, {}, {.mean = out}).in_order;
  };
  const std::vector<double> sorted = random_tokens(n, 9).angles;
  EXPECT_TRUE(accepted(200, sorted[200]));
  EXPECT_FALSE(accepted(200, sorted[100]));
  EXPECT_FALSE(accepted(200, sorted[350]));
  EXPECT_FALSE(accepted(n - 1, sorted[0] + 2 * pi + cell));
  EXPECT_FALSE(accepted(0, sorted[n - 1]));
  for (const std::size_t i : {std::size_t{0}, n / 2, n - 1}) {
    EXPECT_FALSE(accepted(i, std::nan(""))) << i;
    EXPECT_FALSE(accepted(i, std::numeric_limits<double>::infinity())) << i;
  }
  EXPECT_TRUE(field.evaluate(sorted, {}, {.mean = out}).in_order);  // and goes on afterwards
}

TEST(CircleField, RefusesSettingsOutOfRange) {
  EXPECT_THROW(CircleField({.beta = -1}), Error);
  EXPECT_THROW(CircleField({.beta = 1.1e4}), Error);
  EXPECT_THROW(CircleField({.beta = std::nan("")}), Error);
  EXPECT_THROW(CircleField({.accuracy = 1e-13}), Error);
  EXPECT_THROW(CircleField({.accuracy = 1e-3}), Error);
  EXPECT_THROW(CircleField({.tokens = 0}), Error);
}

TEST(CircleSeries, ModesAreScaledBesselFunctions) {  // mpmath, 18 digits
  struct Case {
    double beta;
    std::size_t k;
    double value, slope;
  };
  const Case cases[] = {
      {1, 0, 0.465759607593640437, 0},
      {1, 3, 0.00815530777281429382, 0.0489318466368857629},
      {100, 0, 0.0399443792990966826, 0},
      {100, 20, 0.00538795762696632737, 0.00215518305078653095},
      {1e4, 0, 0.00398947267460473211, 0},
      {1e4, 150, 0.00129514661243012934, 0.0000388543983729038801},
      {0, 0, 1, 0},
      {0, 1, 0, 1},
  };
  for (const Case& c : cases) {
    const CircleModes modes = circle_modes(c.beta, 1e-13);
    ASSERT_GT(modes.value.size(), c.k);
    EXPECT_NEAR(modes.value[c.k], c.value, 1e-13 * c.value) << c.beta << ' ' << c.k;
    EXPECT_NEAR(modes.slope[c.k], c.slope, 1e-13 * c.slope) << c.beta << ' ' << c.k;
    EXPECT_LE(modes.tail, 1e-13);
  }
}

TEST(CircleSeries, PowersAreThoseOfTheExponential) {
  const CircleModes modes = circle_modes(100, 1e-11);
  const CircleDesign design = circle_design(modes, 5e-11, 1000);
  const std::vector<double> q = circle_powers(modes, design);
  for (std::size_t k = 0; k <= modes.highest(); k += 7)
    for (const double u : {-1.0, -0.7, 0.0, 0.3, 1.0}) {
      const double x = pi * static_cast<double>(k) / static_cast<double>(design.cells);
      std::complex<double> sum = 0, power = 1;
      for (std::size_t b = 0; b < design.powers; ++b) {
        sum += q[b * modes.value.size() + k] * power;
        power *= std::complex<double>(0, u);
      }
      const double p = static_cast<double>(design.powers);
      const double cut = 2 * std::pow(x / 2, p) / std::tgamma(p + 1) / (1 - x / (2 * p + 2));
      EXPECT_LE(std::abs(sum - std::polar(1.0, x * u)), cut + 1e-15) << k << ' ' << u;
    }
}

}  // namespace
}  // namespace attractor::kernels
