#include "attractor/tokens/given_arrays.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "tests/support/random_rows.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

Array tokens(Array array, bool unit_length) {
  return tokens_of(std::move(array), "x.npy", unit_length);
}

Array weights(Array array, const std::vector<std::size_t>& shape, const std::string& axes) {
  return weights_of(std::move(array), "x.npy", shape, axes);
}

TEST(GivenArrays, LeaveTokensAsTheyAre) {
  EXPECT_EQ(tokens({{2, 2}, {3, 4, 0, 0}}, false).data, (std::vector<double>{3, 4, 0, 0}));
}

TEST(GivenArrays, ScaleRowsToUnitLength) {
  const Array scaled = tokens({{2, 2}, {3, 4, 0, -2}}, true);
  EXPECT_NEAR(scaled.data[0], 0.6, 1e-15);
  EXPECT_NEAR(scaled.data[1], 0.8, 1e-15);
  EXPECT_EQ(scaled.data[2], 0);
  EXPECT_EQ(scaled.data[3], -1);
}

TEST(GivenArrays, ScaleExtremeRows) {
  const Array scaled = tokens({{2, 2}, {1e300, 1e300, 5e-324, 5e-324}}, true);
  for (const double x : scaled.data) EXPECT_NEAR(x, std::sqrt(0.5), 1e-15);
}

// The tokens that a run has left are the same ones when they are given to the next.
TEST(GivenArrays, LeaveRowsOfUnitLengthBitForBit) {
  constexpr std::size_t kRows = 500;
  for (const std::size_t dim : {2U, 3U, 16U, 129U, 4096U}) {
    const Array once = tokens({{kRows, dim}, normals_of("given", dim, kRows, dim)}, true);
    EXPECT_EQ(tokens(once, true).data, once.data) << dim;
  }
  EXPECT_NE(tokens({{1, 2}, {1 + 1e-14, 0}}, true).data[0], 1 + 1e-14);
}

TEST(GivenArrays, RefuseAZeroRow) {
  EXPECT_SAYS(refusal([] {
                tokens({{3, 2}, {1, 0, 0, 1, 0, 0}}, true);
              }),
              "row 2 (counted from 0) is zero");
}

TEST(GivenArrays, RefuseANaNToken) {
  EXPECT_SAYS(refusal([] {
                tokens({{2, 3}, {1, 2, 3, 4, 5, kNan}}, false);
              }),
              "x.npy: row 1, column 2");
}

TEST(GivenArrays, RefuseAnInfiniteToken) {
  EXPECT_SAYS(refusal([] {
                tokens({{2, 2}, {1, -kInfinity, kNan, 1}}, true);
              }),
              "row 0, column 1 (counted from 0) is -inf");
}

TEST(GivenArrays, RefuseTokensOfOtherRank) {
  EXPECT_SAYS(refusal([] { tokens({{4}, {1, 2, 3, 4}}, false); }), "the shape (4)");
  EXPECT_SAYS(refusal([] { tokens({{}, {1}}, false); }), "the shape ()");
  EXPECT_SAYS(refusal([] { tokens({{1, 1, 2}, {1, 2}}, false); }), "the shape (1, 1, 2)");
}

TEST(GivenArrays, RefuseNoTokens) {
  EXPECT_SAYS(refusal([] { tokens({{0, 3}, {}}, false); }), "the shape (0, 3)");
}

TEST(GivenArrays, RefuseOneDimension) {
  EXPECT_SAYS(refusal([] { tokens({{3, 1}, {1, 2, 3}}, false); }), "d >= 2");
}

TEST(GivenArrays, TakeWeights) {
  const Array four{{2, 2}, {1, 2, 3, 4}};
  EXPECT_EQ(weights(four, {2, 2}, "(d, d)").data, (std::vector<double>{1, 2, 3, 4}));
  const Array one_head = weights(four, {1, 2, 2}, "(h, r, d)");
  EXPECT_EQ(one_head.shape, (std::vector<std::size_t>{1, 2, 2}));
  const Array heads = weights({{2, 1, 2}, {1, 2, 3, 4}}, {2, 1, 2}, "(h, r, d)");
  EXPECT_EQ(heads.shape, (std::vector<std::size_t>{2, 1, 2}));
  const Array free = weights({{3, 2}, {1, 2, 3, 4, 5, 6}}, {0, 2}, "(w, d)");
  EXPECT_EQ(free.shape, (std::vector<std::size_t>{3, 2}));
}

TEST(GivenArrays, RefuseWeightsOfOtherShape) {
  const Array four{{2, 2}, {1, 2, 3, 4}};
  const auto message = [&](const std::vector<std::size_t>& shape, const std::string& axes) {
    return refusal([&] { weights(four, shape, axes); });
  };
  EXPECT_EQ(message({3, 3}, "(dim, dim)"),
            "x.npy: the weights have the shape (2, 2); allowed is (dim, dim) = (3, 3)");
  EXPECT_SAYS(message({2, 2, 2}, "(heads, rank, dim)"),
              "the shape (2, 2); allowed is (heads, rank, dim) = (2, 2, 2)");
  EXPECT_SAYS(message({0, 3}, "(width, dim)"), "(2, 2); allowed is (width, dim) = (any, 3)");
  EXPECT_SAYS(message({4}, "(width)"), "(2, 2); allowed is (width) = (4)");
  EXPECT_SAYS(refusal([] { weights({{0, 2}, {}}, {0, 2}, "(width, dim)"); }), "(0, 2)");
  EXPECT_SAYS(refusal([] { weights({{1, 2}, {1, 2}}, {2, 2}, "(d, d)"); }), "(1, 2)");
}

TEST(GivenArrays, RefuseWeightsThatAreNotFinite) {
  EXPECT_SAYS(refusal([] {
                weights({{2, 2}, {1, 2, kNan, 4}}, {2, 2}, "(d, d)");
              }),
              "row 1, column 0");
  EXPECT_SAYS(refusal([] {
                weights({{2, 1, 2}, {1, 2, 3, kInfinity}}, {2, 1, 2}, "(h, r, d)");
              }),
              "entry (1, 0, 1) (counted from 0) is inf");
}

TEST(GivenArrays, RowsHaveUnitLengthOrAreNamed) {
  const std::vector<double> rows{0.6, 0.8, 1, 1e-10};
  EXPECT_EQ(refusal([&] { require_unit_rows(rows, 2, "x", 1e-9); }), "");
  const std::vector<double> longer{0.6, 0.8, 1, 1};
  EXPECT_SAYS(refusal([&] { require_unit_rows(longer, 2, "x", 1e-9); }),
              "x: row 1 (counted from 0) has length 1.41421");
}

TEST(GivenArrays, MassesArePositiveAndOneForEachToken) {
  const std::vector<double> good{1, 2.5}, zero{1, 0}, undefined{1, NAN};
  EXPECT_EQ(refusal([&] { require_masses(good, 2, "masses"); }), "");
  EXPECT_SAYS(refusal([&] { require_masses(good, 3, "masses"); }), "masses has 2 numbers");
  EXPECT_SAYS(refusal([&] { require_masses(zero, 2, "masses"); }), "masses holds 0; allowed");
  EXPECT_SAYS(refusal([&] { require_masses(undefined, 2, "masses"); }), "masses holds nan");
}

}  // namespace
}  // namespace attractor
