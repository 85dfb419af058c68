#include "attractor/commands/forecast_turn.hpp"

#include <algorithm>
#include <cmath>

namespace attractor::lab {
namespace {

constexpr double kLeast = 1e-6, kMost = 1e6;

/// Between two that differ: their geometric middle, until doubles end.
double between(const std::function<bool(double)>& verdict, double low, double high) {
  const bool at_low = verdict(low);
  for (;;) {
    const double middle = std::sqrt(low * high);
    if (!(middle > low && middle < high)) return high;
    (verdict(middle) == at_low ? low : high) = middle;
  }
}

}  // namespace

std::optional<double> turning_beta(const std::function<bool(double)>& verdict, double beta) {
  const bool now = verdict(beta);
  double low = std::clamp(beta, kLeast, kMost), high = low;
  while (low > kLeast || high < kMost) {
    const double above = std::min(2 * high, kMost), below = std::max(low / 2, kLeast);
    if (above > high && verdict(above) != now) return between(verdict, high, above);
    if (below < low && verdict(below) != now) return between(verdict, below, low);
    high = above;
    low = below;
  }
  return std::nullopt;
}

}  // namespace attractor::lab
