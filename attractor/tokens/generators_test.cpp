#include "attractor/tokens/generators.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "attractor/base/error.hpp"
#include "tests/support/kolmogorov_smirnov.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

using std::numbers::pi;

std::span<const double> row(const TokenSet& set, std::size_t i) {
  return std::span(set.data).subspan(i * set.dim, set.dim);
}

double cosine(std::span<const double> a, std::span<const double> b) {
  long double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += static_cast<long double>(a[k]) * b[k];
  return static_cast<double>(sum);
}

// Accurate for small and large angles alike (Kahan).
double angle_between(std::span<const double> a, std::span<const double> b) {
  long double apart = 0, together = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    apart += (static_cast<long double>(a[k]) - b[k]) * (static_cast<long double>(a[k]) - b[k]);
    together += (static_cast<long double>(a[k]) + b[k]) * (static_cast<long double>(a[k]) + b[k]);
  }
  return static_cast<double>(2 * std::atan2(std::sqrt(apart), std::sqrt(together)));
}

void expect_unit_length(const TokenSet& set) {
  for (std::size_t i = 0; i < set.count(); ++i)
    ASSERT_NEAR(cosine(row(set, i), row(set, i)), 1, 1e-14) << "token " << i;
}

constexpr double kPlausible = 1.95;

/// The message of the refusal; empty if there was none.
std::string refusal_of(const Start& start) {
  try {
    make_tokens(start);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(UniformTokens, HaveUnitLengthAndTheAskedShape) {
  for (const std::size_t dim : {2, 3, 7, 64, 1000})
    for (const std::size_t n : {1, 2, 33}) {
      const TokenSet set = make_tokens({.tokens = n, .dim = dim, .seed = 4});
      EXPECT_EQ(set.dim, dim);
      EXPECT_EQ(set.count(), n);
      expect_unit_length(set);
    }
}

TEST(UniformTokens, FillTheCircleAndTheSphereEvenly) {
  const TokenSet circle = make_tokens({.tokens = 20000, .dim = 2, .seed = 1});
  std::vector<double> angles;
  for (std::size_t i = 0; i < circle.count(); ++i)
    angles.push_back(std::atan2(row(circle, i)[1], row(circle, i)[0]));
  EXPECT_LT(kolmogorov_smirnov(angles, [](double a) { return (a + pi) / (2 * pi); }), kPlausible);

  const TokenSet sphere = make_tokens({.tokens = 20000, .dim = 3, .seed = 1});
  for (std::size_t a = 0; a < 3; ++a) {  // Archimedes: each coordinate is uniform
    std::vector<double> heights;
    for (std::size_t i = 0; i < sphere.count(); ++i) heights.push_back(row(sphere, i)[a]);
    EXPECT_LT(kolmogorov_smirnov(heights, [](double x) { return (x + 1) / 2; }), kPlausible) << a;
  }
}

TEST(UniformTokens, HaveAnIsotropicSecondMomentInHighDimension) {
  constexpr std::size_t kDim = 16, kCount = 20000;
  const TokenSet set = make_tokens({.tokens = kCount, .dim = kDim, .seed = 2});
  for (std::size_t a = 0; a < kDim; ++a)
    for (std::size_t b = 0; b <= a; ++b) {
      double sum = 0;
      for (std::size_t i = 0; i < kCount; ++i) sum += row(set, i)[a] * row(set, i)[b];
      // Var x_a^2 < 2/d^2, Var x_a x_b < 1/d^2; 5 standard errors.
      EXPECT_NEAR(sum / kCount, a == b ? 1.0 / kDim : 0.0, 5 * std::sqrt(2.0 / kCount) / kDim);
    }
}

TEST(UniformTokens, AreStandardNormalOffTheSphere) {
  const TokenSet set = make_tokens({.tokens = 7000, .dim = 3, .seed = 3, .on_sphere = false});
  EXPECT_LT(
      kolmogorov_smirnov(set.data, [](double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }),
      kPlausible);
}

TEST(HemisphereTokens, AreTheUniformOnesReflectedToTheFirstCoordinatePositive) {
  const TokenSet all = make_tokens({.tokens = 999, .dim = 5, .seed = 6});
  const TokenSet half =
      make_tokens({.arrangement = Arrangement::hemisphere, .tokens = 999, .dim = 5, .seed = 6});
  std::size_t turned = 0;
  for (std::size_t i = 0; i < all.count(); ++i) {
    EXPECT_GE(row(half, i)[0], 0);
    EXPECT_EQ(row(half, i)[0], std::abs(row(all, i)[0]));
    turned += row(all, i)[0] < 0;
    for (std::size_t a = 1; a < 5; ++a) EXPECT_EQ(row(half, i)[a], row(all, i)[a]);
  }
  EXPECT_GT(turned, 400U);
  EXPECT_LT(turned, 600U);
  expect_unit_length(half);
}

// The exact distribution of the angle to the pole: the integral of sin^{d-2}, by Simpson's rule on
// each of 4096 cells, interpolated inside a cell by a 3-point rule.
class CapDistribution {
 public:
  CapDistribution(std::size_t dim, double opening)
      : power_(static_cast<double>(dim) - 2),
        width_(opening / kCells),
        top_(std::sin(std::min(opening, pi / 2))),
        sum_(kCells + 1, 0.0) {
    for (std::size_t k = 0; k < kCells; ++k)
      sum_[k + 1] = sum_[k] + simpson(static_cast<double>(k) * width_, width_);
  }
  double operator()(double angle) const {
    const auto cell = std::min(static_cast<std::size_t>(angle / width_), kCells - 1);
    const double from = static_cast<double>(cell) * width_;
    return (sum_[cell] + simpson(from, angle - from)) / sum_[kCells];
  }

 private:
  static constexpr std::size_t kCells = 4096;
  double density(double angle) const { return std::pow(std::sin(angle) / top_, power_); }
  double simpson(double from, double length) const {
    return length / 6 * (density(from) + 4 * density(from + length / 2) + density(from + length));
  }
  double power_, width_, top_;  // top_: the largest sine, so that no power vanishes
  std::vector<double> sum_;
};

std::vector<double> cap_angles(std::size_t dim, double opening, std::size_t count) {
  const TokenSet set = make_tokens({.arrangement = Arrangement::cap,
                                    .tokens = count,
                                    .dim = dim,
                                    .seed = 9,
                                    .cap_angle = opening});
  expect_unit_length(set);
  std::vector<double> angles;
  for (std::size_t i = 0; i < count; ++i) {
    const auto x = row(set, i);
    double sideways = 0;
    for (std::size_t a = 1; a < dim; ++a) sideways += x[a] * x[a];
    angles.push_back(std::atan2(std::sqrt(sideways), x[0]));
  }
  return angles;
}

constexpr double kOpenings[] = {1e-6, 0.01, 0.5, 1.5, pi / 2, 1.6, 2.5, pi};

TEST(CapTokens, TheQuadratureOfThisTestAgreesWithTheClosedForms) {
  for (const double opening : {0.5, pi / 2, 2.5, pi})
    for (double fraction = 0; fraction <= 1; fraction += 0.037) {
      const double angle = fraction * opening;
      EXPECT_NEAR(CapDistribution(2, opening)(angle), fraction, 1e-12);
      EXPECT_NEAR(CapDistribution(3, opening)(angle),
                  (1 - std::cos(angle)) / (1 - std::cos(opening)), 1e-12);
      // d = 4: the integral of sin^2.
      EXPECT_NEAR(CapDistribution(4, opening)(angle),
                  (angle - std::sin(angle) * std::cos(angle)) /
                      (opening - std::sin(opening) * std::cos(opening)),
                  1e-11);
    }
}

TEST(CapTokens, StayInsideTheOpening) {
  for (const std::size_t dim : {2, 3, 16, 300})
    for (const double opening : kOpenings)
      for (const double angle : cap_angles(dim, opening, 300))
        ASSERT_LE(angle, opening * (1 + 1e-15)) << dim;
}

TEST(CapTokens, InTheCircleTheAngleIsUniform) {
  for (const double opening : kOpenings)
    EXPECT_LT(
        kolmogorov_smirnov(cap_angles(2, opening, 10000), [&](double a) { return a / opening; }),
        kPlausible)
        << opening;
}

TEST(CapTokens, OnTheSphereTheHeightIsUniform) {
  for (const double opening : kOpenings) {
    const double half = std::sin(opening / 2);  // 1 - cos = 2 sin^2(./2), without cancellation
    EXPECT_LT(kolmogorov_smirnov(cap_angles(3, opening, 10000),
                                 [&](double a) { return std::pow(std::sin(a / 2) / half, 2); }),
              kPlausible)
        << opening;
  }
}

TEST(CapTokens, InHigherDimensionsTheAngleHasTheExactDistribution) {
  for (const std::size_t dim : {4, 16, 100})
    for (const double opening : kOpenings) {
      EXPECT_LT(kolmogorov_smirnov(cap_angles(dim, opening, 5000), CapDistribution(dim, opening)),
                kPlausible)
          << dim << " " << opening;
    }
}

TEST(CapTokens, LieEvenlyAroundThePole) {
  constexpr std::size_t kCount = 20000;
  const TokenSet circle = make_tokens(
      {.arrangement = Arrangement::cap, .tokens = kCount, .dim = 2, .seed = 9, .cap_angle = 0.7});
  double left = 0;
  for (std::size_t i = 0; i < kCount; ++i) left += row(circle, i)[1] > 0;
  EXPECT_NEAR(left / kCount, 0.5, 5 * 0.5 / std::sqrt(double{kCount}));

  const TokenSet sphere = make_tokens(
      {.arrangement = Arrangement::cap, .tokens = kCount, .dim = 3, .seed = 9, .cap_angle = 0.7});
  std::vector<double> azimuth;
  for (std::size_t i = 0; i < kCount; ++i)
    azimuth.push_back(std::atan2(row(sphere, i)[2], row(sphere, i)[1]));
  EXPECT_LT(kolmogorov_smirnov(azimuth, [](double a) { return (a + pi) / (2 * pi); }), kPlausible);
}

TEST(CapTokens, AnOpeningOutsideZeroToPiIsRefused) {
  for (const double opening : {0.0, -0.1, 3.15, std::nan(""), HUGE_VAL}) {
    const std::string message = refusal_of({.arrangement = Arrangement::cap, .cap_angle = opening});
    EXPECT_SAYS(message, "cap angle");
    EXPECT_SAYS(message, "allowed: above 0, at most pi");
  }
  EXPECT_SAYS(refusal_of({.arrangement = Arrangement::cap, .cap_angle = -0.25}), "-0.25");
}

TEST(CapTokens, TheNarrowestAllowedOpeningEndsToo) {
  // In a child process: one second of processor time is a safety net against an endless loop.
  const auto make = [] {
    const rlimit limit{1, 1};
    ::setrlimit(RLIMIT_CPU, &limit);
    const TokenSet set =
        make_tokens({.arrangement = Arrangement::cap, .tokens = 2, .dim = 3, .cap_angle = 1e-310});
    ::_exit(set.data[0] == 1 ? 0 : 1);
  };
  EXPECT_EXIT(make(), ::testing::ExitedWithCode(0), "");
}

void expect_equiangular(const TokenSet& set, double rho) {
  for (std::size_t i = 0; i < set.count(); ++i)
    for (std::size_t j = 0; j <= i; ++j)
      ASSERT_NEAR(cosine(row(set, i), row(set, j)), i == j ? 1.0 : rho, 1e-14)
          << set.count() << " tokens, dim " << set.dim << ", rho " << rho << ": " << i << "," << j;
}

TEST(EquiangularTokens, HaveTheAskedGramMatrix) {
  for (const std::size_t n : {1, 2, 3, 8, 33, 100})
    for (const std::size_t extra : {0, 1, 7}) {
      const double lowest = n > 1 ? -1 / (static_cast<double>(n) - 1) : -1;
      for (const double rho : {lowest, 0.5 * lowest, 0.0, 1e-9, 0.3, 0.999999, 1.0}) {
        const TokenSet set = equiangular(n, n + extra, rho);
        EXPECT_EQ(set.count(), n);
        EXPECT_EQ(set.dim, n + extra);
        expect_equiangular(set, rho);
      }
    }
}

TEST(EquiangularTokens, TheSimplexHasOneTokenMoreThanDimensions) {
  for (const std::size_t dim : {1, 2, 3, 7, 50, 127}) {
    const double rho = -1 / static_cast<double>(dim);
    const TokenSet set = equiangular(dim + 1, dim, rho);
    EXPECT_EQ(set.count(), dim + 1);
    expect_equiangular(set, rho);
    for (std::size_t a = 0; a < dim; ++a) {  // its centre is the origin
      double sum = 0;
      for (std::size_t i = 0; i <= dim; ++i) sum += row(set, i)[a];
      EXPECT_NEAR(sum, 0, 1e-13);
    }
  }
}

TEST(EquiangularTokens, ForRhoOneAllAreTheSameToken) {
  const TokenSet set = equiangular(5, 9, 1);
  for (std::size_t i = 1; i < 5; ++i)
    for (std::size_t a = 0; a < 9; ++a) EXPECT_EQ(row(set, i)[a], row(set, 0)[a]);
}

TEST(EquiangularTokens, AreMadeByNameToo) {
  const TokenSet set =
      make_tokens({.arrangement = Arrangement::equiangular, .tokens = 6, .dim = 8, .rho = 0.25});
  EXPECT_EQ(set.data, equiangular(6, 8, 0.25).data);
}

TEST(EquiangularTokens, ImpossibleRequestsAreRefusedWithTheirNumbers) {
  const auto ask = [](std::size_t n, std::size_t dim, double rho) {
    return refusal_of(
        {.arrangement = Arrangement::equiangular, .tokens = n, .dim = dim, .rho = rho});
  };
  const std::string many = ask(9, 4, 0.5);
  EXPECT_SAYS(many, "9 equiangular tokens");
  EXPECT_SAYS(many, "rho = 0.5");
  EXPECT_SAYS(many, "dimension 4");
  EXPECT_SAYS(many, "allowed: tokens <= dim");
  EXPECT_SAYS(ask(5, 4, 0), "do not fit");
  EXPECT_SAYS(ask(5, 4, -0.2499), "do not fit");
  EXPECT_SAYS(ask(6, 4, -0.25), "do not fit");
  EXPECT_EQ(ask(5, 4, -0.25), "");
  const std::string low = ask(5, 8, -0.26);
  EXPECT_SAYS(low, "rho = -0.26");
  EXPECT_SAYS(low, "5 equiangular tokens");
  EXPECT_SAYS(low, "allowed: -0.25 to 1");
  EXPECT_EQ(ask(5, 8, -0.25), "");
  EXPECT_SAYS(ask(5, 8, 1.0001), "out of range");
  EXPECT_SAYS(ask(5, 8, std::nan("")), "out of range");
  EXPECT_SAYS(ask(5, 4, std::nan("")), "do not fit");
}

// Where the tokens of a cluster gather: the same start without noise.
TokenSet centres_of(Start start) {
  start.spread = 0;
  return make_tokens(start);
}

TEST(ClusterTokens, SitOnTheirCentresWithoutNoise) {
  const TokenSet set = make_tokens(
      {.arrangement = Arrangement::clusters, .tokens = 20, .dim = 4, .clusters = 3, .spread = 0});
  expect_unit_length(set);
  for (std::size_t i = 3; i < 20; ++i)
    EXPECT_NEAR(angle_between(row(set, i), row(set, i % 3)), 0, 1e-15);
  std::set<double> different{set.data[0], set.data[4], set.data[8]};
  EXPECT_EQ(different.size(), 3U);
}

TEST(ClusterTokens, HaveTheAskedRootMeanSquareAngle) {
  constexpr std::size_t kCount = 10000;
  for (const std::size_t dim : {2, 3, 16})
    for (const double noise : {1e-7, 0.05, 0.4}) {
      const Start start{.arrangement = Arrangement::clusters,
                        .tokens = kCount,
                        .dim = dim,
                        .seed = 5,
                        .clusters = 7,
                        .spread = noise};
      const TokenSet set = make_tokens(start), centres = centres_of(start);
      expect_unit_length(set);
      double squares = 0;
      for (std::size_t i = 0; i < kCount; ++i)
        squares += std::pow(angle_between(row(set, i), row(centres, i)), 2) / kCount;
      // angle^2 is noise^2 chi^2_f / f with f = d - 1: relative variance 2 / f.
      const double error = std::sqrt(2.0 / (static_cast<double>(dim - 1) * kCount));
      EXPECT_NEAR(squares / (noise * noise), 1, 5 * error + 1e-7) << dim << " " << noise;
    }
}

TEST(ClusterTokens, OnTheSphereTheAngleHasARayleighDistribution) {
  const Start start{
      .arrangement = Arrangement::clusters, .tokens = 10000, .dim = 3, .seed = 8, .spread = 0.3};
  const TokenSet set = make_tokens(start), centres = centres_of(start);
  std::vector<double> angles;
  for (std::size_t i = 0; i < set.count(); ++i)
    angles.push_back(angle_between(row(set, i), row(centres, i)));
  EXPECT_LT(kolmogorov_smirnov(angles, [](double a) { return -std::expm1(-a * a / (0.3 * 0.3)); }),
            kPlausible);
}

TEST(ClusterTokens, ImpossibleRequestsAreRefused) {
  const auto ask = [](std::size_t n, std::size_t clusters, double noise) {
    return refusal_of(
        {.arrangement = Arrangement::clusters, .tokens = n, .clusters = clusters, .spread = noise});
  };
  EXPECT_SAYS(ask(5, 0, 0.1), "0 clusters");
  EXPECT_SAYS(ask(5, 6, 0.1), "6 clusters for 5 tokens");
  EXPECT_EQ(ask(5, 5, 0.1), "");
  EXPECT_SAYS(ask(5, 2, -0.1), "spread -0.1");
  EXPECT_SAYS(ask(5, 2, 3.2), "allowed: 0 to pi");
  EXPECT_SAYS(ask(5, 2, std::nan("")), "spread");
  EXPECT_EQ(ask(5, 2, pi), "");
}

TEST(CircleTokens, FollowTheFormula) {
  for (const std::size_t n : {1, 2, 7, 200})
    for (const std::size_t mode : {0, 1, 5}) {
      const TokenSet set = make_tokens({.arrangement = Arrangement::circle,
                                        .tokens = n,
                                        .dim = 4,
                                        .mode = mode,
                                        .amplitude = 0.25,
                                        .phase = 0.7});
      EXPECT_EQ(set.count(), n);
      for (std::size_t i = 0; i < n; ++i) {
        const double u = (static_cast<double>(i) + 0.5) / static_cast<double>(n);
        const double theta =
            2 * pi * u + 0.25 * std::cos(2 * pi * static_cast<double>(mode) * u - 0.7);
        EXPECT_NEAR(row(set, i)[0], std::cos(theta), 1e-14);
        EXPECT_NEAR(row(set, i)[1], std::sin(theta), 1e-14);
        EXPECT_EQ(row(set, i)[2], 0);
        EXPECT_EQ(row(set, i)[3], 0);
      }
    }
}

TEST(CircleTokens, WithoutAmplitudeAreARegularPolygon) {
  const TokenSet set =
      make_tokens({.arrangement = Arrangement::circle, .tokens = 12, .dim = 2, .amplitude = 0});
  for (std::size_t i = 0; i < 12; ++i)
    EXPECT_NEAR(angle_between(row(set, i), row(set, (i + 1) % 12)), pi / 6, 1e-14);
}

TEST(CircleTokens, InfiniteNumbersAreRefused) {
  EXPECT_SAYS(refusal_of({.arrangement = Arrangement::circle, .amplitude = HUGE_VAL}), "amplitude");
  EXPECT_SAYS(refusal_of({.arrangement = Arrangement::circle, .phase = std::nan("")}), "phase");
}

Start listed(std::vector<double> angles, std::size_t dim = 2) {
  return {.arrangement = Arrangement::angles, .dim = dim, .angles = std::move(angles)};
}

TEST(ListedAngles, SitWhereTheListSaysAndDecideTheNumberOfTokens) {
  const std::vector<double> expected{0, 0.9, -2.25, 1e3};
  const TokenSet set = make_tokens(listed(expected, 3));
  ASSERT_EQ(set.count(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(row(set, i)[0], std::cos(expected[i]));
    EXPECT_DOUBLE_EQ(row(set, i)[1], std::sin(expected[i]));
    EXPECT_EQ(row(set, i)[2], 0);
  }
  EXPECT_EQ(make_tokens(listed({1.5})).count(), 1U);
}

// What is no number at all is refused where words are read (lab/flow/flow_setup_test.cpp).
TEST(ListedAngles, NoneAtAllAndInfiniteOnesAreRefused) {
  EXPECT_SAYS(refusal_of(listed({})), "init angles needs angles");
  const std::pair<double, std::string> none[] = {
      {std::nan(""), "nan"}, {HUGE_VAL, "inf"}, {-HUGE_VAL, "-inf"}};
  for (const auto& [angle, word] : none) {
    EXPECT_SAYS(refusal_of(listed({angle})), "'" + word + "' is not a finite number");
    EXPECT_SAYS(refusal_of(listed({0.5, angle, 1})), "'" + word + "'");
  }
}

TEST(TokenStart, GivenTokensDecideTheirNumberAndTheDimension) {
  const Array data{{2, 3}, {0.6, 0.8, 0, 0, 0, -1}};
  const TokenSet set =
      make_tokens({.arrangement = Arrangement::file, .tokens = 99, .dim = 9, .given = &data});
  EXPECT_EQ(set.dim, 3U);
  ASSERT_EQ(set.data.size(), 6U);
  for (std::size_t k = 0; k < 6; ++k) EXPECT_DOUBLE_EQ(set.data[k], data.data[k]);
  EXPECT_SAYS(refusal_of({.arrangement = Arrangement::file}), "init file needs a tokens-file");
  const Array zero{{1, 2}, {0, 0}};
  EXPECT_SAYS(
      refusal_of({.arrangement = Arrangement::file, .given = &zero, .given_name = "dir/zero.npy"}),
      "dir/zero.npy: row 0");
}

constexpr Arrangement kDrawn[] = {Arrangement::uniform, Arrangement::hemisphere, Arrangement::cap,
                                  Arrangement::clusters};

TEST(TokenStart, ATokenDoesNotDependOnHowManyThereAre) {
  for (const Arrangement arrangement : kDrawn)
    for (const std::size_t dim : {2, 3, 10}) {
      const auto make = [&](std::size_t n) {
        return make_tokens({.arrangement = arrangement, .tokens = n, .dim = dim, .seed = 21}).data;
      };
      const std::vector<double> many = make(100);
      for (const std::size_t n : {3, 7, 99}) {
        const std::vector<double> few = make(n);
        ASSERT_EQ(few.size(), n * dim);
        EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin()))
            << name(arrangement) << " " << n;
      }
    }
}

TEST(TokenStart, TheSeedDecidesEveryTokenAndNothingElseDoes) {
  for (const Arrangement arrangement : kDrawn) {
    const auto make = [&](std::uint64_t seed) {
      return make_tokens({.arrangement = arrangement, .tokens = 40, .dim = 3, .seed = seed}).data;
    };
    EXPECT_EQ(make(0), make(0)) << name(arrangement);
    std::set<double> seen;
    for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, ~std::uint64_t{0}})
      for (const double x : make(seed)) seen.insert(x);
    EXPECT_EQ(seen.size(), 3U * 40 * 3) << name(arrangement);
  }
}

TEST(TokenStart, ImpossibleSizesAndUnknownNamesAreRefused) {
  EXPECT_SAYS(refusal_of({.tokens = 0}), "tokens = 0");
  EXPECT_SAYS(refusal_of({.dim = 1}), "dim = 1");
  EXPECT_SAYS(refusal_of({.dim = 0}), "at least 2");
  const std::string unknown = refusal([] { named<Arrangement>("arrangement", "Uniform"); });
  EXPECT_SAYS(unknown, "'Uniform'");
  EXPECT_SAYS(unknown, "uniform, hemisphere, cap, equiangular, clusters, circle, angles, file");
}

}  // namespace
}  // namespace attractor
