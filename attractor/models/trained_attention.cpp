#include "attractor/models/trained_attention.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/threads.hpp"
#include "attractor/models/blocks.hpp"

namespace attractor::models {
namespace {

using kernels::MatrixLayout;
using kernels::PackedMatrix;

/// Columns [begin, begin + width) of all rows.
std::span<const float> columns_from(const Matrix& x, std::size_t begin) {
  return std::span(x.data).subspan(begin);
}

/// One product for each head, several at a time.
void each_head(std::size_t heads, const std::function<void(std::size_t)>& body) {
  parallel_for(heads, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t h = begin; h < end; ++h) body(h);
  });
}

}  // namespace

void TrainedAttention::turn(Matrix& heads) const {
  if (setting_.rotary == nullptr) return;
  const std::size_t count = heads.columns / setting_.architecture.head_dim;
  for (std::size_t i = 0; i < heads.rows; ++i) setting_.rotary->turn(heads.row(i), count, i);
}

Matrix TrainedAttention::queries(const Matrix& raw) const {
  const Architecture& a = setting_.architecture;
  Matrix q = a.query_norm ? normed({.gain = setting_.layer.query_gain}, NormKind::rms, a.epsilon,
                                   raw, a.head_dim)
                          : raw;
  turn(q);
  return q;
}

Matrix TrainedAttention::keys(const Matrix& raw) const {
  const Architecture& a = setting_.architecture;
  Matrix k = a.query_norm ? normed({.gain = setting_.layer.key_gain}, NormKind::rms, a.epsilon, raw,
                                   a.head_dim)
                          : raw;
  turn(k);
  return k;
}

/// <q_i, k_j> of one head, n x n.
void TrainedAttention::head_products(const Matrix& q, const Matrix& k, std::size_t head,
                                     float* out) const {
  const Architecture& a = setting_.architecture;
  const std::size_t n = q.rows, group = head / (a.heads / a.key_heads);
  const PackedMatrix packed(columns_from(k, group * a.head_dim), n, a.head_dim,
                            MatrixLayout::outputs_by_inputs, k.columns);
  kernels::product({q.data.data() + head * a.head_dim, n, q.columns}, packed, {}, {out, n});
}

/// sum_j weights_hij v_j of all heads, side by side.
Matrix TrainedAttention::mixed(std::span<const float> weights, const Matrix& values) const {
  const Architecture& a = setting_.architecture;
  const std::size_t n = values.rows;
  Matrix out(n, a.queries());
  each_head(a.heads, [&](std::size_t h) {
    const std::size_t group = h / (a.heads / a.key_heads);
    const PackedMatrix packed(columns_from(values, group * a.head_dim), a.head_dim, n,
                              MatrixLayout::inputs_by_outputs, values.columns);
    kernels::product({weights.data() + h * n * n, n, n}, packed, {},
                     {out.data.data() + h * a.head_dim, out.columns});
  });
  return out;
}

/// The mean over heads of sum_j weights_hij y_j.
Matrix TrainedAttention::mean_mixed(std::span<const float> weights, const Matrix& tokens) const {
  const std::size_t n = tokens.rows, heads = setting_.architecture.heads;
  Matrix mean(n, n), out(n, tokens.columns);
  for (std::size_t h = 0; h < heads; ++h)
    for (std::size_t p = 0; p < n * n; ++p)
      mean.data[p] += weights[h * n * n + p] / static_cast<float>(heads);
  const PackedMatrix packed(tokens.data, tokens.columns, n, MatrixLayout::inputs_by_outputs);
  kernels::product(mean.in(), packed, {}, out.out());
  return out;
}

Matrix TrainedAttention::write(const Matrix& seen) {
  const Layer& layer = setting_.layer;
  const std::size_t n = seen.rows, heads = setting_.architecture.heads;
  raw_queries_ = apply(layer.query, seen);
  raw_keys_ = apply(layer.key, seen);
  queries_ = queries(raw_queries_);
  keys_ = keys(raw_keys_);
  pairs_ = heads * n * n;
  logits_ = std::unique_ptr<float[]>(new float[pairs_]);
  chances_ = std::unique_ptr<float[]>(new float[pairs_]);
  each_head(heads, [&](std::size_t h) {
    float* logits = logits_.get() + h * n * n;
    head_products(queries_, keys_, h, logits);
    kernels::softmax_rows({logits, n * n}, n, static_cast<float>(setting_.scale), setting_.seen,
                          {chances_.get() + h * n * n, n * n});
  });
  if (setting_.identity_values) return mean_mixed(chances(), seen);
  values_ = apply(layer.value, seen);
  return apply(layer.output, mixed(chances(), values_));
}

Matrix TrainedAttention::tangent(const Matrix& seen, const Matrix& moved) const {
  const Architecture& a = setting_.architecture;
  const Layer& layer = setting_.layer;
  const std::size_t n = seen.rows;
  Matrix dq = apply_to_tangent(layer.query, moved), dk = apply_to_tangent(layer.key, moved);
  if (a.query_norm) {
    dq = normed_tangent({.gain = layer.query_gain}, NormKind::rms, a.epsilon, raw_queries_, dq,
                        a.head_dim);
    dk = normed_tangent({.gain = layer.key_gain}, NormKind::rms, a.epsilon, raw_keys_, dk,
                        a.head_dim);
  }
  turn(dq);
  turn(dk);
  std::vector<float> change(a.heads * n * n);  // of the weights
  const auto scale = static_cast<float>(setting_.scale);
  each_head(a.heads, [&](std::size_t h) {
    std::vector<float> other(n * n);
    float* dl = change.data() + h * n * n;
    head_products(dq, keys_, h, dl);
    head_products(queries_, dk, h, other.data());
    for (std::size_t i = 0; i < n; ++i) {
      const float* p = chances_.get() + (h * n + i) * n;
      double mean = 0;
      for (std::size_t j = 0; j < n; ++j) {
        dl[i * n + j] = scale * (dl[i * n + j] + other[i * n + j]);
        mean += static_cast<double>(p[j]) * static_cast<double>(dl[i * n + j]);
      }
      for (std::size_t j = 0; j < n; ++j)
        dl[i * n + j] = static_cast<float>(static_cast<double>(p[j]) *
                                           (static_cast<double>(dl[i * n + j]) - mean));
    }
  });
  if (setting_.identity_values) {
    Matrix result = mean_mixed(change, seen);
    add(result, mean_mixed(chances(), moved));
    return result;
  }
  Matrix inside = mixed(change, values_);
  add(inside, mixed(chances(), apply_to_tangent(layer.value, moved)));
  return apply_to_tangent(layer.output, inside);
}

}  // namespace attractor::models
