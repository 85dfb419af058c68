// Arrays given by the user: "file.npy", "file.h5" or "file.h5:/path/to/dataset". The content
// decides what a file is, not its name. Without a path an HDF5 file must hold exactly one numeric
// dataset, or exactly one called tokens or positions. Every refusal is an Error that names the
// file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "attractor/tokens/npy.hpp"

namespace attractor {

Array read_array(const std::string& spec);

/// The file itself: "file.h5" of "file.h5:/path/to/dataset". Throws Error if there is none.
std::string file_of(const std::string& spec);

/// Tokens, n x d with n >= 1 and d >= 2, all finite. With unit_length every row is divided by its
/// Euclidean length; a row of zeros has none and is refused.
Array read_tokens(const std::string& spec, bool unit_length);

/// Weights of this shape (0: any size from 1), all finite; a first axis of length 1 may be left out.
/// `axes` are their names in messages, "(heads, rank, dim)". The answer has the whole shape.
Array read_weights(const std::string& spec, const std::vector<std::size_t>& shape,
                   const std::string& axes);

}  // namespace attractor
