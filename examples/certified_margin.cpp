// The widest margin, with its proof. The keys of seven tokens stand evenly on a circle; a prompt p
// selects the first one as clearly as it can at its length:
//
//   minimise |p|   subject to   <p, k_0 - k_t> >= 1 for all other t.
//
// By symmetry p points at k_0 and its neighbours decide: |p| = 1 / (1 - cos(2 pi / 7)).
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "attractor/attractor.hpp"

int main() {
  using namespace attractor;
  constexpr double kTurn = 2 * std::numbers::pi;
  std::vector<double> keys;
  for (int t = 0; t < 7; ++t)
    keys.insert(keys.end(), {std::cos(kTurn * t / 7), std::sin(kTurn * t / 7)});
  const auto margin = solve::hard_margin(solve::TokenDifferences(keys, 7, 2, {.chosen = {0}}));
  const double exact = 1 / (1 - std::cos(kTurn / 7));
  fmt::print("|p| = {:.15f}   exact {:.15f}\n", margin.norm, exact);
  fmt::print("proved: {:.17g} <= |p| <= {:.17g}, a duality gap of {:.1e}\n", margin.lower,
             margin.upper, margin.relative_gap);
  for (const auto& [row, multiplier] : margin.support)
    fmt::print("  token {} pushes back with {:.6f}\n", row + 1, multiplier);

  // An eighth token in the middle: no prompt selects it, and a sum of its constraints that cancels
  // says so (Farkas).
  keys.insert(keys.end(), {0, 0});
  const auto middle = solve::hard_margin(solve::TokenDifferences(keys, 8, 2, {.chosen = {7}}));
  fmt::print("the middle: {}; {} rows with positive weights add up to {:.1e} of their lengths\n",
             solve::name(middle.status), middle.farkas.size(), middle.farkas_residual);

  const bool right = std::abs(margin.norm / exact - 1) < 1e-14 && margin.relative_gap < 1e-14 &&
                     middle.status == solve::MarginStatus::infeasible;
  return right ? 0 : 1;
}
