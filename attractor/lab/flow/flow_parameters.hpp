// The parameters of `attractor flow`.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "attractor/flow/time.hpp"
#include "attractor/lab/parameter.hpp"
#include "attractor/tokens/generators.hpp"

namespace attractor::lab {

struct FlowParameters {
  std::string dynamics = "sa", space = "sphere";
  double beta = 1;
  std::string query, key, value, output;  // kind of weights or file; empty: identity
  std::uint64_t heads = 1, rank = 0;      // rank 0: dim
  double redraw = 0;                      // depth after which weights are drawn anew; 0: never
  std::string kernel = "gaussian";        // of radial
  std::string mask = "full";
  std::uint64_t window = 0;  // 0: unlimited
  double distance_bias = 0;
  std::string norm = "post";
  double alpha = 1, alpha_power = 0, switch_time = 1, deepnorm_scale = 1;
  std::string gain;  // file
  std::string feed_forward = "none";
  std::string feed_forward_in, feed_forward_bias, feed_forward_out;  // files; empty: drawn, bias 0
  std::uint64_t width = 0;  // 0: that of the files, or 4 dim
  double strength = 1;
  double noise = 0, common_noise = 0;
  std::uint64_t noise_substeps = 1;
  std::string init = "uniform";
  std::uint64_t tokens = 64, dim = 3, seed = 0;
  double rho = 0, cap_angle = 0.5;
  std::uint64_t centres = 3;
  double spread = 0.1;
  std::uint64_t mode = 2;
  double amplitude = 1e-3, phase = 0;
  std::string angles, tokens_file;
  double time = 10;        // infinity: until one cluster is left
  std::string log10_time;  // instead of time, if given: its decimal logarithm
  std::string stepper = "auto";
  double step = 0.1, tolerance = 1e-8;
  std::uint64_t max_steps = 10'000'000;
  std::string engine = "auto";
  double accuracy = 1e-11;              // of the engines in O(n)
  std::string precision = "double";     // of dense sums
  std::string merge_radius = "auto";    // auto, off or a chord length
  std::string cluster_cosine = "auto";  // auto or a cosine
  double pair_threshold = 0.999;
  std::uint64_t outputs = 100;
  std::string output_spacing = "auto";  // auto, linear, log, steps
  std::string snapshots = "auto";       // auto or a number
  std::uint64_t exact_limit = 4096;
  bool verify = false;  // run again, finer, and say how far apart the two are
};

/// The list, bound to the fields of `p`.
ParameterList list(FlowParameters& p);

/// Checks what a single range cannot: combinations of parameters. Throws Error.
void check(const FlowParameters& p);

/// Refuses a parameter that was given but that has no effect beside the others.
void check_use(const FlowParameters& p, const std::vector<std::string>& given);

/// A word for random weights (attention/weights.hpp), not a file.
bool is_weight_kind(std::string_view text);

/// The files that the parameters name, as they name them.
std::vector<std::string> input_files(const FlowParameters& p);

/// Relative file names taken from `directory` (empty: as they are).
FlowParameters with_files_from(FlowParameters p, const std::string& directory);

Start start_of(const FlowParameters& p);

/// When the run ends: time, or 10^log10_time to rounding of the exponent; kForever for time = inf.
flow::Time end_of(const FlowParameters& p);

/// What --stepper auto means here: adaptive, or euler-maruyama where there is noise.
std::string stepper_of(const FlowParameters& p);
/// One of the methods that choose their steps.
bool is_adaptive(const FlowParameters& p);

/// One head, full mask, sa or usa, post-normalised or plain R^d, no noise: the fused kernels do it.
bool is_plain(const FlowParameters& p);

/// Which engine --engine auto takes for so many tokens: dense, circle, sphere, moments or layers.
std::string engine_of(const FlowParameters& p, std::size_t tokens, std::size_t dim);

/// Engine circle, sphere or moments, in O(n).
bool is_linear(std::string_view engine);
/// Why the engine in O(n) that was asked for is not taken: the first reason of all, in a sentence.
std::string engine_refusal(const FlowParameters& p, std::size_t tokens, std::size_t dim);

/// How many snapshots to keep of tokens that are `numbers` doubles each time.
std::size_t snapshot_count(const FlowParameters& p, std::size_t numbers);

/// `attractor flow ...` that repeats this run: every parameter that differs from its default.
std::string command(const FlowParameters& p);

}  // namespace attractor::lab
