// Small models as the bytes of files: safetensors, ONNX, llama2.c with its tokenizer.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "attractor/models/tensor_source.hpp"

namespace attractor {

using TensorMapText = std::map<std::string, models::Tensor>;

inline std::string small_bert_config() {
  return R"({"model_type": "bert", "hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2,
             "intermediate_size": 12, "vocab_size": 7, "max_position_embeddings": 10, "hidden_act": "gelu"})";
}

inline TensorMapText small_bert_tensors() {
  TensorMapText all;
  const auto add = [&](const std::string& name, models::Shape shape) {
    std::size_t count = 1;
    for (const std::size_t s : shape) count *= s;
    models::Tensor t{std::move(shape), std::vector<float>(count)};
    for (std::size_t k = 0; k < count; ++k)
      t.data[k] = static_cast<float>(std::sin(1.3 * static_cast<double>(k + 7 * name.size())));
    all.emplace(name, std::move(t));
  };
  const auto linear = [&](const std::string& name, std::size_t out, std::size_t in) {
    add(name + ".weight", {out, in});
    add(name + ".bias", {out});
  };
  const auto norm = [&](const std::string& name) {
    add(name + ".weight", {8});
    add(name + ".bias", {8});
  };
  add("embeddings.word_embeddings.weight", {7, 8});
  add("embeddings.position_embeddings.weight", {10, 8});
  add("embeddings.token_type_embeddings.weight", {2, 8});
  norm("embeddings.LayerNorm");
  for (const std::string at : {"encoder.layer.0.", "encoder.layer.1."}) {
    for (const char* part : {"query", "key", "value"}) linear(at + "attention.self." + part, 8, 8);
    linear(at + "attention.output.dense", 8, 8);
    norm(at + "attention.output.LayerNorm");
    linear(at + "intermediate.dense", 12, 8);
    linear(at + "output.dense", 8, 12);
    norm(at + "output.LayerNorm");
  }
  return all;
}

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  std::string text(values.size() * sizeof(T), '\0');
  std::memcpy(text.data(), values.data(), text.size());
  return text;
}

inline std::string safetensors_of(const TensorMapText& tensors) {
  std::string header = "{", data;
  for (const auto& [name, t] : tensors) {
    std::string shape;
    for (const std::size_t s : t.shape) shape += (shape.empty() ? "" : ", ") + std::to_string(s);
    header += (header.size() > 1 ? ", \"" : "\"") + name + "\": {\"dtype\": \"F32\", \"shape\": [" +
              shape + "], \"data_offsets\": [" + std::to_string(data.size()) + ", " +
              std::to_string(data.size() + 4 * t.data.size()) + "]}";
    data += bytes_of_values(t.data);
  }
  header += "}";
  return bytes_of_values(std::vector<std::uint64_t>{header.size()}) + header + data;
}

// ---- ONNX: the wire format of protobuf.

inline std::string varint(std::uint64_t value) {
  std::string text;
  for (; value >= 0x80; value >>= 7U) text += static_cast<char>(value | 0x80U);
  return text + static_cast<char>(value);
}
/// wire 0: content is a varint already; 2: bytes.
inline std::string proto(std::uint64_t field, std::uint64_t wire, const std::string& content) {
  return varint(field << 3U | wire) + (wire == 2 ? varint(content.size()) : "") + content;
}
inline std::string onnx_tensor(const std::string& name, const std::vector<std::uint64_t>& dims,
                               std::uint64_t type, const std::string& raw) {
  std::string text;
  for (const std::uint64_t d : dims) text += proto(1, 0, varint(d));
  return text + proto(2, 0, varint(type)) + proto(8, 2, name) + proto(9, 2, raw);
}

inline std::uint16_t half_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16U & 0x8000U;
  const int exponent = static_cast<int>(bits >> 23U & 0xffU) - 112;
  if (exponent <= 0) return static_cast<std::uint16_t>(sign);  // small enough for a test
  return static_cast<std::uint16_t>(sign | static_cast<std::uint32_t>(exponent) << 10U |
                                    (bits >> 13U & 0x3ffU));
}

/// As exporters write it: matrices [in, out] without a name, multiplied by nodes that have one.
inline std::string onnx_of(const TensorMapText& tensors, bool halves) {
  std::string nodes, weights;
  int anonymous = 0;
  for (const auto& [name, t] : tensors) {
    std::vector<float> data = t.data;
    std::vector<std::uint64_t> dims(t.shape.begin(), t.shape.end());
    std::string called = name;
    if (t.shape.size() == 2 && name.find("embeddings") == std::string::npos) {
      const std::size_t out = t.shape[0], in = t.shape[1];
      for (std::size_t o = 0; o < out; ++o)
        for (std::size_t i = 0; i < in; ++i) data[i * out + o] = t.data[o * in + i];
      dims = {in, out};
      called = "onnx::MatMul_" + std::to_string(1000 + anonymous++);
      std::string path = "/";
      for (const char c : name.substr(0, name.size() - 7)) path += c;
      // Dots between modules become slashes; numbers of layers keep theirs.
      for (std::size_t k = 1; k < path.size(); ++k)
        if (path[k] == '.' && (path[k + 1] < '0' || path[k + 1] > '9')) path[k] = '/';
      nodes += proto(1, 2,
                     proto(1, 2, "x") + proto(1, 2, called) + proto(2, 2, "y") +
                         proto(3, 2, path + "/MatMul") + proto(4, 2, "MatMul"));
    }
    std::string raw = bytes_of_values(data);
    if (halves) {
      std::vector<std::uint16_t> small;
      for (const float x : data) small.push_back(half_of(x));
      raw = bytes_of_values(small);
    }
    weights += proto(5, 2, onnx_tensor(called, dims, halves ? 10 : 1, raw));
  }
  return proto(1, 0, varint(8)) + proto(7, 2, nodes + weights);
}

// ---- llama2.c.

inline std::string small_llama2c() {
  // width 8, hidden 12, 2 layers, 2 heads, 1 key-value head, 8 pieces, 10 positions
  const std::size_t d = 8, f = 12, layers = 2, kv = 4, vocabulary = 8, positions = 10;
  const std::size_t numbers =
      vocabulary * d + layers * (2 * d + 2 * d * d + 2 * kv * d + 3 * d * f) + d + positions * 4;
  std::vector<float> data(numbers);
  for (std::size_t k = 0; k < numbers; ++k)
    data[k] = static_cast<float>(0.4 * std::sin(0.9 * static_cast<double>(k)));
  return bytes_of_values(std::vector<std::int32_t>{8, 12, 2, 2, 1, 8, 10}) + bytes_of_values(data);
}

inline std::string llama2c_pieces() {
  const std::vector<std::string> pieces = {"<unk>", "<s>", "</s>", " ", "a", "b", "ab", "c"};
  std::string text = bytes_of_values(std::vector<std::int32_t>{5});
  for (std::size_t k = 0; k < pieces.size(); ++k)
    text +=
        bytes_of_values(std::vector<float>{-static_cast<float>(k)}) +
        bytes_of_values(std::vector<std::int32_t>{static_cast<std::int32_t>(pieces[k].size())}) +
        pieces[k];
  return text;
}

}  // namespace attractor
