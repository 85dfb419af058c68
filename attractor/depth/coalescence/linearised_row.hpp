// The flow of one more token beside a token c of the state, to first order in its offset xi:
//
//   xi' = J xi,   J = P (DA(c) - <c, A>) P,   A the attention output at c        (P: tangent at c)
//   softmax        DA xi = beta Cov_w(v, <k, Q xi>),  w_j = m_j e^{l_j} / Z
//   unnormalised   DA xi = beta sum_j w_j v_j <k_j, Q xi>,  w_j = m_j e^{l_j} / N
//
// with keys k_j = K x_j and values v_j = V x_j; for identity weights J = beta Cov_w - <c, A>. The
// members c + xi_i of a small group all obey it: what they do to each other is of first order in
// their mean offset, which is zero (members keep Q, K and V in common and the full mask).
//
// In the ambient space, where c moves with c' = P A, the equation is
//   xi' = -<c, A> xi + K xi,   K xi = P DA xi - c <c', xi>,
// of which the first part commutes with everything. All rates are per unit of time e^log_unit.
// Cost: m d for a row, and again for each product.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/attention/attention.hpp"

namespace attractor::depth {

/// What all rows of one state share.
struct RowSources {
  RowSources(const Attention& map, std::span<const double> tokens, std::span<const double> mass,
             double all);

  const Attention& attention;
  std::span<const double> state, masses;
  double total;
  std::vector<double> keys, values;  // empty: the state itself
};

class LinearisedRow {
 public:
  LinearisedRow(const RowSources& sources, std::size_t token, double log_unit);

  /// -<c, A>.
  double rate() const { return rate_; }
  /// ln Z = ln sum_j m_j e^{l_j}.
  double log_partition() const { return log_partition_; }
  /// No product is longer than |K| <= size() times the vector.
  double size() const { return size_; }
  /// out += factor K xi.
  void add_product(std::span<const double> xi, double factor, std::span<double> out) const;
  /// K, one column after the other.
  void matrix(std::span<double> out) const;

 private:
  struct Logits;
  struct Pull;
  std::span<const double> row(const std::vector<double>& rows, std::size_t j) const;
  Logits logits() const;
  Pull weigh(const Logits& logits, double log_unit);
  void set_motion(const Pull& pull, double log_unit);

  const RowSources& sources_;
  std::size_t token_;
  bool near_ = true;  // keys and values count by their difference to those of c
  double rate_ = 0, size_ = 0, log_partition_ = 0;
  std::vector<std::size_t> felt_;             // tokens whose weight counts
  std::vector<double> weight_;                // of those, beta included
  std::vector<double> mean_key_, mean_pull_;  // softmax: of k_j - k_c, and beta times of v_j - v_c
  std::vector<double> velocity_;              // c'
  mutable std::vector<double> query_, sum_;   // Q xi; of a product
};

}  // namespace attractor::depth
