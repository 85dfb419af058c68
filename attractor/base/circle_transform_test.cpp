#include "attractor/base/circle_transform.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <vector>

namespace attractor {
namespace {

TEST(CircleTransform, IsTheDefinitionRowByRowAndBack) {
  using namespace std::complex_literals;
  for (const std::size_t size : {16U, 20U, 24U}) {
    CircleTransform rows(3, size);
    std::vector<double> values;
    for (std::size_t k = 0; k < 3 * size; ++k)
      values.push_back(std::sin(1 + 2.5 * static_cast<double>(k * k)));
    for (std::size_t r = 0; r < 3; ++r)
      std::copy_n(&values[r * size], size, rows.values(0) + r * rows.stride());
    rows.analyse(3);
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t k = 0; k <= size / 2; ++k) {
        std::complex<double> sum = 0;
        for (std::size_t j = 0; j < size; ++j)
          sum +=
              values[r * size + j] * std::exp(-2i * std::numbers::pi * static_cast<double>(j * k) /
                                              static_cast<double>(size));
        EXPECT_NEAR(rows.modes(r)[k].real(), sum.real(), 1e-13) << size << ' ' << r << ' ' << k;
        EXPECT_NEAR(rows.modes(r)[k].imag(), sum.imag(), 1e-13) << size << ' ' << r << ' ' << k;
      }
    rows.synthesise(2);
    for (std::size_t r = 0; r < 2; ++r)
      for (std::size_t j = 0; j < size; ++j)
        EXPECT_NEAR(rows.values(r)[j], static_cast<double>(size) * values[r * size + j], 1e-13);
  }
}

}  // namespace
}  // namespace attractor
