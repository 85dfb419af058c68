#include "attractor/kernels/matrix/packed_product.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attractor/base/threads.hpp"
#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

std::vector<float> waves(std::size_t count, double salt) {
  std::vector<float> x(count);
  for (std::size_t k = 0; k < count; ++k)
    x[k] = static_cast<float>(std::sin(salt + 1.7 * static_cast<double>(k)));
  return x;
}

class PackedProduct : public OnOneTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, PackedProduct, testing::ValuesIn(every_target()), target_name);

TEST_P(PackedProduct, IsThePlainSumAtOddSizes) {
  for (const std::size_t outputs : {1UL, 7UL, 32UL, 33UL, 95UL})
    for (const std::size_t inputs : {1UL, 3UL, 64UL, 385UL, 900UL})
      for (const std::size_t count : {1UL, 5UL, 6UL, 13UL}) {
        const auto w = waves(outputs * inputs, 0.3), bias = waves(outputs, 2);
        const std::size_t stride = inputs + 3, out = outputs + 2;
        const auto x = waves(count * stride, 5);
        const PackedMatrix packed(w, outputs, inputs);
        std::vector<float> y(count * out, 9.0F), plain(count * out, 9.0F);
        for (const bool with_bias : {false, true}) {
          const std::span<const float> b =
              with_bias ? std::span<const float>(bias) : std::span<const float>();
          product({x.data(), count, stride}, packed, b, {y.data(), out});
          product_reference({x.data(), count, stride}, packed, b, {plain.data(), out});
          for (std::size_t k = 0; k < y.size(); ++k) {
            // |error| <= (terms) 2^-24 (sum of their sizes), which are 1 at most.
            const double terms = static_cast<double>(inputs + 2);
            EXPECT_NEAR(y[k], plain[k], terms * terms * 0x1p-24) << k;
          }
        }
      }
}

TEST_P(PackedProduct, DoesNotDependOnThreadsOrOtherRows) {
  const std::size_t outputs = 130, inputs = 500, count = 19;
  const auto w = waves(outputs * inputs, 1), x = waves(count * inputs, 2);
  const PackedMatrix packed(w, outputs, inputs);
  std::vector<float> all(count * outputs), one(outputs);
  set_threads(2);
  product({x.data(), count, inputs}, packed, {}, {all.data(), outputs});
  set_threads(1);
  for (std::size_t r = 0; r < count; ++r) {
    product({x.data() + r * inputs, 1, inputs}, packed, {}, {one.data(), outputs});
    for (std::size_t o = 0; o < outputs; ++o) EXPECT_EQ(one[o], all[r * outputs + o]);
  }
  set_threads(0);
}

TEST(PackedMatrix, KeepsItsNumbersInBothLayouts) {
  const auto w = waves(35 * 9, 1);
  const PackedMatrix a(w, 35, 9), b(w, 9, 35, MatrixLayout::inputs_by_outputs);
  EXPECT_EQ(a.unpacked(), w);
  for (std::size_t o = 0; o < 9; ++o)
    for (std::size_t i = 0; i < 35; ++i) EXPECT_EQ(b.at(o, i), w[i * 9 + o]);
  const PackedMatrix part(std::span<const float>(w).subspan(2), 4, 3,
                          MatrixLayout::outputs_by_inputs, 9);
  for (std::size_t o = 0; o < 4; ++o)
    for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(part.at(o, i), w[2 + o * 9 + i]);
}

}  // namespace
}  // namespace attractor::kernels
