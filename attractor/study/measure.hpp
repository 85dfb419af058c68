// Numbers out of a summary, by path. "clusters" is a number or a list of numbers; "a.b" is b of the
// object a, or of each object of the list a: a column of a table. true is 1, null is not a number.
#pragma once

#include <string>
#include <vector>

#include "attractor/lab/json.hpp"

namespace attractor::lab {

/// Throws Error if the path leads nowhere or to words.
std::vector<double> measure(const Json& summary, const std::string& path);

/// Paths of everything that is one number and no parameter, in the order of the summary.
std::vector<std::string> plain_measures(const Json& summary);

}  // namespace attractor::lab
