// The beta at which the verdict over a stack turns, and a band that holds the true one nine times
// out of ten. Cosines of real tokens scatter by sigma about their mean rho, so the law is that of
// tokens spread over D = ((1 - rho) / sigma)^2 dimensions (reductions/equiangular_layers.hpp).
// Two things may be off, and are taken to be independent:
//
//   rho     known with a standard error: the law is asked again at rho -+ 1.645 of them
//   law     it is that of infinitely many tokens. The turning beta of finitely many differs from it
//           by a factor that lies within exp(-+ c / D) nine times out of ten; c = kLawError
//
//   ln low = ln turn - sqrt((ln turn - ln turn(rho lower))^2 + (c / D)^2),   high likewise
//
// c is measured: nine tenths of 845 stacks of random tokens, passed through their layers, are
// within it (32 to 160 tokens, 16 to 128 dimensions, 4 to 32 layers, every scheme);
// turning_band_test.cpp counts on other stacks how often the band holds the truth. beta of the
// model itself may be off too; its standard error widens the band of the factor turn / beta, by
// which logits have to be multiplied for the other verdict.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "attractor/attention/normalisation.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::lab {

/// Nine times out of ten a normal deviate is within this.
inline constexpr double kNinety = 1.6448536269514722;
inline constexpr double kLawError = 0.81;

/// A stack of layers as it is asked about.
struct Stack {
  std::size_t depth;
  Normalisation norm;
  double tokens, beta, rho;
  double dimension = kInfinity;  // D that tokens spread over; infinity: all cosines equal
  double step = 1;               // share of the attention that goes to tokens, not to a sink
};

/// Mean cosines before the first layer and after each.
std::vector<double> cosines(const Stack& stack);

/// First layer at or above the level; NaN: none.
double collapse_layer(const std::vector<double>& cosine, double level);

/// The beta at which the last cosine passes the level; none from 1e-6 to 1e6.
std::optional<double> turn_of(Stack stack, double level);

/// Ends are NaN where they are not known: the tokens may start above the level.
struct TurningBand {
  std::optional<double> turn{};
  double low = kNan, high = kNan;

  /// The same of turn / beta, beta with a standard error that is a share of it.
  TurningBand over(double beta, double beta_error) const;
  /// Whether the band leaves no doubt on which side of `at` the turn is.
  bool beside(double at) const { return !turn || low > at || high < at; }
};

/// rho_error: the standard error of rho.
TurningBand turning_band(const Stack& stack, double level, double rho_error);

}  // namespace attractor::lab
