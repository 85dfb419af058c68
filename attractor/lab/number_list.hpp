// Lists of numbers as one word of the command line: "0.5,0.9,0.99", or evenly spaced
// "0.1:9:90", from:to:count, also mixed.
#pragma once

#include <string_view>
#include <vector>

namespace attractor::lab {

/// The numbers in the order given, each from `least` to `most`; an empty text is an empty list.
/// Throws Error naming the parameter, the item and what is allowed.
std::vector<double> number_list(std::string_view name, std::string_view text, double least,
                                double most);

}  // namespace attractor::lab
