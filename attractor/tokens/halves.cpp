#include "attractor/tokens/halves.hpp"

#include <algorithm>

namespace attractor {
namespace {

constexpr std::size_t kLeafTokens = 16, kAxisSample = 32;

}  // namespace

Halves::Halves(std::span<const double> points, std::size_t dim)
    : dim_(dim), order_(points.size() / dim), points_(points.size()) {
  std::iota(order_.begin(), order_.end(), 0U);
  divide(points, 0, static_cast<std::uint32_t>(order_.size()), 0);
  for (std::size_t k = 0; k < order_.size(); ++k)
    std::copy_n(&points[order_[k] * dim_], dim_, &points_[k * dim_]);
  keys_ = {};
}

std::size_t Halves::widest_axis(std::span<const double> points, std::uint32_t begin,
                                std::uint32_t end) const {
  const std::size_t count = std::min<std::size_t>(kAxisSample, end - begin);
  std::size_t widest = 0;
  double width = -1;
  for (std::size_t a = 0; a < dim_; ++a) {
    double least = points[order_[begin] * dim_ + a], most = least;
    for (std::size_t k = 1; k < count; ++k) {
      const double x = points[order_[begin + k * (end - begin) / count] * dim_ + a];
      least = std::min(least, x);
      most = std::max(most, x);
    }
    if (most - least > width) width = most - least, widest = a;
  }
  return widest;
}

std::uint32_t Halves::divide(std::span<const double> points, std::uint32_t begin, std::uint32_t end,
                             std::uint32_t level) {
  const auto node = static_cast<std::uint32_t>(nodes_.size());
  nodes_.push_back({begin, end, level});
  if (end - begin <= kLeafTokens) return node;
  const std::size_t axis = widest_axis(points, begin, end);
  keys_.resize(end - begin);
  for (std::uint32_t k = begin; k < end; ++k)
    keys_[k - begin] = {points[order_[k] * dim_ + axis], order_[k]};
  const std::uint32_t half = (end - begin) / 2;
  std::nth_element(keys_.begin(), keys_.begin() + half, keys_.end());
  for (std::uint32_t k = begin; k < end; ++k) order_[k] = keys_[k - begin].second;
  const std::uint32_t left = divide(points, begin, begin + half, level + 1);
  const std::uint32_t right = divide(points, begin + half, end, level + 1);
  nodes_[node].left = left;
  nodes_[node].right = right;
  return node;
}

}  // namespace attractor
