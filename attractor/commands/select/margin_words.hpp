// What the bounds of a max-margin problem prove, in words: the same for the text, the page and the
// complaints of `attractor select`.
#pragma once

#include <string>

#include "attractor/training/margins/max_margin.hpp"

namespace attractor::lab {

/// Of an infeasible choice: whether no weights at all make it, or only none below some norm.
std::string infeasible_words(const training::MaxMargin& svm);

/// "1.25 to 1.2500000000000002": both ends to the last digit, so that they still are bounds.
std::string bounds_words(const training::MaxMargin& svm);

/// Where W = K Q^T has too few columns for the solution; empty if it has enough.
std::string reach_words(const training::MaxMargin& svm);

/// If the solution as doubles violates a constraint by more than 1e-9; empty if not.
std::string slack_words(const training::MaxMargin& svm);

}  // namespace attractor::lab
