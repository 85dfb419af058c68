#include "attractor/kernels/matrix/softmax_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

class SoftmaxRows : public OnOneTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, SoftmaxRows, testing::ValuesIn(every_target()), target_name);

std::vector<KeyRange> ranges(std::size_t keys, int kind) {
  std::vector<KeyRange> seen;
  for (std::size_t i = 0; i < keys; ++i) {
    if (kind == 0) seen.push_back({0, keys});
    if (kind == 1) seen.push_back({0, i + 1});
    if (kind == 2) seen.push_back({i >= 4 ? i - 4 : 0, i + 1});
  }
  return seen;
}

TEST_P(SoftmaxRows, IsThePlainSoftmaxOfWhatIsSeen) {
  for (const std::size_t keys : {1UL, 2UL, 7UL, 16UL, 33UL, 130UL})
    for (const int kind : {0, 1, 2}) {
      std::vector<float> logits(keys * keys), plain;
      for (std::size_t k = 0; k < logits.size(); ++k)
        logits[k] = static_cast<float>(90 * std::sin(1.3 * static_cast<double>(k)));
      plain = logits;
      std::vector<float> chances(keys * keys, 7.0F), truth(keys * keys, 7.0F);
      const std::vector<KeyRange> seen = ranges(keys, kind);
      softmax_rows(logits, keys, 0.5F, seen, chances);
      softmax_rows_reference(plain, keys, 0.5F, seen, truth);
      for (std::size_t k = 0; k < logits.size(); ++k) {
        EXPECT_EQ(logits[k], plain[k]);
        // The exponent is off by a rounding of x log2(e), |x| <= 90, and one of each step; the sum
        // by one rounding for each of its terms in a lane.
        const double relative = 0x1p-24 * (90 + 10 + static_cast<double>(keys));
        EXPECT_NEAR(chances[k], truth[k], relative * static_cast<double>(truth[k]) + 1e-37)
            << keys << ' ' << kind << ' ' << k;
      }
    }
}

TEST_P(SoftmaxRows, FarBelowThePeakIsNothing) {
  std::vector<float> logits = {0, -86, -88, -1e30F}, chances(4);
  const std::vector<KeyRange> seen = {{0, 4}};
  softmax_rows(logits, 4, 1, seen, chances);
  EXPECT_EQ(chances[0], 1);
  EXPECT_GT(chances[1], 0);
  EXPECT_EQ(chances[2], 0);
  EXPECT_EQ(chances[3], 0);
}

}  // namespace
}  // namespace attractor::kernels
