#include "attractor/kernels/matrix/packed_product.hpp"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <new>

#include "attractor/base/threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/matrix/packed_product.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/exp-inl.hpp"
#include "hwy/highway.h"

#ifndef ATTRACTOR_KERNELS_MATRIX_JOB
#define ATTRACTOR_KERNELS_MATRIX_JOB
namespace attractor::kernels {

constexpr std::size_t kMatrixStrip = 32;
// Inputs that are summed at a time: a strip of them stays in the first cache.
constexpr std::size_t kMatrixDepth = 384;

struct MatrixJob {
  RowsIn x;
  const float* strips;
  std::size_t inputs;
};

}  // namespace attractor::kernels
#endif

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

constexpr std::size_t kMatrixRows = HWY_MAX_BYTES == 64 ? 12 : 6;  // what the registers hold

// Adds inputs [begin, end) of one half strip, two vectors wide, to the sums of a few rows.
HWY_NOINLINE void matrix_tile(const float* const* x, const float* strip, std::size_t begin,
                              std::size_t end, float* const* sums) {  // alone it has registers
  const Tag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  Vector<float> sum[kMatrixRows][2];
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kMatrixRows; ++r) {
    sum[r][0] = hn::LoadU(d, sums[r]);
    sum[r][1] = hn::LoadU(d, sums[r] + lanes);
  }
  for (std::size_t a = begin; a < end; ++a) {
    const auto w0 = hn::Load(d, strip + a * kMatrixStrip);
    const auto w1 = hn::Load(d, strip + a * kMatrixStrip + lanes);
    ATTRACTOR_UNROLL
    for (std::size_t r = 0; r < kMatrixRows; ++r) {
      const auto v = hn::Set(d, x[r][a]);
      sum[r][0] = hn::MulAdd(w0, v, sum[r][0]);
      sum[r][1] = hn::MulAdd(w1, v, sum[r][1]);
    }
  }
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kMatrixRows; ++r) {
    hn::StoreU(sum[r][0], d, sums[r]);
    hn::StoreU(sum[r][1], d, sums[r] + lanes);
  }
}

// All rows with one strip. The depth is taken in pieces; between them sums wait where they belong.
void matrix_strip(const MatrixJob& job, std::size_t strip, const RowsOut& y) {
  const std::size_t lanes = hn::Lanes(Tag<float>());
  const float* weights = job.strips + strip * kMatrixStrip * job.inputs;
  HWY_ALIGN float beyond[kMatrixStrip] = {};  // sums of rows beyond the last
  for (std::size_t begin = 0; begin < job.inputs; begin += kMatrixDepth) {
    const std::size_t end = std::min(job.inputs, begin + kMatrixDepth);
    for (std::size_t c = 0; c < kMatrixStrip; c += 2 * lanes)
      for (std::size_t first = 0; first < job.x.count; first += kMatrixRows) {
        const float* x[kMatrixRows];
        float* sums[kMatrixRows];
        for (std::size_t r = 0; r < kMatrixRows; ++r) {
          const std::size_t row = std::min(first + r, job.x.count - 1);
          x[r] = job.x.data + row * job.x.stride;
          sums[r] = first + r < job.x.count ? y.data + row * y.stride + c : beyond;
        }
        matrix_tile(x, weights + c, begin, end, sums);
      }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(matrix_strip);

namespace {

float* aligned_floats(std::size_t bytes) {
  void* memory = std::aligned_alloc(64, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<float*>(memory);
}

}  // namespace

std::size_t PackedMatrix::bytes() const {
  const std::size_t strips = (outputs_ + kMatrixStrip - 1) / kMatrixStrip;
  return std::max<std::size_t>(64, strips * kMatrixStrip * inputs_ * sizeof(float));
}

PackedMatrix::PackedMatrix(const PackedMatrix& other)
    : outputs_(other.outputs_), inputs_(other.inputs_) {
  if (!other.strips_) return;
  strips_.reset(aligned_floats(bytes()));
  std::copy_n(other.strips_.get(), bytes() / sizeof(float), strips_.get());
}

PackedMatrix& PackedMatrix::operator=(PackedMatrix other) noexcept {
  std::swap(outputs_, other.outputs_);
  std::swap(inputs_, other.inputs_);
  std::swap(strips_, other.strips_);
  return *this;
}

PackedMatrix::PackedMatrix(std::span<const float> w, std::size_t outputs, std::size_t inputs,
                           MatrixLayout layout, std::size_t stride)
    : outputs_(outputs), inputs_(inputs) {
  const bool by_inputs = layout == MatrixLayout::inputs_by_outputs;
  if (stride == 0) stride = by_inputs ? outputs : inputs;
  const std::size_t strips = (outputs + kMatrixStrip - 1) / kMatrixStrip;
  assert(outputs == 0 || inputs == 0 ||
         w.size() >=
             ((by_inputs ? inputs : outputs) - 1) * stride + (by_inputs ? outputs : inputs));
  strips_.reset(aligned_floats(bytes()));
  for (std::size_t s = 0; s < strips; ++s) {
    // Keys and values are packed for every head of every layer: plain copies, no test in the loops.
    const std::size_t first = s * kMatrixStrip, width = std::min(kMatrixStrip, outputs - first);
    float* strip = strips_.get() + first * inputs;
    if (width < kMatrixStrip) std::fill_n(strip, inputs * kMatrixStrip, 0.0F);
    if (by_inputs)
      for (std::size_t a = 0; a < inputs; ++a)
        std::copy_n(w.data() + a * stride + first, width, strip + a * kMatrixStrip);
    else
      for (std::size_t t = 0; t < width; ++t) {
        const float* row = w.data() + (first + t) * stride;
        for (std::size_t a = 0; a < inputs; ++a) strip[a * kMatrixStrip + t] = row[a];
      }
  }
}

float PackedMatrix::at(std::size_t output, std::size_t input) const {
  return strips_[(output / kMatrixStrip * inputs_ + input) * kMatrixStrip + output % kMatrixStrip];
}

std::vector<float> PackedMatrix::unpacked() const {
  std::vector<float> rows(outputs_ * inputs_);
  for (std::size_t o = 0; o < outputs_; ++o)
    for (std::size_t a = 0; a < inputs_; ++a) rows[o * inputs_ + a] = at(o, a);
  return rows;
}

namespace {

void begin_with_bias(std::span<const float> bias, std::size_t first, std::size_t width,
                     std::size_t rows, const RowsOut& y) {
  for (std::size_t r = 0; r < rows; ++r)
    if (bias.empty())
      std::fill_n(y.data + r * y.stride, width, 0.0F);
    else
      std::copy_n(bias.data() + first, width, y.data + r * y.stride);
}

}  // namespace

void product(const RowsIn& x, const PackedMatrix& w, std::span<const float> bias,
             const RowsOut& y) {
  assert(bias.empty() || bias.size() == w.outputs());
  if (x.count == 0) return;
  const MatrixJob job{.x = x, .strips = w.strips(), .inputs = w.inputs()};
  const auto strip = HWY_DYNAMIC_DISPATCH(matrix_strip);
  parallel_for((w.outputs() + kMatrixStrip - 1) / kMatrixStrip, 1,
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t s = begin; s < end; ++s) {
                   const std::size_t first = s * kMatrixStrip;
                   const std::size_t width = std::min(kMatrixStrip, w.outputs() - first);
                   const RowsOut out{y.data + first, y.stride};
                   if (width == kMatrixStrip) {
                     begin_with_bias(bias, first, width, x.count, out);
                     strip(job, s, out);
                     continue;
                   }
                   std::vector<float> narrow(x.count * kMatrixStrip);  // a strip has 32 outputs
                   const RowsOut sums{narrow.data(), kMatrixStrip};
                   begin_with_bias(bias, first, width, x.count, sums);
                   strip(job, s, sums);
                   for (std::size_t r = 0; r < x.count; ++r)
                     std::copy_n(narrow.data() + r * kMatrixStrip, width, out.data + r * y.stride);
                 }
               });
}

void product_reference(const RowsIn& x, const PackedMatrix& w, std::span<const float> bias,
                       const RowsOut& y) {
  for (std::size_t r = 0; r < x.count; ++r)
    for (std::size_t o = 0; o < w.outputs(); ++o) {
      double sum = bias.empty() ? 0.0 : static_cast<double>(bias[o]);
      for (std::size_t a = 0; a < w.inputs(); ++a)
        sum += static_cast<double>(w.at(o, a)) * static_cast<double>(x.data[r * x.stride + a]);
      y.data[r * y.stride + o] = static_cast<float>(sum);
    }
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
