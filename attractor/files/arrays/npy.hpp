// NumPy's .npy format, versions 1.0 to 3.0: one array of numbers in one file.
// Read: floats of 2, 4 and 8 bytes, integers of 1, 2, 4 and 8 bytes, either byte order, row- or
// column-major, rank 0 to 8; everything becomes row-major doubles (integers beyond 2^53 round).
// Refused: objects, complex numbers, strings, structured types, and any file whose size is not
// exactly what its header promises; sizes are compared before memory is taken. NaN passes: callers
// know what their numbers mean.
// https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string_view>

#include "attractor/base/array.hpp"

namespace attractor {

Array read_npy(const std::filesystem::path& source);

/// The array in the bytes of a whole .npy file; `name` is what messages call it.
Array parse_npy(std::span<const std::byte> bytes, std::string_view name);

/// Writes version 1.0, float64, row-major: for arrays of ordinary size the bytes np.save writes.
void write_npy(const std::filesystem::path& target, const Array& array);

}  // namespace attractor
