// Lists of numbers as one word of the command line: "0.5,0.9,0.99", or evenly spaced
// "0.1:9:90", from:to:count, also mixed. Numbers of things, tokens above all, may be written as
// context lengths are: 128k = 128 x 1024 = 131072, 1M = 1024^2, 1G = 1024^3 (powers of ten have a
// spelling already: 1e3, 1e6).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "attractor/lab/inputs.hpp"

namespace attractor::lab {

/// A number as every parameter spells it: nothing before or after it, independent of the locale.
bool parse_real(std::string_view text, double& value);
/// A number of things: the same, or with k, M or G behind it.
bool parse_count(std::string_view text, double& value);
/// Has one of the letters that parse_count() takes; "128k", not "mask".
bool has_count_letter(std::string_view text);
/// The shortest text that parse_real() takes back exactly.
std::string spelled(double value);

/// What a list may hold, in words.
std::string allowed_numbers(double least, double most);

/// The numbers in the order given, all finite, each from `least` to `most`; an empty text is an
/// empty list. counts: they are numbers of things. Throws Error naming the parameter, the item and
/// what is allowed.
std::vector<double> number_list(std::string_view name, std::string_view text, double least,
                                double most, bool counts = false);

/// "from:to:count".
Numbers spaced_numbers(double from, double to, std::size_t count);

}  // namespace attractor::lab
