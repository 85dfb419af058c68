// Which inverse temperature an architecture's logits have. Here and everywhere logits are beta
// cos(x_i, x_j) of directions; for queries and keys of d coordinates in a head,
//
//   plain       <q, k> / (T sqrt d)                 |q| |k| / (T sqrt d), a matter of training
//   L2 norm     g <q/|q|, k/|k|> / T                beta = g / T
//   RMS norm    <g_q q/rms(q), g_k k/rms(k)> / (T sqrt d)     beta = g_q g_k sqrt(d) / T
//
// (rms(q) = |q|/sqrt(d), so that a normed query has length g_q sqrt d.) Gains of single coordinates
// make Q^T K anisotropic; the mean of their products then takes the place of g_q g_k (what queries
// and keys of all directions see on average). A factor of the logits, such as ln n / ln n_0 or that
// of YaRN, multiplies beta; a temperature T divides it. The same table: docs/notation.md.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace attractor {

enum class QueryNorm { none, l2, rms };
std::span<const std::string_view> names(QueryNorm);

struct LogitScale {
  QueryNorm norm = QueryNorm::none;
  double query_gain = 1, key_gain = 1;      // l2: their product is g
  double query_length = 1, key_length = 1;  // none: |q|, |k|
  double head_dim = 64;
  double temperature = 1;
};

double beta_of(const LogitScale& scale);
/// The gain g (of the product, for rms of each of both) that gives this beta.
double gain_for(double beta, const LogitScale& scale);

}  // namespace attractor
