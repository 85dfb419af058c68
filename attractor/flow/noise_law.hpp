// How a flow dx = v dt is disturbed. B: Brownian motions, one for each point (kappa `own`) and one
// for all of them (`common`).
//
// additive: noise in the residual stream, before it is normalised. With D = diag(axes), as h -> 0,
//   x <- N(x + h v + sqrt(2 kappa h) D xi),   xi standard normal.
// In Ito's sense on the sphere  dx = v dt + sqrt(2 kappa) P D dB - 2 kappa P D^2 x dt - (..) x dt:
// P dB where all axes are equal, and else a drift towards the axes with little noise.
//
// multiplicative: the strength of the drift fluctuates,  dx = v o (dt + sqrt(2 kappa) dB), B in R,
// in Stratonovich's sense: each point has its own clock t + sqrt(2 kappa) B(t). Where all share
// one, the path is that of the flow without noise.
#pragma once

#include <span>
#include <string_view>

#include "attractor/base/named.hpp"

namespace attractor::flow {

enum class NoiseKind { additive, multiplicative };
std::span<const std::string_view> names(NoiseKind);

struct NoiseLaw {
  double own = 0, common = 0;  // kappa
  NoiseKind kind = NoiseKind::additive;
  std::span<const double> axes{};  // additive: a factor for each coordinate; empty: 1

  bool present() const { return own > 0 || common > 0; }
};

}  // namespace attractor::flow
