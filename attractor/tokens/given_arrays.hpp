// Arrays that a user gives, checked: tokens and weights. Every refusal is an Error that calls the
// array by `name`.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attractor/base/array.hpp"

namespace attractor {

void require_finite(const Array& array, const std::string& name);

/// Tokens, n x d with n >= 1 and d >= 2, all finite. With unit_length every row is divided by its
/// Euclidean length; a row of zeros has none and is refused.
Array tokens_of(Array array, const std::string& name, bool unit_length);

/// Rows of n x dim numbers have length 1, to within this much.
void require_unit_rows(std::span<const double> rows, std::size_t dim, const std::string& name,
                       double within);
/// How many original tokens each of `count` tokens stands for: positive numbers.
void require_masses(std::span<const double> masses, std::size_t count, const std::string& name);

/// Weights of this shape (0: any size from 1), all finite; a first axis of length 1 may be left
/// out. `axes` are their names in messages, "(heads, rank, dim)". The answer has the whole shape.
Array weights_of(Array array, const std::string& name, const std::vector<std::size_t>& shape,
                 const std::string& axes);

}  // namespace attractor
