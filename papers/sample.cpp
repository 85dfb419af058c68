#include "papers/sample.hpp"

#include <algorithm>
#include <cmath>

namespace attractor::papers {

double mean(std::span<const double> values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / static_cast<double>(values.size());
}

double standard_error(std::span<const double> values) {
  const double centre = mean(values), count = static_cast<double>(values.size());
  double sum = 0;
  for (const double v : values) sum += (v - centre) * (v - centre);
  return std::sqrt(sum / (count - 1) / count);
}

Sampled sampled(std::span<const double> values) {
  // Not mean(), which rounds in another order: recorded verdicts keep their last digits.
  Sampled result;
  const double n = static_cast<double>(values.size());
  for (const double value : values) result.mean += value / n;
  double squares = 0;
  for (const double value : values) squares += (value - result.mean) * (value - result.mean);
  if (values.size() > 1) result.error = std::sqrt(squares / (n - 1) / n);
  return result;
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (at - static_cast<double>(low)) * (values[high] - values[low]);
}

double slope(std::span<const double> x, std::span<const double> y) {
  const double mx = mean(x), my = mean(y);
  double top = 0, bottom = 0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    top += (x[k] - mx) * (y[k] - my);
    bottom += (x[k] - mx) * (x[k] - mx);
  }
  return top / bottom;
}

}  // namespace attractor::papers
