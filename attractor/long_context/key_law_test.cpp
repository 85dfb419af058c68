#include "attractor/long_context/key_law.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/random.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::meanfield {
namespace {

TEST(KeyLaw, HalfBetaOfEqualCosinesIsTheClosedForm) {
  for (const std::size_t n : {3UL, 10UL, 100UL})
    for (const double rho : {0.0, 0.5, 0.9}) {
      std::vector<double> cosines(n * n, rho);
      for (std::size_t i = 0; i < n; ++i) cosines[i * n + i] = 1;
      EXPECT_NEAR(half_beta(cosines, n), std::log(static_cast<double>(n - 1)) / (1 - rho),
                  1e-6 / (1 - rho));
    }
  EXPECT_TRUE(std::isnan(half_beta(std::vector<double>(9, 1.0), 3)));
}

TEST(KeyLaw, TellsEqualCosinesFromIndependentKeys) {
  // Nearly equal cosines: many dimensions beside one that all share.
  const Stream stream(5, "key law test");
  const std::size_t n = 256;
  for (const double rho : {0.2, 0.6}) {
    const std::size_t dim = 2048;
    std::vector<double> keys(n * dim);
    for (std::size_t i = 0; i < n; ++i) {
      const auto k = std::span(keys).subspan(i * dim, dim);
      stream.normals(i, k);
      for (double& c : k) c *= std::sqrt((1 - rho) / static_cast<double>(dim));
      k[0] = std::sqrt(rho);
    }
    const KeyLaw law = key_law(keys, dim, 1);
    EXPECT_TRUE(law.logarithmic && law.decided) << rho;
    EXPECT_NEAR(law.rho, rho, 0.1);
  }
  // Independent keys in few dimensions: the power law, and their dimension.
  for (const std::size_t dim : {3UL, 4UL}) {
    std::vector<double> keys(512 * dim);
    for (std::size_t i = 0; i < 512; ++i)
      stream.normals(1000 * dim + i, std::span(keys).subspan(i * dim, dim));
    const KeyLaw law = key_law(keys, dim, 2);
    EXPECT_FALSE(law.logarithmic) << dim;
    EXPECT_TRUE(law.decided) << dim;
    EXPECT_NEAR(law.dimension, static_cast<double>(dim), 0.35 * static_cast<double>(dim));
  }
  EXPECT_SAYS(refusal([] { key_law(std::vector<double>(30, 1.0), 3, 0); }), "10 keys are too few");
}

}  // namespace
}  // namespace attractor::meanfield
