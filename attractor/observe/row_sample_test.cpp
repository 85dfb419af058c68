#include "attractor/observe/row_sample.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "attractor/base/random.hpp"
#include "attractor/observe/close_weights.hpp"

namespace attractor::observe {
namespace {

std::vector<double> values_of(const RowSample& sample, const std::vector<double>& all) {
  std::vector<double> values;
  for (const std::uint32_t i : sample.rows) values.push_back(all[i]);
  return values;
}

TEST(RowSample, AllRowsAreExact) {
  const std::vector<double> masses{1, 2, 5}, values{3, -1, 0.5};
  const Estimate mean = mean_over_originals(all_rows(masses), masses, values);
  EXPECT_DOUBLE_EQ(mean.value, 3.5 / 8);
  EXPECT_EQ(mean.error, 0);
}

// Seven tokens of weight 100 among 5000 of weight 1 and 993 of none: all seven are read.
TEST(RowSample, AFewHeavyTokensAreReadWhole) {
  const std::vector<double> masses(6000, 1);
  CloseWeights close = nothing_close(6000);
  for (std::size_t i = 0; i < 5000; ++i) close.weight[i] = close.known[i] = 1;
  for (std::size_t i = 0; i < 7; ++i) close.weight[600 * i] = close.known[600 * i] = 100;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const RowSample sample = sample_rows(masses, close, 256, seed, "test");
    EXPECT_TRUE(sample.sampled);
    EXPECT_LE(sample.rows.size(), 512U);
    const std::set<std::uint32_t> rows(sample.rows.begin(), sample.rows.end());
    EXPECT_EQ(rows.size(), sample.rows.size());
    for (std::uint32_t i = 0; i < 7; ++i) EXPECT_TRUE(rows.contains(600 * i));
    const Estimate mean = mean_over_originals(sample, masses, values_of(sample, close.weight));
    EXPECT_DOUBLE_EQ(mean.value, 5693.0 / 6000);  // each stratum has one value
  }
}

// What differs within a stratum is estimated without bias, with the error it has.
TEST(RowSample, ErrorsHaveTheSizeOfTheScatter) {
  const Stream stream(3, "test.rows");
  std::vector<double> masses, values;
  CloseWeights close = nothing_close(3000);
  for (std::size_t i = 0; i < 3000; ++i) {
    masses.push_back(1 + static_cast<double>(stream.below(9, i, 0)));
    values.push_back(stream.normal(i, 0) + 0.1 * masses[i]);
    close.weight[i] = close.known[i] = std::exp(3 * stream.normal(i, 2));
  }
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  const double truth =
      std::inner_product(masses.begin(), masses.end(), values.begin(), 0.0) / total;
  double sum = 0, square = 0;
  constexpr std::uint64_t kCount = 400;
  constexpr double kSeeds = kCount;
  for (std::uint64_t seed = 0; seed < kCount; ++seed) {
    const RowSample sample = sample_rows(masses, close, 512, seed, "test");
    const Estimate mean = mean_over_originals(sample, masses, values_of(sample, values));
    const double z = (mean.value - truth) / mean.error;
    sum += z, square += z * z;
  }
  EXPECT_LE(std::abs(sum) / kSeeds, 4 / std::sqrt(kSeeds));
  EXPECT_NEAR(square / kSeeds, 1, 4 * std::sqrt(2 / kSeeds));
}

// Weights between 1 and 3 are one stratum; if its rows all have 1, those of 3 are unlike.
TEST(RowSample, TokensUnlikeTheRowsDrawnAreCounted) {
  const std::vector<double> masses(50'000, 1);
  CloseWeights close = nothing_close(50'000);
  std::fill(close.weight.begin(), close.weight.end(), 1.0);
  close.weight[17] = 3;
  close.known = close.weight;
  std::size_t missed = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const RowSample sample = sample_rows(masses, close, 128, seed, "test");
    ASSERT_EQ(sample.strata.size(), 1U);
    const bool drawn = std::find(sample.rows.begin(), sample.rows.end(), 17U) != sample.rows.end();
    EXPECT_EQ(sample.strata[0].unlike, drawn ? 0 : 2);
    EXPECT_EQ(sample.strata[0].unlike_rest, 0);  // it is known
    EXPECT_DOUBLE_EQ(sample.strata[0].unseen(), 50'000 / sample.strata[0].rows());
    missed += !drawn;
  }
  EXPECT_GT(missed, 0U);
}

}  // namespace
}  // namespace attractor::observe
