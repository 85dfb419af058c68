// How alike tokens are because they share a text, and how alike all tokens of a model are anyway.
// With u_i the directions of the tokens of sentence s after a layer and S_s their sum,
//
//   within   mean over sentences of (|S_s|^2 - N_s) / (N_s (N_s - 1))
//   across   sum_{s != t} <S_s, S_t> / sum_{s != t} N_s N_t      the baseline: random sentences
//   excess   within - across
//
// Bands are of 1000 draws of sentences with replacement (a sentence is never paired with itself).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

namespace attractor::models {

struct Band {
  double mean = 0, low = 0, high = 0;
};

/// The directions of the tokens of a sentence, added up.
struct SentenceSum {
  std::vector<double> sum{};
  double tokens = 0;
};
inline auto fields(SentenceSum& value) {
  auto& [sum, tokens] = value;
  return std::tie(sum, tokens);
}
/// directions: N x dim, of unit length.
SentenceSum sentence_sum(std::span<const double> directions, std::size_t dim);

class SentenceCosines {
 public:
  explicit SentenceCosines(std::size_t dim) : dim_(dim) {}

  /// One more sentence.
  void add(const SentenceSum& sentence);
  void add(std::span<const double> directions) { add(sentence_sum(directions, dim_)); }

  std::size_t sentences() const { return counts_.size(); }
  double within(std::size_t sentence) const;
  Band within(double level, std::uint64_t seed) const;
  /// Needs two sentences; else NaN.
  Band across(double level, std::uint64_t seed) const;
  Band excess(double level, std::uint64_t seed) const;

 private:
  template <class Statistic>
  Band band(double level, std::uint64_t seed, const Statistic& statistic) const;
  double mean_within(std::span<const double> times) const;
  double mean_across(std::span<const double> times) const;

  std::size_t dim_;
  std::vector<double> sums_;      // sentences x dim
  std::vector<double> counts_;    // N_s
  std::vector<double> products_;  // <S_s, S_t>, row by row: s (s + 1) / 2 + t
};

/// The part `level` of sorted draws in the middle, and the value itself.
Band band_of(double value, std::vector<double> draws, double level);

}  // namespace attractor::models
