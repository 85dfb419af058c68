#include "attractor/long_context/key_law.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"

namespace attractor::meanfield {
namespace {

double mean_own_weight(std::span<const double> cosines, std::size_t n, double beta) {
  double mean = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double others = 0;
    for (std::size_t j = 0; j < n; ++j)
      if (j != i) others += std::exp(beta * (cosines[i * n + j] - 1));
    mean += 1 / (1 + others);
  }
  return mean / static_cast<double>(n);
}

struct Line {
  double slope, residual;  // root mean square
};

Line fit(const std::vector<double>& x, const std::vector<double>& y) {
  const auto n = static_cast<double>(x.size());
  const double mx = std::accumulate(x.begin(), x.end(), 0.0) / n;
  const double my = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xx = 0, xy = 0;
  for (std::size_t k = 0; k < x.size(); ++k)
    xx += (x[k] - mx) * (x[k] - mx), xy += (x[k] - mx) * (y[k] - my);
  const double slope = xx > 0 ? xy / xx : 0;
  double squares = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const double r = y[k] - my - slope * (x[k] - mx);
    squares += r * r;
  }
  return {slope, std::sqrt(squares / n)};
}

std::vector<double> unit_cosines(std::span<const double> keys, std::size_t dim,
                                 std::span<const std::size_t> rows) {
  const std::size_t n = rows.size();
  std::vector<double> lengths, cosines(n * n);
  const auto product = [&](std::size_t a, std::size_t b) {
    double sum = 0;
    for (std::size_t c = 0; c < dim; ++c) sum += keys[a * dim + c] * keys[b * dim + c];
    return sum;
  };
  for (const std::size_t r : rows) lengths.push_back(std::sqrt(product(r, r)));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      cosines[i * n + j] = cosines[j * n + i] =
          product(rows[i], rows[j]) / (lengths[i] * lengths[j]);
  return cosines;
}

}  // namespace

double half_beta(std::span<const double> cosines, std::size_t n) {
  double low = 0, high = 1;
  if (n < 2) return kNan;
  if (n == 2 && mean_own_weight(cosines, n, 0) >= 0.5) return 0;
  while (mean_own_weight(cosines, n, high) < 0.5)
    if ((high *= 2) > 1e9) return kNan;
  for (int k = 0; k < 60; ++k) {
    const double middle = (low + high) / 2;
    (mean_own_weight(cosines, n, middle) < 0.5 ? low : high) = middle;
  }
  return (low + high) / 2;
}

KeyLaw key_law(std::span<const double> keys, std::size_t dim, std::uint64_t seed) {
  constexpr std::size_t kFewest = 32, kLargest = 512, kSubsets = 8;
  const std::size_t all = keys.size() / dim;
  if (all < kFewest)
    throw Error(
        fmt::format("{} keys are too few to tell their law; at least {} are needed", all, kFewest));
  const Stream stream(seed, "key subsets");
  KeyLaw law;
  std::vector<double> log_n, half, log_half;
  for (std::size_t n = 8; n <= std::min(all, kLargest); n *= 2) {
    double mean = 0, count = 0;
    for (std::size_t subset = 0; subset < kSubsets; ++subset) {
      std::vector<std::size_t> rows(all);
      std::iota(rows.begin(), rows.end(), std::size_t{0});
      for (std::size_t k = 0; k < n; ++k)
        std::swap(rows[k], rows[k + stream.below(all - k, n * kSubsets + subset, k)]);
      rows.resize(n);
      const double beta = half_beta(unit_cosines(keys, dim, rows), n);
      if (!std::isnan(beta)) mean += beta, count += 1;
    }
    if (count == 0) continue;
    law.tokens.push_back(static_cast<double>(n));
    law.half.push_back(mean / count);
    log_n.push_back(std::log(static_cast<double>(n - 1)));
    half.push_back(mean / count);
    log_half.push_back(std::log(mean / count));
  }
  if (law.half.size() < 3) throw Error("keys coincide: no temperature tells them apart");
  const Line line = fit(log_n, half), power = fit(log_n, log_half);
  law.rho = line.slope > 0 ? 1 - 1 / line.slope : kNan;
  law.exponent = power.slope;
  law.dimension = power.slope > 0 ? 1 + 2 / power.slope : kInfinity;
  // Residuals of both in ln beta: those of the first relative to its values.
  double squares = 0;
  const double my =
      std::accumulate(half.begin(), half.end(), 0.0) / static_cast<double>(half.size());
  const double mx =
      std::accumulate(log_n.begin(), log_n.end(), 0.0) / static_cast<double>(half.size());
  for (std::size_t k = 0; k < half.size(); ++k) {
    const double r = (half[k] - my - line.slope * (log_n[k] - mx)) / half[k];
    squares += r * r;
  }
  law.log_residual = std::sqrt(squares / static_cast<double>(half.size()));
  law.power_residual = power.residual;
  law.logarithmic = law.log_residual <= law.power_residual;
  const double ratio = law.log_residual / std::max(law.power_residual, 1e-300);
  law.decided = ratio < 0.5 || ratio > 2;
  return law;
}

}  // namespace attractor::meanfield
