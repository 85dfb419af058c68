#include "attractor/attention/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor {
namespace {

using Real = long double;
using Vector = std::vector<Real>;

std::vector<double> gaussian(const char* name, std::size_t rows, std::size_t dim) {
  return normals_of(name, 2, rows, dim);
}

std::vector<double> on_sphere(const char* name, std::size_t n, std::size_t dim) {
  std::vector<double> x = gaussian(name, n, dim);
  for (std::size_t i = 0; i < n; ++i) {
    Real squares = 0;
    for (std::size_t a = 0; a < dim; ++a)
      squares += static_cast<Real>(x[i * dim + a]) * x[i * dim + a];
    for (std::size_t a = 0; a < dim; ++a)
      x[i * dim + a] = static_cast<double>(x[i * dim + a] / std::sqrt(squares));
  }
  return x;
}

Vector mapped(const std::vector<double>& matrix, const double* x, std::size_t dim) {
  Vector y(x, x + dim);
  if (matrix.empty()) return y;
  for (std::size_t a = 0; a < dim; ++a) {
    y[a] = 0;
    for (std::size_t b = 0; b < dim; ++b) y[a] += static_cast<Real>(matrix[a * dim + b]) * x[b];
  }
  return y;
}

// One row of attention as the textbook writes it, with a token of mass m written m times.
struct NaiveRow {
  Vector softmax, unnormalised;  // the latter times e^{-peak}
  Real log_partition = 0, entropy = 0, peak = -HUGE_VALL, largest = 0;
};

NaiveRow naive(const Attention& att, const std::vector<double>& tokens,
               const std::vector<double>& masses, std::size_t i) {
  const std::size_t dim = att.dim, n = masses.size();
  const Vector q = mapped(att.query, &tokens[i * dim], dim);
  NaiveRow row;
  Vector logits;
  std::vector<std::size_t> source;
  for (std::size_t j = 0; j < n; ++j) {
    const Vector k = mapped(att.key, &tokens[j * dim], dim);
    const Real logit = att.beta * std::inner_product(q.begin(), q.end(), k.begin(), Real{0});
    for (int copy = 0; copy < static_cast<int>(masses[j]); ++copy) {
      logits.push_back(logit);
      source.push_back(j);
    }
    row.peak = std::max(row.peak, logit);
    row.largest = std::max(row.largest, std::abs(logit));
  }
  Real partition = 0;
  Vector sum(dim, 0);
  for (std::size_t s = 0; s < logits.size(); ++s) {
    const Real weight = std::exp(logits[s] - row.peak);
    partition += weight;
    const Vector v = mapped(att.value, &tokens[source[s] * dim], dim);
    for (std::size_t a = 0; a < dim; ++a) sum[a] += weight * v[a];
  }
  row.log_partition = row.peak + std::log(partition);
  for (const Real logit : logits) {
    const Real p = std::exp(logit - row.log_partition);
    if (p > 0) row.entropy -= p * std::log(p);
  }
  for (const Real s : sum) {
    row.softmax.push_back(s / partition);
    row.unnormalised.push_back(s / static_cast<Real>(logits.size()));
  }
  return row;
}

// What AttentionSums promises: A_i from the sums over j != i, the own token and the values.
Vector softmax_output(const Attention& att, const AttentionSums& sums,
                      const std::vector<double>& tokens, const std::vector<double>& masses,
                      std::size_t k, std::size_t i) {
  const auto z = sums.partition(k, masses[i]);
  const std::vector<double>& values = sums.values.empty() ? tokens : sums.values;
  Vector out(att.dim);
  for (std::size_t a = 0; a < att.dim; ++a)
    out[a] = values[i * att.dim + a] +
             std::exp(sums.peak[k] - z.top) * sums.pull[k * att.dim + a] / z.scaled;
  return out;
}

struct Case {
  Attention attention;
  std::vector<double> tokens, masses;
  std::vector<std::uint32_t> rows;  // empty: all
};

// Logits are sums of dim products, each rounded: an error of a few units of the largest.
double tolerance(const NaiveRow& row, double lift, double size) {
  return 2e-15 * (8 + lift + static_cast<double>(row.largest)) * std::max(1.0, size);
}

void expect_like_naive(const Case& c, double lift = 0) {
  const Attention& att = c.attention;
  AttentionSums sums;
  attend(att, c.tokens, c.masses, {.rows = c.rows, .moment = true, .lift = lift}, sums);
  const std::size_t count = c.rows.empty() ? c.masses.size() : c.rows.size();
  ASSERT_EQ(sums.weight.size(), count);
  ASSERT_EQ(sums.pull.size(), count * att.dim);
  ASSERT_EQ(sums.values.empty(), att.value.empty());
  for (std::size_t k = 0; k < count; ++k) {
    const std::size_t i = c.rows.empty() ? k : c.rows[k];
    const NaiveRow row = naive(att, c.tokens, c.masses, i);
    Real size = 0;
    for (const Real s : row.softmax) size = std::max(size, std::abs(s));
    const std::string where = "beta " + std::to_string(att.beta) + ", row " + std::to_string(i) +
                              " of " + std::to_string(c.masses.size()) + ", dim " +
                              std::to_string(att.dim);
    const Vector out = softmax_output(att, sums, c.tokens, c.masses, k, i);
    for (std::size_t a = 0; a < att.dim; ++a)
      ASSERT_NEAR(static_cast<double>(out[a]), static_cast<double>(row.softmax[a]),
                  tolerance(row, lift, static_cast<double>(size)))
          << where;
    const double log_z = sums.log_partition(k, c.masses[i]);
    ASSERT_NEAR(log_z, static_cast<double>(row.log_partition), tolerance(row, lift, 1)) << where;
    ASSERT_NEAR(sums.entropy(k, c.masses[i]), static_cast<double>(row.entropy),
                8 * tolerance(row, lift, 1))
        << where;
    // Unnormalised: Z v_i + e^{offset + peak} pull, over the total mass, all times e^{-peak}.
    const std::vector<double>& values = sums.values.empty() ? c.tokens : sums.values;
    const double total = std::accumulate(c.masses.begin(), c.masses.end(), 0.0);
    const Real scale = std::exp(sums.offset + sums.peak[k] - row.peak);
    for (std::size_t a = 0; a < att.dim; ++a) {
      const Real own = std::exp(log_z - row.peak) * values[i * att.dim + a];
      const Real pull = sums.pull[k * att.dim + a] == 0 ? 0 : scale * sums.pull[k * att.dim + a];
      ASSERT_NEAR(static_cast<double>((own + pull) / total),
                  static_cast<double>(row.unnormalised[a]),
                  tolerance(row, lift, static_cast<double>(size)))
          << where;
    }
  }
}

constexpr double kBetas[] = {0, 1e-3, 1, 9, 100, 1e4};

std::vector<double> whole_masses(std::size_t n) {
  std::vector<double> masses(n);
  for (std::size_t i = 0; i < n; ++i)
    masses[i] = 1 + static_cast<double>(Stream(3, "masses").below(4, i, 0));
  return masses;
}

TEST(Attention, WithoutMatricesIsTheTextbookSoftmaxOnTheSphere) {
  for (const double beta : kBetas)
    for (const std::size_t dim : {2, 3, 5, 16})
      for (const std::size_t n : {2, 3, 19, 40})
        expect_like_naive({{.beta = beta, .dim = dim},
                           on_sphere("sphere", n, dim),
                           std::vector<double>(n, 1.0),
                           {}});
}

TEST(Attention, WithMatricesIsTheTextbookSoftmax) {
  for (const double beta : kBetas)
    for (const std::size_t dim : {2, 3, 5, 16})
      for (const int which : {1, 2, 4, 3, 7}) {  // bits: Q, K, V given
        const std::size_t n = 23;
        Attention att{.beta = beta, .dim = dim};
        if (which & 1) att.query = gaussian("query", dim, dim);
        if (which & 2) att.key = gaussian("key", dim, dim);
        if (which & 4) att.value = gaussian("value", dim, dim);
        expect_like_naive({att, on_sphere("tokens", n, dim), std::vector<double>(n, 1.0), {}});
      }
}

TEST(Attention, OffTheSphereTheLengthsOfTokensCount) {
  for (const double beta : kBetas)
    for (const std::size_t dim : {2, 7}) {
      Attention att{.beta = beta, .dim = dim, .on_sphere = false};
      const std::vector<double> tokens = gaussian("space", 21, dim);
      expect_like_naive({att, tokens, std::vector<double>(21, 1.0), {}});
      att.query = gaussian("query", dim, dim);
      att.value = gaussian("value", dim, dim);
      expect_like_naive({att, tokens, std::vector<double>(21, 1.0), {}});
    }
}

TEST(Attention, AMassStandsForSoManyTokens) {
  for (const double beta : kBetas)
    for (const bool sphere : {true, false})
      for (const bool matrices : {true, false}) {
        Attention att{.beta = beta, .dim = 3, .on_sphere = sphere};
        if (matrices) att.key = gaussian("key", 3, 3);
        expect_like_naive({att, on_sphere("heavy", 17, 3), whole_masses(17), {}});
      }
}

TEST(Attention, RowsMayBeASubsetInAnyOrderAndRepeated) {
  const std::vector<std::uint32_t> rows{16, 3, 3, 0, 9, 16, 1};
  for (const bool matrices : {true, false}) {
    Attention att{.beta = 4, .dim = 5};
    if (matrices) att.query = gaussian("query", 5, 5);
    const Case some{att, on_sphere("rows", 17, 5), whole_masses(17), rows};
    expect_like_naive(some);
    AttentionSums all, part;
    attend(att, some.tokens, some.masses, {.moment = true}, all);
    attend(att, some.tokens, some.masses, {.rows = rows, .moment = true}, part);
    for (std::size_t k = 0; k < rows.size(); ++k) {  // the same bits as among all rows
      EXPECT_EQ(part.weight[k], all.weight[rows[k]]);
      EXPECT_EQ(part.moment[k], all.moment[rows[k]]);
      EXPECT_EQ(part.peak[k], all.peak[rows[k]]);
      EXPECT_EQ(part.own[k], all.own[rows[k]]);
      for (std::size_t a = 0; a < 5; ++a)
        EXPECT_EQ(part.pull[k * 5 + a], all.pull[rows[k] * 5 + a]);
    }
  }
}

TEST(Attention, WhatIsNotAskedForIsNotComputedAndChangesNothing) {
  const std::vector<double> tokens = on_sphere("asked", 9, 3), masses(9, 1.0);
  for (const bool matrices : {true, false}) {
    Attention att{.beta = 2, .dim = 3};
    if (matrices) att.value = att.query = gaussian("query", 3, 3);
    AttentionSums full, lean;
    attend(att, tokens, masses, {.moment = true}, full);
    attend(att, tokens, masses, {.moment = true}, lean);  // leftovers of an earlier call
    attend(att, tokens, masses, {.pull = false}, lean);
    EXPECT_TRUE(lean.pull.empty());
    EXPECT_TRUE(lean.moment.empty());
    EXPECT_EQ(lean.weight, full.weight);
    EXPECT_EQ(lean.peak, full.peak);
    EXPECT_EQ(lean.own, full.own);
  }
}

TEST(Attention, ALiftChangesNothingButTheRangeOfTheWeights) {
  for (const double beta : {0.5, 9.0, 100.0})
    for (const double lift : {1.0, 30.0, 300.0, 600.0})
      expect_like_naive({{.beta = beta, .dim = 3}, on_sphere("lift", 19, 3), whole_masses(19), {}},
                        lift);
}

TEST(Attention, ALiftBringsBackWeightsNoDoubleHolds) {
  // Two orthogonal tokens: w = e^{-beta}, and the pull is w (x_2 - x_1) exactly.
  const std::vector<double> tokens{1, 0, 0, 1}, masses{1, 3};
  for (const double beta : {2000.0, 1e6}) {
    AttentionSums sums;
    attend({.beta = beta, .dim = 2}, tokens, masses, {}, sums);
    EXPECT_EQ(sums.weight[0], 0);
    attend({.beta = beta, .dim = 2}, tokens, masses, {.lift = beta - 5}, sums);
    EXPECT_NEAR(sums.weight[0] / (3 * std::exp(-5)), 1, 1e-14);
    EXPECT_NEAR(sums.pull[0] / (-3 * std::exp(-5)), 1, 1e-14);
    EXPECT_NEAR(sums.pull[1] / (3 * std::exp(-5)), 1, 1e-14);
    EXPECT_NEAR(sums.pull[2] / std::exp(-5), 1, 1e-14);
    EXPECT_EQ(sums.peak[0], 5 - beta);
    EXPECT_EQ(sums.log_partition(0, 1), beta);
  }
}

TEST(Attention, InsideAClusterThePullKeepsItsRelativeAccuracy) {
  constexpr std::size_t kDim = 4, kCount = 12;
  for (const double size : {1e-4, 1e-8, 1e-13}) {
    std::vector<double> tokens = gaussian("cluster", kCount, kDim);
    for (std::size_t i = 0; i < kCount; ++i) {
      tokens[i * kDim] = 1;
      for (std::size_t a = 1; a < kDim; ++a) tokens[i * kDim + a] *= size;
    }
    const std::vector<double> masses(kCount, 1.0);
    AttentionSums sums;
    attend({.beta = 7, .dim = kDim}, tokens, masses, {}, sums);
    for (std::size_t i = 0; i < kCount; ++i)
      for (std::size_t a = 1; a < kDim; ++a) {
        Real pull = 0, scale = 0;
        for (std::size_t j = 0; j < kCount; ++j) {
          Real squared = 0;
          for (std::size_t b = 0; b < kDim; ++b)
            squared += std::pow(static_cast<Real>(tokens[j * kDim + b]) - tokens[i * kDim + b], 2);
          const Real step = std::exp(-3.5L * squared) *
                            (static_cast<Real>(tokens[j * kDim + a]) - tokens[i * kDim + a]);
          pull += step;
          scale += std::abs(step);
        }
        EXPECT_NEAR(sums.pull[i * kDim + a] / static_cast<double>(scale),
                    static_cast<double>(pull / scale), 1e-15 * kCount);
      }
  }
}

TEST(Attention, WithoutTemperatureEveryTokenCountsTheSame) {
  const std::vector<double> masses = whole_masses(14);
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  for (const bool matrices : {true, false}) {
    Attention att{.beta = 0, .dim = 3};
    if (matrices) att.query = gaussian("query", 3, 3);
    AttentionSums sums;
    attend(att, on_sphere("even", 14, 3), masses, {.moment = true}, sums);
    for (std::size_t i = 0; i < 14; ++i) {
      EXPECT_NEAR(sums.entropy(i, masses[i]), std::log(total), 1e-14);
      EXPECT_NEAR(sums.log_partition(i, masses[i]), std::log(total), 1e-14);
    }
  }
}

TEST(Attention, OneTokenAttendsToItself) {
  for (const bool sphere : {true, false})
    for (const bool matrices : {true, false})
      for (const double beta : kBetas) {
        Attention att{.beta = beta, .dim = 2, .on_sphere = sphere};
        if (matrices) {
          att.query = {1, 2, 0, 1};
          att.key = {0, 1, 1, 0};
          att.value = {3, 0, 0, -1};
        }
        const Case lone{att, {0.6, 0.8}, {5}, {}};
        expect_like_naive(lone);
        AttentionSums sums;
        attend(att, lone.tokens, lone.masses, {.moment = true}, sums);
        EXPECT_NEAR(sums.entropy(0, 5), std::log(5.0), 1e-15 * (10 + 5 * beta));
        EXPECT_EQ(sums.weight[0], 0);
        EXPECT_EQ(sums.pull, (std::vector<double>{0, 0}));
      }
}

TEST(Attention, TwoTokensMatchTheClosedForm) {
  const double delta = 0.8, beta = 3;
  const std::vector<double> tokens{1, 0, std::cos(delta), std::sin(delta)}, masses{1, 2};
  AttentionSums sums;
  attend({.beta = beta, .dim = 2}, tokens, masses, {.moment = true}, sums);
  const double w = std::exp(beta * (std::cos(delta) - 1)), p = 2 * w / (1 + 2 * w);
  const auto z = sums.partition(0, 1);
  EXPECT_NEAR(std::exp(sums.peak[0] - z.top) * sums.pull[1] / z.scaled, p * std::sin(delta), 1e-15);
  EXPECT_NEAR(sums.log_partition(0, 1), beta + std::log(1 + 2 * w), 1e-14);
  EXPECT_NEAR(sums.entropy(0, 1), -p * std::log(p / 2) - (1 - p) * std::log(1 - p), 1e-14);
}

TEST(Attention, TheLogitBoundIsTheLargestSingularValue) {
  EXPECT_EQ((Attention{.beta = 7, .dim = 5}.logit_bound()), 7);
  const Attention diagonal{.beta = 2, .dim = 2, .query = {3, 0, 0, 1}, .key = {-5, 0, 0, 7}};
  EXPECT_NEAR(diagonal.logit_bound(), 30, 1e-13);
  const double c = std::cos(0.4), s = std::sin(0.4);
  const Attention turned{.beta = 3, .dim = 2, .query = {c, -s, s, c}};
  EXPECT_NEAR(turned.logit_bound(), 3, 1e-14);
  EXPECT_NEAR((Attention{.beta = 3, .dim = 2, .key = {0, 4, 0, 0}}.logit_bound()), 12, 1e-13);
  EXPECT_EQ((Attention{.beta = 3, .dim = 2, .key = {0, 0, 0, 0}}.logit_bound()), 0);
}

TEST(Attention, NoLogitExceedsTheBoundAndOneReachesIt) {
  constexpr std::size_t kDim = 6;
  const Attention att{.beta = 1.5,
                      .dim = kDim,
                      .query = gaussian("query", kDim, kDim),
                      .key = gaussian("key", kDim, kDim)};
  const double bound = att.logit_bound();
  // Power iteration on the pair (x, y) climbs to the largest <Qx, Ky>.
  Vector x(kDim, 1), y(kDim, 0);
  Real reached = 0;
  const auto image = [&](const std::vector<double>& left, const std::vector<double>& right,
                         const Vector& v) {  // left^T right v, normalised
    Vector out(kDim, 0);
    for (std::size_t r = 0; r < kDim; ++r) {
      Real inner = 0;
      for (std::size_t b = 0; b < kDim; ++b) inner += right[r * kDim + b] * v[b];
      for (std::size_t a = 0; a < kDim; ++a) out[a] += left[r * kDim + a] * inner;
    }
    reached = std::sqrt(std::inner_product(out.begin(), out.end(), out.begin(), Real{0}));
    for (Real& o : out) o /= reached;
    return out;
  };
  for (int round = 0; round < 3000; ++round) {
    y = image(att.key, att.query, x);
    x = image(att.query, att.key, y);
  }
  EXPECT_NEAR(bound, 1.5 * static_cast<double>(reached), 1e-12 * bound);
  const std::vector<double> tokens = on_sphere("bound", 200, kDim);
  for (std::size_t i = 0; i < 200; ++i)
    EXPECT_LE(static_cast<double>(naive(att, tokens, std::vector<double>(200, 1.0), i).peak),
              bound);
}

// Relative to the sum of weights, in which every term of a pull is at most 2 (3 with a matrix V).
TEST(Attention, InSinglePrecisionTheErrorStaysWithinItsBound) {
  constexpr std::size_t kCount = 150;
  for (const std::size_t dim : {2, 3, 16, 40})
    for (const bool general : {false, true}) {
      Attention att{.beta = 9, .dim = dim};
      if (general) {
        for (auto* matrix : {&att.query, &att.key, &att.value}) {
          *matrix = gaussian("matrix", dim, dim);
          for (double& c : *matrix) c *= 0.5 / std::sqrt(static_cast<double>(dim));
        }
      }
      const auto x = on_sphere("single", kCount, dim);
      const std::vector<double> masses(kCount, 1.0);
      AttentionSums exact, single;
      attend(att, x, masses, {}, exact);
      attend(att, x, masses, {.precision = Precision::f32}, single);
      EXPECT_NE(exact.pull, single.pull) << dim;
      const double bound = kernels::single_error(std::max(2 * att.beta, att.logit_bound()), dim);
      for (std::size_t i = 0; i < kCount; ++i) {
        const double unit = std::exp(single.peak[i] - exact.peak[i]), size = exact.weight[i];
        ASSERT_NEAR(unit * single.weight[i], size, bound * size) << dim;
        for (std::size_t a = 0; a < dim; ++a)
          ASSERT_NEAR(unit * single.pull[i * dim + a], exact.pull[i * dim + a], 3 * bound * size)
              << dim;
      }
    }
}

TEST(Attention, RowsByDistanceAndLiftedOnesAreAlwaysInDouble) {
  const auto x = on_sphere("single", 150, 3);
  const std::vector<double> masses(150, 1.0);
  const std::vector<std::uint32_t> rows = {3, 140};
  const Attention att{.beta = 2, .dim = 3};
  AttentionSums exact, single;
  attend(att, x, masses, {.rows = rows}, exact);
  attend(att, x, masses, {.rows = rows, .precision = Precision::f32}, single);
  EXPECT_EQ(exact.pull, single.pull);
  attend(att, x, masses, {.lift = 3}, exact);
  attend(att, x, masses, {.lift = 3, .precision = Precision::f32}, single);
  EXPECT_EQ(exact.pull, single.pull);
}

TEST(Attention, RulesHaveNames) {
  EXPECT_EQ(named<Rule>("dynamics", "sa"), Rule::softmax);
  EXPECT_EQ(named<Rule>("dynamics", "usa"), Rule::unnormalised);
  for (const Rule rule : every<Rule>()) EXPECT_EQ(named<Rule>("dynamics", name(rule)), rule);
  for (const char* bad : {"", "SA", "softmax", "sa "}) {
    try {
      named<Rule>("dynamics", bad);
      ADD_FAILURE() << bad;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()),
                "dynamics '" + std::string(bad) +
                    "' is unknown; allowed: sa, usa, hardmax, sinkhorn, linear, relu, radial");
    }
  }
}

}  // namespace
}  // namespace attractor
