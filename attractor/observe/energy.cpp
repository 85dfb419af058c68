#include "attractor/observe/energy.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/observe/close_weights.hpp"
#include "attractor/observe/row_sample.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

// Fewer where a row is long: a measurement costs 2^28 pairs at most, or 256 rows.
std::size_t energy_rows(std::size_t tokens) {
  return std::clamp<std::size_t>((std::size_t{1} << 27) / tokens, 128, 512);
}

// The formulas of the dissipation hold.
bool is_plain(const Attention& attention) {
  return attention.by_distance() && attention.value.empty();
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

// What the rows of a sample say, one number each.
struct Rows {
  std::vector<double> log_partition, entropy, log_power, in_units;  // of e^unit
};

Rows read_rows(const Attention& attention, std::span<const double> tokens,
               std::span<const double> masses, const RowSample& sample, double unit, double total) {
  const std::size_t count = sample.rows.size(), dim = attention.dim;
  const bool plain = is_plain(attention);
  // All rows, not listed: each pair once where that is possible.
  std::span<const std::uint32_t> listed;
  if (sample.sampled) listed = sample.rows;
  AttentionSums sums;
  attend(attention, tokens, masses, {.rows = listed, .pull = plain, .moment = true}, sums);
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

// What rows may not show: u originals close to each other whose pairs weigh up to c, and tokens
// whose rows weigh more or less than those drawn. Weight w beside Z is the part p = w / (Z + w) of
// a row. Spread over w tokens it changes the entropy H to (1 - p) H + p ln w - p ln p - (1 - p)
// ln(1 - p), and the squared speed by p^2 2 gap, with w = e^{-beta gap}.
struct Hidden {
  double partition = 0, entropy = 0, power = 0;  // means over all originals
};

struct Typical {
  double partition = 0, entropy = 0, total = 0;
};

void hide(Hidden& sum, double mass, double weight, const Typical& row, const Attention& attention) {
  if (!(mass > 0 && weight > 0)) return;
  const double part = weight / (row.partition + weight), share = mass / row.total;
  const double mixing = -part * std::log(part) - (1 - part) * std::log1p(-part);
  const double shift = part * (std::max(0.0, std::log(weight)) - row.entropy);
  sum.entropy += share * std::max(mixing + std::max(0.0, shift), -shift);
  const double squared = std::min(1.0, 2 * (1 + std::max(0.0, -std::log(weight))) / attention.beta);
  sum.power += share * squared *
               (attention.rule == Rule::softmax ? (row.partition + weight) / row.total * part * part
                                                : (weight / row.total) * (weight / row.total));
}

Hidden hidden(const RowSample& sample, const Rows& rows, const Attention& attention, double total) {
  Hidden sum;
  for (const Stratum& stratum : sample.strata) {
    Typical row{.total = total};
    for (std::size_t k = stratum.begin; k < stratum.end; ++k) {
      row.partition += rows.in_units[k] / stratum.rows();
      row.entropy += rows.entropy[k] / stratum.rows();
    }
    const double unseen = stratum.unseen();
    hide(sum, unseen, unseen * stratum.ceiling, row, attention);
    if (stratum.unlike > 0)
      hide(sum, stratum.unlike_mass, stratum.unlike / stratum.unlike_mass, row, attention);
    sum.partition += (unseen * unseen * stratum.ceiling + stratum.unlike_rest) / total;
  }
  return sum;
}

// Median and, in standard deviations of a normal, the median distance from it: a few heavy rows do
// not show.
Estimate middle(std::vector<double> values) {
  const auto median = [&] {
    std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
    return values[values.size() / 2];
  };
  const double centre = median();
  for (double& v : values) v = std::abs(v - centre);
  return {centre, 1.4826 * median()};
}

// How far down the search goes: until a cluster that the rows miss adds less than a third of the
// energy's own error, guessed from the middle of a few rows, and no more than theirs to entropy and
// dissipation (kLeft of the latter: the rest is known); essential is what adds three errors of the
// energy.
LogitRange range_of(const Attention& attention, std::span<const double> tokens,
                    std::span<const double> masses, std::size_t wanted, std::uint64_t seed,
                    double total) {
  constexpr std::size_t kPilot = 64;
  constexpr double kLowest = -36;  // e^-36 of a token of its own: rounding
  constexpr double kLeft = 0.03;   // of a power's error, once close tokens are known
  constexpr double kFaint = -12;   // a token's power changes by its square
  const Stream stream(seed, "energy pilot");
  RowSample pilot{.rows = {}, .strata = {}, .sampled = true};
  for (std::size_t k = 0; k < kPilot; ++k)
    pilot.rows.push_back(static_cast<std::uint32_t>(stream.below(masses.size(), k, 0)));
  Rows rows = read_rows(attention, tokens, masses, pilot, 0, total);
  LogitRange range{.unit =
                       attention.by_distance() ? attention.beta : middle(rows.log_partition).value};
  const double power_unit = (attention.rule == Rule::softmax ? 1 : 2) * range.unit;
  for (std::size_t k = 0; k < rows.in_units.size(); ++k) {
    rows.in_units[k] = std::exp(std::min(700.0, rows.log_partition[k] - range.unit));
    rows.log_power[k] = std::exp(std::min(700.0, rows.log_power[k] - power_unit));
  }
  const Estimate z = middle(rows.in_units), h = middle(rows.entropy), p = middle(rows.log_power);
  const double root = std::sqrt(static_cast<double>(wanted));
  const double unseen = total / static_cast<double>(wanted);
  const auto adds_little = [&](double level, double errors) {
    return unseen * unseen * std::exp(level) / total <= errors * z.error / root;
  };
  const auto says_little = [&](double level) {
    Hidden most;
    hide(most, unseen, unseen * std::exp(level), {z.value, h.value, total}, attention);
    return most.entropy <= h.error / root &&
           (!is_plain(attention) || most.power <= kLeft * p.error / root);
  };
  while (range.essential > kLowest && !adds_little(range.essential, 3)) range.essential -= 0.5;
  range.lowest = range.essential;
  while (range.lowest > kLowest &&
         !(adds_little(range.lowest, 1.0 / 3) && says_little(range.lowest)))
    range.lowest -= 0.5;
  if (is_plain(attention)) range.lowest = std::min(range.lowest, kFaint);
  return range;
}

// A standard error once rows are drawn, with rounding. Rows that agree to rounding say nothing of
// what they miss: then it is that.
double bar(double error, double rounding, double unseen) {
  const double seen = std::hypot(error, rounding);
  return error > rounding ? seen : std::max(seen, unseen);
}

// A mean of positive numbers given by logarithms, its relative error and what is unseen.
struct LogMean {
  double log = 0, relative_error = 0, relative_unseen = 0;

  double bar() const {
    return observe::bar(relative_error, 1e-15 * (1 + std::abs(log)), relative_unseen);
  }
};

// `known`: the part of each token's number that the search has summed, in units of e^unit. Its mean
// is exact: rows only have to tell the rest.
LogMean log_mean(const RowSample& sample, std::span<const double> masses,
                 const std::vector<double>& logs, std::span<const double> known, double unit,
                 double hidden) {
  double most = 0, total = 0, sum = 0;
  for (std::size_t i = 0; i < known.size(); ++i) {
    most = std::max(most, known[i]);
    sum += masses[i] * known[i];
    total += masses[i];
  }
  const double top = std::max(*std::max_element(logs.begin(), logs.end()), unit + std::log(most));
  if (!std::isfinite(top)) return {top, 0, hidden > 0 ? kInfinity : 0};
  const double scale = std::exp(unit - top);
  std::vector<double> values;
  for (std::size_t k = 0; k < logs.size(); ++k)
    values.push_back(std::exp(logs[k] - top) - (most > 0 ? scale * known[sample.rows[k]] : 0));
  const Estimate rest = mean_over_originals(sample, masses, values);
  const double value = rest.value + (most > 0 ? scale * (sum / total) : 0);
  if (!(value > 0) && most > 0) return log_mean(sample, masses, logs, {}, unit, hidden);
  return {top + std::log(value), rest.error / value, hidden * scale / value};
}

// What the close tokens that a search has summed, and the token itself, make of a row.
struct Known {
  std::vector<double> partition, power;
};

Known known_parts(const Attention& attention, const CloseWeights& close,
                  std::span<const double> masses, double total) {
  Known known{close.known, close.power};
  if (!attention.by_distance()) return known;  // the search counts a token as its own neighbour
  for (std::size_t i = 0; i < masses.size(); ++i) {
    known.partition[i] += masses[i];
    known.power[i] /= attention.rule == Rule::softmax ? total : total * total;
  }
  return known;
}

double log_energy_without_beta(std::span<const double> tokens, std::span<const double> masses,
                               std::size_t dim, double total) {
  std::vector<double> sum(dim, 0.0);
  for (std::size_t i = 0; i < masses.size(); ++i)
    for (std::size_t a = 0; a < dim; ++a) sum[a] += masses[i] * tokens[i * dim + a];
  return std::log(0.5 * dot(sum, sum) / (total * total));
}

}  // namespace

Energy energy(const Attention& attention, std::span<const double> tokens,
              std::span<const double> masses, std::uint64_t seed, std::size_t exact_limit) {
  const std::size_t n = masses.size(), wanted = energy_rows(n);
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  LogitRange range;
  CloseWeights close;
  RowSample sample = all_rows(masses);
  // Below 0 far pairs weigh most, and where they are close_logits() does not know.
  if (n > std::max(exact_limit, wanted) && attention.beta >= 0) {
    range = range_of(attention, tokens, masses, wanted, seed, total);
    close = close_logits(attention, tokens, masses, range);
    sample = sample_rows(masses, close, wanted, seed, "energy rows");
  }
  const Rows rows = read_rows(attention, tokens, masses, sample, range.unit, total);
  Hidden unseen;
  Known known;
  if (sample.sampled) {
    unseen = hidden(sample, rows, attention, total);
    known = known_parts(attention, close, masses, total);
  }

  Energy result{.sampled = sample.sampled};
  const Estimate entropy = mean_over_originals(sample, masses, rows.entropy);
  result.entropy = entropy.value;
  result.entropy_unseen = unseen.entropy;
  if (sample.sampled)
    result.entropy_error = bar(entropy.error, 1e-15 * std::log(total), unseen.entropy);
  result.log_dissipation = kNan;
  if (is_plain(attention)) {
    const double unit = (attention.rule == Rule::softmax ? 1 : 2) * range.unit;
    const LogMean power = log_mean(sample, masses, rows.log_power, known.power, unit, unseen.power);
    result.log_dissipation = power.log;
    if (sample.sampled) result.dissipation_relative_error = power.bar();
    result.dissipation_relative_unseen = power.relative_unseen;
  }
  if (attention.beta == 0) {  // (e^{beta c} - 1) / 2 beta -> c / 2
    result.log_energy = log_energy_without_beta(tokens, masses, attention.dim, total);
    return result;
  }
  const LogMean z =
      log_mean(sample, masses, rows.log_partition, known.partition, range.unit, unseen.partition);
  result.log_energy = z.log - std::log(2 * total * std::abs(attention.beta));
  if (!sample.sampled) return result;
  result.relative_error = z.bar();
  result.relative_unseen = z.relative_unseen;
  return result;
}

}  // namespace attractor::observe
