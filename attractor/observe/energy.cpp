#include "attractor/observe/energy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

// Fewer where a row is long: a measurement costs 2^27 pairs at most, or 64 rows.
std::size_t sampled_rows(std::size_t tokens) {
  return std::clamp<std::size_t>((std::size_t{1} << 27) / tokens, 64, 512);
}

// Rows and how many original tokens each stands for.
struct RowChoice {
  std::vector<std::uint32_t> rows;
  std::vector<double> share;  // sums to one
  bool sampled = false;
};

// An original token drawn uniformly is a token of the state drawn with probability m_i / N.
RowChoice choose_rows(std::span<const double> masses, std::uint64_t seed, std::size_t exact_limit) {
  RowChoice choice;
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  if (masses.size() <= exact_limit) {
    choice.rows.resize(masses.size());
    std::iota(choice.rows.begin(), choice.rows.end(), 0U);
    for (double m : masses) choice.share.push_back(m / total);
    return choice;
  }
  choice.sampled = true;
  std::vector<double> cumulative(masses.size());
  std::partial_sum(masses.begin(), masses.end(), cumulative.begin());
  const Stream stream(seed, "energy rows");
  const std::size_t count = sampled_rows(masses.size());
  for (std::size_t k = 0; k < count; ++k) {
    const auto original =
        static_cast<double>(stream.below(static_cast<std::uint64_t>(total), k, 0));
    const auto at = std::upper_bound(cumulative.begin(), cumulative.end(), original);
    choice.rows.push_back(static_cast<std::uint32_t>(at - cumulative.begin()));
    choice.share.push_back(1.0 / static_cast<double>(count));
  }
  return choice;
}

struct Mean {
  double value = 0, error = 0;
};

Mean weighted_mean(const std::vector<double>& values, const RowChoice& choice) {
  Mean mean;
  for (std::size_t k = 0; k < values.size(); ++k) mean.value += choice.share[k] * values[k];
  if (!choice.sampled) return mean;
  double variance = 0;
  for (double v : values) variance += (v - mean.value) * (v - mean.value);
  const auto count = static_cast<double>(values.size());
  mean.error = std::sqrt(variance / (count - 1) / count);
  return mean;
}

// ln |x_i'|^2 for identity weights on the sphere.
double log_squared_speed(const Attention& attention, const AttentionSums& sums, std::size_t k,
                         std::span<const double> token, double mass, double total) {
  const auto pull = std::span(sums.pull).subspan(k * attention.dim, attention.dim);
  std::vector<double> tangent(pull.begin(), pull.end());
  Sphere(attention.dim).project(token, tangent);
  const double log_norm = attention.rule == Rule::softmax
                              ? sums.log_partition(k, mass) - sums.offset
                              : std::log(total) - sums.offset;
  return 2 * (std::log(norm(tangent)) + sums.peak[k] - log_norm);
}

}  // namespace

Energy energy(const Attention& attention, std::span<const double> tokens,
              std::span<const double> masses, std::uint64_t seed, std::size_t exact_limit) {
  const RowChoice choice = choose_rows(masses, seed, exact_limit);
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  const std::size_t rows = choice.rows.size(), dim = attention.dim;
  const bool plain = attention.by_distance() && attention.value.empty();
  AttentionSums sums;
  attend(attention, tokens, masses, {.rows = choice.rows, .pull = plain, .moment = true}, sums);

  std::vector<double> log_z(rows), entropies(rows), log_power(rows);
  for (std::size_t k = 0; k < rows; ++k) {
    const std::uint32_t i = choice.rows[k];
    log_z[k] = sums.log_partition(k, masses[i]);
    entropies[k] = sums.entropy(k, masses[i]);
    if (!plain) continue;
    log_power[k] =
        log_squared_speed(attention, sums, k, tokens.subspan(i * dim, dim), masses[i], total);
    if (attention.rule == Rule::softmax) log_power[k] += log_z[k] - std::log(total);
  }
  // Means of exponentials, relative to the largest.
  const auto log_mean = [&](const std::vector<double>& logs, double& relative_error) {
    const double top = *std::max_element(logs.begin(), logs.end());
    relative_error = 0;
    if (!std::isfinite(top)) return top;
    std::vector<double> scaled(rows);
    for (std::size_t k = 0; k < rows; ++k) scaled[k] = std::exp(logs[k] - top);
    const Mean mean = weighted_mean(scaled, choice);
    relative_error = mean.error / mean.value;
    return top + std::log(mean.value);
  };
  Energy result;
  result.sampled = choice.sampled;
  const Mean entropy = weighted_mean(entropies, choice);
  result.entropy = entropy.value;
  result.entropy_error = entropy.error;
  double unused = 0;
  result.log_dissipation =
      plain ? log_mean(log_power, unused) : std::numeric_limits<double>::quiet_NaN();
  result.log_energy = log_mean(log_z, result.relative_error) - std::log(2 * total * attention.beta);
  if (attention.beta == 0) {  // (e^{beta c} - 1) / 2 beta -> c / 2
    std::vector<double> sum(dim, 0.0);
    for (std::size_t i = 0; i < masses.size(); ++i)
      for (std::size_t a = 0; a < dim; ++a) sum[a] += masses[i] * tokens[i * dim + a];
    result.log_energy = std::log(0.5 * dot(sum, sum) / (total * total));
    result.relative_error = 0;
  }
  return result;
}

}  // namespace attractor::observe
