// Tokens on the sphere in three dimensions in O(n) an evaluation, beta = 0 .. 10^4: the flow of
// field_flow.hpp by cells and spherical harmonics (kernels/sphere/sphere_field.hpp). Error of a
// velocity in the natural unit: USA `accuracy`, SA 2 accuracy / Z_i, accuracy = 1e-11 .. 1e-4.
// Tokens of one cell that are neighbours in memory make an evaluation nearly twice as fast. Across
// an edge of cells the error may jump: the last contraction of a cluster that lies there is not
// resolved.
#pragma once

#include "attractor/depth/field_flow.hpp"

namespace attractor::depth {

using SphereFlowSettings = FieldFlowSettings;
using SphereFlow = FieldFlow<kernels::SphereField>;

}  // namespace attractor::depth
