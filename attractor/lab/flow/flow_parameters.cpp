#include "attractor/lab/flow/flow_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "attractor/attention/normalisation.hpp"
#include "attractor/attention/weights.hpp"
#include "attractor/depth/engines.hpp"
#include "attractor/flow/tableau.hpp"

namespace attractor::lab {
namespace {

constexpr const char* kWeightWords =
    "identity, gaussian, goe, wigner, orthogonal, psd, or a file: .npy or HDF5[:/dataset]";
constexpr const char* kFileWords = ".npy or HDF5[:/dataset]";

ParameterList dynamics_list(FlowParameters& p) {
  const std::string group = "Dynamics";
  return {
      {.name = "dynamics",
       .group = group,
       .help = "rule of attention; sa: softmax, usa: unnormalised",
       .target = &p.dynamics,
       .choices = {"sa", "usa", "hardmax", "sinkhorn", "linear", "relu", "radial"}},
      {.name = "kernel",
       .group = group,
       .help = "radial: kernel of the distance |Q x - K y|, of width 1/sqrt(beta)",
       .target = &p.kernel,
       .choices = {"gaussian", "laplace", "cauchy", "epanechnikov", "indicator"}},
      {.name = "space",
       .group = group,
       .help = "sphere; or R^d: euclidean x' = A, attracted x_i' = sum_j P_ij V (x_j - x_i), "
               "rescaled the same for e^{-tV} x",
       .target = &p.space,
       .choices = {"sphere", "euclidean", "attracted", "rescaled"}},
      {.name = "beta",
       .group = group,
       .help = "inverse temperature",
       .target = &p.beta,
       .least = 0,
       .most = 1e6},
      {.name = "noise",
       .group = group,
       .help = "kappa: every token has its own Brownian motion, sqrt(2 kappa) dB",
       .target = &p.noise,
       .least = 0,
       .most = 1e6},
      {.name = "common-noise",
       .group = group,
       .help = "kappa of one Brownian motion for all tokens",
       .target = &p.common_noise,
       .least = 0,
       .most = 1e6},
      {.name = "noise-substeps",
       .group = group,
       .help = "draw the path of so many finer steps in each step",
       .target = &p.noise_substeps,
       .least = 1,
       .most = 1e6},
  };
}

ParameterList weight_list(FlowParameters& p) {
  const std::string group = "Weights";
  return {
      {.name = "query",
       .group = group,
       .help = "Q (default identity); a file has the shape (heads, rank, dim)",
       .target = &p.query,
       .words = kWeightWords},
      {.name = "key",
       .group = group,
       .help = "K (default identity); a file has the shape (heads, rank, dim)",
       .target = &p.key,
       .words = kWeightWords},
      {.name = "value",
       .group = group,
       .help = "V (default identity); qk and minus-qk: +-Q^T K; a file has the shape (heads, dim, "
               "dim)",
       .target = &p.value,
       .words = "qk, minus-qk, identity, gaussian, goe, wigner, orthogonal, psd, or a file: .npy "
                "or HDF5[:/dataset]"},
      {.name = "output",
       .group = group,
       .help = "matrix after the sum over heads (default identity)",
       .target = &p.output,
       .words = kWeightWords},
      {.name = "heads",
       .group = group,
       .help = "number of heads, each with its own Q, K, V",
       .target = &p.heads,
       .least = 1,
       .most = 256},
      {.name = "rank",
       .group = group,
       .help = "rows of Q and K when they are gaussian, orthogonal or in files; 0: dim",
       .target = &p.rank,
       .most = 65536},
      {.name = "redraw",
       .group = group,
       .help = "draw random weights anew after every such depth; 0: one draw for all",
       .target = &p.redraw,
       .least = 0},
      {.name = "mask",
       .group = group,
       .help = "causal: token i sees j <= i",
       .target = &p.mask,
       .choices = {"full", "causal"}},
      {.name = "window",
       .group = group,
       .help = "token i sees |i - j| <= window; 0: no limit",
       .target = &p.window,
       .most = 1e9},
      {.name = "distance-bias",
       .group = group,
       .help = "logits are lowered by this times |i - j| (ALiBi)",
       .target = &p.distance_bias,
       .least = 0,
       .most = 1e9},
  };
}

ParameterList architecture_list(FlowParameters& p) {
  const std::string group = "Architecture";
  return {
      {.name = "norm",
       .group = group,
       .help = "where layers normalise",
       .target = &p.norm,
       .choices = normalisation_names()},
      {.name = "alpha",
       .group = group,
       .help = "ngpt: alpha_t = alpha (1 + t)^-alpha-power",
       .target = &p.alpha,
       .least = 0,
       .most = 1e6,
       .above_least = true},
      {.name = "alpha-power",
       .group = group,
       .help = "ngpt: decay of alpha with depth",
       .target = &p.alpha_power,
       .least = 0,
       .most = 10},
      {.name = "switch-time",
       .group = group,
       .help = "mix: depth from which it is pre",
       .target = &p.switch_time,
       .least = 0},
      {.name = "deepnorm-scale",
       .group = group,
       .help = "deepnorm: a of normalise(a x + A)",
       .target = &p.deepnorm_scale,
       .least = 0,
       .most = 1e6,
       .above_least = true},
      {.name = "gain",
       .group = group,
       .help = "one factor for each channel of what a block reads",
       .target = &p.gain,
       .words = ".npy or HDF5[:/dataset] of dim numbers"},
      {.name = "feed-forward",
       .group = group,
       .help = "block W_2 act(W_1 x + b) beside attention; random, b = 0, but for what files give",
       .target = &p.feed_forward,
       .choices = {"none", "relu", "gelu"}},
      {.name = "feed-forward-in",
       .group = group,
       .help = "feed-forward: W_1, of the shape (width, dim)",
       .target = &p.feed_forward_in,
       .words = kFileWords},
      {.name = "feed-forward-bias",
       .group = group,
       .help = "feed-forward: b, of the shape (width)",
       .target = &p.feed_forward_bias,
       .words = kFileWords},
      {.name = "feed-forward-out",
       .group = group,
       .help = "feed-forward: W_2, of the shape (dim, width)",
       .target = &p.feed_forward_out,
       .words = kFileWords},
      {.name = "width",
       .group = group,
       .help = "feed-forward: hidden width; 0: that of the files, or 4 dim",
       .target = &p.width,
       .most = 1e6},
      {.name = "strength",
       .group = group,
       .help = "feed-forward: factor of the block",
       .target = &p.strength,
       .least = -1e6,
       .most = 1e6},
  };
}

ParameterList start_list(FlowParameters& p) {
  const std::string group = "Initial tokens";
  return {
      {.name = "init",
       .group = group,
       .help = "how tokens start",
       .target = &p.init,
       .choices = {"uniform", "hemisphere", "cap", "equiangular", "clusters", "circle", "angles",
                   "file"}},
      {.name = "tokens",
       .group = group,
       .help = "number of tokens n",
       .target = &p.tokens,
       .least = 1,
       .most = 1e7},
      {.name = "dim",
       .group = group,
       .help = "dimension d",
       .target = &p.dim,
       .least = 2,
       .most = 65536},
      {.name = "seed", .group = group, .help = "seed of every random draw", .target = &p.seed},
      {.name = "rho",
       .group = group,
       .help = "equiangular: common cosine",
       .target = &p.rho,
       .least = -1,
       .most = 1},
      {.name = "cap-angle",
       .group = group,
       .help = "cap: opening angle from the pole, radians",
       .target = &p.cap_angle,
       .least = 0,
       .most = std::numbers::pi,
       .above_least = true},
      {.name = "centres",
       .group = group,
       .help = "clusters: number of centres",
       .target = &p.centres,
       .least = 1,
       .most = 1e7},
      {.name = "spread",
       .group = group,
       .help = "clusters: rms angle to the centre, radians",
       .target = &p.spread,
       .least = 0,
       .most = std::numbers::pi},
      {.name = "mode",
       .group = group,
       .help = "circle: wave number k of 2 pi u + amplitude cos(2 pi k u - phase)",
       .target = &p.mode,
       .most = 1e7},
      {.name = "amplitude",
       .group = group,
       .help = "circle: amplitude, radians",
       .target = &p.amplitude,
       .least = -10,
       .most = 10},
      {.name = "phase",
       .group = group,
       .help = "circle: phase, radians",
       .target = &p.phase,
       .least = -10,
       .most = 10},
      {.name = "angles",
       .group = group,
       .help = "angles: positions on the circle, radians",
       .target = &p.angles,
       .words = "comma-separated numbers"},
      {.name = "tokens-file",
       .group = group,
       .help = "file: one token a row",
       .target = &p.tokens_file,
       .words = kFileWords},
  };
}

ParameterList solver_list(FlowParameters& p) {
  const std::string group = "Time and accuracy";
  return {
      {.name = "time",
       .group = group,
       .help = "end time; inf: until one cluster is left",
       .target = &p.time,
       .least = 0},
      {.name = "log10-time",
       .group = group,
       .help = "instead of time: its decimal logarithm, for times that no double holds",
       .target = &p.log10_time,
       .words = "a number from -1e12 to 1e12"},
      {.name = "stepper",
       .group = group,
       .help =
           "layers: x <- normalise(x + step A); euler, rk4: fixed step; adaptive: "
           "Dormand-Prince 5(4); adaptive3: Bogacki-Shampine 3(2), for tolerances from 1e-2 on; "
           "adaptive8: Dormand-Prince 8(5,3), for those below 1e-6; auto: adaptive, with "
           "noise euler-maruyama; all add vectors and retract to the sphere, whatever the "
           "engine",
       .target = &p.stepper,
       .choices = {"auto", "adaptive", "adaptive3", "adaptive8", "layers", "euler", "rk4",
                   "euler-maruyama"}},
      {.name = "step",
       .group = group,
       .help = "step of all but adaptive, in time; the last one of all but layers is cut to end "
               "in time",
       .target = &p.step,
       .least = 0,
       .above_least = true},
      {.name = "tolerance",
       .group = group,
       .help = "adaptive: error of a token per unit of time",
       .target = &p.tolerance,
       .least = 1e-14,
       .most = 0.1},
      {.name = "max-steps",
       .group = group,
       .help = "give up after so many steps",
       .target = &p.max_steps,
       .least = 1},
      {.name = "engine",
       .group = group,
       .help = "how velocities are summed; circle (d = 2), sphere (d = 3) and moments (d = 3 to 8, "
               "moderate beta): O(n), identity weights; auto: these from 20000 such tokens and up "
               "to time 10000, moments where it takes less than half the time of dense",
       .target = &p.engine,
       .choices = {"auto", "dense", "circle", "sphere", "moments"}},
      {.name = "accuracy",
       .group = group,
       .help = "circle, sphere, moments: error of a velocity, relative to the largest possible "
               "one; sphere and moments from 1e-11; a tolerance that it drowns is loosened",
       .target = &p.accuracy,
       .least = 1e-12,
       .most = 1e-4},
      {.name = "precision",
       .group = group,
       .help = "of engine dense; single: twice as fast, error of a velocity up to 6e-6 + 2e-6 beta "
               "of the fastest possible one, whatever its own size; beta below 100, tolerance "
               "from 1e-5",
       .target = &p.precision,
       .choices = {"double", "single"}},
      {.name = "merge-radius",
       .group = group,
       .help = "coalesce tokens closer than this chord; auto: 0.1 sqrt(tolerance/(1+beta)) for "
               "adaptive, off otherwise",
       .target = &p.merge_radius,
       .words = "auto, off, or 1e-12 to 0.01"},
  };
}

ParameterList output_list(FlowParameters& p) {
  const std::string group = "Observation";
  return {
      {.name = "outputs",
       .group = group,
       .help = "number of times at which all is measured",
       .target = &p.outputs,
       .least = 1,
       .most = 1e6},
      {.name = "output-spacing",
       .group = group,
       .help = "linear or log in time, or after every step; auto: steps for --time inf, log beyond "
               "100 time units, else linear",
       .target = &p.output_spacing,
       .choices = {"auto", "linear", "log", "steps"}},
      {.name = "snapshots",
       .group = group,
       .help = "number of times at which all positions are kept; auto: 9, or 2 beyond 2^20 numbers",
       .target = &p.snapshots,
       .words = "auto, or a whole number from 2 to 1000"},
      {.name = "cluster-cosine",
       .group = group,
       .help = "tokens closer than this are one cluster (chains count as one); auto: "
               "1 - min(1e-3, 1/(20 beta))",
       .target = &p.cluster_cosine,
       .words = "auto, or above 0 and below 1"},
      {.name = "pair-threshold",
       .group = group,
       .help = "cosine for the fraction of close pairs",
       .target = &p.pair_threshold,
       .least = -1,
       .most = 1},
      {.name = "exact-limit",
       .group = group,
       .help = "pair and energy statistics are exact up to so many tokens, beyond from random "
               "rows with error bars",
       .target = &p.exact_limit,
       .least = 1,
       .most = 1e7},
  };
}

depth::EngineTask engine_task(const FlowParameters& p, std::size_t tokens, std::size_t dim) {
  return {.rule = rule_named(p.dynamics),
          .beta = p.beta,
          .accuracy = p.accuracy,
          .tokens = tokens,
          .dim = dim};
}

/// All parameters that name a file now.
std::vector<std::string*> files_of(FlowParameters& p) {
  std::vector<std::string*> files;
  for (std::string* matrix : {&p.query, &p.key, &p.value, &p.output})
    if (!matrix->empty() && !is_weight_kind(*matrix)) files.push_back(matrix);
  for (std::string* file :
       {&p.gain, &p.feed_forward_in, &p.feed_forward_bias, &p.feed_forward_out, &p.tokens_file})
    if (!file->empty()) files.push_back(file);
  return files;
}

}  // namespace

ParameterList list(FlowParameters& p) {
  ParameterList all;
  for (ParameterList part : {dynamics_list(p), weight_list(p), architecture_list(p), start_list(p),
                             solver_list(p), output_list(p)})
    all.insert(all.end(), part.begin(), part.end());
  all.push_back({.name = "verify",
                 .group = "Run",
                 .help = "run again with tolerance / 100 (or step / 4), in double precision and "
                         "without coalescence where that is possible, and report the largest "
                         "differences",
                 .target = &p.verify,
                 .stored = false});
  return all;
}

FlowParameters with_files_from(FlowParameters p, const std::string& directory) {
  for (std::string* file : files_of(p))
    if (!directory.empty() && file->front() != '/') *file = directory + "/" + *file;
  return p;
}

std::vector<std::string> input_files(const FlowParameters& p) {
  FlowParameters copy = p;
  std::vector<std::string> names;
  for (const std::string* file : files_of(copy)) names.push_back(*file);
  return names;
}

bool is_weight_kind(std::string_view text) {
  return std::any_of(kWeightKinds.begin(), kWeightKinds.end(),
                     [&](WeightKind kind) { return text == attractor::name(kind); });
}

flow::Time end_of(const FlowParameters& p) {
  if (p.log10_time.empty()) return flow::Time(p.time);
  double log10 = 0;
  parse_real(p.log10_time, log10);
  if (std::abs(log10) <= 300) return flow::Time(std::pow(10, log10));
  // What rounding takes from log10 ln 10 stays in the mantissa.
  const double exponent = log10 * std::numbers::ln10;
  constexpr double kLower = -2.1707562233822494e-16;  // ln 10 - its double
  const double lost = std::fma(log10, std::numbers::ln10, -exponent) + log10 * kLower;
  return flow::Time(std::exp(lost), exponent);
}

std::string stepper_of(const FlowParameters& p) {
  if (p.stepper != "auto") return p.stepper;
  return p.noise > 0 || p.common_noise > 0 ? "euler-maruyama" : "adaptive";
}

bool is_adaptive(const FlowParameters& p) { return flow::tableau_named(stepper_of(p)).adaptive(); }

std::string engine_of(const FlowParameters& p, std::size_t tokens, std::size_t dim) {
  if (!is_plain(p)) return "layers";
  const bool automatic = p.engine == "auto";
  const bool identity = p.space == "sphere" && p.query.empty() && p.key.empty() &&
                        p.value.empty() && stepper_of(p) != "layers" &&
                        std::isfinite(end_of(p).mantissa());
  const bool worth = tokens >= depth::kManyTokens && end_of(p) <= flow::Time(1e4) &&
                     p.merge_radius == "auto" && p.precision == "double";
  if (!identity || (automatic && !worth)) return "dense";
  depth::EngineTask task = engine_task(p, tokens, dim);
  task.tokens = std::max(tokens, depth::kManyTokens);
  if (automatic) return std::string(name(depth::fastest(task)));
  const depth::Engine asked = depth::engine_named(p.engine).value();
  return can(asked, task) ? p.engine : "dense";
}

bool is_linear(std::string_view engine) {
  const std::optional<depth::Engine> known = depth::engine_named(engine);
  return known && *known != depth::Engine::dense;
}

std::string engine_refusal(const FlowParameters& p, std::size_t tokens, std::size_t dim) {
  const bool circle = p.engine == "circle", moments = p.engine == "moments";
  const auto needs = [&](const std::string& what, const std::string& instead) {
    return fmt::format("engine {} needs {}, not {}", p.engine, what, instead);
  };
  if (p.space != "sphere") return needs("--space sphere", p.space);
  if (p.dynamics != "sa" && p.dynamics != "usa") return needs("sa or usa", p.dynamics);
  if (!is_plain(p))
    return needs("one head, full mask, norm post and no noise",
                 "other layers (leave out --engine)");
  if (!p.query.empty() || !p.key.empty() || !p.value.empty())
    return needs("identity weights", "--query, --key or --value");
  if (stepper_of(p) == "layers") return needs("--stepper adaptive, euler or rk4", "layers");
  if (std::isinf(p.time)) return needs("a finite --time", "inf");
  const bool fits = circle ? dim == 2 : moments ? dim >= 3 && dim <= 8 : dim == 3;
  if (!fits)
    return needs("tokens of dimension " + std::string(circle    ? "2"
                                                      : moments ? "3 to 8"
                                                                : "3"),
                 fmt::to_string(dim));
  if (p.accuracy < depth::kFinestSphere && !circle)
    return fmt::format("accuracy = {} is out of reach of engine {}; allowed: {} to 1e-4",
                       p.accuracy, p.engine, depth::kFinestSphere);
  if (!moments) return needs("beta up to 10000", fmt::to_string(p.beta));
  return fmt::format(
      "engine moments takes longer than dense for {} tokens at beta = {} in dimension {} with "
      "accuracy = {}, or more than 1 GB; give a smaller --beta, a larger --accuracy or --engine "
      "dense",
      tokens, p.beta, dim, p.accuracy);
}

bool is_plain(const FlowParameters& p) {
  const bool kernel = p.dynamics == "sa" || p.dynamics == "usa";
  const bool map = p.heads == 1 && p.rank == 0 && p.redraw == 0 && p.output.empty() &&
                   p.mask == "full" && p.window == 0 && p.distance_bias == 0;
  const bool flow = (p.space == "sphere" || p.space == "euclidean") && p.norm == "post" &&
                    p.gain.empty() && p.feed_forward == "none" && p.noise == 0 &&
                    p.common_noise == 0;
  return kernel && map && flow;
}

Start start_of(const FlowParameters& p) {
  return {.arrangement = p.init,
          .tokens = p.tokens,
          .dim = p.dim,
          .seed = p.seed,
          .on_sphere = p.space == "sphere",
          .rho = p.rho,
          .cap_angle = p.cap_angle,
          .clusters = p.centres,
          .spread = p.spread,
          .mode = p.mode,
          .amplitude = p.amplitude,
          .phase = p.phase,
          .angles = p.angles,
          .file = p.tokens_file};
}

std::size_t snapshot_count(const FlowParameters& p, std::size_t numbers) {
  if (p.snapshots != "auto") return static_cast<std::size_t>(std::stod(p.snapshots));
  return numbers <= (std::size_t{1} << 20) ? 9 : 2;
}

std::string command(const FlowParameters& p) {
  FlowParameters mine = p, defaults;
  return command_line("attractor flow", list(mine), list(defaults));
}

}  // namespace attractor::lab
