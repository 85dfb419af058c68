#include "attractor/experiment/flow_parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"

namespace attractor::experiment {
namespace {

ParameterList dynamics_list(FlowParameters& p) {
  const std::string group = "Dynamics";
  return {
      {.name = "dynamics",
       .group = group,
       .help = "sa: softmax attention; usa: unnormalised",
       .target = &p.dynamics,
       .choices = {"sa", "usa"}},
      {.name = "space",
       .group = group,
       .help = "where tokens live: unit sphere or R^d",
       .target = &p.space,
       .choices = {"sphere", "euclidean"}},
      {.name = "beta",
       .group = group,
       .help = "inverse temperature",
       .target = &p.beta,
       .least = 0,
       .most = 1e6},
      {.name = "query",
       .group = group,
       .help = "Q: dim x dim matrix (default identity)",
       .target = &p.query,
       .words = ".npy or HDF5[:/dataset]"},
      {.name = "key",
       .group = group,
       .help = "K: dim x dim matrix (default identity)",
       .target = &p.key,
       .words = ".npy or HDF5[:/dataset]"},
      {.name = "value",
       .group = group,
       .help = "V: dim x dim matrix (default identity)",
       .target = &p.value,
       .words = ".npy or HDF5[:/dataset]"},
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
      {.name = "noise",
       .group = group,
       .help = "clusters: rms angle to the centre, radians",
       .target = &p.noise,
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
       .words = ".npy or HDF5[:/dataset]"},
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
      {.name = "stepper",
       .group = group,
       .help = "layers: x <- normalise(x + step A); euler, rk4: fixed step; adaptive: "
               "Dormand-Prince 5(4)",
       .target = &p.stepper,
       .choices = {"adaptive", "layers", "euler", "rk4"}},
      {.name = "step",
       .group = group,
       .help = "step of layers, euler and rk4, in time",
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
       .help = "pair and energy statistics are exact up to so many tokens, beyond from 512 random "
               "rows with error bars",
       .target = &p.exact_limit,
       .least = 1,
       .most = 1e7},
  };
}

// A text parameter that is a word or a number x for which `good(x)` holds.
template <class Good>
void check_word_or_number(const Parameter& parameter, std::initializer_list<const char*> words,
                          const Good& good) {
  const std::string text = parameter.text();
  for (const char* word : words)
    if (text == word) return;
  double value = 0;
  if (!parse_real(text, value) || !good(value))
    throw Error(fmt::format("{} = '{}' is not allowed; allowed: {}", parameter.name, text,
                            parameter.words));
}

}  // namespace

ParameterList list(FlowParameters& p) {
  ParameterList all;
  for (ParameterList part : {dynamics_list(p), start_list(p), solver_list(p), output_list(p)})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

void check(const FlowParameters& p) {
  FlowParameters copy = p;
  const ParameterList parameters = list(copy);
  check_word_or_number(find(parameters, "merge-radius"), {"auto", "off"},
                       [](double x) { return x >= 1e-12 && x <= 0.01; });
  check_word_or_number(find(parameters, "cluster-cosine"), {"auto"},
                       [](double x) { return x > 0 && x < 1; });
  check_word_or_number(find(parameters, "snapshots"), {"auto"},
                       [](double x) { return x >= 2 && x <= 1000 && x == std::floor(x); });
  const bool endless = std::isinf(p.time), adaptive = p.stepper == "adaptive";
  if (endless && !adaptive)
    throw Error(fmt::format("time = inf needs --stepper adaptive, not {}", p.stepper));
  if (endless && p.space != "sphere")
    throw Error("time = inf needs --space sphere: in R^d tokens never come to rest");
  if (endless && p.merge_radius == "off")
    throw Error("time = inf needs coalescence; leave out --merge-radius off");
  if (endless && (p.output_spacing == "linear" || p.output_spacing == "log"))
    throw Error(fmt::format("output-spacing {} needs a finite --time", p.output_spacing));
  if (!adaptive && p.step > p.time && p.time > 0)
    throw Error(fmt::format("step = {} is longer than time = {}", p.step, p.time));
  if (!adaptive && p.time / p.step > static_cast<double>(p.max_steps))
    throw Error(fmt::format("time / step = {:.3g} steps; at most max-steps = {} are allowed",
                            p.time / p.step, p.max_steps));
  if (p.space == "euclidean" && p.init != "uniform" && p.init != "file")
    throw Error(
        fmt::format("init {} is on the sphere; R^d takes uniform (normal) or file", p.init));
  const bool sized = p.init != "file" && p.init != "angles";
  if (sized && static_cast<double>(p.tokens) * static_cast<double>(p.dim) > 1e9)
    throw Error(fmt::format("{} tokens in dimension {} are {:.3g} numbers; at most 1e9 are allowed",
                            p.tokens, p.dim,
                            static_cast<double>(p.tokens) * static_cast<double>(p.dim)));
}

void check_use(const FlowParameters& p, const std::vector<std::string>& given) {
  const std::pair<const char*, const char*> needs[] = {
      {"rho", "equiangular"}, {"cap-angle", "cap"}, {"centres", "clusters"},
      {"noise", "clusters"},  {"mode", "circle"},   {"amplitude", "circle"},
      {"phase", "circle"},    {"angles", "angles"}, {"tokens-file", "file"}};
  for (const auto& [name, init] : needs)
    if (p.init != init && std::find(given.begin(), given.end(), name) != given.end())
      throw Error(
          fmt::format("--{} is used by --init {} only, not by --init {}", name, init, p.init));
}

FlowParameters with_files_from(FlowParameters p, const std::string& directory) {
  for (std::string* file : {&p.query, &p.key, &p.value, &p.tokens_file})
    if (!file->empty() && !directory.empty() && file->front() != '/')
      *file = directory + "/" + *file;
  return p;
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
          .noise = p.noise,
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

}  // namespace attractor::experiment
