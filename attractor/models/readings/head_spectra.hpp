// What a head is as a matrix. For tokens y as attention sees them, logits are <y_i, A y_j> with A =
// Q^T K / sqrt(d_head) (rotary positions aside: at distance 0), and what it writes is M y with M =
// O V. Both have rank d_head at most; their eigenvalues are those of the small K Q^T and V O.
//
//   antisymmetric   |A - A^T|^2 / 4 |A|^2: 0 symmetric (a gradient flow), 1/2 without preference
//   rotation        sum (Im l)^2 / sum |l|^2 over the eigenvalues l: 0 all real
//   positive        sum of positive real parts over the sum of all their sizes: 1 attraction (or
//                   copying), 0 repulsion
//   radius          the largest |l|
//
// A gain g of the norm before attention is part of both: A <- g A g, M <- M g. Cost: d d_head^2.
#pragma once

#include <complex>
#include <tuple>
#include <vector>

#include "attractor/models/model.hpp"

namespace attractor::models {

struct MatrixPortrait {
  double size = 0;  // Frobenius norm
  double trace = 0, antisymmetric = 0, rotation = 0, positive = 0, radius = 0;
  std::vector<std::complex<double>> eigenvalues{};  // by size, d_head of them
};
inline auto fields(MatrixPortrait& value) {
  auto& [size, trace, antisymmetric, rotation, positive, radius, eigenvalues] = value;
  return std::tie(size, trace, antisymmetric, rotation, positive, radius, eigenvalues);
}

struct HeadSpectra {
  MatrixPortrait logits{};  // A
  MatrixPortrait values{};  // M
};
inline auto fields(HeadSpectra& value) {
  auto& [logits, values] = value;
  return std::tie(logits, values);
}

HeadSpectra spectra(const Architecture& a, const Layer& layer, std::size_t head);

}  // namespace attractor::models
