#include "attractor/kernels/dense/token_rows.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

class TokenRows : public OnOneTarget {};
INSTANTIATE_TEST_SUITE_P(Targets, TokenRows, testing::ValuesIn(every_target()), target_name);

std::vector<double> numbers(std::size_t count, double salt) {
  std::vector<double> x(count);
  for (std::size_t k = 0; k < count; ++k) x[k] = std::sin(salt + 1.7 * static_cast<double>(k));
  return x;
}

TEST_P(TokenRows, AreThePlainSums) {
  for (std::size_t dim : {1UL, 3UL, 7UL, 8UL, 9UL, 31UL, 64UL, 130UL})
    for (std::size_t count : {1UL, 2UL, 4UL, 5UL, 11UL}) {
      const auto rows = numbers(count * dim, 0.1), u = numbers(dim, 2), origin = numbers(dim, 3);
      auto c = numbers(count, 4);
      if (count > 2) c[1] = 0;
      std::vector<double> products(count, 7.0), sums(dim, 7.0);
      row_products(rows, u, products);
      weighted_differences(rows, c, origin, sums);
      for (std::size_t t = 0; t < count; ++t) {
        long double exact = 0;
        for (std::size_t b = 0; b < dim; ++b)
          exact += static_cast<long double>(rows[t * dim + b]) * u[b];
        EXPECT_NEAR(products[t], static_cast<double>(exact), 1e-15 * static_cast<double>(dim + 1));
      }
      for (std::size_t b = 0; b < dim; ++b) {
        long double exact = 0;
        for (std::size_t t = 0; t < count; ++t)
          exact += static_cast<long double>(c[t]) * (rows[t * dim + b] - origin[b]);
        EXPECT_NEAR(sums[b], static_cast<double>(exact), 1e-15 * static_cast<double>(count + 1));
      }
    }
}

TEST_P(TokenRows, ShareALargeOffsetWithoutLoss) {
  for (std::size_t dim : {3UL, 16UL}) {
    std::vector<double> rows(4 * dim), origin(dim, 1e12), out(dim);
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k] = 1e12 + static_cast<double>(k % 3);
    weighted_differences(rows, std::vector<double>{1, 1, 1, 1}, origin, out);
    for (std::size_t b = 0; b < dim; ++b) {
      double exact = 0;
      for (std::size_t t = 0; t < 4; ++t) exact += static_cast<double>((t * dim + b) % 3);
      EXPECT_EQ(out[b], exact);
    }
  }
}

// Rows stored as floats, and rows fetched ahead: the sums of the same numbers, to the bit.
TEST_P(TokenRows, StoredAsFloatsAreTheSameSums) {
  for (std::size_t dim : {1UL, 5UL, 8UL, 13UL, 40UL, 67UL, 130UL})
    for (std::size_t count : {1UL, 3UL, 4UL, 10UL}) {
      const auto drawn = numbers(2 * count * dim, 0.3), u = numbers(dim, 1);
      auto c = numbers(count, 4);
      if (count > 2) c[2] = 0;
      const std::vector<float> single(drawn.begin(), drawn.end());
      const std::vector<double> twin(single.begin(), single.end());
      const auto first = [&](const auto& all) { return std::span(all).first(count * dim); };
      const auto ahead = [&](const auto& all) { return std::span(all).last(count * dim); };
      std::vector<double> a(count), b(count), from(dim), to(dim), plain(dim);
      row_products(first(single), u, a);
      row_products(first(twin), u, b);
      EXPECT_EQ(a, b);
      const auto origin = (count - 1) * dim;
      weighted_differences(first(single), c, std::span(single).subspan(origin, dim), from,
                           ahead(single));
      weighted_differences(first(twin), c, std::span(twin).subspan(origin, dim), to, ahead(twin));
      weighted_differences(first(twin), c, std::span(twin).subspan(origin, dim), plain);
      EXPECT_EQ(from, to);
      EXPECT_EQ(to, plain);
    }
}

}  // namespace
}  // namespace attractor::kernels
