#include "attractor/tokens/components.hpp"

#include <cassert>
#include <limits>

#include "attractor/space/space.hpp"
#include "attractor/tokens/linked_boxes.hpp"

namespace attractor {
namespace {

constexpr std::size_t kSmall = 256;  // tokens of a circle: below, order is not worth while
constexpr auto kUnlabelled = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Components components_on_circle(const CircleOrder& order, std::span<const double> tokens,
                                double radius) {
  const std::size_t n = order.token.size();
  const auto linked = [&](std::size_t k) {  // with the next one
    const std::size_t i = order.token[k], j = order.token[(k + 1) % n];
    return squared_distance(tokens.subspan(2 * i, 2), tokens.subspan(2 * j, 2)) <= radius * radius;
  };
  std::vector<std::uint32_t> piece(n);  // of each token
  std::uint32_t pieces = 1;
  for (std::size_t k = 0; k < n; ++k) {
    piece[order.token[k]] = pieces - 1;
    if (k + 1 < n && !linked(k)) ++pieces;
  }
  const bool around = pieces > 1 && linked(n - 1);  // the last piece goes on as the first
  Components found{std::vector<std::uint32_t>(n), 0};
  std::vector<std::uint32_t> label(pieces, kUnlabelled);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t& own = label[around && piece[i] == pieces - 1 ? 0 : piece[i]];
    if (own == kUnlabelled) own = static_cast<std::uint32_t>(found.count++);
    found.label[i] = own;
  }
  return found;
}

Components components(std::span<const double> tokens, std::size_t dim, double radius) {
  assert(radius > 0);
  if (dim == 2 && tokens.size() / 2 > kSmall)
    if (const auto order = circle_order(tokens))
      return components_on_circle(*order, tokens, radius);
  const std::vector<std::uint32_t> first = first_linked(tokens, dim, radius);
  Components found{std::vector<std::uint32_t>(first.size()), 0};
  for (std::size_t i = 0; i < first.size(); ++i)
    found.label[i] =
        first[i] == i ? static_cast<std::uint32_t>(found.count++) : found.label[first[i]];
  return found;
}

}  // namespace attractor
