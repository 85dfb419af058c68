#include "attractor/kernels/clumps/clump_products.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attractor/base/random.hpp"

namespace attractor::kernels {
namespace {

TEST(ClumpProducts, AgreeWithPlainLoopsAtOddSizes) {
  const Stream stream(1, "clump products test");
  for (const std::size_t rows : {1U, 3U, 8U, 13U, 64U})
    for (const std::size_t depth : {1U, 5U, 67U})
      for (const std::size_t columns : {8U, 16U, 24U, 40U, 72U})
        for (const bool transposed : {false, true}) {
          std::vector<double> x(rows * depth), b(depth * columns), y(rows * columns);
          stream.normals(0, x);
          stream.normals(1, b);
          stream.normals(2, y);
          std::vector<double> plain = y;
          const StridedRows at =
              transposed ? StridedRows{x.data(), 1, rows} : StridedRows{x.data(), depth, 1};
          add_product({rows, depth, columns}, at, b.data(), columns, y.data(), columns);
          add_product_reference({rows, depth, columns}, at, b.data(), columns, plain.data(),
                                columns);
          for (std::size_t k = 0; k < y.size(); ++k)
            ASSERT_NEAR(y[k], plain[k], 1e-14 * static_cast<double>(depth + 4)) << rows << columns;
        }
}

TEST(ClumpProducts, ExponentialsOfARow) {
  std::vector<double> x(24);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = 0.37 * static_cast<double>(k) - 4;
  std::vector<double> e = x;
  exponentials(e, 0.25, -3);
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double right = std::exp(-3 * (x[k] + 0.25));
    EXPECT_NEAR(e[k], right, 1e-14 * right);
  }
}

}  // namespace
}  // namespace attractor::kernels
