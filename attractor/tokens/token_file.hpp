// Arrays given by the user: "file.npy", "file.h5" or "file.h5:/path/to/dataset". The content
// decides what a file is, not its name. Without a path an HDF5 file must hold exactly one numeric
// dataset, or exactly one called tokens or positions. Every refusal is an Error that names the
// file.
#pragma once

#include <cstddef>
#include <string>

#include "attractor/tokens/npy.hpp"

namespace attractor {

Array read_array(const std::string& spec);

/// Tokens, n x d with n >= 1 and d >= 2, all finite. With unit_length every row is divided by its
/// Euclidean length; a row of zeros has none and is refused.
Array read_tokens(const std::string& spec, bool unit_length);

/// A matrix, dim x dim, all finite.
Array read_square_matrix(const std::string& spec, std::size_t dim);

}  // namespace attractor
