// Where a transformer layer normalises. With x = r theta, A the attention of the directions theta,
// N(y) = y / |y| and a step h in depth, every scheme moves the directions by the same field on its
// own clock, theta' = P_theta A / s (limit h -> 0, depth t):
//
//   scheme        layer                                  s              r'
//   post          x <- N(x + h A)                        1              0
//   pre           x <- x + h A                           r              <theta, A>
//   mix           post until depth tau, then pre         1, then r      0, then <theta, A>
//   peri          x <- x + h N(A)                        r |A|          <theta, A> / |A|
//   sandwich      x <- x + h N(A)                        r |A|          <theta, A> / |A|
//   ngpt          x <- N(x + h alpha (N(A) - x))         |A| / alpha    0
//   ln-scaling    x <- x + h (1 + t)^{-1/2} A            r sqrt(1 + t)  <theta, A> / sqrt(1 + t)
//   damped-post   x <- N(x + h (1 + t)^{-1/2} A)         sqrt(1 + t)    0
//   deepnorm      x <- N(a x + h A)                      a              0
//
// The last but one is what "depth scaling" means in some texts; its tail differs from ln-scaling.
#pragma once

#include <array>
#include <string_view>

namespace attractor {

enum class Normalisation {
  post,
  pre,
  mix,
  peri,
  sandwich,
  ngpt,
  ln_scaling,
  damped_post,
  deepnorm
};

inline constexpr std::array kNormalisations = {
    Normalisation::post,       Normalisation::pre,         Normalisation::mix,
    Normalisation::peri,       Normalisation::sandwich,    Normalisation::ngpt,
    Normalisation::ln_scaling, Normalisation::damped_post, Normalisation::deepnorm};

/// By its command-line name, as in the table; throws Error on another one.
Normalisation normalisation_named(std::string_view name);
std::string_view name(Normalisation normalisation);
/// One line: what the layer does.
std::string_view description(Normalisation normalisation);

}  // namespace attractor
