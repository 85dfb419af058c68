#include <cmath>
#include <limits>
#include <vector>

#include "attractor/kernels/dense/attention_rows.hpp"

namespace attractor::kernels {
namespace {

double dot(const double* a, const double* b, std::size_t dim) {
  double sum = 0;
  for (std::size_t k = 0; k < dim; ++k) sum += a[k] * b[k];
  return sum;
}

// One row: logit(j) for every j != i, then the sums relative to `peak`.
template <class Logit>
void row_sums(std::size_t k, std::size_t i, std::size_t dim, std::span<const double> masses,
              const double* values, const Logit& logit, double peak, const RowSums& out) {
  double weight = 0, moment = 0;
  std::vector<double> pull(dim, 0.0);
  for (std::size_t j = 0; j < masses.size(); ++j) {
    if (j == i) continue;
    const double l = logit(j), w = masses[j] * std::exp(l - peak);
    weight += w;
    moment += w * l;
    for (std::size_t a = 0; a < dim; ++a)
      pull[a] += w * (values[j * dim + a] - values[i * dim + a]);
  }
  out.weight[k] = weight;
  if (!out.moment.empty()) out.moment[k] = moment;
  if (!out.peak.empty()) out.peak[k] = peak;
  if (out.pull.empty()) return;
  for (std::size_t a = 0; a < dim; ++a) out.pull[k * dim + a] = pull[a];
}

}  // namespace

void distance_rows_reference(const DistanceSources& in, std::span<const std::uint32_t> rows,
                             const RowSums& out) {
  const double* values = in.values.empty() ? in.points.data() : in.values.data();
  for (std::size_t k = 0; k < out.weight.size(); ++k) {
    const std::size_t i = rows.empty() ? k : rows[k];
    const auto logit = [&](std::size_t j) {
      double squared = 0;
      for (std::size_t a = 0; a < in.dim; ++a) {
        const double difference = in.points[j * in.dim + a] - in.points[i * in.dim + a];
        squared += difference * difference;
      }
      return in.shift - 0.5 * in.beta * squared;
    };
    row_sums(k, i, in.dim, in.masses, values, logit, 0.0, out);
  }
}

void logit_rows_reference(const LogitSources& in, std::span<const std::uint32_t> rows,
                          const RowSums& out) {
  for (std::size_t k = 0; k < out.weight.size(); ++k) {
    const std::size_t i = rows.empty() ? k : rows[k];
    const auto logit = [&](std::size_t j) {
      return in.beta * dot(&in.queries[i * in.dim], &in.keys[j * in.dim], in.dim);
    };
    double peak = std::numeric_limits<double>::lowest();
    for (std::size_t j = 0; j < in.masses.size(); ++j)
      if (j != i) peak = std::max(peak, logit(j));
    row_sums(k, i, in.dim, in.masses, in.values.data(), logit, peak, out);
  }
}

}  // namespace attractor::kernels
