// Slacks, sums and bounds against rational numbers, and bounds in every norm near infeasibility.
#include "attractor/solve/margin_proof.hpp"

#include <gtest/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <limits>
#include <numbers>

#include "attractor/base/random.hpp"
#include "attractor/solve/hard_margin.hpp"
#include "attractor/solve/norms/lp_margin.hpp"
#include "attractor/solve/nuclear/nuclear_margin.hpp"
#include "tests/support/margin_data.hpp"
#include "tests/support/rational.hpp"

namespace attractor::solve {
namespace {

using boost::multiprecision::cpp_rational;

using Rationals = std::vector<cpp_rational>;

std::vector<double> proof_normals(std::uint64_t seed, std::size_t count, std::size_t dim) {
  return normals_of("test.margin_proof", seed, count, dim);
}

// g_j of keys M^T x, without roundings; M empty: x itself.
Rationals exact_row(std::span<const double> x, std::span<const double> map,
                    const TokenDifferences& rows, std::size_t j) {
  const auto [chosen, other] = rows.places(j);
  const std::size_t d = rows.dim();
  Rationals difference, row(d, 0);
  for (std::size_t a = 0; a < d; ++a)
    difference.push_back(cpp_rational(x[chosen + a]) - cpp_rational(x[other + a]));
  if (map.empty()) return difference;
  for (std::size_t c = 0; c < d; ++c)
    for (std::size_t b = 0; b < d; ++b) row[b] += difference[c] * cpp_rational(map[c * d + b]);
  return row;
}

cpp_rational product(const Rationals& g, std::span<const long double> q) {
  cpp_rational sum = 0;
  for (std::size_t a = 0; a < g.size(); ++a) sum += g[a] * rational(q[a]);
  return sum;
}

struct Keys {
  std::vector<double> x, map{}, keys{};
  std::size_t tokens = 5, dim = 4;
};

// Keys with more digits than their differences can hold.
Keys draw_keys(std::uint64_t seed, bool is_mapped) {
  Keys k{.x = proof_normals(seed, 15, 4)};
  for (std::size_t i = 0; i < k.x.size(); ++i) k.x[i] *= std::exp2(static_cast<double>(i % 7) - 3);
  k.keys = k.x;
  if (!is_mapped) return k;
  k.map = proof_normals(seed + 100, 4, 4);
  for (std::size_t i = 0; i < k.x.size(); ++i) {
    k.keys[i] = 0;
    for (std::size_t c = 0; c < 4; ++c) k.keys[i] += k.x[i / 4 * 4 + c] * k.map[c * 4 + i % 4];
  }
  return k;
}

template <class Check>
void with_rows(const Keys& k, const Check& check) {
  const TokenChoice choice{.chosen = {0, 3, 2}};
  if (k.map.empty())
    check(TokenDifferences(k.x, k.tokens, k.dim, choice));
  else
    check(MappedDifferences(k.x, k.map, k.keys, k.tokens, k.dim, choice));
}

TEST(MarginProof, RowAndTailAreTheData) {
  for (const bool is_mapped : {false, true})
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const Keys k = draw_keys(seed, is_mapped);
      with_rows(k, [&](const TokenDifferences& rows) {
        std::vector<double> row(4), tail(4);
        for (std::size_t j = 0; j < rows.size(); ++j) {
          rows.row(j, row);
          const double missing = rows.tail(j, tail);
          const Rationals exact = exact_row(k.x, k.map, rows, j);
          cpp_rational square = 0, coarse = 0;
          for (std::size_t a = 0; a < 4; ++a) {
            const cpp_rational rest = exact[a] - cpp_rational(row[a]),
                               left = rest - cpp_rational(tail[a]);
            square += left * left;
            coarse += rest * rest;
          }
          EXPECT_LE(square, cpp_rational(missing) * cpp_rational(missing));
          double size = 0;
          for (const double g : row) size = std::hypot(size, g);
          EXPECT_LE(std::sqrt(static_cast<double>(coarse)), rows.row_error(j) + 2.3e-16 * size);
          EXPECT_LE(missing, 1e-30 * (1 + size));
        }
      });
    }
}

TEST(MarginProof, RowsOfQueriesTooHaveTails) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const std::vector<double> x = proof_normals(seed, 6, 3), z = proof_normals(seed + 50, 2, 2);
    const TokenDifferences tokens(x, 3, 3, {.chosen = {1, 2}});
    const QueryDifferences rows(x, 3, 3, z, 2, {.chosen = {1, 2}});
    std::vector<double> row(6), tail(6);
    for (std::size_t j = 0; j < rows.size(); ++j) {
      rows.row(j, row);
      const double missing = rows.tail(j, tail);
      const Rationals left = exact_row(x, {}, tokens, j);
      cpp_rational square = 0;
      for (std::size_t k = 0; k < 6; ++k) {
        const cpp_rational entry = left[k / 2] * cpp_rational(z[rows.group(j) * 2 + k % 2]);
        const cpp_rational off = entry - cpp_rational(row[k]) - cpp_rational(tail[k]);
        square += off * off;
      }
      EXPECT_LE(square, cpp_rational(missing) * cpp_rational(missing));
      EXPECT_LE(missing, 1e-29);
    }
  }
  // Products without rounding leave nothing, and say so.
  const std::vector<double> whole{1, 2, 3, 4, 5, 7}, query{3, -2};
  const QueryDifferences rows(whole, 3, 2, query, 2, {.chosen = {1}});
  std::vector<double> tail(4);
  EXPECT_EQ(rows.tail(0, tail), 0);
  EXPECT_EQ(tail, std::vector<double>(4, 0.0));
}

// Points so long that every product cancels: |q| up to 1e14, slack of order 1.
TEST(MarginProof, SlacksAreBelowTheTruthAndClose) {
  for (const bool is_mapped : {false, true})
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const Keys k = draw_keys(seed, is_mapped);
      with_rows(k, [&](const TokenDifferences& rows) {
        const MarginProof proof(rows);
        for (std::size_t j = 0; j < rows.size(); ++j) {
          const Rationals g = exact_row(k.x, k.map, rows, j);
          std::vector<long double> q;
          const std::vector<double> draws = proof_normals(seed + 1000 * j, 1, 4);
          for (const double value : draws)
            q.push_back(std::pow(10.0L, static_cast<long double>(seed % 15)) * value / 3);
          q[3] = (1 - static_cast<double>(product(g, {q.data(), 3}))) / static_cast<double>(g[3]);
          const cpp_rational exact = product(g, q) - 1;
          const long double found = proof.slack(j, q);
          EXPECT_LE(rational(found), exact);
          EXPECT_LE(
              static_cast<double>(cpp_rational(exact - rational(found))),
              1e-18 * std::abs(static_cast<double>(exact)) + 1e-29 * std::pow(10.0, seed % 15));
        }
      });
    }
}

TEST(MarginProof, LowerBoundsAreBelowTheTruth) {
  for (const bool is_mapped : {false, true})
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      const Keys k = draw_keys(seed, is_mapped);
      with_rows(k, [&](const TokenDifferences& rows) {
        std::vector<Multiplier> lambda;
        Rationals sum(4, 0);
        cpp_rational total = 0;
        for (std::size_t j = 0; j < rows.size(); ++j) {
          lambda.push_back({j, std::abs(proof_normals(seed + j, 1, 1)[0])});
          const Rationals g = exact_row(k.x, k.map, rows, j);
          for (std::size_t a = 0; a < 4; ++a) sum[a] += cpp_rational(lambda[j].value) * g[a];
          total += cpp_rational(lambda[j].value);
        }
        const Combination found = MarginProof(rows).combine(lambda);
        const cpp_rational bound(found.lower_bound(length_above(found.rows)));
        cpp_rational square = 0;
        for (const cpp_rational& x : sum) square += x * x;
        EXPECT_LE(bound * bound * square, total * total);
        EXPECT_GE(static_cast<double>(cpp_rational(bound * bound * square / (total * total))),
                  1 - 1e-15);
      });
    }
}

// 0.1 and 0.3 are rounded, and their difference again; the multipliers cancel them all the same.
TEST(MarginProof, RowsThatCancelExactlyProveInfeasibility) {
  const std::vector<double> keys{0.1, 0.3, 0.7, 0.7};
  const TokenDifferences same(keys, 2, 1, {.chosen = {0, 0}});
  const Dense opposite{{0.1, 0.2, -0.1, -0.2}, {1, 1}, 2};
  const HardMargin found = hard_margin(opposite.constraints());
  EXPECT_EQ(found.status, MarginStatus::infeasible);
  EXPECT_EQ(found.lower, std::numeric_limits<double>::infinity());
  EXPECT_EQ(hard_margin(same).lower, std::numeric_limits<double>::infinity());  // 0 >= 1
}

// Three thirds are not one in doubles: what is proved is a norm, and a true statement. Rows a, b
// and c = -(a + b) / 3 rounded: p of norm 1e16 may still be feasible.
TEST(MarginProof, RowsThatAlmostCancelProveANormOnly) {
  const double a = 1.0 / 3, b = 1.0 / 7;
  const Dense rows{{a, b, b, -a, -(a + b) / 3, (a - b) / 3 * (1 + 3e-16)}, {1, 1, 1}, 2};
  const HardMargin found = hard_margin(rows.constraints());
  ASSERT_EQ(found.status, MarginStatus::infeasible);
  EXPECT_GT(found.lower, 1e14);
  Rationals sum(2, 0);
  cpp_rational total = 0;
  for (const auto& [j, value] : found.farkas) {
    total += cpp_rational(value);
    for (std::size_t k = 0; k < 2; ++k)
      sum[k] += cpp_rational(value) * cpp_rational(rows.rows[j * 2 + k]);
  }
  const cpp_rational square = sum[0] * sum[0] + sum[1] * sum[1];
  if (std::isfinite(found.lower))
    EXPECT_LE(cpp_rational(found.lower) * cpp_rational(found.lower) * square, total * total);
  else
    EXPECT_EQ(square, 0);
}

// Rows (a_i u_i, e) with 0 inside the hull of the u_i: whatever the rest, the last entry of w must
// be 1 / e, so the least norm is 1 / e in every norm.
struct Wedge {
  std::vector<double> rows{};
  std::size_t dim;
};

Wedge wedge(std::uint64_t seed, std::size_t dim, double height) {
  Wedge w{.dim = dim};
  const std::vector<double> sizes = proof_normals(seed, 1, 2 * dim);
  for (std::size_t a = 0; a + 1 < dim; ++a)
    for (const double sign : {1.0, -1.0}) {
      std::vector<double> row(dim, 0.0);
      row[a] = sign * (std::abs(sizes[2 * a + (sign > 0)]) + 0.5);
      row[dim - 1] = height;
      w.rows.insert(w.rows.end(), row.begin(), row.end());
    }
  return w;
}

void expect_enclosed(double lower, double upper, const cpp_rational& exact, double gap) {
  EXPECT_LE(cpp_rational(lower), exact);
  ASSERT_TRUE(std::isfinite(upper));
  EXPECT_GE(cpp_rational(upper), exact);
  EXPECT_GE(gap, (upper - lower) / upper);
  EXPECT_LE(gap, 1e-3);
}

TEST(MarginProof, EveryNormIsEnclosedNearInfeasibility) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const double height = 0.7 * std::pow(10.0, -static_cast<double>(seed % 12));
    const Wedge w = wedge(seed, 2 + seed % 3, height);
    const std::vector<double> ones(w.rows.size() / w.dim, 1.0);
    const DenseConstraints rows(w.rows, ones, w.dim);
    const cpp_rational exact = 1 / cpp_rational(height);
    SCOPED_TRACE(testing::Message() << height << " in dimension " << w.dim);
    const HardMargin euclidean = hard_margin(rows);
    expect_enclosed(euclidean.lower, euclidean.upper, exact, euclidean.relative_gap);
    for (const double p : {1.3, 3.0, 20.0}) {
      SCOPED_TRACE(p);
      const LpMargin found = lp_margin(rows, {.p = p});
      EXPECT_LE(cpp_rational(found.lower), exact);
      EXPECT_GE(cpp_rational(found.upper), exact);
    }
    // One query (3, 4) of length 5 for all rows: |W|_* = |u| / 5.
    const std::vector<double> query{3, 4};
    const std::vector<std::size_t> first(ones.size(), 0);
    const NuclearMargin nuclear = nuclear_margin(
        {.left = w.rows, .right = query, .left_dim = w.dim, .right_dim = 2, .query = first});
    EXPECT_LE(cpp_rational(nuclear.lower) * 5, exact);
    if (std::isfinite(nuclear.upper)) {
      EXPECT_GE(cpp_rational(nuclear.upper) * 5, exact);
    }
    if (seed % 12 < 4) {
      EXPECT_LE(nuclear.relative_gap, 1e-10);
    }
  }
}

}  // namespace
}  // namespace attractor::solve
