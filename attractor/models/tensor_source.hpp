// Named tensors, wherever they are kept: files (files/arrays/safetensors.hpp and its like), memory.
// Who wants one looks at its shape first, so that no memory is taken for what does not fit.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace attractor::models {

using Shape = std::vector<std::size_t>;

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  /// In messages: the file.
  virtual std::string what() const = 0;
  /// Ascending.
  virtual std::vector<std::string> names() const = 0;
  /// Null if there is no such tensor.
  virtual const Shape* shape(const std::string& name) const = 0;
  /// All numbers, row-major; `out` is as large as the shape says.
  virtual void read(const std::string& name, std::span<float> out) const = 0;
};

struct Tensor {
  Shape shape;
  std::vector<float> data;  // row-major
};

class TensorMap final : public TensorSource {
 public:
  TensorMap() = default;
  explicit TensorMap(std::map<std::string, Tensor> tensors) : tensors_(std::move(tensors)) {}

  std::string what() const override { return "the model"; }
  std::vector<std::string> names() const override;
  const Shape* shape(const std::string& name) const override;
  void read(const std::string& name, std::span<float> out) const override;

 private:
  std::map<std::string, Tensor> tensors_;
};

/// How many numbers; throws Error naming the tensor if they are more than 2^32.
std::size_t elements(const Shape& shape, const std::string& name);

}  // namespace attractor::models
