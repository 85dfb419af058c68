#include "attractor/lab/flow/flow_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "attractor/base/error.hpp"

namespace attractor::lab {
namespace {

using depth::Engine;
using depth::Geometry;

const std::vector<std::string> kDrawn = {"identity", "gaussian",   "goe",
                                         "wigner",   "orthogonal", "psd"};

void add_dynamics(FlowSetup& p, ParameterList& l) {
  l.group("Dynamics");
  l.add("dynamics", p.dynamics, "rule of attention; sa: softmax, usa: unnormalised");
  l.add("kernel", p.kernel, "radial: kernel of the distance |Q x - K y|, of width 1/sqrt(beta)")
      .used_by("dynamics", {"radial"});
  l.add("space", p.space,
        "sphere; or R^d: euclidean x' = A, attracted x_i' = sum_j P_ij V (x_j - x_i), rescaled the "
        "same for e^{-tV} x");
  l.add("beta", p.beta, "inverse temperature; below 0 a token attends most to what is far from it")
      .within(-20, 1e6);
  l.add("noise", p.noise, "kappa: every token has its own Brownian motion, sqrt(2 kappa) dB")
      .within(0, 1e6);
  l.add("common-noise", p.common_noise, "kappa of one Brownian motion for all tokens")
      .within(0, 1e6);
  l.add("noise-kind", p.noise_kind,
        "additive: of the tokens; multiplicative: of the strength of attention, a clock t + "
        "sqrt(2 kappa) B(t) for each token, or with common-noise for all")
      .used_if(p.noise > 0 || p.common_noise > 0, "noise");
  l.add("noise-axes", p.noise_axes,
        "additive: one factor for each channel of the noise, which is added before tokens are "
        "normalised")
      .allow(".npy, .npz, .safetensors or HDF5[:/dataset] of dim numbers from 0 on")
      .used_if(p.noise > 0 || p.common_noise > 0, "noise");
  l.add("noise-substeps", p.noise_substeps, "draw the path of so many finer steps in each step")
      .within(1, 1e6)
      .used_if(p.noise > 0 || p.common_noise > 0, "noise");
}

void add_weights(FlowSetup& p, ParameterList& l) {
  l.group("Weights");
  l.add("query", p.query, "Q (default identity); a file has the shape (heads, rank, dim)")
      .among(kDrawn);
  l.add("key", p.key, "K (default identity); a file has the shape (heads, rank, dim)")
      .among(kDrawn);
  l.add("value", p.value,
        "V (default identity); qk and minus-qk: +-Q^T K; a file has the shape (heads, dim, dim)");
  l.add("output", p.output, "matrix after the sum over heads (default identity)").among(kDrawn);
  l.add("heads", p.heads, "number of heads, each with its own Q, K, V").within(1, 256);
  l.add("rank", p.rank, "rows of Q and K when they are gaussian, orthogonal or in files; 0: dim")
      .within(0, 65536);
  l.add("redraw", p.redraw, "draw random weights anew after every such depth; 0: one draw for all")
      .at_least(0);
  l.add("mask", p.mask, "causal: token i sees j <= i");
  l.add("window", p.window, "token i sees |i - j| <= window; 0: no limit").within(0, 1e9);
  l.add("distance-bias", p.distance_bias, "logits are lowered by this times |i - j| (ALiBi)")
      .within(0, 1e9);
  l.add("self", p.self,
        "exclude: tokens do not attend to themselves; remove-own-value: what attention returns "
        "loses its component along the own value (exclusive self-attention)");
  l.add("sink-mass", p.sink_mass, "the first token counts as so many: a sink of attention")
      .within(1e-12, 1e12)
      .used_by("mask", {"causal"});
  l.add("sink-fixed", p.sink_fixed, "the first token stays where it is")
      .used_by("mask", {"causal"});
}

void add_queries_and_keys(FlowSetup& p, ParameterList& l) {
  const std::vector<std::string> layouts = {"pairs", "halves"};
  l.group("Queries and keys");
  l.add("qk-norm", p.qk_norm,
        "norm them first; l2: to 1, so that beta is the largest logit; rms: to sqrt(rank), and "
        "logits over sqrt(rank)");
  const char* gains = ".npy, .npz, .safetensors or HDF5[:/dataset] of rank numbers";
  l.add("query-gain", p.query_gain, "one factor for each number of a query, after qk-norm")
      .allow(gains);
  l.add("key-gain", p.key_gain, "one factor for each number of a key, after qk-norm").allow(gains);
  l.add("rope", p.rope,
        "turn them by their position (rotary positions), coordinates 2k, 2k+1 (pairs) or k, "
        "k+rank/2 (halves); the rank is even");
  l.add("rope-base", p.rope_base, "rope: frequencies fall like base^(-2k/rank)")
      .above(1, 1e12)
      .used_by("rope", layouts);
  l.add("rope-frequency", p.rope_frequency, "rope: the first frequency, radians a position")
      .within(-1e6, 1e6)
      .used_by("rope", layouts);
  l.add("rope-scaling", p.rope_scaling, "rope: how frequencies change for a longer context")
      .used_by("rope", layouts);
  l.add("rope-factor", p.rope_factor, "rope-scaling: how much longer it is")
      .within(1, 1e6)
      .used_by("rope-scaling", {"linear", "ntk", "dynamic", "llama3", "yarn"});
  l.add("rope-trained", p.rope_trained, "rope-scaling: positions before; 0: tokens / rope-factor")
      .within(0, 1e9)
      .used_by("rope-scaling", {"dynamic", "llama3", "yarn"});
}

void add_architecture(FlowSetup& p, ParameterList& l) {
  const std::vector<std::string> block = {"relu", "gelu"};
  l.group("Architecture");
  l.add("norm", p.norm, "where layers normalise");
  l.add("alpha", p.alpha, "ngpt: alpha_t = alpha (1 + t)^-alpha-power").above(0, 1e6);
  l.add("alpha-power", p.alpha_power, "ngpt: decay of alpha with depth").within(0, 10);
  l.add("switch-time", p.switch_time, "mix: depth from which it is pre").at_least(0);
  l.add("deepnorm-scale", p.deepnorm_scale, "deepnorm: a of normalise(a x + A)").above(0, 1e6);
  for (Parameter& own : l)
    if (std::vector<std::string> norms = schemes_with(own.name); !norms.empty())
      own.used_by("norm", std::move(norms));
  l.add("gain", p.gain, "one factor for each channel of what a block reads")
      .allow(".npy, .npz, .safetensors or HDF5[:/dataset] of dim numbers");
  l.add("feed-forward", p.feed_forward,
        "block W_2 act(W_1 x + b) beside attention; random, b = 0, but for what files give");
  l.add("feed-forward-in", p.feed_forward_in, "feed-forward: W_1, of the shape (width, dim)")
      .used_by("feed-forward", block);
  l.add("feed-forward-bias", p.feed_forward_bias, "feed-forward: b, of the shape (width)")
      .used_by("feed-forward", block);
  l.add("feed-forward-out", p.feed_forward_out, "feed-forward: W_2, of the shape (dim, width)")
      .used_by("feed-forward", block);
  l.add("width", p.width, "feed-forward: hidden width; 0: that of the files, or 4 dim")
      .within(0, 1e6)
      .used_by("feed-forward", block);
  l.add("strength", p.strength, "feed-forward: factor of the block")
      .within(-1e6, 1e6)
      .used_by("feed-forward", block);
}

void add_start(FlowSetup& p, ParameterList& l) {
  l.group("Initial tokens");
  l.add("init", p.init, "how tokens start");
  l.add("tokens", p.tokens, "number of tokens n")
      .within(1, 1e7)
      .or_array("tokens-file", "init", "file");
  l.add("dim", p.dim, "dimension d").within(2, 65536);
  l.add("seed", p.seed, "seed of every random draw");
  const auto of = [&](const char* init, Parameter& own) { own.used_by("init", {init}); };
  of("equiangular", l.add("rho", p.rho, "equiangular: common cosine").within(-1, 1));
  of("cap", l.add("cap-angle", p.cap_angle, "cap: opening angle from the pole, radians")
                .above(0, std::numbers::pi));
  of("clusters", l.add("centres", p.centres, "clusters: number of centres").within(1, 1e7));
  of("clusters", l.add("spread", p.spread, "clusters: rms angle to the centre, radians")
                     .within(0, std::numbers::pi));
  of("circle",
     l.add("mode", p.mode, "circle: wave number k of 2 pi u + amplitude cos(2 pi k u - phase)")
         .within(0, 1e7));
  of("circle", l.add("amplitude", p.amplitude, "circle: amplitude, radians").within(-10, 10));
  of("circle", l.add("phase", p.phase, "circle: phase, radians").within(-10, 10));
  of("angles", l.add("angles", p.angles, "angles: positions on the circle, radians")
                   .allow("comma-separated numbers"));
  of("file", l.add("tokens-file", p.tokens_file, "file: one token a row"));
}

void add_solver(FlowSetup& p, ParameterList& l) {
  l.group("Time and accuracy");
  l.add("time", p.time, "end time; inf: until one cluster is left").at_least(0);
  l.add("log10-time", p.log10_time,
        "instead of time: its decimal logarithm, for times that no double holds")
      .within(-1e12, 1e12)
      .otherwise("")
      .allow("a number from -1e12 to 1e12");
  l.add("stepper", p.stepper,
        "layers: x <- normalise(x + step A); euler, rk4: fixed step; adaptive: Dormand-Prince "
        "5(4); adaptive3: Bogacki-Shampine 3(2), for tolerances from 1e-2 on; adaptive8: "
        "Dormand-Prince 8(5,3), for those below 1e-6; auto: adaptive, with noise euler-maruyama, "
        "or rk4 where it is multiplicative; "
        "all add vectors and retract to the sphere, whatever the engine");
  l.add("step", p.step,
        "step of all but adaptive, in time; the last one of all but layers is cut to end in time")
      .above(0);
  l.add("tolerance", p.tolerance, "adaptive: error of a token per unit of time").within(1e-14, 0.1);
  l.add("max-steps", p.max_steps, "give up after so many steps").at_least(1);
  l.add(
      "engine", p.engine,
      "how velocities are summed; circle (d = 2), sphere (d = 3) and moments (d = 3 to 8, "
      "moderate beta): O(n); clumps: over groups of close tokens, dense rows where there are none; "
      "all with identity weights; auto: the first three from 20000 such tokens and up to time "
      "10000, moments where it takes less than half the time of dense; else dense");
  l.add("accuracy", p.accuracy,
        "circle, sphere, moments: error of a velocity, relative to the largest possible one; "
        "clumps: relative to the pulls on each token; "
        "sphere and moments from 1e-11; a tolerance that it drowns is loosened")
      .within(1e-12, 1e-4)
      .used_by("engine", {"circle", "sphere", "moments", "clumps"});
  l.add("precision", p.precision,
        "of engine dense; single: twice as fast, error of a velocity up to 6e-6 + 2e-6 beta of the "
        "fastest possible one, whatever its own size; beta below 100, tolerance from 1e-5");
  l.add("merge-radius", p.merge_radius,
        "coalesce tokens closer than this chord; auto: 0.1 sqrt(tolerance/(1+beta)) for adaptive, "
        "off otherwise")
      .within(1e-12, 0.01)
      .special_value("off", 0);
}

void add_outputs(FlowSetup& p, ParameterList& l) {
  l.group("Observation");
  l.add("outputs", p.outputs,
        "number of times at which all is measured; auto: 100, fewer beyond 4096 tokens so that "
        "measuring takes about a fifth of the time")
      .within(1, 1e6);
  l.add("output-spacing", p.output_spacing,
        "linear or log in time, or after every step; auto: steps for time inf, log beyond 100 time "
        "units, else linear");
  l.add("snapshots", p.snapshots,
        "number of times at which all positions are kept, at most outputs and the start; auto: 9, "
        "5 beyond 4096 tokens, 2 beyond 2^20 numbers")
      .within(2, 1000);
  l.add("cluster-cosine", p.cluster_cosine,
        "tokens closer than this are one cluster (chains count as one); auto: 1 - min(1e-3, "
        "1/(20 beta))")
      .between(0, 1);
  l.add("pair-threshold", p.pair_threshold, "cosine for the fraction of close pairs").within(-1, 1);
  l.add("exact-limit", p.exact_limit,
        "pair and energy statistics are exact up to so many tokens, beyond from random rows with "
        "error bars; auto: any number (of at most 2^21 coordinates) where sums over all pairs move "
        "them, else 4096")
      .within(1, 1e7);
}

}  // namespace

std::span<const std::string_view> names(Spacing) {
  static constexpr std::string_view kNames[] = {"linear", "log", "steps"};
  return kNames;
}

ParameterList list(FlowSetup& p) {
  ParameterList l;
  for (const auto add : {add_dynamics, add_weights, add_queries_and_keys, add_architecture,
                         add_start, add_solver, add_outputs})
    add(p, l);
  l.group("Run");
  l.add("verify", p.verify,
        "run again with tolerance / 100 (or step / 4), in double precision and without coalescence "
        "where that is possible, and report the largest differences")
      .not_stored();
  l.short_help({"dynamics", "beta", "mask", "norm", "init", "tokens", "dim", "seed", "tokens-file",
                "time", "snapshots"});
  return l;
}

flow::Time end_of(const FlowSetup& p) {
  if (!p.log10_time) return flow::Time(p.time);
  const double log10 = *p.log10_time;
  if (std::abs(log10) <= 300) return flow::Time(std::pow(10, log10));
  // What rounding takes from log10 ln 10 stays in the mantissa.
  const double exponent = log10 * std::numbers::ln10;
  constexpr double kLower = -2.1707562233822494e-16;  // ln 10 - its double
  const double lost = std::fma(log10, std::numbers::ln10, -exponent) + log10 * kLower;
  return flow::Time(std::exp(lost), exponent);
}

flow::Method stepper_of(const FlowSetup& p) {
  if (p.stepper) return *p.stepper;
  if (p.noise == 0 && p.common_noise == 0) return flow::Method::adaptive;
  return p.noise_kind == flow::NoiseKind::additive ? flow::Method::euler_maruyama
                                                   : flow::Method::rk4;
}

bool is_adaptive(const FlowSetup& p) { return flow::tableau(stepper_of(p)).adaptive(); }

double merge_radius_of(const FlowSetup& p) {
  if (p.space != Geometry::sphere || !is_plain(p)) return 0;
  if (p.merge_radius) return *p.merge_radius;
  // The committed error (1 + beta) radius^2 stays at a hundredth of the tolerance.
  return is_adaptive(p) ? std::max(1e-9, 0.1 * std::sqrt(p.tolerance / (1 + p.beta))) : 0;
}

double cluster_cosine_of(const FlowSetup& p) {
  // Well inside the kernel width 1/sqrt(beta); the 0.999 of the literature up to beta = 50.
  return p.cluster_cosine.value_or(1 - std::min(1e-3, 1 / (20 * std::max(p.beta, 1e-300))));
}

std::optional<Engine> engine_of(const FlowSetup& p, std::size_t tokens, std::size_t dim) {
  const flow::Time end = end_of(p);
  return depth::choose(
      {.rule = p.dynamics,
       .beta = p.beta,
       .accuracy = p.accuracy,
       .tokens = tokens,
       .dim = dim,
       .plain = is_plain(p),
       .fields = p.space == Geometry::sphere && p.query.identity() && p.key.identity() &&
                 p.value.identity() && stepper_of(p) != flow::Method::layers,
       .ends = std::isfinite(end.mantissa()),
       .worthy = end <= flow::Time(1e4) && !p.merge_radius && p.precision == Precision::f64,
       .exact = p.precision == Precision::f64},
      p.engine);
}

bool asks_linear(const FlowSetup& p) {
  return p.engine && *p.engine != Engine::dense && *p.engine != Engine::clumps;
}

bool asks_fields(const FlowSetup& p) { return p.engine && *p.engine != Engine::dense; }

std::string engine_refusal(const FlowSetup& p, std::size_t tokens, std::size_t dim) {
  const bool circle = p.engine == Engine::circle, moments = p.engine == Engine::moments;
  const std::string_view engine = name(p.engine.value_or(Engine::dense));
  const auto needs = [&](const std::string& what, std::string_view instead) {
    return fmt::format("engine {} needs {}, not {}", engine, what, instead);
  };
  if (p.space != Geometry::sphere) return needs("space sphere", name(p.space));
  if (!is_exponential(p.dynamics)) return needs("sa or usa", name(p.dynamics));
  if (p.beta < 0) return needs("beta from 0 on", fmt::to_string(p.beta));
  if (p.self != SelfAttention::include) return needs("self include", name(p.self));
  if (p.qk_norm != QueryKeyNorm::none || p.query_gain.given() || p.key_gain.given())
    return needs("qk-norm none and no gains", "normed or weighted queries and keys");
  if (p.rope != RotaryLayout::none) return needs("rope none", name(p.rope));
  if (!is_plain(p))
    return needs("one head, full mask, norm post and no noise",
                 "other layers (leave the engine out)");
  if (!p.query.identity() || !p.key.identity() || !p.value.identity())
    return needs("identity weights", "given query, key or value");
  if (stepper_of(p) == flow::Method::layers)
    return needs("stepper adaptive, euler or rk4", "layers");
  if (p.engine == Engine::clumps) return needs("precision double", name(p.precision));
  if (std::isinf(p.time)) return needs("a finite time", "inf");
  const bool fits = circle ? dim == 2 : moments ? dim >= 3 && dim <= 8 : dim == 3;
  if (!fits)
    return needs(fmt::format("tokens of dimension {}", circle    ? "2"
                                                       : moments ? "3 to 8"
                                                                 : "3"),
                 fmt::to_string(dim));
  if (p.accuracy < depth::kFinestSphere && !circle)
    return fmt::format("accuracy = {} is out of reach of engine {}; allowed: {} to 1e-4",
                       p.accuracy, engine, depth::kFinestSphere);
  if (!moments) return needs("beta up to 10000", fmt::to_string(p.beta));
  return fmt::format(
      "engine moments takes longer than dense for {} tokens at beta = {} in dimension {} with "
      "accuracy = {}, or more than 1 GB; give a smaller beta, a larger accuracy or engine dense",
      tokens, p.beta, dim, p.accuracy);
}

bool is_plain(const FlowSetup& p) {
  const bool map = p.heads == 1 && p.rank == 0 && p.redraw == 0 && p.output.identity() &&
                   p.mask == MaskKind::full && p.window == 0 && p.distance_bias == 0 &&
                   p.self == SelfAttention::include && p.sink_mass == 1 && !p.sink_fixed &&
                   p.qk_norm == QueryKeyNorm::none && !p.query_gain.given() &&
                   !p.key_gain.given() && p.rope == RotaryLayout::none;
  const bool flow = (p.space == Geometry::sphere || p.space == Geometry::euclidean) &&
                    p.norm == Normalisation::post && !p.gain.given() &&
                    p.feed_forward == depth::Activation::none && p.noise == 0 &&
                    p.common_noise == 0;
  return is_exponential(p.dynamics) && p.beta >= 0 && map && flow;
}

Start start_of(const FlowSetup& p) {
  return {.arrangement = p.init,
          .tokens = p.tokens,
          .dim = p.dim,
          .seed = p.seed,
          .on_sphere = p.space == Geometry::sphere,
          .rho = p.rho,
          .cap_angle = p.cap_angle,
          .clusters = p.centres,
          .spread = p.spread,
          .mode = p.mode,
          .amplitude = p.amplitude,
          .phase = p.phase,
          .angles = p.angles.values,
          .given = p.tokens_file.given() ? &p.tokens_file.get() : nullptr,
          .given_name = p.tokens_file.what()};
}

std::size_t snapshot_count(const FlowSetup& p, std::size_t tokens, std::size_t dim) {
  if (p.snapshots) return *p.snapshots;
  if (tokens * dim > (std::size_t{1} << 20)) return 2;
  return tokens > kObservedFreely ? 5 : 9;
}

std::uint64_t outputs_of(const FlowSetup& p) { return p.outputs.value_or(100); }

std::string command(const FlowSetup& p) {
  FlowSetup mine = p, defaults;
  // For few tokens auto means these numbers, and checkpoints that were written before have them.
  if (p.init != Arrangement::file && p.tokens <= kObservedFreely) {
    if (mine.outputs == outputs_of(defaults)) mine.outputs.reset();
    if (mine.exact_limit == kObservedFreely) mine.exact_limit.reset();
  }
  return command_line("attractor flow", list(mine), list(defaults));
}

}  // namespace attractor::lab
