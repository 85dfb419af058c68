// The parameters of `attractor meanfield`.
#pragma once

#include <cstdint>
#include <string>

namespace attractor::lab {

struct MeanfieldParameters {
  std::string dynamics = "sa";
  std::uint64_t dim = 2;
  double beta = 4, noise = 0;
  std::string start = "perturbed";
  std::uint64_t mode = 1;
  double amplitude = 0.1;
  std::string concentration = "10", centres{}, weights{};
  double order = 0.3;
  std::string tokens_file{};
  double time = 1;
  std::uint64_t outputs = 50;
  double tolerance = 1e-10;
  std::string form = "auto", symmetry = "auto";
  std::uint64_t modes = 0;  // 0: as many as it takes
  std::string compare_particles{};
  std::uint64_t replicates = 32, seed = 0;
};

}  // namespace attractor::lab
