// Numbers and times as people read them on a terminal.
#pragma once

#include <string>

#include "attractor/flow/time.hpp"

namespace attractor::experiment {

/// "0", "12.5", "1.6180e+30"; also for times that no double holds.
std::string plain_words(const flow::Time& time);

}  // namespace attractor::experiment
