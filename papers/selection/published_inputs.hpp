// The three inputs of seven tokens that the authors of arXiv 2306.13596 train on.
#pragma once

#include "attractor/training/problem.hpp"

namespace attractor::papers {

/// The keys and scores of the authors' multi_input experiment, seed 0, as they ran it: 24-bit
/// numbers.
training::Problem published_multi();

}  // namespace attractor::papers
