// Settings of a page as words: {"beta": 4, "init": "cap"} means what the command line means by
// --beta 4 --init cap.
#pragma once

#include "attractor/lab/json.hpp"
#include "attractor/lab/parameter.hpp"

namespace attractor::web {

/// Members that are texts, numbers or true; false and null are left out. Throws Error on others,
/// and on names of files.
lab::Settings settings_of(const lab::Json& object);

/// Throws Error on a name that the list does not have, and on a value that it does not allow.
void apply_settings(const lab::ParameterList& list, const lab::Settings& settings);

}  // namespace attractor::web
