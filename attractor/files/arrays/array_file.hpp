// Arrays given by the user: "file.npy", "file.h5" or "file.h5:/path/to/dataset", "file.npz:/name",
// "file.safetensors:/name". The content decides what a file is, not its name. Without a name a file
// of several arrays must hold exactly one of numbers, or exactly one called tokens or positions.
// Every refusal is an Error that names the file.
#pragma once

#include <string>

#include "attractor/base/array.hpp"

namespace attractor {

Array read_array(const std::string& spec);

/// The file itself: "file.h5" of "file.h5:/path/to/dataset". Throws Error if there is none.
std::string file_of(const std::string& spec);

}  // namespace attractor
