#include "attractor/kernels/clumps/clump_products.hpp"

#include <algorithm>
#include <cassert>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/clumps/clump_products.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/exp-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

constexpr std::size_t kProductRows = HWY_MAX_BYTES == 64 ? 8 : 4;  // what the registers hold

// A few rows (beyond the last: that again, not stored) and kVectors vectors of columns.
template <std::size_t kVectors>
HWY_NOINLINE void product_tile(std::size_t rows, std::size_t depth, const StridedRows& x,
                               const double* b, std::size_t b_stride, double* y,
                               std::size_t y_stride) {
  const Tag<double> d;
  const std::size_t lanes = hn::Lanes(d);
  const double* from[kProductRows];
  Vector<double> sum[kProductRows][kVectors];
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kProductRows; ++r) {
    const std::size_t row = std::min(r, rows - 1);
    from[r] = x.data + row * x.row_stride;
    ATTRACTOR_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v)
      sum[r][v] = hn::LoadU(d, y + row * y_stride + v * lanes);
  }
  for (std::size_t k = 0; k < depth; ++k, b += b_stride) {
    Vector<double> column[kVectors];
    ATTRACTOR_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v) column[v] = hn::LoadU(d, b + v * lanes);
    ATTRACTOR_UNROLL
    for (std::size_t r = 0; r < kProductRows; ++r) {
      const auto value = hn::Set(d, from[r][k * x.depth_stride]);
      ATTRACTOR_UNROLL
      for (std::size_t v = 0; v < kVectors; ++v)
        sum[r][v] = hn::MulAdd(column[v], value, sum[r][v]);
    }
  }
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kProductRows; ++r) {
    if (r >= rows) break;
    ATTRACTOR_UNROLL
    for (std::size_t v = 0; v < kVectors; ++v)
      hn::StoreU(sum[r][v], d, y + r * y_stride + v * lanes);
  }
}

void product_all(const ProductShape& shape, const StridedRows& x, const double* b,
                 std::size_t b_stride, double* y, std::size_t y_stride) {
  const std::size_t lanes = hn::Lanes(Tag<double>());
  for (std::size_t c = 0; c < shape.columns;) {
    const std::size_t vectors = std::min<std::size_t>(3, (shape.columns - c) / lanes);
    for (std::size_t r = 0; r < shape.rows; r += kProductRows) {
      const StridedRows tile{x.data + r * x.row_stride, x.row_stride, x.depth_stride};
      const auto run = vectors == 3   ? &product_tile<3>
                       : vectors == 2 ? &product_tile<2>
                                      : &product_tile<1>;
      run(std::min(kProductRows, shape.rows - r), shape.depth, tile, b + c, b_stride,
          y + r * y_stride + c, y_stride);
    }
    c += vectors * lanes;
  }
}

void exponentials_all(double* x, std::size_t count, double shift, double factor) {
  const Tag<double> d;
  const auto by = hn::Set(d, factor), plus = hn::Set(d, shift);
  for (std::size_t k = 0; k < count; k += hn::Lanes(d))
    hn::StoreU(exp_bounded(d, hn::Mul(by, hn::Add(hn::LoadU(d, x + k), plus))), d, x + k);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(product_all);
HWY_EXPORT(exponentials_all);

void add_product(const ProductShape& shape, const StridedRows& x, const double* b,
                 std::size_t b_stride, double* y, std::size_t y_stride) {
  assert(shape.columns % kColumnBlock == 0);
  HWY_DYNAMIC_DISPATCH(product_all)(shape, x, b, b_stride, y, y_stride);
}

void add_product_reference(const ProductShape& shape, const StridedRows& x, const double* b,
                           std::size_t b_stride, double* y, std::size_t y_stride) {
  for (std::size_t r = 0; r < shape.rows; ++r)
    for (std::size_t k = 0; k < shape.depth; ++k)
      for (std::size_t c = 0; c < shape.columns; ++c)
        y[r * y_stride + c] += x.data[r * x.row_stride + k * x.depth_stride] * b[k * b_stride + c];
}

void exponentials(std::span<double> x, double shift, double factor) {
  assert(x.size() % kColumnBlock == 0);
  HWY_DYNAMIC_DISPATCH(exponentials_all)(x.data(), x.size(), shift, factor);
}

}  // namespace attractor::kernels
#endif
