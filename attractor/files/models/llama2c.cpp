#include "attractor/files/models/llama2c.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "attractor/base/error.hpp"
#include "attractor/files/arrays/number_format.hpp"
#include "attractor/files/bounded_json.hpp"

namespace attractor {
namespace {

using models::Architecture;
using models::Shape;

constexpr std::size_t kHeaderBytes2c = 28;

struct Header2c {
  Architecture architecture;
  bool tied;
};

/// Nothing if the numbers cannot be a model.
std::optional<Header2c> header_of(const FileSlices& file) {
  if (file.size() < kHeaderBytes2c) return {};
  std::array<std::int32_t, 7> h;
  file.read(0, std::as_writable_bytes(std::span(h)));
  const bool tied = h[5] > 0;
  if (h[5] == INT32_MIN) return {};
  h[5] = std::abs(h[5]);
  constexpr std::array<std::int32_t, 7> kMost = {65536, 1048576, 1000,   1024,
                                                 1024,  4000000, 1048576};
  for (std::size_t k = 0; k < h.size(); ++k)
    if (h[k] < 1 || h[k] > kMost[k]) return {};
  const auto size = [&](std::size_t k) { return static_cast<std::size_t>(h[k]); };
  if (size(0) % size(3) != 0 || size(3) % size(4) != 0) return {};
  Architecture a{.family = models::Family::llama,
                 .layers = size(2),
                 .own_layers = size(2),
                 .width = size(0),
                 .heads = size(3),
                 .key_heads = size(4),
                 .head_dim = size(0) / size(3),
                 .hidden = size(1),
                 .vocabulary = size(5),
                 .positions = size(6),
                 .norm = models::NormKind::rms,
                 .place = models::NormPlace::pre,
                 .epsilon = 1e-5,
                 .activation = models::Activation::silu,
                 .gated = true,
                 .query_bias = false,
                 .output_bias = false,
                 .hidden_bias = false,
                 .causal = true,
                 .tied = tied,
                 .position = models::Positions::rotary_pairs};
  if (a.head_dim % 2 != 0) return {};
  return Header2c{a, tied};
}

struct Piece2c {
  std::string name;  // with {} for the layer; empty: not used
  bool each_layer;
  Shape shape;
};

std::vector<Piece2c> pieces_of(const Architecture& a) {
  const std::size_t d = a.width, kv = a.keys(), rope = a.head_dim / 2;
  std::vector<Piece2c> all = {
      {"model.embed_tokens.weight", false, {a.vocabulary, d}},
      {"model.layers.{}.input_layernorm.weight", true, {d}},
      {"model.layers.{}.self_attn.q_proj.weight", true, {d, d}},
      {"model.layers.{}.self_attn.k_proj.weight", true, {kv, d}},
      {"model.layers.{}.self_attn.v_proj.weight", true, {kv, d}},
      {"model.layers.{}.self_attn.o_proj.weight", true, {d, d}},
      {"model.layers.{}.post_attention_layernorm.weight", true, {d}},
      {"model.layers.{}.mlp.gate_proj.weight", true, {a.hidden, d}},
      {"model.layers.{}.mlp.down_proj.weight", true, {d, a.hidden}},
      {"model.layers.{}.mlp.up_proj.weight", true, {a.hidden, d}},
      {"model.norm.weight", false, {d}},
      {"", false, {a.positions, rope}},
      {"", false, {a.positions, rope}},
  };
  if (!a.tied) all.push_back({"lm_head.weight", false, {a.vocabulary, d}});
  return all;
}

std::uint64_t bytes_of_model(const Architecture& a) {
  std::uint64_t numbers = 0;
  for (const Piece2c& piece : pieces_of(a))
    numbers += static_cast<std::uint64_t>(models::elements(piece.shape, piece.name)) *
               (piece.each_layer ? a.layers : 1);
  return kHeaderBytes2c + 4 * numbers;
}

}  // namespace

Llama2c::Llama2c(const std::filesystem::path& source) : file_(source) {
  const std::optional<Header2c> header = header_of(file_);
  if (!header)
    throw Error(fmt::format("{}: its first 28 bytes are no header of llama2.c", file_.name()));
  architecture_ = header->architecture;
  check(architecture_, file_.name());
  end_ = bytes_of_model(architecture_);
  if (end_ > file_.size())
    throw Error(fmt::format(
        "{}: {} layers of width {} and a vocabulary of {} need {} bytes, the file has {}",
        file_.name(), architecture_.layers, architecture_.width, architecture_.vocabulary, end_,
        file_.size()));
  std::uint64_t at = kHeaderBytes2c;
  for (const Piece2c& piece : pieces_of(architecture_))
    for (std::size_t layer = 0; layer < (piece.each_layer ? architecture_.layers : 1); ++layer) {
      if (!piece.name.empty())
        entries_.emplace(fmt::format(fmt::runtime(piece.name), layer), Entry{piece.shape, at});
      at += 4 * static_cast<std::uint64_t>(models::elements(piece.shape, piece.name));
    }
}

std::string Llama2c::rest() const {
  constexpr std::uint64_t kMostRest = std::uint64_t{16} << 20;
  if (file_.size() - end_ > kMostRest)
    throw Error(fmt::format("{}: {} bytes follow the model, which is no tokenizer", file_.name(),
                            file_.size() - end_));
  return file_.text(end_, static_cast<std::size_t>(file_.size() - end_));
}

std::vector<std::string> Llama2c::names() const {
  std::vector<std::string> all;
  for (const auto& [name, entry] : entries_) all.push_back(name);
  return all;
}

const Shape* Llama2c::shape(const std::string& name) const {
  const auto at = entries_.find(name);
  return at == entries_.end() ? nullptr : &at->second.shape;
}

void Llama2c::read(const std::string& name, std::span<float> out) const {
  const auto at = entries_.find(name);
  if (at == entries_.end())
    throw Error(fmt::format("{}: has no tensor '{}'", file_.name(), shown_text(name)));
  read_numbers<float>(file_, at->second.begin, NumberFormat::f32, out);
}

bool is_llama2c(const std::filesystem::path& source) {
  const FileSlices file(source);
  const std::optional<Header2c> header = header_of(file);
  return header && bytes_of_model(header->architecture) <= file.size();
}

}  // namespace attractor
