// Numbers and times as people read them.
#pragma once

#include <string>

#include "attractor/flow/time.hpp"

namespace attractor::lab {

/// On a terminal: "0", "12.5", "1.6180e+30"; also for times that no double holds.
std::string plain_words(const flow::Time& time);

/// Markup of figures: a positive number from its logarithm, and a time: "0", "0.125",
/// "1.6·10^{30}".
std::string power_text(double log10);
std::string time_text(const flow::Time& time);

}  // namespace attractor::lab
