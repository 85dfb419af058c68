// What the sums over clumps (depth/clumps/clump_sums.hpp) spend their time on, in doubles:
//
//   Y += X B,   X: rows x depth, any strides,  B: depth x columns,  Y: rows x columns, row by row
//
// and exponentials of a row. B and Y have a multiple of kColumnBlock columns. Every y is one sum
// over the depth in order, in one lane, with FMA: the same bits whatever the vector length. Cost:
// rows * depth * columns multiply-adds, serial (callers share out rows).
#pragma once

#include <cstddef>
#include <span>

namespace attractor::kernels {

inline constexpr std::size_t kColumnBlock = 8;

/// x(r, k) = data[r row_stride + k depth_stride].
struct StridedRows {
  const double* data;
  std::size_t row_stride, depth_stride;
};

struct ProductShape {
  std::size_t rows, depth, columns;
};

/// Rows of b and y lie b_stride and y_stride numbers apart.
void add_product(const ProductShape& shape, const StridedRows& x, const double* b,
                 std::size_t b_stride, double* y, std::size_t y_stride);

/// The same in plain loops: what the other is tested against.
void add_product_reference(const ProductShape& shape, const StridedRows& x, const double* b,
                           std::size_t b_stride, double* y, std::size_t y_stride);

/// x_k <- e^{factor (x_k + shift)}, exponents within +-700; a multiple of kColumnBlock numbers.
void exponentials(std::span<double> x, double shift, double factor);

}  // namespace attractor::kernels
