// JSON as every summary writes it: keys in the order of writing, null for what is not a finite
// number.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>

namespace attractor::experiment {

using Json = nlohmann::ordered_json;

inline Json number(double value) { return std::isfinite(value) ? Json(value) : Json(nullptr); }

}  // namespace attractor::experiment
