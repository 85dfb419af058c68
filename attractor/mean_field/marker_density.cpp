#include "attractor/mean_field/marker_density.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>

namespace attractor::meanfield {
namespace {

struct Stretch {
  double begin, end, mass;
};

std::vector<Stretch> stretches(std::vector<double> angles, std::span<const double> weights,
                               bool around) {
  if (around)
    for (double& a : angles)
      a -= 2 * std::numbers::pi * std::floor((a + std::numbers::pi) / (2 * std::numbers::pi));
  std::vector<std::size_t> rank(angles.size());
  std::iota(rank.begin(), rank.end(), std::size_t{0});
  std::sort(rank.begin(), rank.end(),
            [&](std::size_t i, std::size_t j) { return angles[i] < angles[j]; });
  std::vector<Stretch> result;
  for (std::size_t r = 0; r + 1 < rank.size(); ++r)
    result.push_back(
        {angles[rank[r]], angles[rank[r + 1]], 0.5 * (weights[rank[r]] + weights[rank[r + 1]])});
  if (around) {  // over the seam at pi
    const double first = angles[rank.front()], last = angles[rank.back()];
    const double mass = 0.5 * (weights[rank.front()] + weights[rank.back()]);
    const double gap = first + 2 * std::numbers::pi - last,
                 share = gap > 0 ? (std::numbers::pi - last) / gap : 0.5;
    result.push_back({last, std::numbers::pi, share * mass});
    result.push_back({-std::numbers::pi, first, (1 - share) * mass});
  }
  return result;
}

/// Mass in `bins` equal parts of [low, high].
std::vector<double> binned(const std::vector<Stretch>& all, double low, double high,
                           std::size_t bins) {
  std::vector<double> mass(bins, 0.0);
  const double width = (high - low) / static_cast<double>(bins);
  const auto bin_of = [&](double x) {
    return std::min(bins - 1, static_cast<std::size_t>(std::max(0.0, (x - low) / width)));
  };
  for (const Stretch& s : all) {
    const double length = s.end - s.begin;
    const std::size_t from = bin_of(s.begin), to = bin_of(s.end);
    if (from == to || !(length > 0)) {
      mass[from] += s.mass;
      continue;
    }
    for (std::size_t b = from; b <= to; ++b) {
      const double left = std::max(s.begin, low + width * static_cast<double>(b));
      const double right = std::min(s.end, low + width * static_cast<double>(b + 1));
      mass[b] += s.mass * std::max(0.0, right - left) / length;
    }
  }
  return mass;
}

std::vector<Stretch> stretches(const AngleMarkers& markers) {
  assert(!markers.angles.empty() && markers.angles.size() == markers.weights.size());
  return stretches({markers.angles.begin(), markers.angles.end()}, markers.weights, markers.around);
}

}  // namespace

std::vector<double> marker_density(const AngleMarkers& markers, std::size_t bins) {
  std::vector<double> density =
      binned(stretches(markers), markers.around ? -std::numbers::pi : 0, std::numbers::pi, bins);
  for (double& m : density) m *= static_cast<double>(bins);
  return density;
}

}  // namespace attractor::meanfield
