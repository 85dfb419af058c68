// `attractor meanfield`: the density of infinitely many tokens, moved by attention and noise
// (mean_field/circle_density.hpp, zonal_density.hpp, sphere_labels.hpp), its growth against linear
// theory, and, if asked, how n tokens approach it (mean_field/particle_comparison.hpp).
#pragma once

#include "attractor/commands/density/meanfield_setup.hpp"
#include "attractor/commands/result.hpp"

namespace attractor::lab {

Result ask(const MeanfieldSetup& p, const Context& context);

}  // namespace attractor::lab
