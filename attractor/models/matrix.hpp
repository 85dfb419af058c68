// A matrix of single-precision numbers, row by row: the stream of tokens and what is made of it.
#pragma once

#include <cstddef>
#include <vector>

#include "attractor/kernels/matrix/packed_product.hpp"

namespace attractor::models {

struct Matrix {
  std::size_t rows = 0, columns = 0;
  std::vector<float> data{};

  Matrix() = default;
  Matrix(std::size_t r, std::size_t c) : rows(r), columns(c), data(r * c, 0.0F) {}
  float* row(std::size_t r) { return data.data() + r * columns; }
  const float* row(std::size_t r) const { return data.data() + r * columns; }
  kernels::RowsIn in() const { return {data.data(), rows, columns}; }
  kernels::RowsOut out() { return {data.data(), columns}; }
};

}  // namespace attractor::models
