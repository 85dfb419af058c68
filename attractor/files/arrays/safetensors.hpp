// Hugging Face's safetensors: a length (8 bytes, little endian), a JSON header of names, dtypes,
// shapes and byte ranges, then the numbers. Read: F64, F32, F16, BF16; other dtypes are listed and
// refused when they are asked for. The header is at most 8 MB; ranges must follow each other
// without gaps, fill the file exactly, and be as long as dtype and shape say, all of which is
// checked before any number is read. A model in several files has an index (model.safetensors.
// index.json: weight_map), whose files lie beside it.
// https://huggingface.co/docs/safetensors
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "attractor/base/array.hpp"
#include "attractor/files/arrays/number_format.hpp"
#include "attractor/models/tensor_source.hpp"

namespace attractor {

class Safetensors final : public models::TensorSource {
 public:
  /// A .safetensors file, or an index of several.
  explicit Safetensors(const std::filesystem::path& source);

  std::string what() const override { return name_; }
  std::vector<std::string> names() const override;
  const models::Shape* shape(const std::string& name) const override;
  void read(const std::string& name, std::span<float> out) const override;
  /// In double precision. Throws Error if there is none of this name.
  Array array(const std::string& name) const;

 private:
  struct Entry {
    models::Shape shape{};
    std::string dtype{};
    std::optional<NumberFormat> format{};
    std::uint64_t begin = 0, end = 0;  // in the file
    std::size_t file = 0;
  };
  friend class SafetensorsHeader;
  const Entry& entry(const std::string& name) const;
  void add_file(const std::filesystem::path& file);
  void add_index(const std::filesystem::path& index);

  std::string name_;
  std::vector<FileSlices> files_;
  std::map<std::string, Entry> entries_;
};

/// Whether the bytes begin like a .safetensors file.
bool is_safetensors(const std::filesystem::path& source);

}  // namespace attractor
