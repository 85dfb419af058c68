// What a transformer is made of, in the words of the laboratory: attention layers, where they
// normalise, and feed-forward blocks. With x the stream of n tokens in R^d and N the norm,
//
//   post    x <- N(x + Att(x)),        x <- N(x + FF(x))            BERT, ALBERT
//   pre     x <- x + Att(N(x)),        x <- x + FF(N(x))            GPT-2, Llama, Mistral, Qwen
//
//   Att     sum_h O_h sum_j softmax_j(<q_i, k_j> / sqrt(d_head)) v_j,   heads of keys shared by
//           heads/key_heads queries each; q, k turned by the position (rotary), or normed first
//   FF      W_down act(W_up x), or W_down (act(W_gate x) * W_up x)
//   N       g (y - mean y)/sqrt(var y + eps) + b (layer), or g y/sqrt(mean y^2 + eps) (rms)
//
// Everything else about the families is how their tensors are called (assemble.hpp).
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "attractor/attention/rotary.hpp"

namespace attractor::models {

enum class Family { bert, albert, gpt2, llama, mistral, qwen2, qwen3 };
std::span<const std::string_view> names(Family);

enum class NormKind { layer, rms };
enum class NormPlace { post, pre };
std::span<const std::string_view> names(NormPlace);

enum class Activation { gelu, gelu_tanh, silu, relu };
/// By the words of config.json: gelu, gelu_new, gelu_pytorch_tanh, silu, swish, relu.
std::optional<Activation> activation_named(std::string_view word);

enum class Positions { learned, rotary_halves, rotary_pairs };

struct Architecture {
  Family family = Family::bert;
  std::size_t layers = 0;      // as many as are passed through
  std::size_t own_layers = 0;  // with weights of their own; fewer: they are used again (ALBERT)
  std::size_t width = 0, heads = 0, key_heads = 0, head_dim = 0, hidden = 0;
  std::size_t vocabulary = 0, positions = 0;
  std::size_t embedding = 0;  // width of embeddings, if it is another one; 0: width
  std::size_t kinds = 0;      // token types whose first is added to all; 0: none
  NormKind norm = NormKind::layer;
  NormPlace place = NormPlace::post;
  double epsilon = 1e-12;
  Activation activation = Activation::gelu;
  bool gated = false;       // feed-forward
  bool query_bias = true;   // of queries, keys and values
  bool output_bias = true;  // of what attention writes
  bool hidden_bias = true;  // of feed-forward
  bool query_norm = false;  // heads of queries and keys are normed (rms) before they meet
  bool causal = false;
  std::size_t window = 0;  // tokens that are seen, the own among them; 0: all
  bool tied = true;        // the head is the embedding
  bool by_layer = false;   // logits of layer k are divided by k + 1
  Positions position = Positions::learned;
  double theta = 10000;
  RotaryScaling scaling{};

  std::size_t embedding_width() const { return embedding > 0 ? embedding : width; }
  std::size_t queries() const { return heads * head_dim; }
  std::size_t keys() const { return key_heads * head_dim; }
  bool rotary() const { return position != Positions::learned; }
};

/// Sizes are at least 1, fit each other and are not absurd; throws Error, `what` being the file.
void check(const Architecture& a, const std::string& what);

/// Weights of all layers, embeddings and norms.
double parameters(const Architecture& a);

}  // namespace attractor::models
