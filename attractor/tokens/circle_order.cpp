#include "attractor/tokens/circle_order.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "attractor/base/threads.hpp"

namespace attractor {
namespace {

constexpr std::size_t kTokensTogether = 4096;  // that a thread takes
constexpr double kOffCircle = 1e-12;           // | |x|^2 - 1 |

// From token 0 on, by a turn of the plane that takes it to angle 0: neighbours of it keep their
// digits. False if one is no unit vector.
bool angles_of(std::span<const double> tokens, std::vector<double>& angle) {
  const double x0 = tokens[0], y0 = tokens[1];
  std::vector<char> unit((angle.size() + kTokensTogether - 1) / kTokensTogether, 1);
  parallel_for(angle.size(), kTokensTogether, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const double x = tokens[2 * i], y = tokens[2 * i + 1];
      if (!(std::abs(x * x + y * y - 1) <= kOffCircle)) unit[begin / kTokensTogether] = 0;
      const double turned = std::atan2(x0 * y - y0 * x, x0 * x + y0 * y);
      angle[i] = turned < 0 ? turned + 2 * std::numbers::pi : turned;
    }
  });
  return std::all_of(unit.begin(), unit.end(), [](char u) { return u != 0; });
}

}  // namespace

std::optional<CircleOrder> circle_order(std::span<const double> tokens) {
  const std::size_t n = tokens.size() / 2;
  CircleOrder order{std::vector<double>(n), std::vector<std::uint32_t>(n)};
  if (!angles_of(tokens, order.angle)) return {};
  std::iota(order.token.begin(), order.token.end(), 0U);
  if (std::is_sorted(order.angle.begin(), order.angle.end())) return order;
  const std::vector<double> angle = order.angle;
  std::sort(order.token.begin(), order.token.end(), [&](std::uint32_t a, std::uint32_t b) {
    return angle[a] != angle[b] ? angle[a] < angle[b] : a < b;
  });
  for (std::size_t k = 0; k < n; ++k) order.angle[k] = angle[order.token[k]];
  return order;
}

}  // namespace attractor
