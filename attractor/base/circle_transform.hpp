// Rows of real functions on equally spaced points of the circle and of their Fourier coefficients,
// transformed by fft.hpp, one row after the other. The way back overwrites the modes.
#pragma once

#include <complex>
#include <cstddef>

#include "attractor/base/fft.hpp"
#include "attractor/base/scratch.hpp"

namespace attractor {

class CircleTransform {
 public:
  /// Of even size if there are several rows: they are then aligned alike.
  CircleTransform(std::size_t rows, std::size_t size)
      : size_(size),
        stride_(size + 8),
        values_(rows * stride_),
        modes_(rows * stride_ / 2),
        fft_(size) {}

  std::size_t size() const { return size_; }
  std::size_t stride() const { return stride_; }  // between the values of two rows
  double* values(std::size_t row) { return values_.get() + row * stride_; }
  std::complex<double>* modes(std::size_t row) { return modes_.get() + row * (stride_ / 2); }
  const std::complex<double>* modes(std::size_t row) const {
    return modes_.get() + row * (stride_ / 2);
  }
  /// The first `rows` rows.
  void analyse(std::size_t rows) {
    for (std::size_t r = 0; r < rows; ++r) fft_.analyse(values(r), modes(r));
  }
  void synthesise(std::size_t rows) {
    for (std::size_t r = 0; r < rows; ++r) fft_.synthesise(modes(r), values(r));
  }

 private:
  std::size_t size_, stride_;  // no power of two: one point of all rows would share a cache set
  Scratch<double> values_;
  Scratch<std::complex<double>> modes_;
  RealFft fft_;
};

}  // namespace attractor
