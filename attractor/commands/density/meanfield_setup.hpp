// The parameters of `attractor meanfield`.
#pragma once

#include <cstdint>

#include "attractor/attention/rule.hpp"
#include "attractor/lab/inputs.hpp"
#include "attractor/lab/parameter.hpp"

namespace attractor::lab {

enum class StartLaw { perturbed, vmf, wrapped_cauchy, map, tokens };
std::span<const std::string_view> names(StartLaw);
enum class DensityForm { spectral, labels };
std::span<const std::string_view> names(DensityForm);
enum class Symmetry { zonal, none };
std::span<const std::string_view> names(Symmetry);

struct MeanfieldSetup {
  Rule dynamics = Rule::softmax;
  std::uint64_t dim = 2;
  double beta = 4, noise = 0;
  StartLaw start = StartLaw::perturbed;
  std::uint64_t mode = 1;
  double amplitude = 0.1;
  Numbers concentration = {10}, centres{}, weights{};
  double order = 0.3;
  ArrayInput tokens_file{};
  double time = 1;
  std::uint64_t outputs = 50;
  double tolerance = 1e-10;
  std::optional<DensityForm> form{};
  std::optional<Symmetry> symmetry{};
  std::uint64_t modes = 0;  // 0: as many as it takes
  Numbers compare_particles{};
  std::uint64_t replicates = 32, seed = 0;
};

ParameterList list(MeanfieldSetup& p);

}  // namespace attractor::lab
