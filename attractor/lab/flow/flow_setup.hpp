// What a flow is to be: the typed setup of `attractor flow`. Every field has its meaning and its
// range in list(); tokens and weights are generated or given as arrays.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "attractor/attention/normalisation.hpp"
#include "attractor/depth/engines.hpp"
#include "attractor/depth/feed_forward.hpp"
#include "attractor/depth/layer_flow.hpp"
#include "attractor/flow/tableau.hpp"
#include "attractor/flow/time.hpp"
#include "attractor/lab/parameter.hpp"
#include "attractor/tokens/generators.hpp"

namespace attractor::lab {

enum class Spacing { linear, log, steps };
std::span<const std::string_view> names(Spacing);

/// Up to so many tokens everything is measured as often as planned, and exactly.
inline constexpr std::size_t kObservedFreely = 4096;

struct FlowSetup {
  Rule dynamics = Rule::softmax;
  depth::Geometry space = depth::Geometry::sphere;
  double beta = 1;
  WeightInput query, key, value, output;  // given ones: heads x rank x dim, heads x dim x dim
  std::uint64_t heads = 1, rank = 0;      // rank 0: dim
  double redraw = 0;                      // depth after which weights are drawn anew; 0: never
  RadialKernel kernel = RadialKernel::gaussian;  // of radial
  MaskKind mask = MaskKind::full;
  std::uint64_t window = 0;  // 0: unlimited
  double distance_bias = 0;
  SelfAttention self = SelfAttention::include;
  double sink_mass = 1;  // of the first token
  bool sink_fixed = false;
  QueryKeyNorm qk_norm = QueryKeyNorm::none;
  ArrayInput query_gain, key_gain;  // rank
  RotaryLayout rope = RotaryLayout::none;
  double rope_base = 10000, rope_frequency = 1;
  RotaryStretch rope_scaling = RotaryStretch::none;
  double rope_factor = 2, rope_trained = 0;  // trained 0: tokens / factor
  Normalisation norm = Normalisation::post;
  double alpha = 1, alpha_power = 0, switch_time = 1, deepnorm_scale = 1;
  ArrayInput gain;  // dim
  depth::Activation feed_forward = depth::Activation::none;
  ArrayInput feed_forward_in, feed_forward_bias, feed_forward_out;  // else drawn, bias 0
  std::uint64_t width = 0;  // 0: that of the arrays, or 4 dim
  double strength = 1;
  double noise = 0, common_noise = 0;
  flow::NoiseKind noise_kind = flow::NoiseKind::additive;
  ArrayInput noise_axes;  // dim
  std::uint64_t noise_substeps = 1;
  Arrangement init = Arrangement::uniform;
  std::uint64_t tokens = 64, dim = 3, seed = 0;
  double rho = 0, cap_angle = 0.5;
  std::uint64_t centres = 3;
  double spread = 0.1;
  std::uint64_t mode = 2;
  double amplitude = 1e-3, phase = 0;
  Numbers angles;
  ArrayInput tokens_file;                 // n x d
  double time = 10;                       // infinity: until one cluster is left
  std::optional<double> log10_time{};     // instead of time, if given: its decimal logarithm
  std::optional<flow::Method> stepper{};  // none: adaptive, or the one for the noise
  double step = 0.1, tolerance = 1e-8;
  std::uint64_t max_steps = 10'000'000;
  std::optional<depth::Engine> engine{};  // none: the fastest
  double accuracy = 1e-11;                // of the engines in O(n) and of clumps
  Precision precision = Precision::f64;   // of dense sums
  std::optional<double> merge_radius{};   // a chord length, 0: never; none: by tolerance and beta
  std::optional<double> cluster_cosine{};
  double pair_threshold = 0.999;
  std::optional<std::uint64_t> outputs{};  // none: 100, fewer for many tokens
  std::optional<Spacing> output_spacing{};
  std::optional<std::uint64_t> snapshots{};
  std::optional<std::uint64_t> exact_limit{};  // none: 4096, all where rows of all pairs move them
  bool verify = false;  // run again, finer, and say how far apart the two are
};

/// The list, bound to the fields of `p`.
ParameterList list(FlowSetup& p);

/// Checks what a single range cannot: combinations of parameters. Throws Error.
void check(const FlowSetup& p);

/// Before memory is taken for tokens that do not fit into this machine: throws Error. shared: among
/// the ranks.
void require_memory(const FlowSetup& p, bool shared);

Start start_of(const FlowSetup& p);

/// When the run ends: time, or 10^log10_time to rounding of the exponent; kForever for time = inf.
flow::Time end_of(const FlowSetup& p);

flow::Method stepper_of(const FlowSetup& p);
/// One of the methods that choose their steps.
bool is_adaptive(const FlowSetup& p);
/// Tokens closer than this are moved as one; 0: never.
double merge_radius_of(const FlowSetup& p);
/// Tokens with at least this cosine are one cluster.
double cluster_cosine_of(const FlowSetup& p);

/// One head, full mask, sa or usa, post-normalised or plain R^d, no noise: the fused kernels do it.
bool is_plain(const FlowSetup& p);

/// Which engine moves so many tokens; none: layers (depth/layer_flow.hpp).
std::optional<depth::Engine> engine_of(const FlowSetup& p, std::size_t tokens, std::size_t dim);

/// Engine circle, sphere or moments, in O(n), was asked for.
bool asks_linear(const FlowSetup& p);
/// One of these or clumps was, which need identity weights on the sphere.
bool asks_fields(const FlowSetup& p);
/// Why the engine of this kind that was asked for is not taken: the first reason of all, in a
/// sentence.
std::string engine_refusal(const FlowSetup& p, std::size_t tokens, std::size_t dim);

/// How many snapshots to keep. Each is measured, so many tokens have fewer.
std::size_t snapshot_count(const FlowSetup& p, std::size_t tokens, std::size_t dim);
std::uint64_t outputs_of(const FlowSetup& p);

/// `attractor flow ...` that repeats this run: every parameter that differs from its default.
std::string command(const FlowSetup& p);

}  // namespace attractor::lab
