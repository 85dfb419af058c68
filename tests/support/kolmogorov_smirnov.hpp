// Whether a sample may come from a law.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace attractor {

/// sqrt(n) sup |F_n - F|, which exceeds 1.95 with probability 2 exp(-2 1.95^2) = 0.001.
template <class Cdf>
double kolmogorov_smirnov(std::vector<double> sample, const Cdf& cdf) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double worst = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double f = cdf(sample[i]), below = static_cast<double>(i) / n;
    worst = std::max({worst, std::abs(f - below), std::abs(f - below - 1 / n)});
  }
  return std::sqrt(n) * worst;
}

}  // namespace attractor
