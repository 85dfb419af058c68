// Fourier transforms of real functions on n points of a circle:
//
//   analyse      X_k = sum_{j<n} x_j e^{-2 pi i jk/n},   k = 0 .. n/2
//   synthesise   x_j = sum_{k<n} X_k e^{2 pi i jk/n},    X_{n-k} = conj X_k
//
// Neither divides by n: one after the other gives n x. Errors in the mean square are at most
// c log2(n) eps; n without primes above 7 costs n log n.
//
// One library does it, which CMake chooses (ATTRACTOR_FFT): fft_fftw.cpp or fft_kissfft.cpp. The
// same sizes and values give the same bits, in any thread.
#pragma once

#include <complex>
#include <cstddef>
#include <memory>

namespace attractor {

/// `count` functions at a time, x_j of function c at values[j * count + c] and X_k at
/// modes[k * count + c]. Arrays are aligned to 16 bytes, as Scratch is; threads may share a plan.
class RealFft {
 public:
  explicit RealFft(std::size_t size, std::size_t count = 1);
  RealFft(RealFft&&) noexcept;
  ~RealFft();

  void analyse(const double* values, std::complex<double>* modes) const;
  /// The imaginary parts of X_0 and, if n is even, X_{n/2} do not count. Destroys the modes.
  void synthesise(std::complex<double>* modes, double* values) const;

 private:
  struct Plan;
  std::unique_ptr<Plan> plan_;
};

}  // namespace attractor
