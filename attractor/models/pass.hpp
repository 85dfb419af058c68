// Tokens through the layers of a trained model, one layer at a time. The stream x (n x d, single
// precision) is what flows; after each layer the caller sees what attention saw, its logits and
// weights, and what attention and feed-forward wrote into the stream. Perturbations of the stream
// are carried along by the derivative of the layer (tangents), so that the caller can measure how
// fast nearby streams part.
//
// Switches change the model on the way: without feed-forward (the block is gone, under post-norm
// with its norm), without attention (it writes nothing), values and outputs replaced by the
// identity (attention writes the mean over heads of what it saw), one layer used again and again,
// logits scaled, another mask. Cost of a layer: n (4 d^2 + 2 d hidden) + 2 n^2 d multiply-adds;
// memory 2 heads n^2 floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "attractor/kernels/matrix/softmax_rows.hpp"
#include "attractor/models/matrix.hpp"
#include "attractor/models/model.hpp"

namespace attractor::models {

enum class MaskChange { as_trained, full, causal };
std::span<const std::string_view> names(MaskChange);

struct Switches {
  bool feed_forward = true, attention = true;
  bool identity_values = false;
  std::optional<std::size_t> only_layer{};  // this one, again and again
  std::size_t depth = 0;                    // layers passed; 0: as many as the model has
  double beta_scale = 1;                    // factor of all logits
  MaskChange mask = MaskChange::as_trained;
};

/// What happened in a layer. Views of what the pass keeps until the next step.
struct LayerView {
  std::size_t index = 0;  // from 0
  const Layer* weights = nullptr;
  const Matrix* before = nullptr;     // the stream, n x d
  const Matrix* seen = nullptr;       // what attention saw: normed, n x d
  const Matrix* attention = nullptr;  // what it wrote, n x d
  const Matrix* hidden = nullptr;     // what feed-forward wrote
  const Matrix* after = nullptr;      // the stream then
  const Matrix* keys = nullptr;       // as queries meet them, n x key_heads head_dim
  std::span<const float> logits{};    // heads x n x n, all pairs, scaled
  std::span<const float> chances{};   // softmax of those that are seen: heads x n x n
};

class Pass {
 public:
  /// The model must outlive it. Throws Error on a token outside the vocabulary, too many tokens, or
  /// a switch that does not fit.
  Pass(const Model& model, std::span<const std::uint32_t> tokens, const Switches& switches = {});
  ~Pass();

  const Model& model() const { return model_; }
  std::size_t tokens() const { return state_.rows; }
  /// Layers in all, and passed.
  std::size_t depth() const { return depth_; }
  std::size_t passed() const { return passed_; }
  bool done() const { return passed_ >= depth_; }

  /// The stream: after embedding, then after each layer.
  const Matrix& state() const { return state_; }
  /// Goes on from another stream of the same size.
  void replace_state(Matrix x);
  /// Perturbations of it, n x d each; a caller adds and changes them between steps.
  std::vector<Matrix>& tangents() { return tangents_; }

  /// Whether token i attends to token j.
  bool sees(std::size_t i, std::size_t j) const {
    return (!causal_ || j <= i) && (window_ == 0 || (i < j ? j - i : i - j) < window_);
  }

  /// One layer.
  const LayerView& step();

  /// The stream as the head sees it: normed once more, if the model does.
  Matrix final_state() const;
  /// Logits of the next token after the last one; needs a head.
  std::vector<float> next_token() const;

 private:
  struct Work;
  Matrix embedded(std::span<const std::uint32_t> tokens) const;
  std::vector<kernels::KeyRange> seen_keys() const;

  const Model& model_;
  Switches switches_;
  std::size_t depth_ = 0, passed_ = 0, window_ = 0;
  bool causal_ = false;
  Matrix state_;
  std::vector<Matrix> tangents_;
  std::unique_ptr<Work> work_;
  LayerView view_{};
};

}  // namespace attractor::models
