// How fast evenly spread tokens fall apart into k clusters, in three ways: a wave cos(k theta) in
// their density grows like e^{sigma t}, on the circle with softmax attention
//
//   sigma_k = k^2 I_k(beta) / (beta I_0(beta)).
//
// The fastest wave predicts how many clusters form: about sqrt(2 beta).
#include <fmt/format.h>

#include <cmath>
#include <complex>

#include "attractor/attractor.hpp"

using namespace attractor;

/// |sum_j e^{ik theta_j}|: the size of the wave.
double wave(std::span<const double> tokens, std::size_t k) {
  std::complex<double> sum = 0;
  for (std::size_t i = 0; i < tokens.size(); i += 2)
    sum += std::pow(std::complex(tokens[i], tokens[i + 1]), static_cast<int>(k));
  return std::abs(sum);
}

int main() {
  constexpr double kBeta = 9, kTime = 0.5;
  const meanfield::Stability spectrum = meanfield::stability({.dim = 2, .beta = kBeta}, 8);
  double worst = 0, worst_seen = 0;
  for (std::size_t k = 1; k <= 8; ++k) {
    const auto number = static_cast<double>(k);
    const double exact =
        number * number * std::cyl_bessel_i(number, kBeta) / (kBeta * std::cyl_bessel_i(0, kBeta));

    const TokenSet tokens = make_tokens({.arrangement = Arrangement::circle,
                                         .tokens = 128,
                                         .dim = 2,
                                         .mode = k,
                                         .amplitude = 1e-5});
    depth::AttentionFlow flow({.beta = kBeta, .dim = 2}, 128, 0);
    flow::Progress progress{.state = tokens.data};
    flow::run(flow, flow::dormand_prince(), {.end = flow::Time(kTime), .tolerance = 1e-13},
              progress, {});
    const double seen = std::log(wave(progress.state, k) / wave(tokens.data, k)) / kTime;

    fmt::print("k = {}   spectrum {:.10f}   by Bessel functions {:.10f}   128 tokens {:.6f}\n", k,
               spectrum.growth(k), exact, seen);
    worst = std::max(worst, std::abs(spectrum.growth(k) - exact));
    worst_seen = std::max(worst_seen, std::abs(seen - exact));
  }
  fmt::print("fastest: {} clusters; sqrt(2 beta) = {:.2f}\n", spectrum.predicted_clusters(),
             std::sqrt(2 * kBeta));
  return worst < 1e-12 && worst_seen < 1e-6 && spectrum.predicted_clusters() == 4 ? 0 : 1;
}
