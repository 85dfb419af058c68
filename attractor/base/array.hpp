// Numbers with a shape, in row-major order: what files hold, and what other languages hand over.
#pragma once

#include <cstddef>
#include <vector>

namespace attractor {

/// data.size() is the product of shape (1 for rank 0).
struct Array {
  std::vector<std::size_t> shape;
  std::vector<double> data;
};

}  // namespace attractor
