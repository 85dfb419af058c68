#include "attractor/observe/observables.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "attractor/observe/spectrum.hpp"
#include "attractor/tokens/generators.hpp"

namespace attractor::observe {
namespace {

double ratio(const std::vector<double>& tokens, std::size_t dim, std::vector<double> masses = {}) {
  if (masses.empty()) masses.assign(tokens.size() / dim, 1.0);
  for (const Observable& o : observables())
    if (o.name == "participation_ratio") return o.value({tokens, dim, masses});
  ADD_FAILURE() << "no participation ratio";
  return 0;
}

TEST(ParticipationRatio, OfKnownSpectra) {
  EXPECT_DOUBLE_EQ(ratio({1, 0, 0, 1}, 2), 2);            // an orthonormal frame
  EXPECT_DOUBLE_EQ(ratio({1, 0, 0, -1, 0, 0}, 3), 1);     // a line
  EXPECT_DOUBLE_EQ(ratio({3, 0, 0, 1}, 2), 100.0 / 82);   // eigenvalues 9 and 1
  EXPECT_DOUBLE_EQ(ratio({1, 0, 0, 1}, 2, {3, 1}), 1.6);  // eigenvalues 3 and 1
  EXPECT_TRUE(std::isnan(ratio({0, 0}, 2)));
}

// Equiangular tokens have the Gram matrix (1 - rho) I + rho: eigenvalues 1 + (n - 1) rho, 1 - rho.
TEST(ParticipationRatio, OfEquiangularTokens) {
  const double n = 12, rho = 0.4;
  const TokenSet tokens = equiangular(12, 20, rho);
  const double top = 1 + (n - 1) * rho, other = 1 - rho;
  EXPECT_NEAR(ratio(tokens.data, 20), n * n / (top * top + (n - 1) * other * other), 1e-12);
}

TEST(ParticipationRatio, IsThatOfTheEigenvaluesOnBothSides) {
  for (const auto& [n, d] : {std::pair<std::size_t, std::size_t>{40, 6}, {6, 40}, {9, 9}}) {
    const TokenSet tokens = make_tokens({.tokens = n, .dim = d, .seed = n + d});
    std::vector<double> masses(n);
    for (std::size_t i = 0; i < n; ++i) masses[i] = static_cast<double>(1 + i % 3);
    double sum = 0, squares = 0;
    for (const double x : spectrum(tokens.data, d, masses, 0).eigenvalues)
      sum += x, squares += x * x;
    EXPECT_NEAR(ratio(tokens.data, d, masses), sum * sum / squares, 1e-12 * sum) << n << " " << d;
  }
}

TEST(Observables, HaveNamesOfTheirOwnAndMeanings) {
  std::set<std::string> names;
  for (const Observable& o : observables()) {
    EXPECT_TRUE(names.insert(o.name).second) << o.name;
    EXPECT_FALSE(o.meaning.empty()) << o.name;
  }
}

}  // namespace
}  // namespace attractor::observe
