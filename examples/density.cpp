// Infinitely many tokens: the density of attention on the circle, d rho/dt + d(rho v)/d theta = 0,
// by its Fourier modes m_k = E e^{ik theta}. At beta = 0 every token attends to all others alike
// (Kuramoto's model), and a density with m_k = r^k keeps that form (Ott, Antonsen 2008):
//
//   r(t)^2 = 1 / (1 + (1/r(0)^2 - 1) e^{-t}).
#include <fmt/format.h>

#include <cmath>

#include "attractor/attractor.hpp"

int main() {
  using namespace attractor;
  constexpr double kStart = 0.3;
  meanfield::CircleDensity density({.beta = 0}, {.modes = 64, .max_modes = 1024});
  std::vector<std::complex<double>> moments;
  for (int k = 0; k <= 64; ++k) moments.emplace_back(std::pow(kStart, k));

  double worst = 0;
  flow::Hooks hooks;
  hooks.output = [&](const flow::Time& time, std::span<const double> state) {
    const double order = std::abs(meanfield::moments_of(state)[1]);
    const double exact = 1 / std::sqrt(1 + (1 / (kStart * kStart) - 1) * std::exp(-time.value()));
    fmt::print("t = {}   |m_1| {:.12f}   exact {:.12f}   {:4} modes   largest density {:.4f}\n",
               time.value(), order, exact, density.modes(),
               meanfield::measure_density(state).largest);
    worst = std::max(worst, std::abs(order - exact));
  };
  flow::Plan plan{.end = flow::Time(4), .tolerance = 1e-12};
  for (const double t : {0.0, 1.0, 2.0, 3.0, 4.0}) plan.outputs.emplace_back(t);
  flow::Progress progress{.state = density.state(moments)};
  const flow::Status status = flow::run(density, flow::dormand_prince(), plan, progress, hooks);
  return status == flow::Status::complete && !density.unresolved() && worst < 1e-10 ? 0 : 1;
}
