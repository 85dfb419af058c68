#include "attractor/commands/density/meanfield_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/commands/density/meanfield_figures.hpp"
#include "attractor/commands/density/meanfield_run.hpp"
#include "attractor/commands/density/meanfield_words.hpp"
#include "attractor/commands/registry.hpp"
#include "attractor/lab/number_list.hpp"

namespace attractor::lab {
namespace {

using meanfield::Comparison;
using meanfield::ComparisonRow;

constexpr std::size_t kDensities = 11;  // times in the table of densities
constexpr double kMostWork = 3e9;       // of tokens^2 dim
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

ParameterList dynamics_list(MeanfieldParameters& p) {
  const std::string group = "Dynamics";
  return {
      {.name = "dynamics",
       .group = group,
       .help = "sa: softmax attention; usa: unnormalised",
       .target = &p.dynamics,
       .choices = {"sa", "usa"}},
      {.name = "dim",
       .group = group,
       .help = "dimension d: tokens live on S^{d-1}; 2: the circle",
       .target = &p.dim,
       .least = 2,
       .most = 10'000},
      {.name = "beta",
       .group = group,
       .help = "inverse temperature",
       .target = &p.beta,
       .least = 0,
       .most = 1e4},
      {.name = "noise",
       .group = group,
       .help = "kappa of sqrt(2 kappa) dB (spectral form)",
       .target = &p.noise,
       .least = 0,
       .most = 1e6},
  };
}

ParameterList start_list(MeanfieldParameters& p) {
  const std::string group = "Initial density";
  return {
      {.name = "start",
       .group = group,
       .help = "perturbed: 1 + amplitude cos(mode theta), zonal on spheres; vmf: von Mises-Fisher "
               "bumps; wrapped-cauchy, map (theta = 2 pi u + amplitude sin 2 pi u): circle only; "
               "tokens: from a file",
       .target = &p.start,
       .choices = {"perturbed", "vmf", "wrapped-cauchy", "map", "tokens"}},
      {.name = "mode",
       .group = group,
       .help = "perturbed: wave number, or degree on spheres",
       .target = &p.mode,
       .least = 1,
       .most = 1000},
      {.name = "amplitude",
       .group = group,
       .help = "perturbed, map: relative size",
       .target = &p.amplitude,
       .least = -1,
       .most = 1},
      {.name = "concentration",
       .group = group,
       .help = "vmf: one for all bumps or one for each, 0 to 1e6",
       .target = &p.concentration,
       .words = "comma-separated numbers"},
      {.name = "centres",
       .group = group,
       .help = "vmf: angles in radians on the circle; three coordinates for each centre on S^2; "
               "default: one bump at angle 0, or about the axis",
       .target = &p.centres,
       .words = "comma-separated numbers"},
      {.name = "weights",
       .group = group,
       .help = "vmf: one for each bump (default equal)",
       .target = &p.weights,
       .words = "comma-separated numbers"},
      {.name = "order",
       .group = group,
       .help = "wrapped-cauchy: order parameter R at the start",
       .target = &p.order,
       .least = 0,
       .most = 0.999},
      {.name = "tokens-file",
       .group = group,
       .help = "tokens: one token a row",
       .target = &p.tokens_file,
       .words = ".npy or HDF5[:/dataset]"},
  };
}

ParameterList solver_list(MeanfieldParameters& p) {
  const std::string group = "Time and accuracy";
  return {
      {.name = "time",
       .group = group,
       .help = "end time",
       .target = &p.time,
       .least = 0,
       .most = 1e6},
      {.name = "outputs",
       .group = group,
       .help = "number of equal times at which all is measured",
       .target = &p.outputs,
       .least = 1,
       .most = 2000},
      {.name = "tolerance",
       .group = group,
       .help = "error of a mode or label per unit of time",
       .target = &p.tolerance,
       .least = 1e-14,
       .most = 0.01},
      {.name = "form",
       .group = group,
       .help = "spectral: modes of the density; labels: moving points that carry it, which survive "
               "concentration; auto: spectral where there is a choice",
       .target = &p.form,
       .choices = {"auto", "spectral", "labels"}},
      {.name = "symmetry",
       .group = group,
       .help = "zonal: the density keeps an axis; none: circle, S^2 or tokens; auto: zonal for "
               "dim > 2 unless centres or tokens are given",
       .target = &p.symmetry,
       .choices = {"auto", "zonal", "none"}},
      {.name = "modes",
       .group = group,
       .help = "modes (on spheres 1024 at most), or labels (16 at least; on S^2 8 to 100 heights "
               "of a grid); 0: modes are doubled as needed, up to 1024 on the circle and 256 with "
               "an axis, or 2048 labels on the circle, 512 with an axis, 20 heights",
       .target = &p.modes,
       .most = 100'000},
  };
}

ParameterList comparison_list(MeanfieldParameters& p) {
  const std::string group = "Comparison with tokens";
  return {
      {.name = "compare-particles",
       .group = group,
       .help = "numbers n of independent tokens to compare with the density at the end",
       .target = &p.compare_particles,
       .words = "comma-separated whole numbers, 2 to 1000000; on spheres n^2 dim <= 3e9"},
      {.name = "replicates",
       .group = group,
       .help = "independent sets of tokens for each n",
       .target = &p.replicates,
       .least = 2,
       .most = 100'000},
      {.name = "seed", .group = group, .help = "seed of every random draw", .target = &p.seed},
  };
}

std::vector<std::size_t> particle_numbers(const MeanfieldParameters& p, const MeanfieldKind& kind) {
  std::vector<std::size_t> result;
  for (const double n : number_list("compare-particles", p.compare_particles, 2, 1e6)) {
    if (n != std::floor(n))
      throw Error(fmt::format("compare-particles: {} is not a whole number", n));
    result.push_back(static_cast<std::size_t>(n));
  }
  if (result.empty()) return result;
  if (p.noise > 0) throw Error(fmt::format("compare-particles needs noise = 0, not {}", p.noise));
  if (kind.geometry == Geometry::general)
    throw Error("compare-particles needs the circle or a density with an axis");
  // Every token meets every other one on spheres.
  const double most = std::floor(std::sqrt(kMostWork / static_cast<double>(p.dim)));
  for (const std::size_t n : result)
    if (kind.geometry == Geometry::zonal && static_cast<double>(n) > most)
      throw Error(
          fmt::format("compare-particles = {} is not allowed in dimension {}; allowed: 2 to "
                      "{}",
                      n, p.dim, most));
  return result;
}

struct Compared {
  Comparison rows{};
  bool labels_complete = true;
  double label_error = 0;  // of the order parameter of the labels that stand for the density
};

Compared compare(const MeanfieldParameters& p, const MeanfieldKind& kind,
                 const MeanfieldRecord& record, std::vector<std::size_t> tokens,
                 const Context& context) {
  context.tell(0.5, "tokens for comparison");
  const EndLabels labels = labels_at_end(p, kind, record, context);
  if (!labels.complete) return {.labels_complete = false};
  const meanfield::ComparisonPlan plan{.tokens = std::move(tokens),
                                       .replicates = p.replicates,
                                       .seed = p.seed,
                                       .tolerance = std::max(p.tolerance, 1e-8),
                                       .stop = context.stop};
  const flow::Time end(p.time);
  Compared result{.label_error = labels.order_error};
  if (kind.geometry == Geometry::circle)
    result.rows = compare_circle(circle_law(p), circle_attention(p), end, labels.points, plan);
  else
    result.rows = compare_zonal(zonal_law(p), zonal_attention(p), end, labels.points, plan);
  return result;
}

/// Tokens cannot be told from the density closer than the density is known.
std::string what_comparison_failed(const Compared& compared) {
  if (!compared.labels_complete)
    return "the labels that tokens are compared with did not reach the end; shorten --time or "
           "loosen --tolerance";
  if (!compared.rows.complete) return "a run of tokens did not reach its time; loosen --tolerance";
  for (const ComparisonRow& row : compared.rows.rows)
    if (!(compared.label_error <= 0.1 * row.rms_moment))
      return fmt::format(
          "{} tokens are as close to the density ({:.1e}) as the labels that stand for it "
          "({:.1e}); "
          "compare fewer, or take --form labels with more --modes",
          row.tokens, row.rms_moment, compared.label_error);
  return "";
}

void add_comparison(const Comparison& comparison, Result& answer) {
  answer.values["slope"] = number(comparison.moment_slope.value);
  answer.values["slope_error"] = number(comparison.moment_slope.error);
  answer.values["w1_slope"] = number(comparison.w1_slope.value);
  answer.values["w1_slope_error"] = number(comparison.w1_slope.error);
  Table table{.name = "particles",
              .title = "Distance of n tokens to the density",
              .columns = {"n", "rms_moment", "rms_moment_error", "mean_w1", "mean_w1_error"}};
  for (const ComparisonRow& row : comparison.rows)
    table.rows.push_back({static_cast<double>(row.tokens), row.rms_moment, row.rms_error,
                          row.mean_w1, row.w1_error});
  answer.tables.push_back(std::move(table));
}

void add_history(const MeanfieldParameters& p, const MeanfieldRecord& r, Result& answer) {
  Table history{.name = "history",
                .title = "History",
                .columns = {"time", "order_parameter", "energy", "log_energy", "entropy",
                            "free_energy", "smallest_density"},
                .only_data = true};
  for (const MeanfieldMoment& m : r.history)
    history.rows.push_back({m.time, m.order, std::exp(m.log_energy), m.log_energy, m.entropy,
                            free_energy(p, m), m.smallest});
  answer.tables.push_back(std::move(history));
  if (r.density.empty()) return;
  Table density{.name = "density",
                .title = "Density relative to uniform",
                .columns = {"time", "angle", "density"},
                .only_data = true};
  const std::size_t last = r.history.size() - 1, shown = std::min(kDensities, last + 1);
  for (std::size_t n = 0; n < shown; ++n) {
    const std::size_t k = shown > 1 ? n * last / (shown - 1) : 0;
    for (std::size_t j = 0; j < r.angles.size(); ++j)
      density.rows.push_back({r.history[k].time, r.angles[j], r.density[k][j]});
  }
  answer.tables.push_back(std::move(density));
}

void add_values(const MeanfieldParameters& p, const MeanfieldKind& kind, const MeanfieldRecord& r,
                Result& answer) {
  const MeanfieldMoment none{kNan, kNan, kNan, kNan, kNan, kNan, kNan, kNan};
  // Short of the end there is no value at the end.
  const MeanfieldMoment& end = r.complete() ? r.history.back() : none;
  Json& v = answer.values;
  v["form"] = kind.spectral ? "spectral" : "labels";
  v["modes"] = r.modes;
  v["time"] = p.time;
  v["reached_time"] = number(r.reached);
  v["order_parameter"] = number(end.order);
  v["moments"] = Json::array();
  if (r.complete())
    for (const double m : r.moments) v["moments"].push_back(number(m));
  v["mass"] = number(end.mass);
  v["smallest_density"] = number(end.smallest);
  v["largest_density"] = number(end.largest);
  v["energy"] = number(std::exp(end.log_energy));
  v["log_energy"] = number(end.log_energy);
  v["entropy"] = number(end.entropy);
  v["free_energy"] = number(free_energy(p, end));
  if (p.start == "perturbed") {
    v["growth_measured"] = number(r.complete() ? r.growth_measured : kNan);
    v["growth_linear"] = number(r.growth_linear);
    v["growth_error"] = number(r.errors.growth);
  }
  v["order_error"] = number(r.errors.order);
  v["energy_error"] = number(r.errors.energy);
  v["entropy_error"] = number(r.errors.entropy);
  v["density_error"] = number(r.errors.density);
}

}  // namespace

ParameterList list(MeanfieldParameters& p) {
  ParameterList all;
  for (ParameterList part : {dynamics_list(p), start_list(p), solver_list(p), comparison_list(p)})
    all.insert(all.end(), part.begin(), part.end());
  return all;
}

std::vector<std::string> input_files(const MeanfieldParameters& p) {
  return p.tokens_file.empty() ? std::vector<std::string>{} : std::vector{p.tokens_file};
}

Result ask(const MeanfieldParameters& asked, const Context& context) {
  MeanfieldParameters p = asked;
  p.tokens_file = context.place(p.tokens_file);
  const MeanfieldKind kind = kind_of(p);
  const std::vector<std::size_t> tokens = particle_numbers(p, kind);
  const MeanfieldRecord record = run_meanfield(p, kind, context);
  Compared compared;
  if (!tokens.empty() && record.complete()) compared = compare(p, kind, record, tokens, context);
  Result answer{.title = "Mean field of attention", .headline = meanfield_headline(p, record)};
  add_values(p, kind, record, answer);
  if (!compared.rows.rows.empty()) add_comparison(compared.rows, answer);
  add_history(p, record, answer);
  answer.not_delivered = what_failed(p, kind, record);
  if (answer.not_delivered.empty()) answer.not_delivered = what_comparison_failed(compared);
  answer.remarks = meanfield_remarks(p, kind, record);
  answer.draw = [=] { return meanfield_figures(p, kind, record, compared.rows); };
  return answer;
}

Command meanfield_command() {
  return {
      .name = "meanfield",
      .about = "The density that infinitely many tokens follow, and how far n tokens are from it",
      .examples =
          "  attractor meanfield --dim 2 --beta 4 --start perturbed --mode 3 --time 5 --out "
          "density\n"
          "  attractor meanfield --beta 1 --start map --time 1 --compare-particles 64,256,1024\n"
          "  attractor meanfield --dim 8 --dynamics usa --beta 2 --start vmf --time 0.2\n"
          "Theory: docs/theory/mean_field.md.",
      .make = ask_request<MeanfieldParameters>};
}

}  // namespace attractor::lab
