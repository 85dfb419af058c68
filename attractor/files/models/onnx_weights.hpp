// The weights of an ONNX model: its initializers of f32, f16, bf16 and f64, found by walking the
// protobuf wire format. Nothing is run and no graph is built; a tensor is its name, shape and place
// in the file, and is read when it is asked for.
//
// Exporters give matrices that a MatMul node multiplies with no name of their own and turn them
// around ([in, out]); such a one is called after its node, "/encoder/layer.0/query/MatMul" being
// "encoder.layer.0.query.weight", and read as [out, in]. Refused: data in other files or in fields
// that are not bytes, lengths beyond their message, more than 2^20 nodes or tensors, names beyond
// 1000 bytes. https://github.com/onnx/onnx/blob/main/onnx/onnx.proto
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attractor/files/arrays/number_format.hpp"
#include "attractor/models/tensor_source.hpp"

namespace attractor {

class OnnxWeights final : public models::TensorSource {
 public:
  /// Several files: one model that was cut into parts.
  explicit OnnxWeights(const std::vector<std::filesystem::path>& parts);

  std::string what() const override { return file_.name(); }
  std::vector<std::string> names() const override;
  const models::Shape* shape(const std::string& name) const override;
  void read(const std::string& name, std::span<float> out) const override;

 private:
  struct Entry {
    models::Shape shape{};
    NumberFormat format = NumberFormat::f32;
    std::uint64_t begin = 0;
    bool turned = false;  // the file has it transposed
  };
  friend class OnnxWalk;

  FileSlices file_;
  std::map<std::string, Entry> entries_;
};

}  // namespace attractor
