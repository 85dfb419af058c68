// The field of attention on the circle (circle_field.hpp) for tokens given as unit vectors, with
// the face of SphereField: tangent vectors come out. A step then adds vectors of the plane and
// retracts, as everywhere else, where angles would be added otherwise: fixed steps of all engines
// are the same map. Best in order of their angles; any other order costs a sort an evaluation.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attractor/kernels/circle/circle_field.hpp"
#include "attractor/kernels/sphere/sphere_field.hpp"

namespace attractor::kernels {

class CircleChords {
 public:
  /// Throws Error on settings out of range.
  explicit CircleChords(const CircleFieldSettings& settings);

  /// Points: n x 2. `along` cannot be asked for.
  SphereFieldSummary evaluate(std::span<const double> points, std::span<const double> weights,
                              const SphereFieldOut& out);

  /// The tokens numbered by angle; empty if one is no unit vector.
  std::vector<std::uint32_t> in_cells(std::span<const double> points) const;

 private:
  double accuracy_;
  CircleField field_;
  std::vector<double> angles_, pull_, mean_;  // scratch, reused between evaluations
};

}  // namespace attractor::kernels
