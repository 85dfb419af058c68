// Attention as a map of tokens. For token i with logits l_ij = beta <Q x_i, K x_j> and values v_j =
// V x_j,
//
//   softmax (SA)        A_i = sum_j m_j e^{l_ij} v_j / sum_j m_j e^{l_ij}
//   unnormalised (USA)  A_i = sum_j m_j e^{l_ij} v_j / sum_j m_j
//
// A token of mass m stands for m identical ones. Sums are kept in log form (own and peak logit), so
// no beta overflows and no weight is cut. On the sphere with Q = K = I the kernel works with
// differences x_j - x_i (kernels/dense/attention_rows.hpp): exact inside clusters.  Cost O(n^2 d),
// memory O(n d).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attractor/attention/rule.hpp"
#include "attractor/kernels/dense/single_rows.hpp"

namespace attractor {

using kernels::Precision;

struct Attention {
  Rule rule = Rule::softmax;  // or unnormalised
  double beta = 1;
  std::size_t dim = 0;
  bool on_sphere = true;
  std::vector<double> query, key, value;  // dim x dim, row-major; empty: identity

  bool identity_logits() const { return query.empty() && key.empty(); }
  /// The logits depend on distances only.
  bool by_distance() const { return on_sphere && identity_logits(); }
  /// Upper bound of every |logit| on the sphere: |beta| |Q^T K|.
  double logit_bound() const;
};

/// Sums over j != i for each target row, with logits relative to `offset` (l = offset + relative
/// logit): e^{peak} pull_i = sum_j m_j e^{l_ij - offset}(v_j - v_i), and so on.
struct AttentionSums {
  double offset = 0;
  std::vector<double> pull;       // rows x dim, unless the request names a place
  std::vector<double> weight;     // rows
  std::vector<double> moment;     // rows, if asked: sum of m_j e^{l_ij - offset} (l_ij - offset)
  std::vector<double> peak, own;  // rows; own_i = l_ii - offset
  std::vector<double> values;     // n x dim: V x; empty when V = I

  /// The partition function sum_j m_j e^{l_ij}, own token (mass m) included, as scaled e^{offset +
  /// top}.
  struct Partition {
    double scaled, top;
  };
  Partition partition(std::size_t row, double own_mass) const;
  double log_partition(std::size_t row, double own_mass) const;
  /// Entropy (nats) of the row's softmax over the original tokens; needs `moment`.
  double entropy(std::size_t row, double own_mass) const;
};

struct AttentionRequest {
  std::span<const std::uint32_t> rows;  // empty: all
  bool pull = true;
  std::span<double> pull_place = {};  // rows x dim; empty: AttentionSums::pull
  bool moment = false;
  double lift = 0;  // distance form: weights are computed times e^lift, for frozen states
  /// f32 is about twice as fast, for a known error (kernels/dense/single_rows.hpp). It is taken by
  /// distance for all rows without lift, by logits for any rows, if there are enough tokens and a
  /// float holds the masses and logits; elsewhere f64 is.
  Precision precision = Precision::f64;
};

void attend(const Attention& attention, std::span<const double> tokens,
            std::span<const double> masses, const AttentionRequest& request, AttentionSums& out);

}  // namespace attractor
