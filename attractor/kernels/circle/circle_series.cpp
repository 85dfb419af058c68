#include "attractor/kernels/circle/circle_series.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/numbers.hpp"

namespace attractor::kernels {
namespace {

/// Error of the two sums when e^{ixu} is cut after T_{p-1}: sum_{b >= p} 2 J_b(x) for each mode at
/// both ends, J_b(x) <= (x/2)^b / b!; the first sum is integrated from the centre of the cell.
double cut_error(const CircleModes& modes, double half, std::size_t powers) {
  const double p = static_cast<double>(powers), factorial = std::lgamma(p + 1);
  const double beyond = std::cosh(p * std::acosh(kCircleReach));  // T_p there
  double value = 0, slope = 0;
  for (std::size_t k = 1; k <= modes.highest(); ++k) {
    const double x = half * static_cast<double>(k);
    const double leading = std::exp(p * std::log(x / 2) - factorial);
    const double cut = 2 * beyond * leading / (1 - x / (2 * (p + 1)));
    value += 2 * modes.value[k] * cut * (1 + x * (1 + cut));
    slope += modes.slope[k] * cut * (2 + cut);
  }
  return std::max(value, slope);
}

/// Nanoseconds of one evaluation, as measured on a Zen 4 core with 512-bit vectors: passes over
/// the tokens, pieces of cells, transforms. More than kMany tokens keep the cells of kMany: a token
/// then costs the same for any n (finer cells would save a quarter at 10^7).
double cost(std::size_t tokens, std::size_t cells, std::size_t powers) {
  constexpr std::size_t kMany = 100'000;
  const double n = static_cast<double>(std::min(tokens, kMany));
  const double m = static_cast<double>(cells), p = static_cast<double>(powers);
  return n * (0.5 + 0.085 * p) + std::min(n, m) * (40 + 2 * p) + 1.2 * m * (2 * p + 1);
}

double bessel_j(std::size_t degree, double x) {  // 0 <= x < 2: the series does not cancel
  double term = 1, sum = 0;
  for (std::size_t b = 1; b <= degree; ++b) term *= x / (2 * static_cast<double>(b));
  for (std::size_t m = 1; std::abs(term) > 1e-18 * std::abs(sum); ++m) {
    sum += term;
    term *= -x * x / (4 * static_cast<double>(m) * static_cast<double>(m + degree));
  }
  return sum;
}

}  // namespace

// Ratios I_k / I_{k-1} by the backward recurrence; the scale from e^beta = I_0 + 2 sum I_k.
CircleModes circle_modes(double beta, double tail) {
  const auto count = static_cast<std::size_t>(60 + 12 * std::sqrt(beta));
  std::vector<double> ratio(count + 1, 0.0);
  for (std::size_t k = count; k-- > 1;)
    ratio[k] = beta / (2 * static_cast<double>(k) + beta * ratio[k + 1]);
  CircleModes modes{std::vector<double>(count, 1.0), std::vector<double>(count, 0.0)};
  double sum = 0;
  for (std::size_t k = 1; k < count; ++k) sum += modes.value[k] = modes.value[k - 1] * ratio[k];
  for (double& v : modes.value) v /= 1 + 2 * sum;
  for (std::size_t k = 1; k < count; ++k) {
    const double twice = 2 * static_cast<double>(k);  // 2k I_k / beta without dividing by beta
    modes.slope[k] = modes.value[k - 1] * twice / (twice + beta * ratio[k + 1]);
  }
  std::size_t keep = count;
  for (; keep > 2; --keep) {
    const double more = modes.tail + 2 * modes.value[keep - 1] + modes.slope[keep - 1];
    if (more > tail) break;
    modes.tail = more;
  }
  modes.value.resize(keep);
  modes.slope.resize(keep);
  return modes;
}

CircleDesign circle_design(const CircleModes& modes, double error, std::size_t tokens) {
  CircleDesign best;
  double best_cost = kInfinity;
  std::size_t p = kMostCirclePowers;  // more cells never need more powers
  for (std::size_t quarter = 4; quarter <= (1U << 16); quarter *= 2)
    for (const std::size_t cells : {4 * quarter, 5 * quarter, 6 * quarter, 7 * quarter}) {
      if (cells <= 2 * modes.highest()) continue;
      if (cost(tokens, cells, 2) >= best_cost) return best;
      const double half = std::numbers::pi / static_cast<double>(cells);
      while (p > 2 && cut_error(modes, half, p - 1) + modes.tail <= error) --p;
      if (cost(tokens, cells, p) >= best_cost) continue;
      best = {cells, p, cut_error(modes, half, p) + modes.tail};
      best_cost = cost(tokens, cells, p);
    }
  return best;
}

// All terms are positive: J_b > 0 for x < pi/2, and i^b T_b(u) in powers of iu has no other signs.
std::vector<double> circle_powers(const CircleModes& modes, const CircleDesign& design) {
  const std::size_t powers = design.powers, count = modes.value.size();
  const double half = std::numbers::pi / static_cast<double>(design.cells);
  std::vector<double> table(powers * count, 0.0), before(powers + 1, 0.0), chebyshev = before;
  chebyshev[0] = 1;
  for (std::size_t degree = 0; degree < powers; ++degree) {
    for (std::size_t k = 0; k < count; ++k) {
      const double j = (degree == 0 ? 1 : 2) * bessel_j(degree, half * static_cast<double>(k));
      for (std::size_t b = degree % 2; b <= degree; b += 2)
        table[b * count + k] += j * chebyshev[b];
    }
    std::vector<double> next = before;  // |T_{b+1}| = 2u |T_b| + |T_{b-1}|
    for (std::size_t b = 0; b < powers; ++b) next[b + 1] += (degree == 0 ? 1 : 2) * chebyshev[b];
    before = std::exchange(chebyshev, std::move(next));
  }
  return table;
}

}  // namespace attractor::kernels
