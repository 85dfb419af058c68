#include "attractor/models/assemble.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/named.hpp"

namespace attractor::models {
namespace {

using kernels::MatrixLayout;
using kernels::PackedMatrix;

class Assembly {
 public:
  Assembly(const Architecture& a, const TensorSource& source, bool with_head)
      : a_(a), source_(source), with_head_(with_head) {}

  Model model() {
    m_.architecture = a_;
    m_.name = source_.what();
    switch (a_.family) {
      case Family::bert:
        bert();
        break;
      case Family::albert:
        albert();
        break;
      case Family::gpt2:
        gpt2();
        break;
      default:
        llama();
    }
    require_all_used();
    return std::move(m_);
  }

 private:
  // ---- Families.

  void embeddings(const std::string& words) {
    find_prefix(words);
    m_.words = numbers(words, {a_.vocabulary, a_.embedding_width()});
  }

  void bert_embeddings() {
    embeddings("embeddings.word_embeddings.weight");
    m_.places =
        numbers("embeddings.position_embeddings.weight", {a_.positions, a_.embedding_width()});
    if (a_.kinds > 0) {
      m_.kind =
          numbers("embeddings.token_type_embeddings.weight", {a_.kinds, a_.embedding_width()});
      m_.kind.resize(a_.embedding_width());
    }
    m_.embedding_norm = norm("embeddings.LayerNorm", a_.embedding_width());
    ignored_ = {"embeddings.position_ids", "embeddings.token_type_ids", "pooler.",
                "pooler_activation."};
  }

  /// Attention, then a block, each added to its input and normalised.
  struct EncoderNames {
    std::string query, key, value, output, attention_norm, up, down, hidden_norm;
  };
  Layer encoder_layer(const std::string& at, const EncoderNames& names) {
    Layer layer;
    layer.query = linear(at + names.query, a_.width, a_.width);
    layer.key = linear(at + names.key, a_.width, a_.width);
    layer.value = linear(at + names.value, a_.width, a_.width);
    layer.output = linear(at + names.output, a_.width, a_.width);
    layer.attention_norm = norm(at + names.attention_norm, a_.width);
    layer.up = linear(at + names.up, a_.hidden, a_.width);
    layer.down = linear(at + names.down, a_.width, a_.hidden);
    layer.hidden_norm = norm(at + names.hidden_norm, a_.width);
    return layer;
  }

  void bert() {
    bert_embeddings();
    for (std::size_t k = 0; k < a_.own_layers; ++k)
      m_.layers.push_back(
          encoder_layer(fmt::format("encoder.layer.{}.", k),
                        {"attention.self.query", "attention.self.key", "attention.self.value",
                         "attention.output.dense", "attention.output.LayerNorm",
                         "intermediate.dense", "output.dense", "output.LayerNorm"}));
  }

  void albert() {
    bert_embeddings();
    m_.embedding_map =
        linear("encoder.embedding_hidden_mapping_in", a_.width, a_.embedding_width());
    for (std::size_t k = 0; k < a_.own_layers; ++k)
      m_.layers.push_back(
          encoder_layer(fmt::format("encoder.albert_layer_groups.{}.albert_layers.0.", k),
                        {"attention.query", "attention.key", "attention.value", "attention.dense",
                         "attention.LayerNorm", "ffn", "ffn_output", "full_layer_layer_norm"}));
  }

  void gpt2() {
    embeddings("wte.weight");
    m_.places = numbers("wpe.weight", {a_.positions, a_.width});
    const std::size_t d = a_.width;
    for (std::size_t k = 0; k < a_.own_layers; ++k) {
      const std::string at = fmt::format("h.{}.", k);
      Layer layer;
      layer.attention_norm = norm(at + "ln_1", d);
      // One matrix [in, out] for queries, keys and values, side by side.
      const std::vector<float> joint = numbers(at + "attn.c_attn.weight", {d, 3 * d});
      const std::vector<float> bias = numbers(at + "attn.c_attn.bias", {3 * d});
      for (std::size_t part = 0; part < 3; ++part) {
        Linear& to = part == 0 ? layer.query : part == 1 ? layer.key : layer.value;
        to.weights = PackedMatrix(std::span(joint).subspan(part * d), d, d,
                                  MatrixLayout::inputs_by_outputs, 3 * d);
        const auto from = bias.begin() + static_cast<std::ptrdiff_t>(part * d);
        to.bias.assign(from, from + static_cast<std::ptrdiff_t>(d));
      }
      layer.output = turned(at + "attn.c_proj", d, d);
      layer.hidden_norm = norm(at + "ln_2", d);
      layer.up = turned(at + "mlp.c_fc", a_.hidden, d);
      layer.down = turned(at + "mlp.c_proj", d, a_.hidden);
      m_.layers.push_back(std::move(layer));
      ignored_.push_back(at + "attn.bias");
      ignored_.push_back(at + "attn.masked_bias");
    }
    m_.final_norm = norm("ln_f", d);
    head();
  }

  void llama() {
    embeddings("embed_tokens.weight");
    for (std::size_t k = 0; k < a_.own_layers; ++k) {
      const std::string at = fmt::format("layers.{}.", k);
      Layer layer;
      layer.attention_norm = norm(at + "input_layernorm", a_.width);
      layer.query = linear(at + "self_attn.q_proj", a_.queries(), a_.width, a_.query_bias);
      layer.key = linear(at + "self_attn.k_proj", a_.keys(), a_.width, a_.query_bias);
      layer.value = linear(at + "self_attn.v_proj", a_.keys(), a_.width, a_.query_bias);
      layer.output = linear(at + "self_attn.o_proj", a_.width, a_.queries(), a_.output_bias);
      if (a_.query_norm) {
        layer.query_gain = numbers(at + "self_attn.q_norm.weight", {a_.head_dim});
        layer.key_gain = numbers(at + "self_attn.k_norm.weight", {a_.head_dim});
      }
      layer.hidden_norm = norm(at + "post_attention_layernorm", a_.width);
      layer.gate = linear(at + "mlp.gate_proj", a_.hidden, a_.width, a_.hidden_bias);
      layer.up = linear(at + "mlp.up_proj", a_.hidden, a_.width, a_.hidden_bias);
      layer.down = linear(at + "mlp.down_proj", a_.width, a_.hidden, a_.hidden_bias);
      m_.layers.push_back(std::move(layer));
      ignored_.push_back(at + "self_attn.rotary_emb.inv_freq");
    }
    ignored_.push_back("rotary_emb.inv_freq");
    m_.final_norm = norm("norm", a_.width);
    head();
  }

  void head() {
    if (a_.tied || !with_head_) return;
    const std::string outer = "lm_head.weight";
    const std::string kept = std::exchange(prefix_, "");
    m_.head = numbers(outer, {a_.vocabulary, a_.width});
    prefix_ = kept;
  }

  // ---- Tensors.

  void find_prefix(const std::string& wanted) {
    std::vector<std::string> found;
    for (const std::string& name : source_.names())
      if (name == wanted || name.ends_with("." + wanted))
        found.push_back(name.substr(0, name.size() - wanted.size()));
    if (found.empty())
      throw Error(fmt::format("{}: has no tensor '{}', which a model of type {} has",
                              source_.what(), wanted, name(a_.family)));
    if (found.size() > 1)
      throw Error(
          fmt::format("{}: has several models: {}", source_.what(), fmt::join(found, ", ")));
    prefix_ = found.front();
  }

  std::vector<float> numbers(const std::string& name, const Shape& wanted) {
    const std::string full = prefix_ + name;
    const Shape* shape = source_.shape(full);
    if (shape == nullptr)
      throw Error(fmt::format("{}: has no tensor '{}', which a model of type {} with {} layers has",
                              source_.what(), full, attractor::name(a_.family), a_.own_layers));
    if (*shape != wanted)
      throw Error(fmt::format("{}: tensor '{}' has the shape ({}); its configuration needs ({})",
                              source_.what(), full, fmt::join(*shape, ", "),
                              fmt::join(wanted, ", ")));
    std::vector<float> all(elements(wanted, full));
    source_.read(full, all);
    if (!std::all_of(all.begin(), all.end(), [](float x) { return std::isfinite(x); }))
      throw Error(
          fmt::format("{}: tensor '{}' holds a number that is not finite", source_.what(), full));
    used_.insert(full);
    return all;
  }

  Linear linear(const std::string& name, std::size_t outputs, std::size_t inputs,
                bool bias = true) {
    Linear l{.weights =
                 PackedMatrix(numbers(name + ".weight", {outputs, inputs}), outputs, inputs)};
    if (bias) l.bias = numbers(name + ".bias", {outputs});
    return l;
  }

  /// A matrix that lies [in, out].
  Linear turned(const std::string& name, std::size_t outputs, std::size_t inputs) {
    return {.weights = PackedMatrix(numbers(name + ".weight", {inputs, outputs}), outputs, inputs,
                                    MatrixLayout::inputs_by_outputs),
            .bias = numbers(name + ".bias", {outputs})};
  }

  Norm norm(const std::string& name, std::size_t width) {
    // Old checkpoints of BERT call them gamma and beta.
    const bool old = source_.shape(prefix_ + name + ".weight") == nullptr &&
                     source_.shape(prefix_ + name + ".gamma") != nullptr;
    Norm n{.gain = numbers(name + (old ? ".gamma" : ".weight"), {width})};
    if (a_.norm == NormKind::layer) n.bias = numbers(name + (old ? ".beta" : ".bias"), {width});
    return n;
  }

  /// What is left over belongs to an architecture that is not this one.
  void require_all_used() const {
    for (const std::string& name : source_.names()) {
      if (!name.starts_with(prefix_) || used_.count(name) > 0) continue;
      const std::string_view own = std::string_view(name).substr(prefix_.size());
      const auto known = [&](std::string_view start) { return own.starts_with(start); };
      if (std::any_of(ignored_.begin(), ignored_.end(), known)) continue;
      // Beside the model itself: heads of tasks, and what exporters leave.
      const bool inside = known("encoder.") || known("layers.") || known("h.") || known("embed");
      if (!inside) continue;
      throw Error(
          fmt::format("{}: tensor '{}' has no place in a model of type {} with {} layers: the "
                      "architecture is another one",
                      source_.what(), name, attractor::name(a_.family), a_.own_layers));
    }
  }

  const Architecture& a_;
  const TensorSource& source_;
  bool with_head_;
  Model m_{};
  std::string prefix_{};
  std::set<std::string> used_{};
  std::vector<std::string> ignored_{};
};

}  // namespace

Model assemble(const Architecture& architecture, const TensorSource& source, bool with_head) {
  check(architecture, source.what());
  return Assembly(architecture, source, with_head).model();
}

}  // namespace attractor::models
