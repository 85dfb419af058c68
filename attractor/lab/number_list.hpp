// Lists of numbers as one word of the command line: "0.5,0.9,0.99", or evenly spaced
// "0.1:9:90", from:to:count, also mixed.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attractor/lab/inputs.hpp"

namespace attractor::lab {

/// A number as every parameter spells it: nothing before or after it, independent of the locale.
bool parse_real(std::string_view text, double& value);
/// The shortest text that parse_real() takes back exactly.
std::string spelled(double value);

/// What a list may hold, in words.
std::string allowed_numbers(double least, double most);

/// The numbers in the order given, all finite, each from `least` to `most`; an empty text is an
/// empty list. Throws Error naming the parameter, the item and what is allowed.
std::vector<double> number_list(std::string_view name, std::string_view text, double least,
                                double most);

/// "from:to:count".
Numbers spaced_numbers(double from, double to, std::size_t count);

}  // namespace attractor::lab
