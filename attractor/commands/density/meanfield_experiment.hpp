// `attractor meanfield`: the density of infinitely many tokens, moved by attention and noise
// (mean_field/circle_density.hpp, zonal_density.hpp, sphere_labels.hpp), its growth against linear
// theory, and, if asked, how n tokens approach it (mean_field/particle_comparison.hpp).
#pragma once

#include <string>
#include <vector>

#include "attractor/commands/density/meanfield_parameters.hpp"
#include "attractor/commands/result.hpp"

namespace attractor::lab {

ParameterList list(MeanfieldParameters& p);
std::vector<std::string> input_files(const MeanfieldParameters& p);

Result ask(const MeanfieldParameters& p, const Context& context);

}  // namespace attractor::lab
