#include "attractor/observe/energy.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "attractor/observe/close_weights.hpp"
#include "attractor/observe/row_sample.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

// Fewer where a row is long: a measurement costs 2^28 pairs at most, or 256 rows.
std::size_t sampled_rows(std::size_t tokens) {
  return std::clamp<std::size_t>((std::size_t{1} << 27) / tokens, 128, 512);
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

// What rows drawn from a stratum may not show: u originals close to each other whose pairs weigh up
// to c, and tokens whose rows weigh more or less than those drawn. Weight w beside Z is the part
// p = w / (Z + w) of a row: it changes the entropy by at most p (1 - ln p + ln(1 + w)), and the
// squared speed by p^2 2 gap, with w = e^{-beta gap}.
struct Hidden {
  double partition = 0, entropy = 0, power = 0;  // means over all originals
};

void hide(Hidden& sum, double share, double weight, double partition, const Attention& attention,
          double total) {
  if (!(share > 0 && weight > 0)) return;
  const double part = weight / (partition + weight);
  sum.entropy += share * part * (1 - std::log(part) + std::log1p(weight));
  const double squared = std::min(1.0, 2 * (1 + std::max(0.0, -std::log(weight))) / attention.beta);
  sum.power += share * squared *
               (attention.rule == Rule::softmax ? (partition + weight) / total * part * part
                                                : (weight / total) * (weight / total));
}

Hidden hidden(const RowSample& sample, std::span<const double> partitions,
              const Attention& attention, double total) {
  Hidden sum;
  for (const Stratum& stratum : sample.strata) {
    double mean = 0;
    for (std::size_t k = stratum.begin; k < stratum.end; ++k)
      mean += partitions[k] / stratum.rows();
    const double unseen = stratum.unseen();
    hide(sum, unseen / total, unseen * stratum.ceiling, mean, attention, total);
    if (stratum.unlike > 0)
      hide(sum, stratum.unlike_mass / total, stratum.unlike / stratum.unlike_mass, mean, attention,
           total);
    sum.partition += (unseen * unseen * stratum.ceiling + stratum.unlike_rest) / total;
  }
  return sum;
}

// A mean of positive numbers given by logarithms, and its relative error.
struct LogMean {
  double log = 0, relative_error = 0;

  // Rounding of the logarithm; counts once rows are drawn.
  double with_rounding() const { return std::hypot(relative_error, 1e-15 * (1 + std::abs(log))); }
};

LogMean log_mean(const RowSample& sample, std::span<const double> masses,
                 const std::vector<double>& logs, double hidden, double unit) {
  const double top = *std::max_element(logs.begin(), logs.end());
  if (!std::isfinite(top)) return {top, hidden > 0 ? std::numeric_limits<double>::infinity() : 0};
  std::vector<double> values;
  for (const double l : logs) values.push_back(std::exp(l - top));
  const Estimate mean = mean_over_originals(sample, masses, values);
  LogMean result{top + std::log(mean.value), 0};
  if (sample.sampled)
    result.relative_error =
        std::hypot(mean.error / mean.value, hidden * std::exp(unit - top) / mean.value);
  return result;
}

// The mean partition function. The close tokens that a search has summed are known: rows only have
// to tell the rest.
LogMean log_partition(const RowSample& sample, std::span<const double> masses,
                      const std::vector<double>& logs, const CloseLogits& close, bool with_own,
                      double hidden) {
  const double top = std::max(close.unit, *std::max_element(logs.begin(), logs.end()));
  const double unit = std::exp(close.unit - top);
  const auto known = [&](std::size_t i) {
    return unit * (close.close.known[i] + (with_own ? 0 : masses[i]));
  };
  double total = 0, sum = 0;
  for (std::size_t i = 0; i < masses.size(); ++i) {
    total += masses[i];
    sum += masses[i] * known(i);
  }
  std::vector<double> values;
  for (std::size_t k = 0; k < logs.size(); ++k)
    values.push_back(std::exp(logs[k] - top) - known(sample.rows[k]));
  const Estimate rest = mean_over_originals(sample, masses, values);
  const double value = sum / total + rest.value;
  return {top + std::log(value), std::hypot(rest.error / value, hidden * unit / value)};
}

double log_energy_without_beta(std::span<const double> tokens, std::span<const double> masses,
                               std::size_t dim, double total) {
  std::vector<double> sum(dim, 0.0);
  for (std::size_t i = 0; i < masses.size(); ++i)
    for (std::size_t a = 0; a < dim; ++a) sum[a] += masses[i] * tokens[i * dim + a];
  return std::log(0.5 * dot(sum, sum) / (total * total));
}

// What the rows of a sample say, one number each.
struct Rows {
  std::vector<double> log_partition, entropy, log_power, in_units;  // of e^unit
};

Rows read_rows(const Attention& attention, std::span<const double> tokens,
               std::span<const double> masses, const RowSample& sample, double unit, bool plain,
               double total) {
  const std::size_t count = sample.rows.size(), dim = attention.dim;
  AttentionSums sums;
  attend(attention, tokens, masses, {.rows = sample.rows, .pull = plain, .moment = true}, sums);
  Rows rows{std::vector<double>(count), std::vector<double>(count), std::vector<double>(count),
            std::vector<double>(count)};
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint32_t i = sample.rows[k];
    const double log_z = rows.log_partition[k] = sums.log_partition(k, masses[i]);
    rows.in_units[k] = std::exp(std::min(700.0, log_z - unit));
    rows.entropy[k] = sums.entropy(k, masses[i]);
    if (!plain) continue;
    rows.log_power[k] =
        log_squared_speed(attention, sums, k, tokens.subspan(i * dim, dim), masses[i], total);
    if (attention.rule == Rule::softmax) rows.log_power[k] += log_z - std::log(total);
  }
  return rows;
}

}  // namespace

Energy energy(const Attention& attention, std::span<const double> tokens,
              std::span<const double> masses, std::uint64_t seed, std::size_t exact_limit) {
  const std::size_t n = masses.size(), wanted = sampled_rows(n);
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  const bool plain = attention.by_distance() && attention.value.empty();
  CloseLogits close;
  RowSample sample;
  if (n <= exact_limit) {
    sample = all_rows(masses);
  } else {
    close = close_logits(attention, tokens, masses, wanted, seed);
    sample = sample_rows(masses, close.close, wanted, seed, "energy rows");
  }
  const Rows rows = read_rows(attention, tokens, masses, sample, close.unit, plain, total);
  Hidden unseen;
  if (sample.sampled) unseen = hidden(sample, rows.in_units, attention, total);

  Energy result{.sampled = sample.sampled};
  const Estimate entropy = mean_over_originals(sample, masses, rows.entropy);
  result.entropy = entropy.value;
  if (sample.sampled)
    result.entropy_error = std::hypot(entropy.error, unseen.entropy, 1e-15 * std::log(total));
  result.log_dissipation = std::numeric_limits<double>::quiet_NaN();
  if (plain) {
    const double unit = (attention.rule == Rule::softmax ? 1 : 2) * close.unit;
    const LogMean power = log_mean(sample, masses, rows.log_power, unseen.power, unit);
    result.log_dissipation = power.log;
    if (sample.sampled) result.dissipation_relative_error = power.with_rounding();
  }
  if (attention.beta == 0) {  // (e^{beta c} - 1) / 2 beta -> c / 2
    result.log_energy = log_energy_without_beta(tokens, masses, attention.dim, total);
    return result;
  }
  const LogMean z = sample.sampled ? log_partition(sample, masses, rows.log_partition, close,
                                                   !attention.by_distance(), unseen.partition)
                                   : log_mean(sample, masses, rows.log_partition, 0, 0);
  result.log_energy = z.log - std::log(2 * total * attention.beta);
  if (sample.sampled) result.relative_error = z.with_rounding();
  return result;
}

}  // namespace attractor::observe
