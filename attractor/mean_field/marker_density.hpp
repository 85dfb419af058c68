// The density that weighted angles stand for. Markers of a smooth law keep their order as they
// move, and the mass between two neighbours (the mean of their weights) stays between them: spread
// evenly there it is the density, second-order accurate in the distance of markers, positive, and
// of exact mass. In a void between two crowds it is the mean over the void, not its depth. For
// figures only; moments are summed over markers themselves. Cost O(n log n + bins).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace attractor::meanfield {

struct AngleMarkers {
  std::span<const double> angles, weights;
  bool around = true;  // the whole circle (angles of any size); false: polar angles, 0 to pi
};

/// Mean density, relative to an even one, over equal parts of [-pi, pi] or [0, pi].
std::vector<double> marker_density(const AngleMarkers& markers, std::size_t bins);

}  // namespace attractor::meanfield
