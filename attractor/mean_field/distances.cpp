#include "attractor/mean_field/distances.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace attractor::meanfield {
namespace {

struct Jump {
  double at, weight;
};

struct Piece {
  double value, length;  // of F - G
};

void add(std::vector<Jump>& jumps, const WeightedSet& set, double sign) {
  for (std::size_t i = 0; i < set.points.size(); ++i)
    jumps.push_back(
        {set.points[i], sign * (set.weights.empty() ? 1 / static_cast<double>(set.points.size())
                                                    : set.weights[i])});
}

std::vector<Jump> sorted_jumps(const WeightedSet& a, const WeightedSet& b, bool wrap) {
  constexpr double turn = 2 * std::numbers::pi;
  std::vector<Jump> jumps;
  jumps.reserve(a.points.size() + b.points.size());
  add(jumps, a, 1);
  add(jumps, b, -1);
  for (Jump& jump : jumps)
    if (wrap) jump.at -= turn * std::floor(jump.at / turn);
  std::sort(jumps.begin(), jumps.end(), [](const Jump& x, const Jump& y) { return x.at < y.at; });
  return jumps;
}

std::vector<Piece> pieces(const std::vector<Jump>& jumps) {
  std::vector<Piece> result;
  double value = 0;
  for (std::size_t i = 0; i + 1 < jumps.size(); ++i) {
    value += jumps[i].weight;
    result.push_back({value, jumps[i + 1].at - jumps[i].at});
  }
  return result;
}

double area(const std::vector<Piece>& steps, double level) {
  double sum = 0;
  for (const Piece& step : steps) sum += step.length * std::abs(step.value - level);
  return sum;
}

}  // namespace

double line_distance(const WeightedSet& a, const WeightedSet& b) {
  return area(pieces(sorted_jumps(a, b, false)), 0);
}

double circle_distance(const WeightedSet& a, const WeightedSet& b) {
  const std::vector<Jump> jumps = sorted_jumps(a, b, true);
  std::vector<Piece> steps = pieces(jumps);
  // From the last jump around to the first, F - G is back at zero.
  steps.push_back({0, 2 * std::numbers::pi - (jumps.back().at - jumps.front().at)});
  std::sort(steps.begin(), steps.end(),
            [](const Piece& x, const Piece& y) { return x.value < y.value; });
  double length = 0;
  auto median = steps.begin();
  for (; median + 1 != steps.end(); ++median) {
    length += median->length;
    if (length >= std::numbers::pi) break;
  }
  return area(steps, median->value);
}

}  // namespace attractor::meanfield
