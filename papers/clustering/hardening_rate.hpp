// How softmax attention becomes hardmax as beta grows, measured on one step.
#pragma once

#include <vector>

#include "papers/entry.hpp"

namespace attractor::papers {

/// How softmax becomes hardmax: what one Euler step of 1/2 of the attracted flow at beta puts a
/// token off that of hardmax is e^{-beta gap}, gap = the distance of its two largest logits.
struct HardeningRate {
  double gap = 0, rate = 0;  // rate: measured between beta = 40 and 80
  double allowance = 0;      // what the logits below the second add to the rate at most
};
/// For the token whose third logit is the farthest away, among gaps between 0.2 and 0.4.
HardeningRate hardening_rate(const std::vector<double>& tokens, std::size_t dim,
                             const Effort& effort);

}  // namespace attractor::papers
