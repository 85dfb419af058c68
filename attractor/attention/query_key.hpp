// What becomes of queries and keys, vectors of d numbers each, before their products are taken; in
// this order:
//
//   l2    q <- q/|q|, k <- k/|k|: logits beta <q, k>, so beta is the largest
//   rms   q <- sqrt(d) q/|q|, k likewise, and logits over sqrt(d) as in a transformer: beta is the
//         product of the two gains there, and the largest logit beta sqrt(d)
//   gains q <- g_q q, k <- g_k k, number by number: with l2 or rms the QK-norm of trained models
//         (arXiv 2010.04245, 2302.05442), which is anisotropic
//   rotary positions (rotary.hpp)
//
// A vector that is 0 stays 0.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/attention/rotary.hpp"
#include "attractor/base/named.hpp"

namespace attractor {

enum class QueryKeyNorm { none, l2, rms };
inline std::span<const std::string_view> names(QueryKeyNorm) {
  static constexpr std::string_view kNames[] = {"none", "l2", "rms"};
  return kNames;
}

struct QueryKey {
  QueryKeyNorm norm = QueryKeyNorm::none;
  std::vector<double> query_gain{}, key_gain{};  // d numbers; empty: 1
  Rotary rotary{};

  /// Nothing becomes of them.
  bool plain() const {
    return norm == QueryKeyNorm::none && query_gain.empty() && key_gain.empty() &&
           !rotary.present();
  }
  /// |q| |k| is at most this, times what it was before if nothing is normed.
  double bound(std::size_t dim) const;
};

/// Throws Error if vectors of this many numbers cannot be treated so.
void validate(const QueryKey& query_key, std::size_t dim);

/// Rows of dim numbers, the i-th at position i.
void treat_queries(const QueryKey& query_key, std::span<double> rows, std::size_t dim);
void treat_keys(const QueryKey& query_key, std::span<double> rows, std::size_t dim);

}  // namespace attractor
