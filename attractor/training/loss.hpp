// Losses of one output f with its label y, and their slopes in log form, because late in training
// slopes are e^{-|p| Gamma}.
//
//   linear, correlation  -y f       logistic  ln(1 + e^{-y f})       exponential  e^{-y f}
//   squared              (f - y)^2 / 2
//
// All but the squared loss decrease in y f (margin losses).
#pragma once

#include "attractor/base/named.hpp"

namespace attractor::training {

using attractor::name;

enum class Loss { linear, correlation, logistic, exponential, squared };

std::span<const std::string_view> names(Loss);

/// Decreases in y f: more of the right sign is always better.
inline bool is_margin_loss(Loss loss) { return loss != Loss::squared; }
/// Logistic and exponential losses classify: their labels are +1 or -1.
inline bool needs_signs(Loss loss) { return loss == Loss::logistic || loss == Loss::exponential; }

double value(Loss loss, double f, double label);
/// ln of it; NaN where it is negative.
double log_value(Loss loss, double f, double label);

/// -dl/df = sign e^{log_size}: how the loss pulls at f.
struct Pull {
  double sign, log_size;
};
Pull pull(Loss loss, double f, double label);

/// ln (l(f - y delta) - l(f)) of a margin loss for a deficit delta = e^{log_deficit} > 0, accurate
/// for any size of it.
double log_rise(Loss loss, double f, double label, double log_deficit);

}  // namespace attractor::training
