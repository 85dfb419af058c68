#include <cmath>  // which kissfft.hh needs and leaves out

#include <kissfft/kissfft.hh>

#include <numbers>
#include <vector>

#include "attractor/base/fft.hpp"
#include "attractor/base/scratch.hpp"

namespace attractor {
namespace {

using Complex = std::complex<double>;

Complex times_i(Complex z) { return {-z.imag(), z.real()}; }

}  // namespace

// kissfft transforms complex numbers. Two functions x, y are x + iy on n points; a single one on an
// even number of points is x_{2j} + i x_{2j+1} on half as many.
struct RealFft::Plan {
  std::size_t size, count;
  bool halved;
  kissfft<double> forward, backward;
  std::vector<Complex> turns;  // e^{-2 pi i k/n} for halves

  Plan(std::size_t n, std::size_t functions)
      : size(n),
        count(functions),
        halved(count == 1 && n % 2 == 0),
        forward(halved ? n / 2 : n, false),
        backward(halved ? n / 2 : n, true) {
    for (std::size_t k = 0; halved && k <= n / 2; ++k)
      turns.push_back(
          std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n)));
  }

  bool real(std::size_t k) const { return k == 0 || 2 * k == size; }
  void analyse_halves(const double* values, Complex* modes) const;
  void synthesise_halves(const Complex* modes, double* values) const;
  void analyse_pairs(const double* values, Complex* modes) const;
  void synthesise_pairs(const Complex* modes, double* values) const;
};

// Butterflies of primes above 5 write into the plan, which threads share: each call takes a copy.
using Fft = const kissfft<double>;

// With E and O the transforms of the even and the odd points, Z = E + iO and X_k = E_k + w^k O_k.
void RealFft::Plan::analyse_halves(const double* values, Complex* modes) const {
  const std::size_t half = size / 2;
  const Scratch<Complex> z(half);
  Fft(forward).transform(reinterpret_cast<const Complex*>(values), z.get());
  for (std::size_t k = 0; k <= half; ++k) {
    const Complex here = z[k % half], there = std::conj(z[(half - k) % half]);
    modes[k] = 0.5 * (here + there - times_i(turns[k] * (here - there)));
  }
}

void RealFft::Plan::synthesise_halves(const Complex* modes, double* values) const {
  const std::size_t half = size / 2;
  const Scratch<Complex> z(half);
  const auto mode = [&](std::size_t k) { return real(k) ? Complex(modes[k].real()) : modes[k]; };
  for (std::size_t k = 0; k < half; ++k) {
    const Complex here = mode(k), there = std::conj(mode(half - k));
    z[k] = here + there + times_i(std::conj(turns[k]) * (here - there));
  }
  Fft(backward).transform(z.get(), reinterpret_cast<Complex*>(values));
}

// Functions c and c + 1; the last may be alone.
void RealFft::Plan::analyse_pairs(const double* values, Complex* modes) const {
  Fft fft(forward);
  const Scratch<Complex> in(size), out(size);
  for (std::size_t c = 0; c < count; c += 2) {
    const bool alone = c + 1 == count;
    for (std::size_t j = 0; j < size; ++j) {
      const double* x = values + j * count + c;
      in[j] = {x[0], alone ? 0.0 : x[1]};
    }
    fft.transform(in.get(), out.get());
    for (std::size_t k = 0; k <= size / 2; ++k) {
      const Complex here = out[k], there = std::conj(out[(size - k) % size]);
      Complex* mode = modes + k * count + c;
      mode[0] = 0.5 * (here + there);
      if (!alone) mode[1] = -0.5 * times_i(here - there);
    }
  }
}

void RealFft::Plan::synthesise_pairs(const Complex* modes, double* values) const {
  Fft fft(backward);
  const Scratch<Complex> in(size), out(size);
  for (std::size_t c = 0; c < count; c += 2) {
    const bool alone = c + 1 == count;
    for (std::size_t k = 0; k <= size / 2; ++k) {
      const Complex* mode = modes + k * count + c;
      Complex x = mode[0], y = alone ? 0.0 : mode[1];
      if (real(k)) x = x.real(), y = y.real();
      in[(size - k) % size] = std::conj(x) + times_i(std::conj(y));
      in[k] = x + times_i(y);
    }
    fft.transform(in.get(), out.get());
    for (std::size_t j = 0; j < size; ++j) {
      double* x = values + j * count + c;
      x[0] = out[j].real();
      if (!alone) x[1] = out[j].imag();
    }
  }
}

RealFft::RealFft(std::size_t size, std::size_t count)
    : plan_(std::make_unique<Plan>(size, count)) {}
RealFft::RealFft(RealFft&&) noexcept = default;
RealFft::~RealFft() = default;

void RealFft::analyse(const double* values, Complex* modes) const {
  plan_->halved ? plan_->analyse_halves(values, modes) : plan_->analyse_pairs(values, modes);
}

void RealFft::synthesise(Complex* modes, double* values) const {
  plan_->halved ? plan_->synthesise_halves(modes, values) : plan_->synthesise_pairs(modes, values);
}

}  // namespace attractor
