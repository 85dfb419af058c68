#include <fftw3.h>

#include <cassert>
#include <mutex>

#include "attractor/base/fft.hpp"
#include "attractor/base/scratch.hpp"

namespace attractor {
namespace {

// The planner is the one part of FFTW that threads must not enter together.
std::mutex planner;

fftw_complex* pairs(std::complex<double>* modes) { return reinterpret_cast<fftw_complex*>(modes); }

}  // namespace

// FFTW_ESTIMATE: equal plans, equal bits; the arrays are not touched.
struct RealFft::Plan {
  fftw_plan analysis, synthesis;

  Plan(std::size_t size, std::size_t count) {
    const Scratch<double> values(size * count);
    const Scratch<std::complex<double>> modes((size / 2 + 1) * count);
    const int n = static_cast<int>(size), many = static_cast<int>(count);
    const std::lock_guard lock(planner);
    analysis = fftw_plan_many_dft_r2c(1, &n, many, values.get(), nullptr, many, 1,
                                      pairs(modes.get()), nullptr, many, 1, FFTW_ESTIMATE);
    synthesis = fftw_plan_many_dft_c2r(1, &n, many, pairs(modes.get()), nullptr, many, 1,
                                       values.get(), nullptr, many, 1, FFTW_ESTIMATE);
  }
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;
  ~Plan() {
    const std::lock_guard lock(planner);
    fftw_destroy_plan(analysis);
    fftw_destroy_plan(synthesis);
  }
};

RealFft::RealFft(std::size_t size, std::size_t count)
    : plan_(std::make_unique<Plan>(size, count)) {}
RealFft::RealFft(RealFft&&) noexcept = default;
RealFft::~RealFft() = default;

void RealFft::analyse(const double* values, std::complex<double>* modes) const {
  auto* x = const_cast<double*>(values);  // which r2c leaves as they are
  assert(fftw_alignment_of(x) == 0 && fftw_alignment_of(&pairs(modes)[0][0]) == 0);
  fftw_execute_dft_r2c(plan_->analysis, x, pairs(modes));
}

void RealFft::synthesise(std::complex<double>* modes, double* values) const {
  assert(fftw_alignment_of(values) == 0 && fftw_alignment_of(&pairs(modes)[0][0]) == 0);
  fftw_execute_dft_c2r(plan_->synthesis, pairs(modes), values);
}

}  // namespace attractor
