#include "attractor/files/models/model_config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/named.hpp"
#include "attractor/files/bounded_json.hpp"

namespace attractor {
namespace {

using models::Architecture;
using models::Family;
using nlohmann::json;

class ConfigJson {
 public:
  ConfigJson(const json& all, const std::string& name) : all_(all), name_(name) {}

  Architecture architecture() {
    Architecture a;
    const std::string type = word(all_, "model_type", "");
    const std::optional<Family> family = find_named<Family>(type);
    if (!family)
      refuse(fmt::format("model_type '{}' is unknown; allowed: {}", shown_text(type),
                         fmt::join(models::names(Family{}), ", ")));
    a.family = *family;
    if (a.family == Family::bert || a.family == Family::albert)
      bert(a);
    else if (a.family == Family::gpt2)
      gpt2(a);
    else
      llama(a);
    check(a, name_);
    return a;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    throw Error(fmt::format("{}: {}", name_, what));
  }
  const json* find(const json& from, const char* key) const {
    const auto at = from.find(key);
    return at == from.end() || at->is_null() ? nullptr : &*at;
  }
  std::string word(const json& from, const char* key, const char* otherwise) const {
    const json* at = find(from, key);
    if (at != nullptr && !at->is_string()) refuse(fmt::format("'{}' is no text", key));
    return at == nullptr ? otherwise : at->get<std::string>();
  }
  bool flag(const char* key, bool otherwise) const {
    const json* at = find(all_, key);
    if (at != nullptr && !at->is_boolean())
      refuse(fmt::format("'{}' is neither true nor false", key));
    return at == nullptr ? otherwise : at->get<bool>();
  }
  double number(const json& from, const char* key, double otherwise) const {
    const json* at = find(from, key);
    if (at == nullptr) return otherwise;
    if (!at->is_number() || !std::isfinite(at->get<double>()))
      refuse(fmt::format("'{}' is no finite number", key));
    return at->get<double>();
  }
  /// A size; 0 for `otherwise`: it must be there.
  std::size_t size(const char* key, std::size_t otherwise = 0) const {
    const json* at = find(all_, key);
    if (at == nullptr && otherwise > 0) return otherwise;
    if (at == nullptr) refuse(fmt::format("has no '{}'", key));
    const bool whole = at->is_number_unsigned() && at->get<std::uint64_t>() >= 1 &&
                       at->get<std::uint64_t>() <= (std::uint64_t{1} << 40U);
    if (!whole)
      refuse(fmt::format("'{}' = {} is not allowed; allowed: a whole number from 1 on", key,
                         shown_text(at->dump(-1, ' ', true, json::error_handler_t::replace))));
    return static_cast<std::size_t>(at->get<std::uint64_t>());
  }
  models::Activation activation(const char* key, const char* otherwise) const {
    const std::string name = word(all_, key, otherwise);
    const auto found = models::activation_named(name);
    if (!found)
      refuse(fmt::format(
          "'{}' = '{}' is unknown; allowed: gelu, gelu_new, gelu_pytorch_tanh, silu, relu", key,
          shown_text(name)));
    return *found;
  }
  void require_plain(const char* key, const char* plain) const {
    if (const std::string is = word(all_, key, plain); is != plain)
      refuse(fmt::format("'{}' = '{}' is not known; allowed: {}", key, shown_text(is), plain));
  }

  void bert(Architecture& a) const {
    const bool shared = a.family == Family::albert;
    a.width = size("hidden_size");
    a.layers = size("num_hidden_layers");
    a.heads = a.key_heads = size("num_attention_heads");
    a.hidden = size("intermediate_size");
    a.vocabulary = size("vocab_size");
    a.positions = size("max_position_embeddings", 512);
    a.kinds = size("type_vocab_size", 2);
    a.epsilon = number(all_, "layer_norm_eps", 1e-12);
    a.activation = activation("hidden_act", shared ? "gelu_new" : "gelu");
    require_plain("position_embedding_type", "absolute");
    a.own_layers = a.layers;
    if (shared) {
      a.embedding = size("embedding_size", 128);
      a.own_layers = size("num_hidden_groups", 1);
      if (size("inner_group_num", 1) != 1) refuse("'inner_group_num' is not 1");
    }
    split_heads(a);
  }

  void gpt2(Architecture& a) const {
    a.width = size("n_embd");
    a.layers = a.own_layers = size("n_layer");
    a.heads = a.key_heads = size("n_head");
    a.hidden = size("n_inner", 4 * a.width);
    a.vocabulary = size("vocab_size");
    a.positions = size("n_positions", 1024);
    a.place = models::NormPlace::pre;
    a.epsilon = number(all_, "layer_norm_epsilon", 1e-5);
    a.activation = activation("activation_function", "gelu_new");
    a.causal = true;
    a.by_layer = flag("scale_attn_by_inverse_layer_idx", false);
    if (!flag("scale_attn_weights", true)) refuse("'scale_attn_weights' is false");
    if (flag("add_cross_attention", false)) refuse("'add_cross_attention' is true");
    split_heads(a);
  }

  void llama(Architecture& a) const {
    a.width = size("hidden_size");
    a.layers = a.own_layers = size("num_hidden_layers");
    a.heads = size("num_attention_heads");
    a.key_heads = size("num_key_value_heads", a.heads);
    a.hidden = size("intermediate_size");
    a.vocabulary = size("vocab_size");
    a.positions = size("max_position_embeddings", 2048);
    a.norm = models::NormKind::rms;
    a.place = models::NormPlace::pre;
    a.epsilon = number(all_, "rms_norm_eps", 1e-6);
    a.activation = activation("hidden_act", "silu");
    a.gated = true;
    const bool biased = flag("attention_bias", false);
    a.query_bias = a.family == Family::qwen2 || biased;
    a.output_bias = a.family != Family::qwen2 && biased;
    a.hidden_bias = flag("mlp_bias", false);
    a.query_norm = a.family == Family::qwen3;
    a.causal = true;
    a.tied = flag("tie_word_embeddings", false);
    a.position = models::Positions::rotary_halves;
    a.theta = number(all_, "rope_theta", 10000);
    if (find(all_, "head_dim") != nullptr)
      a.head_dim = size("head_dim");
    else
      split_heads(a);
    if (a.family == Family::mistral && find(all_, "sliding_window") != nullptr)
      a.window = size("sliding_window");
    if (flag("use_sliding_window", false)) refuse("'use_sliding_window' is true");
    if (const json* types = find(all_, "layer_types"))
      for (const json& type : *types)
        if (type != "full_attention")
          refuse(fmt::format("a layer has the type {}; allowed: full_attention",
                             shown_text(type.dump(-1, ' ', true, json::error_handler_t::replace))));
    if (const json* scaling = find(all_, "rope_scaling")) read_scaling(*scaling, a);
    if (number(all_, "pretraining_tp", 1) != 1) refuse("'pretraining_tp' is not 1");
    if (number(all_, "partial_rotary_factor", 1) != 1) refuse("'partial_rotary_factor' is not 1");
  }

  void read_scaling(const json& s, Architecture& a) const {
    if (!s.is_object()) refuse("'rope_scaling' is no object");
    using Kind = RotaryScaling::Kind;
    const std::string kind =
        word(s, find(s, "rope_type") != nullptr ? "rope_type" : "type", "default");
    RotaryScaling& scaling = a.scaling;
    if (kind == "linear")
      scaling.kind = Kind::linear;
    else if (kind == "dynamic")
      scaling.kind = Kind::dynamic;
    else if (kind == "llama3")
      scaling.kind = Kind::llama3;
    else if (kind == "yarn")
      scaling.kind = Kind::yarn;
    else if (kind != "default")
      refuse(fmt::format(
          "rope_scaling '{}' is unknown; allowed: default, linear, dynamic, llama3, yarn",
          shown_text(kind)));
    scaling.factor = number(s, "factor", 1);
    scaling.low_frequency = number(s, "low_freq_factor", 1);
    scaling.high_frequency = number(s, "high_freq_factor", 4);
    scaling.original_positions = number(s, "original_max_position_embeddings", 0);
    scaling.fast = number(s, "beta_fast", 32);
    scaling.slow = number(s, "beta_slow", 1);
    if (find(s, "attention_factor") != nullptr)
      scaling.attention_factor = number(s, "attention_factor", 1);
    if (scaling.kind == Kind::llama3 && !(scaling.high_frequency > scaling.low_frequency))
      refuse("'high_freq_factor' is not above 'low_freq_factor'");
    if (!(scaling.fast > 0 && scaling.slow > 0) || scaling.original_positions < 0)
      refuse("'rope_scaling' has a number that must be positive");
  }

  void split_heads(Architecture& a) const {
    if (a.width % a.heads != 0)
      refuse(fmt::format("{} heads do not divide the hidden size {}", a.heads, a.width));
    a.head_dim = a.width / a.heads;
  }

  const json& all_;
  const std::string& name_;
};

}  // namespace

Architecture parse_model_config(std::string_view text, const std::string& name) {
  const json all = bounded_json(text, name, std::size_t{8} << 20U);
  if (!all.is_object())
    throw Error(fmt::format("{}: is no configuration of a model: no object", name));
  return ConfigJson(all, name).architecture();
}

Architecture read_model_config(const std::filesystem::path& file) {
  return parse_model_config(read_file(file, std::size_t{1} << 20U), file.string());
}

}  // namespace attractor
