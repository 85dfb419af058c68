// Short names of the two rules that closed forms know.
#pragma once

#include "attractor/attention/rule.hpp"

namespace attractor {

inline constexpr Rule kSa = Rule::softmax, kUsa = Rule::unnormalised;

}  // namespace attractor
