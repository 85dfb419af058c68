#include "attractor/observe/row_sample.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>

#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"

namespace attractor::observe {
namespace {

constexpr std::size_t kLeastRows = 16;  // of a stratum: fewer tell too little of its scatter
constexpr std::size_t kHeaviest = 64;   // tokens of most unknown weight, always read

struct Key {
  bool heaviest = false;
  int mass = 0, weight = 0;
  bool complete = false;
  auto operator<=>(const Key&) const = default;
};

double rest(std::span<const double> masses, const CloseWeights& close, std::size_t i) {
  return masses[i] * (close.weight[i] - close.known[i]);
}

double heaviest_rest(std::span<const double> masses, const CloseWeights& close) {
  std::vector<double> all;
  for (std::size_t i = 0; i < masses.size(); ++i) all.push_back(rest(masses, close, i));
  if (all.size() <= kHeaviest) return kInfinity;
  std::nth_element(all.begin(), all.begin() + kHeaviest, all.end(), std::greater<>());
  return all[kHeaviest];
}

// Classes of a factor e^width in weight and in mass; without any weight, one of its own.
std::map<Key, Stratum> classes(std::span<const double> masses, const CloseWeights& close,
                               double width) {
  std::map<Key, Stratum> found;
  const double limit = heaviest_rest(masses, close);
  for (std::size_t i = 0; i < masses.size(); ++i) {
    const double weight = close.weight[i];
    Key key{false, static_cast<int>(std::floor(2 * std::log(masses[i]) / width)),
            weight > 0 ? static_cast<int>(std::floor(std::log(weight) / width)) : -100'000,
            close.complete[i] != 0};
    if (rest(masses, close, i) > limit) key = {.heaviest = true};
    Stratum& stratum = found[key];
    stratum.tokens += 1;
    stratum.mass += masses[i];
    stratum.heaviest = std::max(stratum.heaviest, masses[i]);
    stratum.ceiling += close.ceiling[i];
    stratum.complete = key.complete;
    stratum.whole_wanted = key.heaviest;
    stratum.members.push_back(static_cast<std::uint32_t>(i));
  }
  for (auto& [key, stratum] : found) stratum.ceiling /= stratum.tokens;
  return found;
}

// Every stratum its least; the rest half by mass, half by close weight.
std::vector<std::size_t> allocate(const std::vector<Stratum>& strata,
                                  std::span<const double> masses, const CloseWeights& close,
                                  std::size_t rows) {
  std::vector<double> weight;
  double mass = 0;
  for (const Stratum& stratum : strata) {
    weight.push_back(0);
    for (const std::uint32_t i : stratum.members) weight.back() += masses[i] * close.weight[i];
    mass += stratum.mass;
  }
  const double heavy = std::accumulate(weight.begin(), weight.end(), 0.0);
  std::vector<std::size_t> counts;
  for (std::size_t h = 0; h < strata.size(); ++h) {
    double share = strata[h].mass / mass;
    if (heavy > 0) share = (share + weight[h] / heavy) / 2;
    const std::size_t least = strata[h].whole_wanted ? kHeaviest : kLeastRows;
    const auto wanted = least + static_cast<std::size_t>(share * static_cast<double>(rows));
    counts.push_back(std::min(wanted, strata[h].members.size()));
  }
  return counts;
}

// `count` different numbers below `total`, ascending: Floyd's algorithm, one draw each.
std::set<std::uint64_t> choose(std::uint64_t total, std::uint64_t count, const Stream& stream,
                               std::uint64_t item) {
  std::set<std::uint64_t> chosen;
  for (std::uint64_t last = total - count; last < total; ++last)
    if (!chosen.insert(stream.below(last + 1, item, last - (total - count))).second)
      chosen.insert(last);
  return chosen;
}

struct Beyond {
  double sum = 0, mass = 0;
};

// Weights beyond the range of those drawn.
Beyond beyond(const Stratum& stratum, std::span<const std::uint32_t> rows,
              std::span<const double> masses, std::span<const double> noise,
              const std::function<double(std::uint32_t)>& weight) {
  double low = weight(rows[stratum.begin]), high = low;
  for (std::size_t k = stratum.begin; k < stratum.end; ++k) {
    low = std::min(low, weight(rows[k]));
    high = std::max(high, weight(rows[k]));
  }
  Beyond found;
  for (const std::uint32_t i : stratum.members) {
    const double outside = std::max(weight(i) - high, low - weight(i));
    const double excess = std::max(0.0, outside - 3 * noise[i]);
    found.sum += masses[i] * excess;
    if (excess > 0) found.mass += masses[i];
  }
  return found;
}

void compare(Stratum& stratum, std::span<const std::uint32_t> rows, std::span<const double> masses,
             const CloseWeights& close) {
  const Beyond all =
      beyond(stratum, rows, masses, close.noise, [&](std::uint32_t i) { return close.weight[i]; });
  stratum.unlike = all.sum;
  stratum.unlike_mass = all.mass;
  stratum.unlike_rest = beyond(stratum, rows, masses, close.noise, [&](std::uint32_t i) {
                          return close.weight[i] - close.known[i];
                        }).sum;
}

}  // namespace

RowSample all_rows(std::span<const double> masses) {
  RowSample sample;
  sample.rows.resize(masses.size());
  std::iota(sample.rows.begin(), sample.rows.end(), 0U);
  Stratum stratum{.end = masses.size(), .complete = true};
  stratum.tokens = stratum.rows();
  stratum.mass = std::accumulate(masses.begin(), masses.end(), 0.0);
  sample.strata.push_back(std::move(stratum));
  return sample;
}

RowSample sample_rows(std::span<const double> masses, const CloseWeights& close, std::size_t rows,
                      std::uint64_t seed, std::string_view name) {
  double width = std::log(4.0);
  std::map<Key, Stratum> found = classes(masses, close, width);
  while (found.size() * kLeastRows > rows && width < 1e3)
    found = classes(masses, close, width *= 2);
  RowSample sample{.sampled = true};
  for (auto& [key, stratum] : found) sample.strata.push_back(std::move(stratum));
  const std::vector<std::size_t> counts = allocate(sample.strata, masses, close, rows);
  const Stream stream(seed, name);
  for (std::size_t h = 0; h < sample.strata.size(); ++h) {
    Stratum& stratum = sample.strata[h];
    stratum.begin = sample.rows.size();
    for (const std::uint64_t k : choose(stratum.members.size(), counts[h], stream, h))
      sample.rows.push_back(stratum.members[k]);
    stratum.end = sample.rows.size();
    compare(stratum, sample.rows, masses, close);
    stratum.members = {};
  }
  return sample;
}

Estimate mean_over_originals(const RowSample& sample, std::span<const double> masses,
                             std::span<const double> values) {
  double total = 0, sum = 0, variance = 0;
  for (const Stratum& stratum : sample.strata) {
    double mass = 0, weighted = 0, scatter = 0;
    for (std::size_t k = stratum.begin; k < stratum.end; ++k) {
      mass += masses[sample.rows[k]];
      weighted += masses[sample.rows[k]] * values[k];
    }
    total += stratum.mass;
    sum += stratum.mass * (weighted / mass);
    if (stratum.whole()) continue;
    double farthest = 0;
    for (std::size_t k = stratum.begin; k < stratum.end; ++k) {
      const double square = std::pow(masses[sample.rows[k]] * (values[k] - weighted / mass), 2);
      scatter += square;
      farthest = std::max(farthest, square);
    }
    variance += stratum.tokens * (stratum.tokens - stratum.rows()) * (scatter + 2.5 * farthest) /
                (stratum.rows() * (stratum.rows() - 1));
  }
  return {sum / total, std::sqrt(variance) / total};
}

}  // namespace attractor::observe
