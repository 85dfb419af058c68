// Losses l(f) of a signed output f, all decreasing; their slopes in log form, because late in
// training they are e^{-|p| Gamma}.
#pragma once

#include <string_view>

namespace attractor::training {

enum class Loss { linear, logistic, exponential };  // -f, ln(1 + e^{-f}), e^{-f}

Loss loss_named(std::string_view name);  // throws Error on another name
std::string_view name(Loss loss);

double value(Loss loss, double f);
/// ln |l'(f)|; l' is negative.
double log_slope(Loss loss, double f);

}  // namespace attractor::training
