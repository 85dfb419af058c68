#include "attractor/models/tensor_source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attractor/base/error.hpp"

namespace attractor::models {

constexpr std::uint64_t kMostElements = std::uint64_t{1} << 32;

std::vector<std::string> TensorMap::names() const {
  std::vector<std::string> all;
  for (const auto& [name, tensor] : tensors_) all.push_back(name);
  return all;
}

const Shape* TensorMap::shape(const std::string& name) const {
  const auto at = tensors_.find(name);
  return at == tensors_.end() ? nullptr : &at->second.shape;
}

void TensorMap::read(const std::string& name, std::span<float> out) const {
  std::copy_n(tensors_.at(name).data.begin(), out.size(), out.begin());
}

std::size_t elements(const Shape& shape, const std::string& name) {
  std::uint64_t count = 1, bound = 1;  // a zero must not hide an absurd number
  for (const std::size_t size : shape) {
    if (size > kMostElements / bound)
      throw Error(fmt::format("tensor {} of shape ({}) has more than {} numbers", name,
                              fmt::join(shape, ", "), kMostElements));
    bound *= std::max<std::uint64_t>(size, 1);
    count *= size;
  }
  return static_cast<std::size_t>(count);
}

}  // namespace attractor::models
