// Rows of real functions on equally spaced points of the circle, and of their Fourier coefficients,
//
//   analyse      modes_k = sum_j values_j e^{-ik theta_j},  k = 0 .. size/2,  theta_j = 2 pi j /
//   size synthesise   values_j = sum_k modes_k e^{ik theta_j} over all k, modes_{-k} =
//   conj(modes_k)
//
// by FFTW, planned with FFTW_ESTIMATE: equal plans, equal bits. The way back overwrites the modes.
#pragma once

#include <fftw3.h>

#include <cstddef>
#include <mutex>

#include "attractor/base/planner.hpp"

namespace attractor {

class CircleTransform {
 public:
  /// Of even size if there are several rows: they are then aligned alike.
  CircleTransform(std::size_t rows, std::size_t size)
      : size_(size),
        stride_(size + 8),
        values_(fftw_alloc_real(rows * stride_)),
        modes_(fftw_alloc_complex(rows * stride_ / 2)) {
    const std::lock_guard lock(planner());
    const int n = static_cast<int>(size);
    analysis_ = fftw_plan_dft_r2c_1d(n, values_, modes_, FFTW_ESTIMATE);
    synthesis_ = fftw_plan_dft_c2r_1d(n, modes_, values_, FFTW_ESTIMATE);
  }
  CircleTransform(const CircleTransform&) = delete;
  CircleTransform& operator=(const CircleTransform&) = delete;
  ~CircleTransform() {
    const std::lock_guard lock(planner());
    fftw_destroy_plan(analysis_);
    fftw_destroy_plan(synthesis_);
    fftw_free(values_);
    fftw_free(modes_);
  }

  std::size_t size() const { return size_; }
  std::size_t stride() const { return stride_; }  // between the values of two rows
  double* values(std::size_t row) { return values_ + row * stride_; }
  fftw_complex* modes(std::size_t row) { return modes_ + row * (stride_ / 2); }
  const fftw_complex* modes(std::size_t row) const { return modes_ + row * (stride_ / 2); }
  /// The first `rows` rows.
  void analyse(std::size_t rows) {
    for (std::size_t r = 0; r < rows; ++r) fftw_execute_dft_r2c(analysis_, values(r), modes(r));
  }
  void synthesise(std::size_t rows) {
    for (std::size_t r = 0; r < rows; ++r) fftw_execute_dft_c2r(synthesis_, modes(r), values(r));
  }

 private:
  std::size_t size_, stride_;  // no power of two: one point of all rows would share a cache set
  double* values_;
  fftw_complex* modes_;
  fftw_plan analysis_, synthesis_;
};

}  // namespace attractor
