// Which law of long contexts a set of keys obeys. With logits beta <k_i, k_j> of unit keys, a token
// keeps half of its attention to itself at beta_half(n); how this grows with the number of keys
// tells what keys are like:
//
//   logarithmic   beta_half = ln(n - 1) / (1 - rho)        all cosines about rho (arXiv 2510.05554)
//   power         beta_half ~ n^{2/(D-1)}                  keys spread like independent uniform
//   ones
//                                                          in D dimensions (arXiv 2605.08505)
//
// beta_half is found on subsets of the keys, n = 8, 16, ..., all; the law that leaves the smaller
// squared residuals of ln beta_half (each with two free numbers) is the one they obey. Few keys
// tell little: `decided` says whether the residuals differ by more than a factor of two.
// Cost: n^2 for each bisection step, n the number of keys.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attractor::meanfield {

/// Where tokens keep half of their attention, on average; NaN if they never do (two equal keys).
double half_beta(std::span<const double> cosines, std::size_t n);

struct KeyLaw {
  std::vector<double> tokens{}, half{};         // n, beta_half
  double rho = 0;                               // of the logarithmic law: 1 - 1 / slope
  double exponent = 0;                          // of the power law: 2 / (D - 1)
  double dimension = 0;                         // D
  double log_residual = 0, power_residual = 0;  // root mean square of ln beta_half
  bool logarithmic = true, decided = false;
};

/// keys: n x dim, any length; subsets are drawn with this seed. Needs 32 keys that differ.
KeyLaw key_law(std::span<const double> keys, std::size_t dim, std::uint64_t seed);

}  // namespace attractor::meanfield
