// Attention of one trained layer on n tokens, with all its heads (equation: architecture.hpp), and
// its derivative. Logits and weights of all pairs are kept, heads x n x n each, because they are
// what one wants to look at.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "attractor/kernels/matrix/softmax_rows.hpp"
#include "attractor/models/matrix.hpp"
#include "attractor/models/model.hpp"
#include "attractor/models/rotary.hpp"

namespace attractor::models {

struct AttentionSetting {
  const Architecture& architecture;
  const Layer& layer;
  double scale;                         // of <q, k>
  const RotaryTables* rotary;           // null: none
  std::vector<kernels::KeyRange> seen;  // of each token
  bool identity_values;
};

class TrainedAttention {
 public:
  explicit TrainedAttention(AttentionSetting setting) : setting_(std::move(setting)) {}

  /// What attention writes for tokens that are seen like this.
  Matrix write(const Matrix& seen);
  /// How that changes with them; after write().
  Matrix tangent(const Matrix& seen, const Matrix& moved) const;

  std::span<const float> logits() const { return {logits_.get(), pairs_}; }
  std::span<const float> chances() const { return {chances_.get(), pairs_}; }
  /// As queries meet them (normed, turned): n x key_heads head_dim.
  const Matrix& met_keys() const { return keys_; }

 private:
  Matrix queries(const Matrix& raw) const;
  Matrix keys(const Matrix& raw) const;
  void turn(Matrix& heads) const;
  void head_products(const Matrix& q, const Matrix& k, std::size_t head, float* out) const;
  Matrix mixed(std::span<const float> weights, const Matrix& values) const;
  Matrix mean_mixed(std::span<const float> weights, const Matrix& tokens) const;

  AttentionSetting setting_;
  Matrix raw_queries_, raw_keys_;   // before their norm
  Matrix queries_, keys_, values_;  // n x heads head_dim, n x key_heads head_dim
  std::size_t pairs_ = 0;  // heads n^2, of which each is written: no need to clear them first
  std::unique_ptr<float[]> logits_, chances_;
};

}  // namespace attractor::models
