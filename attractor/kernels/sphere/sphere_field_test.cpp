// The field on the sphere against direct O(n^2) sums in long double.
#include "attractor/kernels/sphere/sphere_field.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/sphere/sphere_cells.hpp"
#include "hwy/highway.h"
#include "tests/support/every.hpp"
#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

using std::numbers::pi;
using Vector = std::array<double, 3>;

struct SphereTokens {
  std::vector<double> points, weights;
  std::size_t count() const { return weights.size(); }
  void add(const Vector& v, double weight) {
    const double length = std::hypot(v[0], v[1], v[2]);
    for (const double c : v) points.push_back(c / length);
    weights.push_back(weight);
  }
};

Vector polar(double colatitude, double longitude) {
  return {std::sin(colatitude) * std::cos(longitude), std::sin(colatitude) * std::sin(longitude),
          std::cos(colatitude)};
}

/// Token i points along shape(i, three normal numbers); weights of 0.1 .. 1.1.
template <class Shape>
SphereTokens shaped(std::size_t count, std::uint64_t seed, const Shape& shape) {
  const Stream stream(seed, "sphere field test");
  SphereTokens t;
  for (std::size_t i = 0; i < count; ++i) {
    const Vector v = {stream.normal(i, 0), stream.normal(i, 1), stream.normal(i, 2)};
    t.add(shape(i, v), 0.1 + stream.uniform(i, 9));
  }
  return t;
}

Vector near(const Vector& centre, double width, const Vector& v) {
  return {centre[0] + width * v[0], centre[1] + width * v[1], centre[2] + width * v[2]};
}

SphereTokens random_on_sphere(std::size_t count, std::uint64_t seed) {
  return shaped(count, seed, [](std::size_t, const Vector& v) { return v; });
}
/// Five groups of width 1e-3 and a few tokens between them.
SphereTokens clustered_on_sphere(std::size_t count, std::uint64_t seed) {
  return shaped(count, seed, [](std::size_t i, const Vector& v) {
    const double g = static_cast<double>(i % 5);
    return i % 50 == 0 ? v : near(polar(0.3 + 0.5 * g, g * g), 1e-3, v);
  });
}
SphereTokens collapsed_on_sphere(std::size_t count, std::uint64_t seed) {
  return shaped(count, seed, [](std::size_t, const Vector& v) {
    return near({0.3, -0.8, -0.5}, 1e-9, v);
  });
}
/// Around both poles, some exactly there.
SphereTokens polar_tokens(std::size_t count, std::uint64_t seed) {
  return shaped(count, seed, [](std::size_t i, const Vector& v) {
    const double width[] = {0, 1e-12, 1e-3, 0.2};
    return near({0, 0, i % 3 == 0 ? -1.0 : 1.0}, width[i % 4], {v[0], v[1], 0});
  });
}

struct SphereTruth {
  long double partition = 0, along = 0;
  std::array<long double, 3> pull{};
};

SphereTruth direct(const SphereTokens& t, bool weighted, double beta, std::size_t i) {
  SphereTruth truth;
  long double total = 0;
  const double* x = t.points.data() + 3 * i;
  for (std::size_t j = 0; j < t.count(); ++j) {
    long double square = 0;
    std::array<long double, 3> apart;
    for (std::size_t c = 0; c < 3; ++c) {
      apart[c] = static_cast<long double>(t.points[3 * j + c]) - x[c];
      square += apart[c] * apart[c];
    }
    const long double weight = weighted ? t.weights[j] : 1.0;
    const long double term = weight * std::exp(-beta * square / 2);
    truth.partition += term;
    truth.along += term * (1 - square / 2);
    for (std::size_t c = 0; c < 3; ++c) truth.pull[c] += term * (apart[c] + square / 2 * x[c]);
    total += weight;
  }
  truth.partition /= total;
  truth.along /= total;
  for (long double& p : truth.pull) p /= total;
  return truth;
}

std::vector<SphereTruth> direct(const SphereTokens& t, bool weighted, double beta,
                                const std::vector<std::size_t>& targets) {
  std::vector<SphereTruth> truths;
  for (const std::size_t i : targets) truths.push_back(direct(t, weighted, beta, i));
  return truths;
}

std::span<const double> weights_of(const SphereTokens& t, bool weighted) {
  return weighted ? std::span<const double>(t.weights) : std::span<const double>();
}

/// The largest error over the targets, in units of the accuracy asked for.
double worst_error(SphereField& field, double accuracy, const SphereTokens& t, bool weighted,
                   const std::vector<std::size_t>& targets,
                   const std::vector<SphereTruth>& truths) {
  const std::size_t n = t.count();
  EXPECT_LE(field.error_bound(), accuracy);
  std::vector<double> pull(3 * n), mean(3 * n), partition(n), along(n);
  const auto summary =
      field.evaluate(t.points, weights_of(t, weighted),
                     {.pull = pull, .mean = mean, .partition = partition, .along = along});
  EXPECT_TRUE(summary.on_sphere);
  long double worst = 0;
  for (std::size_t k = 0; k < targets.size(); ++k) {
    const std::size_t i = targets[k];
    const SphereTruth& truth = truths[k];
    long double off_pull = 0, off_mean = 0;
    for (std::size_t c = 0; c < 3; ++c) {
      off_pull += std::pow(pull[3 * i + c] - truth.pull[c], 2);
      off_mean += std::pow(mean[3 * i + c] - truth.pull[c] / truth.partition, 2);
    }
    worst = std::max({worst, std::sqrt(off_pull), std::abs(partition[i] - truth.partition),
                      std::abs(along[i] - truth.along), std::sqrt(off_mean) * truth.partition / 2});
  }
  return static_cast<double>(worst) / accuracy;
}

double worst_error(const SphereFieldSettings& s, const SphereTokens& t, bool weighted,
                   std::size_t stride) {
  const std::vector<std::size_t> targets = every(stride, t.count());
  SphereField field(s);
  return worst_error(field, s.accuracy, t, weighted, targets, direct(t, weighted, s.beta, targets));
}

constexpr auto kConfigurations = {random_on_sphere, clustered_on_sphere, collapsed_on_sphere,
                                  polar_tokens};

void expect_accuracy(double beta, std::initializer_list<double> accuracies) {
  const std::size_t n = 311;
  const std::vector<std::size_t> targets = every(23, n);
  std::vector<std::vector<SphereTruth>> truths;
  for (const auto& make : kConfigurations)
    for (const bool weighted : {false, true})
      truths.push_back(direct(make(n, 7), weighted, beta, targets));
  for (const double accuracy : accuracies) {
    SphereField field({beta, accuracy, n});
    auto truth = truths.begin();
    for (const auto& make : kConfigurations)
      for (const bool weighted : {false, true})
        EXPECT_LE(worst_error(field, accuracy, make(n, 7), weighted, targets, *truth++), 1)
            << "beta " << beta << " accuracy " << accuracy << " weighted " << weighted;
  }
}

TEST(SphereField, KeepsTheAccuracyAskedForOnAnyConfiguration) {
  for (const double beta : {0.0, 1e-6, 0.1, 1.0, 10.0, 100.0})
    expect_accuracy(beta, {1e-4, 1e-7, 1e-11});
}

TEST(SphereField, KeepsItWhereTheKernelIsNarrow) {
  const std::size_t n = 211;
  struct Case {
    double beta, accuracy;
  };
  for (const Case& c : {Case{1000, 1e-7}, Case{1e4, 1e-4}}) {
    SphereField field({c.beta, c.accuracy, n});
    for (const auto& make : {clustered_on_sphere, polar_tokens}) {
      const std::vector<std::size_t> targets = every(11, n);
      const SphereTokens t = make(n, 7);
      EXPECT_LE(worst_error(field, c.accuracy, t, true, targets, direct(t, true, c.beta, targets)),
                1)
          << "beta " << c.beta << " accuracy " << c.accuracy;
    }
  }
}

// One heavy token and many light ones around it: nothing averages out.
TEST(SphereField, KeepsItForOneSourceAnywhere) {
  const std::size_t n = 400;
  const Stream stream(5, "source");
  for (const double beta : {0.0, 2.0, 30.0})
    for (const double accuracy : {1e-5, 1e-11}) {
      SphereField field({beta, accuracy, n});
      for (std::size_t place = 0; place < 12; ++place) {
        const Vector source = polar(pi * stream.uniform(place, 0), 7 * stream.uniform(place, 1));
        SphereTokens t = shaped(n, place, [&](std::size_t i, const Vector& v) {
          return i == 0 ? source : near(source, i % 2 == 0 ? 1 : 1 / std::sqrt(1 + beta), v);
        });
        for (std::size_t i = 1; i < n; ++i) t.weights[i] = 1e-15;
        const std::vector<std::size_t> targets = every(1, n);
        std::vector<SphereTruth> truths;
        for (const std::size_t i : targets) {
          SphereTokens pair;
          pair.add({t.points[0], t.points[1], t.points[2]}, 1);
          pair.add({t.points[3 * i], t.points[3 * i + 1], t.points[3 * i + 2]}, 1e-18);
          truths.push_back(direct(pair, true, beta, 1));
        }
        EXPECT_LE(worst_error(field, accuracy, t, true, targets, truths), 1)
            << "beta " << beta << " accuracy " << accuracy << " place " << place;
      }
    }
}

TEST(SphereField, IsRightForEverySmallNumberOfTokens) {
  for (std::size_t n = 1; n <= 80; n += n < 20 ? 1 : 7) {
    const SphereTokens t = n % 2 == 0 ? clustered_on_sphere(n, n) : random_on_sphere(n, n);
    EXPECT_LE(worst_error({5, 1e-8, n}, t, n % 3 == 0, 1), 1) << n;
  }
}

// Edges are found to 1e-5 only: a token near one may count for either cell, but for one of them.
TEST(SphereField, TakesTokensOnTheEdgesOfCells) {
  const SphereFieldSettings settings{20, 1e-10, 600};
  const SphereModes modes = sphere_modes(settings.beta, 0.1 * settings.accuracy);
  const SphereCells cells =
      sphere_cells(sphere_design(modes, 0.7 * settings.accuracy, settings.tokens));
  SphereField field(settings);
  ASSERT_EQ(field.cells(), cells.count);
  SphereTokens t;
  for (std::size_t i = 0; i < settings.tokens; ++i) {
    const std::size_t b = i % cells.bands.size();
    const double count = static_cast<double>(cells.bands[b].count), k = static_cast<double>(i);
    const double edge = cells.cap + static_cast<double>(b) * cells.height;
    t.add(polar(i % 4 == 0 ? pi - edge : edge, 2 * pi * std::floor(k / 7) / count), 1);
  }
  const std::vector<std::size_t> targets = every(29, settings.tokens);
  EXPECT_LE(worst_error(field, settings.accuracy, t, false, targets,
                        direct(t, false, settings.beta, targets)),
            1);
}

TEST(SphereField, IsRightInManyBlocks) {
  const std::size_t n = 40'000;
  for (const auto& make : kConfigurations)
    EXPECT_LE(worst_error({30, 1e-10, n}, make(n, 5), true, 17'919), 1);
}

class SphereFieldTarget : public OnOneTarget {};

TEST_P(SphereFieldTarget, KeepsTheAccuracyToo) {
  const std::size_t n = 1203;
  SphereField field({10, 1e-10, n});
  const std::vector<std::size_t> targets = every(101, n);
  for (const auto& make : {random_on_sphere, clustered_on_sphere, polar_tokens})
    for (const bool weighted : {false, true}) {
      const SphereTokens t = make(n, 3);
      const std::vector<SphereTruth> truths = direct(t, weighted, 10, targets);
      EXPECT_LE(worst_error(field, 1e-10, t, weighted, targets, truths), 1);
    }
}

INSTANTIATE_TEST_SUITE_P(EveryTarget, SphereFieldTarget, testing::ValuesIn(every_target()),
                         target_name);

TEST(SphereField, EnergyAndOrderAreThePairSums) {
  const std::size_t n = 150;
  for (const double beta : {0.0, 2.0, 300.0}) {
    SphereField field({beta, 1e-10, n});
    for (const auto& make : kConfigurations) {
      const SphereTokens t = make(n, 11);
      long double energy = 0, total = 0;
      std::array<long double, 3> centre{};
      for (const double w : t.weights) total += w;
      for (std::size_t i = 0; i < n; ++i) {
        const long double share = t.weights[i] / total;
        energy += direct(t, true, beta, i).partition * share;
        for (std::size_t c = 0; c < 3; ++c) centre[c] += share * t.points[3 * i + c];
      }
      const long double order = std::hypot(centre[0], centre[1], centre[2]);
      const auto summary = field.evaluate(t.points, t.weights, {});
      EXPECT_NEAR(summary.energy, static_cast<double>(energy), 1e-10) << beta;
      EXPECT_NEAR(summary.order, static_cast<double>(order), 1e-10) << beta;
    }
  }
}

// Turning all tokens turns the pull: cells and poles are no part of the field.
TEST(SphereField, KnowsNoDirection) {
  const std::size_t n = 2000;
  const double accuracy = 1e-9, angle = 1.1;
  const SphereTokens t = random_on_sphere(n, 8);
  const auto turned = [&](const std::vector<double>& rows) {  // about y, poles to the side
    std::vector<double> result(rows);
    for (std::size_t i = 0; i < rows.size(); i += 3) {
      result[i] = std::cos(angle) * rows[i] + std::sin(angle) * rows[i + 2];
      result[i + 2] = std::cos(angle) * rows[i + 2] - std::sin(angle) * rows[i];
    }
    return result;
  };
  for (const double beta : {3.0, 50.0}) {
    SphereField field({beta, accuracy, n});
    std::vector<double> pull(3 * n), again(3 * n);
    const auto first = field.evaluate(t.points, {}, {.pull = pull});
    const auto second = field.evaluate(turned(t.points), {}, {.pull = again});
    const std::vector<double> expected = turned(pull);
    for (std::size_t c = 0; c < 3 * n; ++c) ASSERT_NEAR(again[c], expected[c], 2 * accuracy);
    EXPECT_NEAR(first.energy, second.energy, 2 * accuracy);
  }
}

TEST(SphereField, SummaryHoldsTheExtremesAndScaleMultiplies) {
  const std::size_t n = 501;
  const SphereTokens t = clustered_on_sphere(n, 2);
  SphereField field({30, 1e-8, n});
  std::vector<double> pull(3 * n), mean(3 * n), partition(n), twice(3 * n);
  const auto s = field.evaluate(t.points, {}, {.pull = pull, .mean = mean, .partition = partition});
  const auto largest = [&](const std::vector<double>& x) {
    double most = 0;
    for (std::size_t i = 0; i < 3 * n; i += 3)
      most = std::max(most, std::hypot(x[i], x[i + 1], x[i + 2]));
    return most;
  };
  EXPECT_NEAR(s.largest_pull, largest(pull), 1e-15);
  EXPECT_NEAR(s.largest_mean, largest(mean), 1e-15);
  EXPECT_EQ(s.smallest_partition, *std::min_element(partition.begin(), partition.end()));
  field.evaluate(t.points, {}, {.mean = twice, .scale = 2});
  for (std::size_t c = 0; c < 3 * n; ++c) EXPECT_NEAR(twice[c], 2 * mean[c], 1e-15);
}

TEST(SphereField, PullIsTangent) {
  const std::size_t n = 999;
  const SphereTokens t = random_on_sphere(n, 6);
  SphereField field({10, 1e-4, n});
  std::vector<double> pull(3 * n);
  field.evaluate(t.points, {}, {.pull = pull});
  for (std::size_t i = 0; i < 3 * n; i += 3) {
    const double radial =
        pull[i] * t.points[i] + pull[i + 1] * t.points[i + 1] + pull[i + 2] * t.points[i + 2];
    EXPECT_NEAR(radial, 0, 1e-16);
  }
}

// Two tokens 1e-9 apart in one cell attract each other at the rate of the linearised field, though
// their velocity is only known to 1e-5.
TEST(SphereField, IsSmoothInsideACell) {
  const double apart = 1e-9, accuracy = 1e-5;
  SphereTokens t;
  for (const Vector& v : {polar(0.5, -2), polar(1.2, 1), polar(1.2, 1 + apart), polar(1.5, 2)})
    t.add(v, 1);
  SphereField field({4, accuracy, 4});
  std::vector<double> pull(12);
  field.evaluate(t.points, {}, {.pull = pull});
  const SphereTruth a = direct(t, false, 4, 1), b = direct(t, false, 4, 2);
  const double p = static_cast<double>(field.degree());
  EXPECT_GT(std::abs(pull[3] - static_cast<double>(a.pull[0])), apart);
  for (std::size_t c = 0; c < 3; ++c)  // Markov; cells are wider than 0.2
    EXPECT_NEAR((pull[6 + c] - pull[3 + c]) / apart,
                static_cast<double>((b.pull[c] - a.pull[c]) / apart), accuracy * p * p / 0.1);
}

TEST(SphereField, NothingDependsOnTheThreads) {
  const std::size_t n = 70'001, before = threads();
  for (const auto& make : {random_on_sphere, collapsed_on_sphere}) {
    const SphereTokens t = make(n, 4);
    for (const bool weighted : {false, true}) {
      std::vector<double> first;
      double energy = 0;
      for (const std::size_t count : {1U, 2U, 3U}) {
        set_threads(count);
        SphereField field({20, 1e-7, n});
        std::vector<double> mean(3 * n);
        const auto s = field.evaluate(t.points, weights_of(t, weighted), {.mean = mean});
        if (first.empty()) first = mean, energy = s.energy;
        EXPECT_EQ(mean, first) << count;
        EXPECT_EQ(s.energy, energy) << count;
      }
    }
  }
  set_threads(before);
}

TEST(SphereField, NumbersTokensCellByCell) {
  const std::size_t n = 60'000;
  const SphereTokens t = random_on_sphere(n, 3);
  SphereField field({20, 1e-6, n});
  EXPECT_TRUE(field.evaluate(t.points, {}, {}).scattered);
  const std::vector<std::uint32_t> order = field.in_cells(t.points);
  std::vector<std::uint32_t> numbers = order;
  std::sort(numbers.begin(), numbers.end());
  SphereTokens sorted;
  for (std::uint32_t i = 0; i < n; ++i) {
    ASSERT_EQ(numbers[i], i);
    const double* x = t.points.data() + 3 * std::size_t{order[i]};
    sorted.points.insert(sorted.points.end(), x, x + 3);
  }
  EXPECT_FALSE(field.evaluate(sorted.points, {}, {}).scattered);
}

TEST(SphereField, RefusesWhatIsNotOnTheSphere) {
  const std::size_t n = 100;
  SphereField field({20, 1e-8, n});
  std::vector<double> out(3 * n);
  const auto accepted = [&](std::size_t at, double value) {
    SphereTokens t = random_on_sphere(n, 9);
    t.points[at] = value;
    return field.evaluate(t.points, {}, {.mean = out}).on_sphere;
  };
  const SphereTokens t = random_on_sphere(n, 9);
  EXPECT_TRUE(accepted(200, t.points[200]));
  for (const std::size_t at : {std::size_t{0}, n, 3 * n - 1})
    for (const double bad : {std::nan(""), std::numeric_limits<double>::infinity(), 1.1, -1e300})
      EXPECT_FALSE(accepted(at, bad)) << at << ' ' << bad;
  SphereTokens bad = t;
  bad.points[17] = std::nan("");
  EXPECT_TRUE(field.in_cells(bad.points).empty());
  EXPECT_TRUE(field.evaluate(t.points, {}, {.mean = out}).on_sphere);  // and goes on afterwards
}

TEST(SphereField, RefusesSettingsOutOfRange) {
  EXPECT_THROW(SphereField({.beta = -1}), Error);
  EXPECT_THROW(SphereField({.beta = 1.1e4}), Error);
  EXPECT_THROW(SphereField({.beta = std::nan("")}), Error);
  EXPECT_THROW(SphereField({.accuracy = 1e-12}), Error);
  EXPECT_THROW(SphereField({.accuracy = 1e-3}), Error);
  EXPECT_THROW(SphereField({.tokens = 0}), Error);
}

}  // namespace
}  // namespace attractor::kernels
