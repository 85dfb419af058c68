#include "attractor/attention/weights.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

using Entries = std::vector<double>;

Entries product(const Entries& a, const Entries& b, std::size_t dim) {  // a b^T
  const std::size_t rows = a.size() / dim, columns = b.size() / dim;
  Entries c(rows * columns);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      c[i * columns + j] = std::inner_product(&a[i * dim], &a[i * dim] + dim, &b[j * dim], 0.0);
  return c;
}

double trace_of_power(const Entries& symmetric, std::size_t dim, int power) {
  Entries m = symmetric;
  for (int k = 1; k < power; ++k) m = product(m, symmetric, dim);
  double trace = 0;
  for (std::size_t i = 0; i < dim; ++i) trace += m[i * dim + i];
  return trace / static_cast<double>(dim);
}

// Largest eigenvalue of shift + sign M by power iteration: a lower bound that is close after 300.
double edge(const Entries& m, std::size_t dim, double sign, double shift) {
  Entries v(dim, 1.0), w(dim);
  for (std::size_t i = 0; i < dim; ++i) v[i] += std::sin(static_cast<double>(i));
  double size = 0;
  for (int step = 0; step < 300; ++step) {
    for (std::size_t i = 0; i < dim; ++i)
      w[i] = shift * v[i] + sign * std::inner_product(v.begin(), v.end(),
                                                      m.begin() + static_cast<long>(i * dim), 0.0);
    size = std::sqrt(std::inner_product(w.begin(), w.end(), w.begin(), 0.0));
    for (std::size_t i = 0; i < dim; ++i) v[i] = w[i] / size;
  }
  return size - shift;
}

// Semicircle: moments 1, 2, 5 of even order, edges +-2 (fluctuations of order 1/d and d^{-2/3}).
TEST(Weights, SymmetricKindsFollowTheSemicircle) {
  constexpr std::size_t kDim = 200;
  for (const WeightKind kind : {WeightKind::goe, WeightKind::wigner}) {
    const Entries m = draw_weights(kind, kDim, kDim, {.seed = 3, .matrix = "key"});
    for (std::size_t i = 0; i < kDim; ++i)
      for (std::size_t j = 0; j < i; ++j) ASSERT_EQ(m[i * kDim + j], m[j * kDim + i]);
    EXPECT_NEAR(trace_of_power(m, kDim, 2), 1, 0.03) << name(kind);
    EXPECT_NEAR(trace_of_power(m, kDim, 4), 2, 0.12) << name(kind);
    EXPECT_NEAR(edge(m, kDim, 1, 2), 2, 0.12) << name(kind);
    EXPECT_NEAR(edge(m, kDim, -1, 2), 2, 0.12) << name(kind);
  }
}

TEST(Weights, DiagonalOfGoeHasTwiceTheVariance) {
  constexpr std::size_t kDim = 40, kDraws = 200;
  double on = 0, off = 0;
  for (std::size_t k = 0; k < kDraws; ++k) {
    const Entries m = draw_weights(WeightKind::goe, kDim, kDim, {.matrix = "v", .period = k});
    for (std::size_t i = 0; i < kDim; ++i) {
      on += m[i * kDim + i] * m[i * kDim + i];
      off += m[i * kDim + (i + 1) % kDim] * m[i * kDim + (i + 1) % kDim];
    }
  }
  // 8000 squares each: standard errors 2 sqrt(2/8000) = 0.032 and 0.016.
  EXPECT_NEAR(on / kDraws, 2, 0.13);
  EXPECT_NEAR(off / kDraws, 1, 0.07);
}

TEST(Weights, WignerEntriesAreSigns) {
  constexpr std::size_t kDim = 64;
  const Entries m = draw_weights(WeightKind::wigner, kDim, kDim, {.matrix = "query"});
  for (const double x : m) ASSERT_EQ(std::abs(x), 0.125);
  EXPECT_LT(std::abs(std::accumulate(m.begin(), m.end(), 0.0)) * 8, 4 * std::sqrt(2.0) * kDim);
}

TEST(Weights, GaussianMoments) {
  constexpr std::size_t kRows = 100, kDim = 400;
  const Entries m = draw_weights(WeightKind::gaussian, kRows, kDim, {.seed = 1, .matrix = "query"});
  ASSERT_EQ(m.size(), kRows * kDim);
  double mean = 0, square = 0, fourth = 0;
  for (const double x : m) {
    const double z = x * std::sqrt(static_cast<double>(kDim));
    mean += z / 40000, square += z * z / 40000, fourth += z * z * z * z / 40000;
  }
  EXPECT_NEAR(mean, 0, 4 * 0.005);  // four standard errors each
  EXPECT_NEAR(square, 1, 4 * 0.00707);
  EXPECT_NEAR(fourth, 3, 4 * 0.049);
}

TEST(Weights, OrthogonalRowsAndHaarMoments) {
  for (const std::size_t dim : {1U, 2U, 7U, 60U})
    for (const std::size_t rows : {std::size_t{1}, (dim + 1) / 2, dim}) {
      const Entries m = draw_weights(WeightKind::orthogonal, rows, dim, {.matrix = "query"});
      const Entries gram = product(m, m, dim);
      for (std::size_t i = 0; i < rows; ++i)
        for (std::size_t j = 0; j < rows; ++j)
          ASSERT_NEAR(gram[i * rows + j], i == j ? 1 : 0, 1e-13);
    }
  // Haar: E tr = 0 and E tr^2 = 1. Without the sign of R the trace is biased.
  constexpr std::size_t kDim = 3, kDraws = 2000;
  double trace = 0, square = 0;
  for (std::size_t k = 0; k < kDraws; ++k) {
    const Entries m =
        draw_weights(WeightKind::orthogonal, kDim, kDim, {.matrix = "value", .head = k});
    const double t = m[0] + m[4] + m[8];
    trace += t / kDraws, square += t * t / kDraws;
  }
  EXPECT_NEAR(trace, 0, 4 / std::sqrt(2000.0));
  EXPECT_NEAR(square, 1, 4 * std::sqrt(2.0 / 2000));  // E tr^4 = 3 for dim >= 2
}

TEST(Weights, PsdIsSymmetricPositiveAndMarchenkoPastur) {
  constexpr std::size_t kDim = 150;
  const Entries m = draw_weights(WeightKind::psd, kDim, kDim, {.seed = 4, .matrix = "value"});
  for (std::size_t i = 0; i < kDim; ++i)
    for (std::size_t j = 0; j < i; ++j) ASSERT_EQ(m[i * kDim + j], m[j * kDim + i]);
  EXPECT_NEAR(trace_of_power(m, kDim, 1), 1, 0.05);
  EXPECT_NEAR(trace_of_power(m, kDim, 2), 2, 0.2);
  EXPECT_NEAR(edge(m, kDim, 1, 0), 4, 0.4);
  EXPECT_LT(edge(m, kDim, -1, 4), 1e-9);  // no negative eigenvalue
}

double correlation(const Entries& a, const Entries& b) {
  const double ab = std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  const double aa = std::inner_product(a.begin(), a.end(), a.begin(), 0.0);
  const double bb = std::inner_product(b.begin(), b.end(), b.begin(), 0.0);
  return ab / std::sqrt(aa * bb);
}

TEST(Weights, EveryPartOfTheKeyGivesAnIndependentDraw) {
  constexpr std::size_t kDim = 50;
  const std::vector<WeightKey> keys = {
      {.matrix = "query"},
      {.seed = 1, .matrix = "query"},
      {.matrix = "key"},
      {.matrix = "query", .period = 1},
      {.matrix = "query", .head = 1},
      {.matrix = "query", .period = 1, .head = 1},
      {.matrix = "query", .period = 11},
  };
  for (const WeightKey& a : keys)
    for (const WeightKey& b : keys) {
      const Entries first = draw_weights(WeightKind::gaussian, kDim, kDim, a);
      const Entries second = draw_weights(WeightKind::gaussian, kDim, kDim, b);
      if (&a == &b)
        EXPECT_EQ(first, second);
      else
        EXPECT_LT(std::abs(correlation(first, second)), 4.5 / kDim);
    }
}

TEST(Weights, NumberOfThreadsNeverShows) {
  const std::size_t before = threads();
  for (const WeightKind kind : every<WeightKind>()) {
    if (kind == WeightKind::qk || kind == WeightKind::minus_qk) continue;
    set_threads(1);
    const Entries one = draw_weights(kind, 70, 70, {.matrix = "query"});
    set_threads(3);
    EXPECT_EQ(draw_weights(kind, 70, 70, {.matrix = "query"}), one) << name(kind);
  }
  set_threads(before);
}

TEST(Weights, HeadsFollowTheirPlan) {
  constexpr std::size_t kDim = 6;
  const Head plain = draw_head({}, kDim, 1, 0, 0);
  EXPECT_TRUE(plain.query.empty() && plain.key.empty() && plain.value.empty());
  const HeadPlan low{.query = WeightKind::gaussian,
                     .key = WeightKind::gaussian,
                     .value = WeightKind::minus_qk,
                     .rank = 2};
  const Head head = draw_head(low, kDim, 1, 5, 3);
  EXPECT_EQ(head.query, draw_weights(WeightKind::gaussian, 2, kDim, {1, "query", 5, 3}));
  EXPECT_EQ(head.rank(kDim), 2U);
  for (std::size_t a = 0; a < kDim; ++a)
    for (std::size_t b = 0; b < kDim; ++b)
      EXPECT_NEAR(head.value[a * kDim + b],
                  -head.query[a] * head.key[b] - head.query[kDim + a] * head.key[kDim + b], 1e-15);
  const Head ascent = draw_head({.key = WeightKind::goe, .value = WeightKind::qk}, kDim, 1, 0, 0);
  EXPECT_EQ(ascent.value, ascent.key);
  const Head descent = draw_head({.value = WeightKind::minus_qk}, 2, 1, 0, 0);
  EXPECT_EQ(descent.value, (Entries{-1, 0, 0, -1}));
  EXPECT_TRUE(draw_head({.value = WeightKind::qk}, 2, 1, 0, 0).value.empty());
}

TEST(Weights, RefusesWhatHasNoMeaning) {
  const WeightKey key{.matrix = "query"};
  for (const WeightKind kind : {WeightKind::qk, WeightKind::minus_qk})
    EXPECT_THROW(draw_weights(kind, 3, 3, key), Error);
  for (const WeightKind kind :
       {WeightKind::identity, WeightKind::goe, WeightKind::wigner, WeightKind::psd})
    EXPECT_THROW(draw_weights(kind, 2, 3, key), Error) << name(kind);
  EXPECT_THROW(draw_weights(WeightKind::gaussian, 4, 3, key), Error);
  EXPECT_THROW(draw_weights(WeightKind::gaussian, 0, 3, key), Error);
  EXPECT_THROW(query_key_product(Entries(6), {}, 3, 1), Error);
  EXPECT_THROW(named<WeightKind>("weights", "gauss"), Error);
  for (const WeightKind kind : every<WeightKind>())
    EXPECT_EQ(named<WeightKind>("weights", name(kind)), kind);
}

TEST(GivenHeads, AreTakenApartHeadByHead) {
  const Array query{{2, 1, 2}, {1, 2, 3, 4}};
  const std::vector<Head> heads = heads_of({.query = query}, 2);
  ASSERT_EQ(heads.size(), 2U);
  EXPECT_EQ(heads[0].query, (std::vector<double>{1, 2}));
  EXPECT_EQ(heads[1].query, (std::vector<double>{3, 4}));
  EXPECT_TRUE(heads[1].key.empty() && heads[1].value.empty());
  const std::vector<Head> one = heads_of({.value = Array{{2, 2}, {1, 0, 0, 1}}}, 2);
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].value, (std::vector<double>{1, 0, 0, 1}));
  EXPECT_EQ(heads_of({}, 2).size(), 1U);
  EXPECT_SAYS(refusal([&] {
                heads_of({.query = query, .key = Array{{3, 1, 2}, {1, 2, 3, 4, 5, 6}}}, 2);
              }),
              "key: the weights have the shape (3, 1, 2)");
  EXPECT_SAYS(refusal([&] { heads_of({.value = Array{{3, 2}, {1, 2, 3, 4, 5, 6}}}, 2); }), "value");
}

}  // namespace
}  // namespace attractor
