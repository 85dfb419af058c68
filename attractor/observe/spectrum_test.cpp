#include "attractor/observe/spectrum.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor::observe {
namespace {

std::vector<double> uniform_tokens(std::uint64_t seed, std::size_t n, std::size_t dim) {
  return unit_rows(normals_of("test.spectrum", seed, n, dim), dim);
}

std::vector<double> ones(std::size_t n) { return std::vector<double>(n, 1.0); }

std::vector<double> basis(std::size_t k, std::size_t dim) {
  std::vector<double> tokens(k * dim, 0.0);
  for (std::size_t i = 0; i < k; ++i) tokens[i * dim + i] = 1;
  return tokens;
}

TEST(Spectrum, OneClusterHasRankOne) {
  for (const std::size_t dim : {3, 20}) {
    const std::vector<double> token = uniform_tokens(1, 1, dim);
    std::vector<double> tokens;
    for (int copy = 0; copy < 10; ++copy) tokens.insert(tokens.end(), token.begin(), token.end());
    const Spectrum found = spectrum(tokens, dim, ones(10), 0);
    EXPECT_NEAR(found.effective_rank, 1, 1e-13);
    EXPECT_EQ(found.span_dimension, 1u);
    EXPECT_NEAR(found.eigenvalues[0], 10, 1e-13);
    EXPECT_FALSE(found.sampled);
    EXPECT_EQ(found.effective_rank_error, 0);
    const Spectrum merged = spectrum(token, dim, std::vector<double>{10.0}, 0);
    EXPECT_NEAR(merged.effective_rank, 1, 1e-13);
    EXPECT_NEAR(merged.eigenvalues[0], 10, 1e-13);
  }
}

TEST(Spectrum, OrthogonalClusters) {
  const std::vector<double> masses = {5, 5, 5, 5};
  for (const std::size_t dim : {4, 5, 90}) {
    const Spectrum found = spectrum(basis(4, dim), dim, masses, 0);
    EXPECT_NEAR(found.effective_rank, 4, 1e-13);
    EXPECT_EQ(found.span_dimension, 4u);
  }
  // Unequal masses 6, 3, 1 of 10: exp(-0.6 ln 0.6 - 0.3 ln 0.3 - 0.1 ln 0.1).
  const Spectrum found = spectrum(basis(3, 7), 7, std::vector<double>{3, 6, 1}, 0);
  EXPECT_NEAR(found.effective_rank, 2.454555595891148, 1e-13);
  ASSERT_EQ(found.eigenvalues.size(), 3u);
  EXPECT_NEAR(found.eigenvalues[0], 6, 1e-14);
  EXPECT_NEAR(found.eigenvalues[1], 3, 1e-14);
  EXPECT_NEAR(found.eigenvalues[2], 1, 1e-14);
}

TEST(Spectrum, MassesAreRepetitions) {
  for (const std::size_t dim : {4, 40}) {
    const std::size_t n = 9;
    const std::vector<double> tokens = uniform_tokens(2, n, dim);
    std::vector<double> masses, repeated;
    for (std::size_t i = 0; i < n; ++i) {
      masses.push_back(double(1 + i * i % 5));
      for (std::size_t copy = 0; copy < 1 + i * i % 5; ++copy)
        repeated.insert(repeated.end(), &tokens[i * dim], &tokens[i * dim] + dim);
    }
    const Spectrum one = spectrum(tokens, dim, masses, 0);
    const Spectrum other = spectrum(repeated, dim, ones(repeated.size() / dim), 0);
    EXPECT_NEAR(one.effective_rank, other.effective_rank, 1e-12);
    EXPECT_EQ(one.span_dimension, other.span_dimension);
    for (std::size_t k = 0; k < one.eigenvalues.size(); ++k)
      EXPECT_NEAR(one.eigenvalues[k], other.eigenvalues[k], 1e-12);
  }
}

// n x dim and dim x n arrays share their singular values: one takes the Gram matrix, the other the
// second moment. Sizes straddle the panels and chunks.
TEST(Spectrum, BothMatricesAgree) {
  for (const std::size_t dim : {3, 65, 130}) {
    const std::size_t n = 600;
    const std::vector<double> tall = uniform_tokens(3, n, dim);
    std::vector<double> wide(tall.size());
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t a = 0; a < dim; ++a) wide[a * n + i] = tall[i * dim + a];
    const Spectrum one = spectrum(tall, dim, ones(n), 0), other = spectrum(wide, n, ones(dim), 0);
    ASSERT_EQ(one.eigenvalues.size(), dim);
    ASSERT_EQ(other.eigenvalues.size(), dim);
    EXPECT_NEAR(one.effective_rank, other.effective_rank, 1e-10);
    for (std::size_t k = 0; k < dim; ++k)
      EXPECT_NEAR(one.eigenvalues[k], other.eigenvalues[k], 1e-11);
    EXPECT_NEAR(std::accumulate(one.eigenvalues.begin(), one.eigenvalues.end(), 0.0), n, 1e-10);
  }
}

// x_i = sqrt(rho) e_0 + sqrt(1 - rho) e_i: eigenvalues 1 + (n-1) rho and n - 1 times 1 - rho.
TEST(Spectrum, Equiangular) {
  const std::size_t n = 8, dim = 9;
  for (const double rho : {0.0, 0.3, 0.9, 0.9995}) {
    std::vector<double> tokens(n * dim, 0.0);
    for (std::size_t i = 0; i < n; ++i) {
      tokens[i * dim] = std::sqrt(rho);
      tokens[i * dim + 1 + i] = std::sqrt(1 - rho);
    }
    const Spectrum found = spectrum(tokens, dim, ones(n), 0);
    ASSERT_EQ(found.eigenvalues.size(), n);
    EXPECT_NEAR(found.eigenvalues[0], 1 + 7 * rho, 1e-13);
    for (std::size_t k = 1; k < n; ++k) EXPECT_NEAR(found.eigenvalues[k], 1 - rho, 1e-13);
    const double p = (1 + 7 * rho) / 8, q = (1 - rho) / 8;
    EXPECT_NEAR(found.effective_rank, std::exp(-p * std::log(p) - 7 * q * std::log(q)), 1e-12);
    EXPECT_EQ(found.span_dimension, rho > 0.999 ? 1u : n);
  }
}

// The span of a cloud is its own, however many tokens stand for it and however long they are; the
// eigenvalues themselves grow with both. e_0 + small e_1 has the ratio small^2.
TEST(Spectrum, SpanDimensionHasNoScale) {
  for (const double small : {0.02, 0.05})
    for (const double mass : {1.0, 1e3, 1e6})
      for (const double length : {1e-3, 1.0, 30.0}) {
        const std::vector<double> tokens{length, 0, 0, 0, small * length, 0};
        const Spectrum found = spectrum(tokens, 3, std::vector<double>{mass, mass}, 0);
        EXPECT_EQ(found.span_dimension, small == 0.02 ? 1u : 2u) << mass << " " << length;
        EXPECT_EQ(count_above(found, 1e-3), std::size_t{mass * length * length > 1e-3} +
                                                (mass * std::pow(small * length, 2) > 1e-3));
      }
  // Uniform tokens fill the space whether few or many, in low and in high dimension.
  for (const std::size_t dim : {3, 40})
    for (const std::size_t n : {200, 3000})
      EXPECT_EQ(spectrum(uniform_tokens(n, n, dim), dim, ones(n), 0).span_dimension, dim);
}

TEST(Spectrum, ZeroTokens) {
  const Spectrum found = spectrum(std::vector<double>(6, 0.0), 3, ones(2), 0);
  EXPECT_EQ(found.effective_rank, 0);
  EXPECT_EQ(found.span_dimension, 0u);
}

// More than 1024 both ways. Twelve orthogonal clusters of 149 originals, 50 of each merged: the
// sampled counts are hypergeometric, with mean 1024/12 and a relative standard deviation of 6.8 %;
// the bound is 4 of them. Scaled eigenvalues keep the trace exactly.
TEST(Spectrum, SampledEstimate) {
  const std::size_t dim = 1100, clusters = 12;
  std::vector<double> tokens, masses;
  for (std::size_t i = 0; i < clusters * 100; ++i) {
    tokens.resize(tokens.size() + dim, 0.0);
    tokens[i * dim + i % clusters] = 1;
    masses.push_back(i < clusters ? 50 : 1);
  }
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  const Spectrum found = spectrum(tokens, dim, masses, 5);
  EXPECT_TRUE(found.sampled);
  EXPECT_LE(found.eigenvalues.size(), 1024u);
  EXPECT_NEAR(std::accumulate(found.eigenvalues.begin(), found.eigenvalues.end(), 0.0), total,
              1e-9);
  EXPECT_EQ(found.span_dimension, clusters);
  for (std::size_t k = 0; k < clusters; ++k)
    EXPECT_NEAR(found.eigenvalues[k], total / 12, 4 * 0.068 * total / 12);
  EXPECT_NEAR(found.effective_rank, 12, 0.1);
  EXPECT_NEAR(found.effective_rank, 12, 3 * found.effective_rank_error);
  EXPECT_GT(found.effective_rank_error, 0);
}

TEST(Spectrum, ThreadsDoNotShow) {
  for (const std::size_t dim : {70, 300}) {
    const std::vector<double> tokens = uniform_tokens(6, 200, dim);
    set_threads(1);
    const Spectrum one = spectrum(tokens, dim, ones(200), 0);
    for (const std::size_t count : {2, 4}) {
      set_threads(count);
      EXPECT_EQ(one.eigenvalues, spectrum(tokens, dim, ones(200), 0).eigenvalues);
    }
  }
  set_threads(0);
}

}  // namespace
}  // namespace attractor::observe
