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
//   branch        x <- x + h N(A(x))                     r |A|          <theta, A> / |A|
//
// Attention of branch sees x itself: logits beta r_i r_j cos.
// damped-post is what "depth scaling" means in some texts; its tail differs from ln-scaling.
//
// Flow, exact reductions, forecast, parameter lists, checks and pages all read the rows below: a
// new scheme is a row, and what its row cannot say yet.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "attractor/base/named.hpp"

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
  deepnorm,
  branch
};

/// What a step in depth is multiplied with: 1, (1 + t)^{-1/2}, alpha, or 1 / a.
enum class Pace { steady, damped, alpha, scaled };

struct Scheme {
  Normalisation id;
  std::string_view name, alias{}, title, description;
  /// What 1 - cosine of equiangular tokens goes like, K being the terminal constant.
  std::string_view late_law;
  /// The parameters that this scheme alone has, and what they are.
  std::span<const std::string_view> parameters{};
  Pace pace = Pace::steady;
  bool grows = false;        // what attention writes is added and not normalised: lengths change
  bool unit = false;         // it writes N(A), not A
  bool switches = false;     // is another scheme before a given depth
  bool sees_length = false;  // attention sees x itself: logits beta r_i r_j cos
  std::optional<Normalisation> twin{};  // the same scheme when attention is the whole layer
};

/// The rows of the table, each at the place of its enumerator.
std::span<const Scheme> schemes();
const Scheme& scheme(Normalisation normalisation);

std::span<const std::string_view> names(Normalisation);
/// Other names that parameters take.
std::vector<std::pair<std::string_view, Normalisation>> aliases(Normalisation);
/// The schemes that have this parameter of their own.
std::vector<std::string> schemes_with(std::string_view parameter);

}  // namespace attractor
