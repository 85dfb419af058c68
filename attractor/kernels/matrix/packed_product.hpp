// Products with a matrix that is used many times, in single precision:
//
//   y_r = W x_r + b,   W: outputs x inputs,   x: count x inputs,   y: count x outputs
//
// W is kept in strips of 32 outputs, [outputs/32][inputs][32], zero beyond the last: one cache line
// of a strip serves all rows of a tile. Every y is one sum over the inputs in order, in one lane:
// it depends neither on threads nor on how rows are put together. Cost: count * outputs * inputs
// multiply-adds, at 60 to 80 % of what the processor can do (docs/decisions/models.md).
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <span>
#include <vector>

namespace attractor::kernels {

/// How a matrix lies in memory that is handed in, row by row.
enum class MatrixLayout { outputs_by_inputs, inputs_by_outputs };

class PackedMatrix {
 public:
  PackedMatrix() = default;
  /// Rows of `w` are `stride` numbers apart; 0: they follow each other.
  PackedMatrix(std::span<const float> w, std::size_t outputs, std::size_t inputs,
               MatrixLayout layout = MatrixLayout::outputs_by_inputs, std::size_t stride = 0);

  PackedMatrix(const PackedMatrix& other);
  PackedMatrix(PackedMatrix&& other) noexcept = default;
  PackedMatrix& operator=(PackedMatrix other) noexcept;

  std::size_t outputs() const { return outputs_; }
  std::size_t inputs() const { return inputs_; }
  bool empty() const { return outputs_ == 0; }
  const float* strips() const { return strips_.get(); }
  float at(std::size_t output, std::size_t input) const;
  /// Row by row, outputs x inputs.
  std::vector<float> unpacked() const;

 private:
  std::size_t bytes() const;
  struct Free {
    void operator()(float* memory) const { std::free(memory); }
  };
  std::size_t outputs_ = 0, inputs_ = 0;
  std::unique_ptr<float[], Free> strips_{};
};

/// Rows that lie `stride` numbers apart.
struct RowsIn {
  const float* data;
  std::size_t count, stride;
};
struct RowsOut {
  float* data;
  std::size_t stride;
};

/// bias: outputs numbers, or none.
void product(const RowsIn& x, const PackedMatrix& w, std::span<const float> bias, const RowsOut& y);

/// The same in plain loops: what the other is tested against.
void product_reference(const RowsIn& x, const PackedMatrix& w, std::span<const float> bias,
                       const RowsOut& y);

}  // namespace attractor::kernels
