#include "attractor/models/readings/sentence_cosines.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"

namespace attractor::models {
namespace {

constexpr std::size_t kBandDraws = 1000;

}  // namespace

Band band_of(double value, std::vector<double> draws, double level) {
  draws.erase(std::remove_if(draws.begin(), draws.end(), [](double x) { return std::isnan(x); }),
              draws.end());
  if (draws.empty()) return {value, kNan, kNan};
  std::sort(draws.begin(), draws.end());
  const auto at = [&](double share) {
    const double place = share * static_cast<double>(draws.size() - 1);
    const auto k = static_cast<std::size_t>(place);
    const double part = place - static_cast<double>(k);
    return k + 1 < draws.size() ? (1 - part) * draws[k] + part * draws[k + 1] : draws.back();
  };
  return {value, at((1 - level) / 2), at((1 + level) / 2)};
}

SentenceSum sentence_sum(std::span<const double> directions, std::size_t dim) {
  SentenceSum result{.sum = std::vector<double>(dim, 0.0),
                     .tokens = static_cast<double>(directions.size() / dim)};
  for (std::size_t k = 0; k < directions.size(); ++k) result.sum[k % dim] += directions[k];
  return result;
}

void SentenceCosines::add(const SentenceSum& sentence) {
  const std::vector<double>& sum = sentence.sum;
  counts_.push_back(sentence.tokens);
  sums_.insert(sums_.end(), sum.begin(), sum.end());
  for (std::size_t t = 0; t < counts_.size(); ++t) {
    double product = 0;
    for (std::size_t a = 0; a < dim_; ++a) product += sum[a] * sums_[t * dim_ + a];
    products_.push_back(product);
  }
}

double SentenceCosines::within(std::size_t s) const {
  const double count = counts_[s];
  return count < 2 ? kNan : (products_[s * (s + 1) / 2 + s] - count) / (count * (count - 1));
}

double SentenceCosines::mean_within(std::span<const double> times) const {
  double sum = 0, weight = 0;
  for (std::size_t s = 0; s < counts_.size(); ++s)
    if (counts_[s] >= 2) {
      sum += times[s] * within(s);
      weight += times[s];
    }
  return weight > 0 ? sum / weight : kNan;
}

double SentenceCosines::mean_across(std::span<const double> times) const {
  double sum = 0, pairs = 0;
  for (std::size_t s = 0; s < counts_.size(); ++s)
    for (std::size_t t = 0; t < s; ++t) {
      sum += times[s] * times[t] * products_[s * (s + 1) / 2 + t];
      pairs += times[s] * times[t] * counts_[s] * counts_[t];
    }
  return pairs > 0 ? sum / pairs : kNan;
}

template <class Statistic>
Band SentenceCosines::band(double level, std::uint64_t seed, const Statistic& statistic) const {
  const Stream stream(seed, "sentences drawn again");
  const std::size_t m = counts_.size();
  std::vector<double> draws;
  for (std::size_t draw = 0; m > 1 && draw < kBandDraws; ++draw) {
    std::vector<double> times(m, 0.0);
    for (std::size_t k = 0; k < m; ++k) times[stream.below(m, draw, k)] += 1;
    draws.push_back(statistic(times));
  }
  return band_of(statistic(std::vector<double>(m, 1.0)), std::move(draws), level);
}

Band SentenceCosines::within(double level, std::uint64_t seed) const {
  return band(level, seed, [&](const std::vector<double>& times) { return mean_within(times); });
}

Band SentenceCosines::across(double level, std::uint64_t seed) const {
  return band(level, seed, [&](const std::vector<double>& times) { return mean_across(times); });
}

Band SentenceCosines::excess(double level, std::uint64_t seed) const {
  return band(level, seed, [&](const std::vector<double>& times) {
    return mean_within(times) - mean_across(times);
  });
}

}  // namespace attractor::models
