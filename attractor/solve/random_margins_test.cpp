// A thousand random token choices. Each must end in a proof that is checked here in extended
// precision from the keys, p and the multipliers alone:
//
//   optimal:     |p| / min_j <g_j, p>  >=  |p*|  >=  sum lambda / |sum lambda g|,  1e-12 apart,
//   infeasible:  sum lambda > 0 and sum lambda g = 0 up to rounding (Farkas).
//
// Coordinates are multiples of 2^-30 below 2^6, so the differences g are exact. Which of the two it
// has to be is known for planted choices, for few rows, in the plane (enumeration), and on average
// for two tokens (Wendel, Math. Scand. 11, 1962).
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/solve/hard_margin.hpp"

namespace attractor::solve {
namespace {

constexpr long double kGap = 1e-12L;
constexpr long double kResidual = 2e-15L;  // about ten roundings of lambda

using Row = std::vector<long double>;

long double dot(const Row& a, const Row& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0L);
}

long double length(const Row& a) { return std::sqrt(dot(a, a)); }

struct Case {
  std::size_t inputs, tokens, dim;
  std::vector<double> keys;         // n x T x d
  std::vector<std::size_t> chosen;  // n

  const double* key(std::size_t i, std::size_t t) const { return &keys[(i * tokens + t) * dim]; }

  // k_chosen - k_t, inputs in order, then t != chosen in order: what an index in a result means.
  std::vector<Row> rows() const {
    std::vector<Row> rows;
    for (std::size_t i = 0; i < inputs; ++i)
      for (std::size_t t = 0; t < tokens; ++t) {
        if (t == chosen[i]) continue;
        Row& row = rows.emplace_back(dim);
        for (std::size_t a = 0; a < dim; ++a)
          row[a] = static_cast<long double>(key(i, chosen[i])[a]) - key(i, t)[a];
      }
    return rows;
  }
};

/// Numbers of one seed.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : stream_(seed, "test.random_margins") {}

  std::size_t between(std::size_t least, std::size_t most) {
    return least + static_cast<std::size_t>(stream_.below(most - least + 1, 0, next_++));
  }
  double normal() { return std::round(stream_.normal(1, next_++) * 0x1p30) * 0x1p-30; }

 private:
  Stream stream_;
  std::uint64_t next_ = 0;
};

Case random_choice(Dice& dice, std::size_t inputs, std::size_t tokens, std::size_t dim) {
  Case c{inputs, tokens, dim, {}, {}};
  for (std::size_t k = 0; k < inputs * tokens * dim; ++k) c.keys.push_back(dice.normal());
  for (std::size_t i = 0; i < inputs; ++i) c.chosen.push_back(dice.between(0, tokens - 1));
  return c;
}

// Every input takes the token that a random direction prefers.
void plant(Case& c, Dice& dice) {
  Row direction(c.dim);
  for (long double& x : direction) x = dice.normal();
  for (std::size_t i = 0; i < c.inputs; ++i) {
    const auto score = [&](std::size_t t) {
      return dot(direction, Row(c.key(i, t), c.key(i, t) + c.dim));
    };
    for (std::size_t t = 0; t < c.tokens; ++t)
      if (score(t) > score(c.chosen[i])) c.chosen[i] = t;
  }
}

struct Combination {
  Row row;                           // sum lambda g
  long double sum = 0, lengths = 0;  // sum lambda, sum lambda |g|
};

Combination combine(const std::vector<Row>& rows, const std::vector<Multiplier>& lambda) {
  Combination c{.row = Row(rows[0].size(), 0)};
  for (const auto& [j, value] : lambda) {
    EXPECT_GE(value, 0);
    for (std::size_t a = 0; a < c.row.size(); ++a) c.row[a] += value * rows.at(j)[a];
    c.sum += value;
    c.lengths += value * length(rows[j]);
  }
  return c;
}

void expect_optimal(const HardMargin& found, const std::vector<Row>& rows) {
  const Row p(found.p.begin(), found.p.end());
  ASSERT_EQ(p.size(), rows[0].size());
  long double smallest = INFINITY;
  for (const Row& row : rows) smallest = std::min(smallest, dot(row, p));
  EXPECT_NEAR(static_cast<double>(smallest), 1, 1e-12);
  const Combination c = combine(rows, found.support);
  const long double upper = length(p) / smallest, lower = c.sum / length(c.row);
  EXPECT_LE(upper - lower, kGap * upper);
  EXPECT_GE(upper - lower, -1e-17L * upper);  // weak duality: a wrong sign is a wrong test
  EXPECT_LE(found.relative_gap, kGap);
  EXPECT_NEAR(found.norm, static_cast<double>(length(p)), 1e-15 * found.norm);
  EXPECT_LE(found.support.size(), p.size());
}

void expect_infeasible(const HardMargin& found, const std::vector<Row>& rows) {
  const Combination c = combine(rows, found.farkas);
  EXPECT_GT(c.sum, 0);
  EXPECT_LE(length(c.row), kResidual * c.lengths);
  EXPECT_LE(found.farkas.size(), rows[0].size() + 1);
}

// Solves and checks the proof; is the choice feasible?
bool proved_feasible(const Case& c) {
  const std::vector<Row> rows = c.rows();
  const HardMargin found =
      hard_margin(TokenDifferences(c.keys, c.tokens, c.dim, {.chosen = c.chosen}));
  if (found.status == MarginStatus::infeasible) {
    expect_infeasible(found, rows);
    return false;
  }
  EXPECT_EQ(found.status, MarginStatus::optimal);
  expect_optimal(found, rows);
  return true;
}

testing::Message describe(std::uint64_t seed, const Case& c) {
  return testing::Message() << "seed " << seed << ", n " << c.inputs << ", T " << c.tokens << ", d "
                            << c.dim;
}

TEST(RandomMargins, AnyShapeAnyChoice) {
  int feasible = 0, infeasible = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const std::size_t n = dice.between(1, 12), tokens = dice.between(2, 16),
                      dim = dice.between(1, 40);
    const Case c = random_choice(dice, n, tokens, dim);
    SCOPED_TRACE(describe(seed, c));
    ++(proved_feasible(c) ? feasible : infeasible);
  }
  EXPECT_GT(feasible, 75);
  EXPECT_GT(infeasible, 75);
}

TEST(RandomMargins, PlantedChoicesAreFeasible) {
  for (std::uint64_t seed = 1000; seed < 1200; ++seed) {
    Dice dice(seed);
    const std::size_t n = dice.between(1, 24), tokens = dice.between(2, 16),
                      dim = dice.between(1, 40);
    Case c = random_choice(dice, n, tokens, dim);
    plant(c, dice);
    SCOPED_TRACE(describe(seed, c));
    EXPECT_TRUE(proved_feasible(c));
  }
}

// Independent rows have a p with G p = 1.
TEST(RandomMargins, FewRowsAreFeasible) {
  for (std::uint64_t seed = 2000; seed < 2100; ++seed) {
    Dice dice(seed);
    const std::size_t n = dice.between(1, 12), tokens = dice.between(2, 6), m = n * (tokens - 1);
    const Case c = random_choice(dice, n, tokens, m + dice.between(0, 10));
    SCOPED_TRACE(describe(seed, c));
    EXPECT_TRUE(proved_feasible(c));
  }
}

// n symmetric rows in general position: feasible with probability 2^{1-n} sum_{k<d} C(n-1, k).
double wendel(std::size_t n, std::size_t dim) {
  double binomial = 1, sum = 0;
  for (std::size_t k = 0; k < std::min(n, dim); ++k) {
    sum += binomial;
    binomial *= static_cast<double>(n - 1 - k) / static_cast<double>(k + 1);
  }
  return std::ldexp(sum, 1 - static_cast<int>(n));
}

TEST(RandomMargins, TwoTokensFollowWendel) {
  EXPECT_EQ(wendel(6, 3), 0.5);
  EXPECT_EQ(wendel(3, 2), 0.75);
  double expected = 0, variance = 0;
  int feasible = 0;
  for (std::uint64_t seed = 3000; seed < 3200; ++seed) {
    Dice dice(seed);
    const std::size_t dim = dice.between(1, 12), n = dim + dice.between(1, 2 * dim);
    const Case c = random_choice(dice, n, 2, dim);
    SCOPED_TRACE(describe(seed, c));
    feasible += proved_feasible(c);
    const double probability = wendel(n, dim);
    expected += probability;
    variance += probability * (1 - probability);
  }
  EXPECT_NEAR(feasible, expected, 4 * std::sqrt(variance));
  EXPECT_GT(feasible, 40);
  EXPECT_LT(feasible, 160);
}

// Tokens on {-1, 0, 1}^d: many ties, parallel rows, and tokens that are equal (then infeasible).
TEST(RandomMargins, LatticeTokens) {
  int feasible = 0, infeasible = 0, equal = 0;
  for (std::uint64_t seed = 4000; seed < 4100; ++seed) {
    Dice dice(seed);
    const std::size_t n = dice.between(1, 8), tokens = dice.between(2, 8),
                      dim = dice.between(2, 12);
    Case c = random_choice(dice, n, tokens, dim);
    for (double& x : c.keys) x = static_cast<double>(dice.between(0, 2)) - 1;
    if (seed % 2 == 0) plant(c, dice);
    SCOPED_TRACE(describe(seed, c));
    const std::vector<Row> rows = c.rows();
    const bool contradiction =
        std::any_of(rows.begin(), rows.end(), [](const Row& row) { return length(row) == 0; });
    const bool possible = proved_feasible(c);
    EXPECT_FALSE(contradiction && possible);
    EXPECT_TRUE(seed % 2 == 1 || contradiction || possible);
    ++(possible ? feasible : infeasible);
    equal += contradiction;
  }
  EXPECT_GT(feasible, 25);
  EXPECT_GT(infeasible, 25);
  EXPECT_GT(equal, 5);
}

// The optimum in the plane is the foot of one line or the meeting point of two: try them all.
std::optional<long double> smallest_norm_in_the_plane(const std::vector<Row>& rows) {
  std::optional<long double> best;
  const auto consider = [&](const Row& p) {
    const bool holds = std::all_of(rows.begin(), rows.end(), [&](const Row& row) {
      return dot(row, p) >= 1 - 1e-15L * length(row) * length(p);
    });
    if (holds && (!best || length(p) < *best)) best = length(p);
  };
  for (std::size_t j = 0; j < rows.size(); ++j) {
    const Row& g = rows[j];
    consider({g[0] / dot(g, g), g[1] / dot(g, g)});
    for (std::size_t k = 0; k < j; ++k) {
      const Row& f = rows[k];
      const long double determinant = g[0] * f[1] - g[1] * f[0];
      consider({(f[1] - g[1]) / determinant, (g[0] - f[0]) / determinant});
    }
  }
  return best;
}

TEST(RandomMargins, PlaneAgainstEnumeration) {
  int feasible = 0, infeasible = 0;
  for (std::uint64_t seed = 5000; seed < 5100; ++seed) {
    Dice dice(seed);
    const std::size_t n = dice.between(2, 6), tokens = dice.between(2, 5);
    Case c = random_choice(dice, n, tokens, 2);
    if (seed % 2 == 0) plant(c, dice);
    SCOPED_TRACE(describe(seed, c));
    const std::optional<long double> exact = smallest_norm_in_the_plane(c.rows());
    ASSERT_EQ(proved_feasible(c), exact.has_value());
    ++(exact ? feasible : infeasible);
    if (!exact) continue;
    const HardMargin found = hard_margin(TokenDifferences(c.keys, tokens, 2, {.chosen = c.chosen}));
    EXPECT_NEAR(found.norm, static_cast<double>(*exact), 1e-12 * found.norm);
  }
  EXPECT_GT(feasible, 50);
  EXPECT_GT(infeasible, 20);
}

}  // namespace
}  // namespace attractor::solve
