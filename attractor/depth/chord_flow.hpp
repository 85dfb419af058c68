// Tokens on the circle in O(n) an evaluation as unit vectors: the flow of field_flow.hpp by
// kernels/circle/circle_chords.hpp. circle_flow.hpp does the same with angles, at half the memory
// and without arc tangents, but its fixed steps are those of angles: theta + h theta' where a step
// with retraction makes theta + atan(h theta'). So the former is for adaptive steps, this for fixed
// ones.
#pragma once

#include "attractor/depth/field_flow.hpp"

namespace attractor::depth {

using ChordFlow = FieldFlow<kernels::CircleChords>;

}  // namespace attractor::depth
