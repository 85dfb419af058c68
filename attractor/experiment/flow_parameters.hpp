// The parameters of `attractor flow`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attractor/experiment/parameter.hpp"
#include "attractor/tokens/generators.hpp"

namespace attractor::experiment {

struct FlowParameters {
  std::string dynamics = "sa", space = "sphere";
  double beta = 1;
  std::string query, key, value;  // files; empty: identity
  std::string init = "uniform";
  std::uint64_t tokens = 64, dim = 3, seed = 0;
  double rho = 0, cap_angle = 0.5;
  std::uint64_t centres = 3;
  double noise = 0.1;
  std::uint64_t mode = 2;
  double amplitude = 1e-3, phase = 0;
  std::string angles, tokens_file;
  double time = 10;  // infinity: until one cluster is left
  std::string stepper = "adaptive";
  double step = 0.1, tolerance = 1e-8;
  std::uint64_t max_steps = 10'000'000;
  std::string merge_radius = "auto";    // auto, off or a chord length
  std::string cluster_cosine = "auto";  // auto or a cosine
  double pair_threshold = 0.999;
  std::uint64_t outputs = 100;
  std::string output_spacing = "auto";  // auto, linear, log, steps
  std::string snapshots = "auto";       // auto or a number
  std::uint64_t exact_limit = 4096;
};

/// The list, bound to the fields of `p`.
ParameterList list(FlowParameters& p);

/// Checks what a single range cannot: combinations of parameters. Throws Error.
void check(const FlowParameters& p);

/// Refuses a parameter that was given but that the chosen start does not use.
void check_use(const FlowParameters& p, const std::vector<std::string>& given);

/// Relative file names taken from `directory` (empty: as they are).
FlowParameters with_files_from(FlowParameters p, const std::string& directory);

Start start_of(const FlowParameters& p);

/// How many snapshots to keep of tokens that are `numbers` doubles each time.
std::size_t snapshot_count(const FlowParameters& p, std::size_t numbers);

/// `attractor flow ...` that repeats this run: every parameter that differs from its default.
std::string command(const FlowParameters& p);

}  // namespace attractor::experiment
