// `attractor meanfield`: the density of infinitely many tokens, moved by attention and noise
// (mean_field/circle_density.hpp, zonal_density.hpp, sphere_labels.hpp), its growth against linear
// theory, and, if asked, how n tokens approach it (mean_field/particle_comparison.hpp).
#pragma once

#include <string>
#include <vector>

#include "attractor/commands/density/meanfield_parameters.hpp"
#include "attractor/commands/result.hpp"

namespace attractor::lab {

ouble time = 1;
std::uint64_t outputs = 50;
double tolerance = 1e-10;
std::string form = "auto", symmetry = "auto";
std::uint64_t modes = 0;  // 0: as many as it takes
std::string compare_particles{};
std::uint64_t replicates = 32, seed = 0;
};

ParameterList list(MeanfieldParameters& p);
std::vector<std::string> input_files(const MeanfieldParameters& p);

Result ask(const MeanfieldParameters& p, const Context& context);

}  // namespace attractor::lab
