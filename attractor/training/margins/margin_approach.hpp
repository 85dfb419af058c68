// Which margin does training approach? For weights w and the tokens alpha that they select,
//
//   share = min_{i,t} <w, k_{i,alpha_i} - k_it> / |w|   over   max of the same over all w,
//
// is 1 where w points to a max-margin solution of that norm, to any of them if there are several
// (l_1, l_inf and spectral ones need not be unique), and below 1 elsewhere; for W with the rows
// (x_{i,alpha_i} - x_it) q_i^T. The maximum is proved to a gap by the solver of the norm.
//
// Weights grow like w = |w| u + O(1), so that w / |w| reaches the limit u like 1 / |w|, which is
// 1 / ln t for gradient descent. The secant from |w| / 2 to |w| has lost the O(1): it is the
// direction extrapolated in 1 / |w|, and what it differs by from the secant before it, from |w| / 4
// to |w| / 2, is its error as far as it shows. A norm is
//
//   approached if 1 - share + error <= within,   left if 1 - share - error > within,
//
// else open. The verdict names the one norm that is approached while all others are left; "none" if
// all are left; "undecided" otherwise.
#pragma once

#include <string>
#include <vector>

#include "attractor/training/margins/margin_norm.hpp"
#include "attractor/training/margins/max_margin.hpp"

namespace attractor::training {

struct MarginApproach {
  std::string norm{};
  MaxMargin svm{};        // of this norm
  double cosine = 0;      // of the weights to its solution; NaN: none
  double far_cosine = 0;  // of the extrapolated direction
  double share = 0;       // of the best margin that the extrapolated direction has; NaN: none
  double error = 0;       // of the share
  bool approached = false, left = false;
};

struct MarginVerdict {
  std::vector<MarginApproach> norms{};
  std::string verdict{};  // a norm's name, "none" or "undecided"; empty without weights
};

/// p or W at moments of a training, the first one the start.
using Trail = std::vector<std::vector<double>>;

/// The margin of weights in a norm: least lead of a chosen token over another, over |w|.
double margin_of(const Objective& objective, std::span<const std::size_t> chosen,
                 std::span<const double> w, const MarginNorm& norm);

/// norms: those of margin_norms(), or others. An empty trail: only the solutions.
MarginVerdict compare_margins(const Objective& objective, std::span<const std::size_t> chosen,
                              std::span<const double> v, const Trail& trail, double within,
                              const std::vector<MarginNorm>& norms);

}  // namespace attractor::training
