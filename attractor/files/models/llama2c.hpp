// The files of llama2.c (version 0): seven whole numbers (width, hidden, layers, heads, key-value
// heads, vocabulary, positions; a negative vocabulary: the head is not tied), then f32 arrays in a
// fixed order, of which the last two are the cosines and sines of positions. Tensors get the names
// of Hugging Face's Llama, so that one assembly serves both. What follows the model in the file may
// be its tokenizer. The numbers must fit the file exactly, or to a tokenizer, before anything is
// read. https://github.com/karpathy/llama2.c
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attractor/files/arrays/file_slices.hpp"
#include "attractor/models/architecture.hpp"
#include "attractor/models/tensor_source.hpp"

namespace attractor {

class Llama2c final : public models::TensorSource {
 public:
  explicit Llama2c(const std::filesystem::path& source);

  const models::Architecture& architecture() const { return architecture_; }
  /// The bytes behind the model; empty if there are none.
  std::string rest() const;

  std::string what() const override { return file_.name(); }
  std::vector<std::string> names() const override;
  const models::Shape* shape(const std::string& name) const override;
  void read(const std::string& name, std::span<float> out) const override;

 private:
  struct Entry {
    models::Shape shape{};
    std::uint64_t begin = 0;
  };
  FileSlices file_;
  models::Architecture architecture_{};
  std::uint64_t end_ = 0;
  std::map<std::string, Entry> entries_;
};

/// Whether the first numbers of the file could be such a header, and the file is long enough.
bool is_llama2c(const std::filesystem::path& source);

}  // namespace attractor
