// Parameters in the words of help, manual pages and completion: what a value is called, what it
// means, and what a shell may offer for it.
#pragma once

#include <string>
#include <vector>

#include "attractor/lab/parameter.hpp"

namespace attractor::apps {

/// What a shell completes: words, files (with words beside them or not), directories, or nothing.
enum class Offer { nothing, files, directories };
Offer offer_of(const lab::Parameter& p);
/// Words that are allowed by name: "sa", "auto", "off". A file may be allowed beside them.
std::vector<std::string> offered_words(const lab::Parameter& p);

/// The value in a usage line: "N", "X", "WORD", "FILE"; empty for a flag without one.
std::string value_name(const lab::Parameter& p);
/// "--beta X"; the name alone if it has no dashes.
std::string spelling(const lab::Parameter& p);

/// What it is, what is allowed, and what it is otherwise.
std::string long_meaning(const lab::Parameter& p);
/// The same, without ranges of numbers.
std::string short_meaning(const lab::Parameter& p);

/// Its headings, in order; not of positional ones.
std::vector<std::string> headings(const lab::ParameterList& parameters);

}  // namespace attractor::apps
