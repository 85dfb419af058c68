#include "attractor/reductions/regular_clusters.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "attractor/base/error.hpp"
#include "tests/support/relative.hpp"
#include "tests/support/rules.hpp"

namespace attractor::meanfield {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using std::numbers::pi;
/// The flow of A1 for tokens in rows, as it is defined.
MatrixXd velocity(const MatrixXd& x, Rule rule, double beta) {
  MatrixXd v = MatrixXd::Zero(x.rows(), x.cols());
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    double sum = 0;
    for (Eigen::Index j = 0; j < x.rows(); ++j) {
      const double weight = std::exp(beta * x.row(i).dot(x.row(j)));
      v.row(i) += weight * x.row(j);
      sum += weight;
    }
    v.row(i) /= rule == kSa ? sum : static_cast<double>(x.rows());
    v.row(i) -= v.row(i).dot(x.row(i)) * x.row(i);
  }
  return v;
}

MatrixXd on_sphere(MatrixXd x) {
  x.rowwise().normalize();
  return x;
}

/// Central difference of the velocity at rest along tangent displacements; error O(h^2).
MatrixXd linearised(const MatrixXd& x, const MatrixXd& displacement, Rule rule, double beta) {
  const double h = 1e-5;
  return (velocity(on_sphere(x + h * displacement), rule, beta) -
          velocity(on_sphere(x - h * displacement), rule, beta)) /
         (2 * h);
}

/// displacement is an eigenvector with this growth, to the accuracy of the difference.
void expect_growth(const MatrixXd& x, const MatrixXd& displacement, double growth, Rule rule,
                   double beta) {
  ASSERT_GT(displacement.norm(), 1e-3);
  const MatrixXd error = linearised(x, displacement, rule, beta) - growth * displacement;
  const double scale = rule == kSa ? 1 : std::exp(std::abs(beta));  // of sums that cancel
  EXPECT_LT(error.norm() / displacement.norm(), 2e-9 * scale * (1 + beta * beta));
}

MatrixXd ring(std::uint64_t count, double polar) {
  MatrixXd x(static_cast<Eigen::Index>(count), 3);
  for (Eigen::Index l = 0; l < x.rows(); ++l) {
    const double phi = 2 * pi * static_cast<double>(l) / static_cast<double>(count);
    x.row(l) << std::sin(polar) * std::cos(phi), std::sin(polar) * std::sin(phi), std::cos(polar);
  }
  return x;
}

/// Regular simplex of k points, in the first k - 1 of dim coordinates.
MatrixXd simplex(Eigen::Index k, Eigen::Index dim) {
  MatrixXd x = MatrixXd::Zero(k, dim);
  for (Eigen::Index i = 0; i < k; ++i)
    for (Eigen::Index a = 0; a < k - 1; ++a) {  // Helmert's orthonormal basis of sum = 0
      const double r = static_cast<double>(a + 1);
      if (i <= a) x(i, a) = 1 / std::sqrt(r * (r + 1));
      if (i == a + 1) x(i, a) = -r / std::sqrt(r * (r + 1));
    }
  return on_sphere(x);
}

TEST(PolygonClusters, GrowthRatesAreThoseOfTheFlow) {
  for (const Rule rule : {kSa, kUsa})
    for (const std::uint64_t k : {2u, 3u, 4u, 5u, 8u, 13u})
      for (const double beta : {-9.0, -2.5, 0.0, 0.7, 3.0, 9.0}) {
        const GrowthSpectrum spectrum = polygon_spectrum({rule, beta, k});
        ASSERT_EQ(spectrum.rate.size(), k / 2 + 1);
        const MatrixXd x = ring(k, pi / 2).leftCols(2);
        for (std::size_t j = 0; j < spectrum.rate.size(); ++j) {
          MatrixXd wave(x.rows(), 2);
          for (Eigen::Index l = 0; l < x.rows(); ++l) {
            const double phase =
                2 * pi * static_cast<double>(j) * static_cast<double>(l) / static_cast<double>(k);
            wave.row(l) = std::cos(phase) * Eigen::RowVector2d(-x(l, 1), x(l, 0));
          }
          expect_growth(x, wave, spectrum.growth(j), rule, beta);
        }
        std::uint64_t modes = 0;
        for (const std::uint64_t m : spectrum.multiplicity) modes += m;
        EXPECT_EQ(modes, k);
      }
}

TEST(PolygonClusters, TwoAreTheAntipodalPair) {
  for (const Rule rule : {kSa, kUsa})
    for (const double beta : {0.0, 1.0, 3.0, 1e3, 1e6}) {
      const GrowthSpectrum spectrum = polygon_spectrum({rule, beta, 2});
      const double rate = log_escape_rate({.rule = rule, .beta = beta});
      EXPECT_NEAR(spectrum.log_growth(1), rate, 1e-14 + 4e-16 * std::abs(rate));
      EXPECT_EQ(spectrum.log_efolding(), -spectrum.log_growth(1));
    }
}

TEST(PolygonClusters, TriangleIsASimplex) {
  for (const Rule rule : {kSa, kUsa})
    for (const double beta : {0.0, 1.0, 30.0, 1e6}) {
      const double plane = simplex_spectrum({rule, beta, 3}, 2).log_growth(kParting);
      EXPECT_NEAR(polygon_spectrum({rule, beta, 3}).log_growth(1), plane,
                  1e-13 + 4e-16 * std::abs(plane));
    }
}

// Both forms of the sum overlap; tiny rates keep their digits. Truths: mpmath, 60 digits.
TEST(PolygonClusters, AgreesWithMpmath) {
  struct Case {
    Rule rule;
    double beta;
    std::uint64_t count;
    std::size_t mode;
    double log_growth;
    bool grows;
  };
  const Case cases[] = {
      {kSa, 1, 32, 16, -35.745104847268549, true},
      {kUsa, 1, 32, 16, -35.509190488761371, true},
      {kSa, 0.01, 20, 9, -51.487086598691331, true},
      {kSa, 5, 6, 3, -0.087962627432922411, true},
      {kSa, 5, 3, 1, -4.9555742857820183, true},
      {kUsa, 16, 6, 1, 8.6505879331101738, true},
      {kUsa, 16, 6, 3, 10.036881927262681, true},
      {kSa, 50, 10, 1, -7.7104456304527244, true},
      {kSa, 50, 10, 5, -5.3617276193506958, true},
      {kSa, 200, 10, 2, -33.649341141956769, true},
      {kSa, 200, 20, 10, -5.5039958314399145, true},
      {kUsa, 200, 20, 1, 187.79014783172026, true},
      {kSa, 200, 64, 1, -5.2891497235252301, true},
      {kSa, 200, 64, 32, -0.23667416228850373, true},
      {kSa, 1000, 6, 1, -493.38059368245735, true},
      {kUsa, 1000, 5, 2, 315.50053724376987, true},
      {kSa, 1000, 100, 40, 0.15190702514316628, true},
      {kSa, 1000000.0, 1000, 7, -22.337156687478658, true},
      {kSa, 1000000.0, 3000, 1500, 0.21119429864984524, true},
      {kUsa, 1000000.0, 3, 1, -499986.47217084782, true},
      {kSa, 9, 4, 1, -6.1098613343768391, true},
      {kUsa, 9, 5, 1, 3.5534397014755025, true},
  };
  for (const Case& c : cases) {
    const GrowthSpectrum spectrum = polygon_spectrum({c.rule, c.beta, c.count});
    EXPECT_NEAR(spectrum.log_growth(c.mode), c.log_growth, 2e-13 + 4e-16 * std::abs(c.log_growth))
        << c.beta << ' ' << c.count << ' ' << c.mode;
    EXPECT_EQ(spectrum.rate[c.mode] > 0, c.grows);
  }
}

// Zeros of the differences of sums of p^2 I_p/beta, mpmath with 40 digits.
TEST(PolygonClusters, OddOnesAreStableBelowTheirEdges) {
  const std::pair<std::uint64_t, double> edges[] = {{3, -2.0 / 3},
                                                    {5, -2.10992423179939583719},
                                                    {7, -4.43090830524446686468},
                                                    {9, -8.02407683661676555408},
                                                    {11, -11.88692608267906915385},
                                                    {13, -16.70383003421232060915}};
  for (const Rule rule : {kSa, kUsa})
    for (const auto& known : edges) {  // clang 14 has no bindings in lambdas
      const auto count = known.first;
      const double edge = known.second;
      const auto most = [&](double beta) {
        const GrowthSpectrum s = polygon_spectrum({rule, beta, count});
        return *std::max_element(s.rate.begin() + 1, s.rate.end());
      };
      EXPECT_LT(most(edge * (1 + 1e-9)), 0) << count;
      EXPECT_GT(most(edge * (1 - 1e-9)), 0) << count;
    }
  EXPECT_GT(polygon_spectrum({kSa, -12, 6}).rate[3], 0);  // antipodes
  EXPECT_THROW(polygon_spectrum({kSa, -21, 3}), Error);
  EXPECT_THROW(log_ring_escape_rate({kSa, -21, 3}), Error);
}

TEST(PolygonClusters, KuramotoGrowsInTheFirstModeOnly) {
  const GrowthSpectrum spectrum = polygon_spectrum({kUsa, 0, 12});
  EXPECT_NEAR(spectrum.growth(1), 0.5, 1e-15);
  for (std::size_t j = 2; j <= 6; ++j) EXPECT_EQ(spectrum.rate[j], 0);
  EXPECT_EQ(spectrum.fastest(), 1u);
}

TEST(PolygonClusters, NeighboursSetTheClockAtLargeBeta) {
  // sigma_j -> 4 beta sin^2 a sin^2(pi j/k) e^{-beta(1 - cos a)}: pairs drift apart in alternation,
  // and e-folding takes half as long as the isolated pair takes to merge.
  for (const std::uint64_t k : {4u, 6u, 8u}) {
    for (const double beta : {1e3, 1e4, 1e6}) {
      const RegularClusters clusters{kSa, beta, k};
      const GrowthSpectrum spectrum = polygon_spectrum(clusters);
      EXPECT_EQ(spectrum.fastest(), k / 2);
      const double pair = log_asymptotic_time(neighbours(clusters), polygon_angle(k));
      const double a = 2 * pi / static_cast<double>(k);
      const double correction = std::log1p(-std::cos(a) / (beta * std::sin(a) * std::sin(a)));
      EXPECT_NEAR(spectrum.log_efolding() + correction - pair, -std::numbers::ln2,
                  1e-11 + 1e-15 * beta);
    }
  }
}

TEST(SimplexClusters, GrowthRatesAreThoseOfTheFlow) {
  for (const Rule rule : {kSa, kUsa})
    for (const Eigen::Index k : {2, 3, 4, 6})
      for (const Eigen::Index dim : {k, k + 1})
        for (const double beta : {-2.0, 0.0, 0.7, 3.0}) {
          const GrowthSpectrum spectrum = simplex_spectrum(
              {rule, beta, static_cast<std::uint64_t>(k)}, static_cast<std::uint64_t>(dim));
          const MatrixXd x = simplex(k, dim);
          MatrixXd move = MatrixXd::Zero(k, dim);
          move.col(dim - 1).setOnes();
          expect_growth(x, move, spectrum.growth(kOpening), rule, beta);
          move.setZero();
          move(0, dim - 1) = 1;
          move(1, dim - 1) = -1;
          expect_growth(x, move, 0, rule, beta);
          if (k < 3) continue;
          // All pulled alike: the sum of displacements is as large as it can be.
          const VectorXd pull = VectorXd::LinSpaced(dim, 1, 2).cwiseProduct(
              (VectorXd(dim) << VectorXd::Ones(k - 1), VectorXd::Zero(dim - k + 1)).finished());
          for (Eigen::Index i = 0; i < k; ++i)
            move.row(i) = pull.transpose() - x.row(i).dot(pull) * x.row(i);
          expect_growth(x, move, spectrum.growth(kParting), rule, beta);
          if (k < 4) continue;
          // Two approach and two approach, without a change of any cluster's sum of cosines:
          // s_01 = s_23 = 1, s_02 = s_13 = -1.
          const double signs[4][4] = {{0, 1, -1, 0}, {1, 0, 0, -1}, {-1, 0, 0, 1}, {0, -1, 1, 0}};
          move.setZero();
          for (Eigen::Index i = 0; i < 4; ++i)
            for (Eigen::Index j = 0; j < 4; ++j) move.row(i) += signs[i][j] * x.row(j);
          expect_growth(x, move, spectrum.growth(kPairing), rule, beta);
        }
}

TEST(SimplexClusters, ModesAreCounted) {
  for (const std::uint64_t k : {2u, 3u, 4u, 7u})
    for (std::uint64_t dim = std::max<std::uint64_t>(2, k - 1); dim < k + 3; ++dim) {
      const GrowthSpectrum s = simplex_spectrum({kSa, 2, k}, dim);
      EXPECT_EQ(s.multiplicity[0] + s.multiplicity[1] + s.multiplicity[2] + s.multiplicity[3],
                k * (dim - 1));
      // Neutral: rotations in the space of the clusters, and all but one move for every direction
      // out of it.
      EXPECT_EQ(s.multiplicity[kNeutral], (k - 1) * (k - 2) / 2 + (k - 1) * (dim + 1 - k));
    }
  EXPECT_EQ(simplex_spectrum({kSa, 2, 5}, 4).fastest(), std::size_t{kParting});
  EXPECT_EQ(simplex_spectrum({kSa, 2, 2}, 2).fastest(), std::size_t{kOpening});
}

TEST(EquiangularClusters, TableOfExactSolutions) {
  struct Solution {
    Rule rule;
    double beta;
    std::uint64_t count;
    double from, time, cosine;
  };
  const Solution rows[] = {
      {kSa, 1, 2, 0, 1, 0.579195336911065},      {kUsa, 1, 2, 0, 0.5, 0.588061883760116},
      {kSa, 1, 4, 0, 1, 0.479486782185420},      {kUsa, 1, 4, 0, 1, 0.832087876468885},
      {kSa, 4, 8, 0, 5, 0.616837375839616},      {kUsa, 4, 8, 0, 0.5, 0.369686580077663},
      {kSa, 4, 64, 0, 3, 0.424196498305890},     {kUsa, 4, 64, 0, 0.4, 0.0197298066987751},
      {kSa, 0, 128, 0, 2, 0.295147004654848},    {kSa, 5, 1000, 0, 3, 0.169619520169067},
      {kSa, 2, 16, 0.3, 1, 0.746782843645001},   {kUsa, 2, 16, 0.3, 0.25, 0.617803761876330},
      {kSa, 4, 8, -0.1, 2, -0.0816381448787526}, {kUsa, 4, 8, -0.1, 0.5, -0.0580262332002084}};
  for (const Solution& row : rows) {
    const RegularClusters clusters{row.rule, row.beta, row.count};
    EXPECT_RELATIVE(equiangular_cosine_after(clusters, row.from, flow::Time(row.time)), row.cosine,
                    2e-13);
    EXPECT_RELATIVE(equiangular_time(clusters, row.from, row.cosine).value(), row.time, 1e-11);
  }
  EXPECT_RELATIVE(equiangular_time({kSa, 8, 32}, 0, 0.999).value(), 73.44567591095, 5e-13);
  EXPECT_RELATIVE(equiangular_time({kUsa, 8, 32}, 0, 0.999).value(), 0.7344912435041, 5e-13);
  EXPECT_TRUE(std::isinf(equiangular_time({kSa, 1, 4}, -1.0 / 3, 0.9).value()));
  EXPECT_DOUBLE_EQ(equiangular_cosine_after({kSa, 1, 4}, -1.0 / 3, flow::Time(1e9)), -1.0 / 3);
}

TEST(EquiangularClusters, LeaveTheSimplexAtTwiceTheOpeningRate) {
  for (const Rule rule : {kSa, kUsa}) {
    const RegularClusters clusters{rule, 2, 5};
    const double rate = simplex_spectrum(clusters, 5).growth(kOpening);
    const double time = equiangular_time(clusters, -0.25 + 1e-7, -0.25 + 2e-7).value();
    EXPECT_NEAR(time * 2 * rate, std::numbers::ln2, 1e-6);
  }
}

TEST(RingClusters, VelocityIsThatOfTheFlow) {
  for (const Rule rule : {kSa, kUsa})
    for (const std::uint64_t k : {2u, 3u, 5u, 8u})
      for (const double beta : {0.0, 2.0, 7.0})
        for (const double polar : {0.4, 1.2}) {
          // theta' from the tokens; time over a short way by the midpoint rule, O(h^2).
          const MatrixXd v = velocity(ring(k, polar), rule, beta);
          const double speed = v(0, 2) / std::sin(polar);  // z = cos theta
          for (Eigen::Index l = 0; l < v.rows(); ++l)
            EXPECT_NEAR(v(l, 2), v(0, 2), 1e-12 * std::exp(beta));
          const double h = 1e-4;
          const double time = ring_time({rule, beta, k}, polar + h, polar - h).value();
          EXPECT_RELATIVE(time * speed, 2 * h, 1e-5);
        }
}

TEST(RingClusters, TwoAreAPair) {
  for (const Rule rule : {kSa, kUsa})
    for (const double beta : {0.0, 2.0, 50.0, 1e6}) {
      const double pair =
          log_merge_time({.rule = rule, .beta = beta}, PairAngle::of(2.4), PairAngle::of(0.2));
      EXPECT_NEAR(ring_time({rule, beta, 2}, 1.2, 0.1).log(), pair, 1e-13 + 4e-16 * std::abs(pair));
      EXPECT_NEAR(log_ring_escape_rate({rule, beta, 2}),
                  log_escape_rate({.rule = rule, .beta = beta}), 1e-13 + 4e-16 * 2 * beta);
    }
}

TEST(RingClusters, AgreesWithMpmath) {
  struct Case {
    Rule rule;
    double beta;
    std::uint64_t count;
    double from, to, log_time;
  };
  const Case cases[] = {
      {kSa, 3, 5, 1.2, 0.05, 2.0076739389775279},
      {kUsa, 3, 5, 1.5, 0.05, 1.0772711240428844},
      {kSa, 100, 6, 1.0, 0.1, 32.340171808177961},
      {kUsa, 1000, 4, 1.0, 0.1, -297.25987418355721},
      {kSa, 10000.0, 12, 1.0, 0.1, 943.63704492029545},
      {kSa, 300, 64, 1.4, 0.01, 6.9781751419313875},
      {kSa, 20000.0, 64, 1.0, 0.3, 69.130609059306542},
  };
  for (const Case& c : cases) {
    const RegularClusters clusters{c.rule, c.beta, c.count};
    const flow::Time time = ring_time(clusters, c.from, c.to);
    EXPECT_NEAR(time.log(), c.log_time, 2e-13 + 4e-16 * std::abs(c.log_time));
    const flow::Time half(0.5 * time.mantissa(), time.exponent());
    const double there = ring_polar_after(clusters, c.from, half);
    EXPECT_NEAR(ring_time(clusters, c.from, there).in_unit(time.exponent()) / half.mantissa(), 1,
                1e-9);
  }
}

TEST(RingClusters, EquatorRests) {
  EXPECT_TRUE(std::isinf(ring_time({kSa, 2, 5}, pi / 2, 0.1).value()));
  EXPECT_EQ(ring_polar_after({kSa, 2, 5}, pi / 2, flow::Time(1e6)), pi / 2);
  const double rate = std::exp(log_ring_escape_rate({kSa, 2, 5}));
  const MatrixXd x = ring(5, pi / 2);
  MatrixXd up = MatrixXd::Zero(5, 3);
  up.col(2).setOnes();
  expect_growth(x, up, rate, kSa, 2);
}

TEST(RegularClusters, NeighbourAngles) {
  EXPECT_TRUE(polygon_angle(2).antipodal());
  EXPECT_TRUE(simplex_angle(2).antipodal());
  EXPECT_RELATIVE(polygon_angle(5).angle(), 2 * pi / 5, 1e-15);
  EXPECT_RELATIVE(simplex_angle(4).angle(), std::acos(-1.0 / 3), 1e-15);
  EXPECT_RELATIVE(ring_angle(6, pi / 2).angle(), pi / 3, 1e-15);
  const MatrixXd x = ring(7, 0.8);
  EXPECT_RELATIVE(ring_angle(7, 0.8).cosine(), x.row(0).dot(x.row(1)), 1e-14);
}

TEST(RegularClusters, RefuseBadInput) {
  EXPECT_THROW(polygon_spectrum({kSa, 1, 1}), Error);
  EXPECT_THROW(polygon_spectrum({kSa, 1, 5000}), Error);
  EXPECT_THROW(polygon_spectrum({kSa, -21, 5}), Error);
  EXPECT_THROW(ring_time({kSa, -21, 5}, 1, 0.5), Error);
  EXPECT_THROW(polygon_spectrum({kSa, std::nan(""), 5}), Error);
  EXPECT_THROW(simplex_spectrum({kSa, 1, 5}, 3), Error);
  EXPECT_THROW(equiangular_time({kSa, 1, 5}, -0.3, 0.9), Error);
  EXPECT_THROW(equiangular_time({kSa, 1, 5}, 0, 1.1), Error);
  EXPECT_THROW(ring_time({kSa, 1, 5}, 2, 0.1), Error);
  EXPECT_THROW(ring_angle(5, -1), Error);
}

}  // namespace
}  // namespace attractor::meanfield
