// Queries and keys that are normed, weighted and turned by their positions, against sums written
// out and against matrices that do the same.
#include "attractor/attention/query_key.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "tests/support/layer_data.hpp"
#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

constexpr std::size_t kPlaces = 6, kNumbers = 4;

std::vector<double> of_length_one(std::vector<double> x) {
  for (std::size_t i = 0; i < x.size(); i += kNumbers) {
    double square = 0;
    for (std::size_t a = 0; a < kNumbers; ++a) square += x[i + a] * x[i + a];
    for (std::size_t a = 0; a < kNumbers; ++a) x[i + a] /= std::sqrt(square);
  }
  return x;
}

double farthest_numbers(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = a.size() == b.size() ? 0 : 1e300;
  for (std::size_t k = 0; k < std::min(a.size(), b.size()); ++k)
    largest = std::max(largest, std::abs(a[k] - b[k]));
  return largest;
}

TEST(QueryKey, RotaryLogitsAreThoseOfTheDistance) {
  const std::vector<double> x = normals("rotary", kPlaces, kNumbers);
  for (const RotaryLayout layout : {RotaryLayout::pairs, RotaryLayout::halves}) {
    AttentionLayer layer{.beta = 0.7, .dim = kNumbers};
    layer.query_key.rotary = {.layout = layout, .theta = 50, .fastest = 0.9};
    LayerOutput out;
    attend(layer, x, {.matrix = true}, out);
    for (std::size_t i = 0; i < kPlaces; ++i) {
      std::vector<double> weights;
      double total = 0;
      for (std::size_t j = 0; j < kPlaces; ++j) {
        double logit = 0;  // <x_i, R(j - i) x_j>, plane by plane
        for (std::size_t k = 0; k < 2; ++k) {
          const std::size_t a = layout == RotaryLayout::pairs ? 2 * k : k;
          const std::size_t b = layout == RotaryLayout::pairs ? 2 * k + 1 : k + 2;
          const double angle = (static_cast<double>(j) - static_cast<double>(i)) * 0.9 *
                               (k == 0 ? 1 : std::pow(50, -0.5));
          const double *p = &x[i * kNumbers], *r = &x[j * kNumbers];
          logit += std::cos(angle) * (p[a] * r[a] + p[b] * r[b]) +
                   std::sin(angle) * (p[b] * r[a] - p[a] * r[b]);
        }
        weights.push_back(std::exp(0.7 * logit));
        total += weights.back();
      }
      for (std::size_t j = 0; j < kPlaces; ++j)
        EXPECT_NEAR(out.matrix[i * kPlaces + j], weights[j] / total, 1e-14);
    }
  }
}

// R(i)'R(j) = R(j - i): a window that is moved along sees the same.
TEST(QueryKey, ShiftedContextsAreAlike) {
  std::vector<double> x = normals("shift", kPlaces, kNumbers);
  AttentionLayer layer{.beta = 2, .dim = kNumbers};
  layer.mask.causal = true;
  layer.mask.window = 2;
  layer.query_key.rotary = {.layout = RotaryLayout::halves};
  const LayerOutput before = attended(layer, x);
  const std::vector<double> later = normals("shift later", 3, kNumbers);
  x.insert(x.begin(), later.begin(), later.end());
  const LayerOutput after = attended(layer, x);
  for (std::size_t i = 2; i < kPlaces; ++i)
    for (std::size_t a = 0; a < kNumbers; ++a)
      EXPECT_NEAR(after.out[(i + 3) * kNumbers + a], before.out[i * kNumbers + a], 1e-13);
}

TEST(QueryKey, NormsOfRandomQueriesAndKeys) {
  const std::vector<double> x = normals("normed", kPlaces, kNumbers);
  AttentionLayer layer{.beta = 3, .dim = kNumbers};
  layer.heads[0].query = normals("normed query", kNumbers, kNumbers);
  layer.heads[0].key = normals("normed key", kNumbers, kNumbers);
  layer.query_key.norm = QueryKeyNorm::l2;
  LayerOutput out;
  attend(layer, x, {.matrix = true}, out);
  const auto times = [&](const std::vector<double>& m) {
    std::vector<double> y(x.size(), 0.0);
    for (std::size_t i = 0; i < kPlaces; ++i)
      for (std::size_t a = 0; a < kNumbers; ++a)
        for (std::size_t b = 0; b < kNumbers; ++b)
          y[i * kNumbers + a] += m[a * kNumbers + b] * x[i * kNumbers + b];
    return of_length_one(y);
  };
  const std::vector<double> q = times(layer.heads[0].query), k = times(layer.heads[0].key);
  for (std::size_t i = 0; i < kPlaces; ++i) {
    std::vector<double> weights;
    double total = 0;
    for (std::size_t j = 0; j < kPlaces; ++j) {
      double logit = 0;
      for (std::size_t a = 0; a < kNumbers; ++a)
        logit += 3 * q[i * kNumbers + a] * k[j * kNumbers + a];
      weights.push_back(std::exp(logit));
      total += weights.back();
    }
    for (std::size_t j = 0; j < kPlaces; ++j)
      EXPECT_NEAR(out.matrix[i * kPlaces + j], weights[j] / total, 1e-14);
  }
  // Divided by sqrt(d) as in a transformer, rms is l2 with beta sqrt(d).
  const LayerOutput l2 = attended(layer, x);
  layer.query_key.norm = QueryKeyNorm::rms;
  layer.beta = 3 / std::sqrt(static_cast<double>(kNumbers));
  EXPECT_LT(farthest_numbers(attended(layer, x).out, l2.out), 1e-14);
}

TEST(QueryKey, GainsAreDiagonalMatrices) {
  const std::vector<double> x = of_length_one(normals("gains", kPlaces, kNumbers));
  AttentionLayer gained{.beta = 2, .dim = kNumbers}, diagonal = gained;
  gained.query_key = {
      .norm = QueryKeyNorm::l2, .query_gain = {1, 0.5, -2, 3}, .key_gain = {0.2, 1, 1, -1}};
  diagonal.heads[0].query.assign(kNumbers * kNumbers, 0.0);
  diagonal.heads[0].key.assign(kNumbers * kNumbers, 0.0);
  for (std::size_t a = 0; a < kNumbers; ++a) {
    diagonal.heads[0].query[a * (kNumbers + 1)] = gained.query_key.query_gain[a];
    diagonal.heads[0].key[a * (kNumbers + 1)] = gained.query_key.key_gain[a];
  }
  EXPECT_LT(farthest_numbers(attended(gained, x).out, attended(diagonal, x).out), 1e-14);
}

TEST(QueryKey, AVectorOfZerosStaysZero) {
  std::vector<double> x = normals("zero", 2, kNumbers);
  std::fill_n(x.begin(), kNumbers, 0.0);
  AttentionLayer layer{.beta = 5, .dim = kNumbers};
  layer.query_key.norm = QueryKeyNorm::rms;
  LayerOutput out;
  attend(layer, x, {.matrix = true}, out);
  EXPECT_EQ(out.matrix[0], 0.5);  // its logits are all 0
}

// Numbers by hand: 0.9 / 4; base 100 -> 100 * 4^{4/2} for d = 4, once for ntk; (f n/n_0 - (f - 1))
// = 4 * 2 - 3 for dynamic.
TEST(QueryKey, StretchedFrequencies) {
  Rotary rotary{.layout = RotaryLayout::pairs, .theta = 100, .fastest = 0.9};
  rotary.scaling = {.kind = RotaryStretch::linear, .factor = 4, .original_positions = 8};
  const auto slow = [&] { return rotary_waves(rotary, 4, 16).frequencies.at(1); };
  EXPECT_NEAR(slow(), 0.9 / 4 / 10, 1e-16);
  rotary.scaling.kind = RotaryStretch::ntk;
  EXPECT_NEAR(slow(), 0.9 / 40, 1e-16);
  EXPECT_EQ(rotary_waves(rotary, 4, 16).frequencies.at(0), 0.9);
  rotary.scaling.kind = RotaryStretch::dynamic;
  EXPECT_NEAR(slow(), 0.9 / 50, 1e-16);
  rotary.scaling.kind = RotaryStretch::yarn;
  EXPECT_NEAR(rotary_waves(rotary, 4, 16).scale, 1 + 0.1 * std::log(4), 1e-15);
}

TEST(QueryKey, RefusesWhatHasNoMeaning) {
  QueryKey odd;
  odd.rotary.layout = RotaryLayout::pairs;
  EXPECT_SAYS(refusal([&] { validate(odd, 3); }), "dimension 3");
  odd.rotary.theta = 1;
  EXPECT_SAYS(refusal([&] { validate(odd, 4); }), "rope-base = 1");
  odd.rotary = {.layout = RotaryLayout::halves,
                .scaling = {.kind = RotaryStretch::yarn, .factor = 4}};
  EXPECT_SAYS(refusal([&] { validate(odd, 4); }), "rope-trained = 0");
  const QueryKey short_gain{.query_gain = {1, 2}};
  EXPECT_SAYS(refusal([&] { validate(short_gain, 4); }), "2 numbers");
}

}  // namespace
}  // namespace attractor
