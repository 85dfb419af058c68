// Spectral margins against closed forms, singular values of another decomposition, and norms that
// bound them.
#include "attractor/solve/nuclear/spectral_margin.hpp"

#include <gtest/gtest.h>

#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/solve/nuclear/nuclear_margin.hpp"
#include "tests/support/margin_data.hpp"

namespace attractor::solve {
namespace {

using SquareRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct Tokens {
  std::vector<double> x, z;
  std::size_t tokens, dim;
  TokenChoice choice;
  TokenDifferences rows() const { return {x, tokens, dim, choice}; }
};

// Tokens that a planted matrix selects.
Tokens planted_tokens(std::uint64_t seed, std::size_t n, std::size_t tokens, std::size_t dim) {
  Tokens data{normals_of("test.spectral", seed, n * tokens, dim),
              normals_of("test.spectral", seed + 100, n, dim),
              tokens,
              dim,
              {}};
  const std::vector<double> w = normals_of("test.spectral", seed + 200, dim, dim);
  const Eigen::Map<const SquareRows> W(w.data(), static_cast<Eigen::Index>(dim),
                                       static_cast<Eigen::Index>(dim));
  for (std::size_t i = 0; i < n; ++i) {
    const Eigen::VectorXd u =
        W * Eigen::Map<const Eigen::VectorXd>(&data.z[i * dim], static_cast<Eigen::Index>(dim));
    const std::vector<double> direction(u.data(), u.data() + u.size());
    data.choice.chosen.push_back(
        choice_of(direction, std::span(data.x).subspan(i * tokens * dim, tokens * dim), tokens)
            .chosen[0]);
  }
  return data;
}

Eigen::VectorXd svd_values(const std::vector<double>& w, std::size_t dim) {
  const auto d = static_cast<Eigen::Index>(dim);
  return Eigen::JacobiSVD<Eigen::MatrixXd>(Eigen::Map<const SquareRows>(w.data(), d, d))
      .singularValues();
}

TEST(SpectralMargin, OfOneRowIsThatOfItsLengths) {
  const std::vector<double> g{3, 0, 4}, z{1, 2, 2};
  const NuclearMargin found =
      spectral_margin({.left = g, .right = z, .left_dim = 3, .right_dim = 3});
  EXPECT_EQ(found.status, MarginStatus::optimal);
  EXPECT_NEAR(found.norm, 1.0 / 15, 1e-11);
}

// <e_i e_i^T, W> >= h_i: the largest h, where the nuclear norm has their sum.
TEST(SpectralMargin, OfDiagonalRowsIsTheLargestBound) {
  const std::vector<double> eye{1, 0, 0, 0, 1, 0, 0, 0, 1}, h{1, 3, 2};
  const RankOneConstraints rows{
      .left = eye, .right = eye, .left_dim = 3, .right_dim = 3, .bounds = h};
  const NuclearMargin found = spectral_margin(rows);
  EXPECT_EQ(found.status, MarginStatus::optimal);
  EXPECT_NEAR(found.norm, 3, 1e-9);
  EXPECT_NEAR(nuclear_margin(rows).norm, 6, 1e-9);
}

// Orthogonal g_j, z_j: again independent; with all g_j and z_j turned, the same norm.
TEST(SpectralMargin, DoesNotChangeWithRotations) {
  const double c = std::cos(0.7), s = std::sin(0.7);
  const std::vector<double> g{2 * c, 2 * s, -s, c}, z{s, c, c, -s};
  const NuclearMargin found =
      spectral_margin({.left = g, .right = z, .left_dim = 2, .right_dim = 2});
  EXPECT_NEAR(found.norm, 1, 1e-10);
}

// W, lambda and both bounds, checked with another SVD; and |W|_op <= |W|_F <= |W|_*.
TEST(SpectralMargin, IsProvedByItsMultipliers) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const std::size_t dim = 2 + seed % 4, n = 2 + seed % 5, tokens = 3 + seed % 3;
    const Tokens data = planted_tokens(seed, n, tokens, dim);
    const TokenDifferences rows = data.rows();
    const NuclearMargin found = spectral_margin(rows, data.z, dim);
    ASSERT_EQ(found.status, MarginStatus::optimal) << seed << " " << found.relative_gap;
    const QueryDifferences flat(data.x, tokens, dim, data.z, dim, data.choice);
    std::vector<double> S(dim * dim, 0.0), row(dim * dim);
    double sum = 0, least = kInfinity;
    for (std::size_t j = 0; j < flat.size(); ++j) {
      flat.row(j, row);
      EXPECT_GE(found.multipliers[j], 0);
      double product = 0;
      for (std::size_t a = 0; a < row.size(); ++a) {
        S[a] += found.multipliers[j] * row[a];
        product += row[a] * found.W[a];
      }
      sum += found.multipliers[j];
      least = std::min(least, product);
    }
    EXPECT_GE(least, 1 - 1e-12);
    const double upper = svd_values(found.W, dim)[0], lower = sum / svd_values(S, dim).sum();
    EXPECT_LE(upper - lower, 2e-9 * upper);
    EXPECT_NEAR(found.norm, upper, 1e-12 * upper);
    EXPECT_GE(found.upper, upper * (1 - 1e-14));
    EXPECT_LE(found.lower, lower * (1 + 1e-14));
    const NuclearMargin nuclear = nuclear_margin(rows, data.z, dim);
    EXPECT_LE(found.lower, nuclear.upper);
    EXPECT_LE(nuclear.lower, static_cast<double>(dim) * found.upper);
  }
}

// No other matrix does better: scaled to feasibility, those around W and far from it are longer.
TEST(SpectralMargin, IsBeatenByNoneOfManyMatrices) {
  const std::size_t dim = 2, tokens = 4;
  const Tokens data = planted_tokens(5, 4, tokens, dim);
  const NuclearMargin found = spectral_margin(data.rows(), data.z, dim);
  const QueryDifferences flat(data.x, tokens, dim, data.z, dim, data.choice);
  const Stream stream(1, "test.spectral.beaten");
  std::vector<double> move(4), w(4), products(flat.size());
  double closest = kInfinity;
  for (std::uint64_t k = 0; k < 20'000; ++k) {
    stream.normals(k, move);
    const double size = std::pow(10.0, -static_cast<double>(k % 6)) * found.norm;
    for (std::size_t a = 0; a < 4; ++a) w[a] = found.W[a] + size * move[a];
    flat.products(w, products);
    const double least = *std::min_element(products.begin(), products.end());
    if (least > 0) closest = std::min(closest, svd_values(w, dim)[0] / least);
  }
  EXPECT_GE(closest, found.lower);
  EXPECT_LT(closest, found.norm * 1.001);  // some came near
}

TEST(SpectralMargin, KnowsWhatIsInfeasible) {
  const std::vector<double> g{1, 0, -1, 0}, z{1, 1};
  const std::vector<std::size_t> query{0, 0};
  const NuclearMargin found =
      spectral_margin({.left = g, .right = z, .left_dim = 2, .right_dim = 2, .query = query});
  EXPECT_EQ(found.status, MarginStatus::infeasible);
  EXPECT_EQ(found.lower, kInfinity);
}

TEST(SpectralMargin, RefusesWhatIsTooLarge) {
  const std::size_t dim = 41;
  const Tokens data = planted_tokens(1, dim, 3, dim);
  EXPECT_THROW((void)spectral_margin(data.rows(), data.z, dim), Error);
}

}  // namespace
}  // namespace attractor::solve
