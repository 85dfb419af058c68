// Norms whose margins training may prefer.
//
//   l_q of the entries   q = 2: gradient descent; 1 < q: mirror descent; infinity: sign descent and
//                        Adam; 1: descent along one coordinate at a time
//   nuclear              sum of the singular values of W: gradient descent on K and Q
//   spectral             the largest singular value of W: Muon
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attractor/training/objective.hpp"

namespace attractor::training {

struct MarginNorm {
  enum class Of { entries, nuclear, spectral };
  Of of = Of::entries;
  double power = 2;  // of entries: 1, 1.02 to 50, or infinity

  bool operator==(const MarginNorm&) const = default;
  bool euclidean() const { return of == Of::entries && power == 2; }
  /// Of the entries of a vector, or of a d x d matrix, row by row.
  double operator()(std::span<const double> w) const;
};

/// "l_2", "l_inf", "Frobenius" (matrix: l_2 of a matrix), "nuclear", "spectral".
std::string name(const MarginNorm& norm, bool matrix);

/// What gradient descent prefers there.
MarginNorm natural_norm(AttentionPart part);
/// l_2, l_inf, l_1 of p; beside these, the nuclear and the spectral norm of W.
std::vector<MarginNorm> margin_norms(AttentionPart part);

}  // namespace attractor::training
