#include "attractor/commands/density/meanfield_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/commands/density/density_scene.hpp"
#include "attractor/commands/density/meanfield_figures.hpp"
#include "attractor/commands/density/meanfield_run.hpp"
#include "attractor/commands/density/meanfield_words.hpp"

namespace attractor::lab {
namespace {

using meanfield::Comparison;
using meanfield::ComparisonRow;

constexpr std::size_t kDensities = 11;  // times in the table of densities
constexpr double kMostWork = 3e9;       // of tokens^2 dim

void add_dynamics(MeanfieldSetup& p, ParameterList& l) {
  l.group("Dynamics");
  l.add("dynamics", p.dynamics, "sa: softmax attention; usa: unnormalised")
      .among({Rule::softmax, Rule::unnormalised});
  l.add("dim", p.dim, "dimension d: tokens live on S^{d-1}; 2: the circle").within(2, 10'000);
  l.add("beta", p.beta, "inverse temperature").within(0, 1e4);
  l.add("noise", p.noise, "kappa of sqrt(2 kappa) dB (spectral form)").within(0, 1e6);
}

void add_start(MeanfieldSetup& p, ParameterList& l) {
  l.group("Initial density");
  l.add("start", p.start,
        "perturbed: 1 + amplitude cos(mode theta), zonal on spheres; vmf: von Mises-Fisher bumps; "
        "wrapped-cauchy, map (theta = 2 pi u + amplitude sin 2 pi u): circle only; tokens: from a "
        "file")
      .or_array("tokens-file", "start", "tokens");
  l.add("mode", p.mode, "perturbed: wave number, or degree on spheres")
      .within(1, 1000)
      .used_by("start", {"perturbed"});
  l.add("amplitude", p.amplitude, "perturbed, map: relative size")
      .within(-1, 1)
      .used_by("start", {"perturbed", "map"});
  l.add("concentration", p.concentration, "vmf: one for all bumps or one for each, 0 to 1e6")
      .within(-1e300, 1e300)
      .allow("comma-separated numbers")
      .used_by("start", {"vmf"});
  l.add("centres", p.centres,
        "vmf: angles in radians on the circle; three coordinates for each centre on S^2; default: "
        "one bump at angle 0, or about the axis")
      .within(-1e300, 1e300)
      .allow("comma-separated numbers")
      .used_by("start", {"vmf"});
  l.add("weights", p.weights, "vmf: one for each bump (default equal)")
      .within(-1e300, 1e300)
      .allow("comma-separated numbers")
      .used_by("start", {"vmf"});
  l.add("order", p.order, "wrapped-cauchy: order parameter R at the start")
      .within(0, 0.999)
      .used_by("start", {"wrapped-cauchy"});
  l.add("tokens-file", p.tokens_file, "tokens: one token a row").used_by("start", {"tokens"});
}

void add_solver(MeanfieldSetup& p, ParameterList& l) {
  l.group("Time and accuracy");
  l.add("time", p.time, "end time").within(0, 1e6);
  l.add("outputs", p.outputs, "number of equal times at which all is measured").within(1, 2000);
  l.add("tolerance", p.tolerance, "error of a mode or label per unit of time").within(1e-14, 0.01);
  l.add("form", p.form,
        "spectral: modes of the density; labels: moving points that carry it, which survive "
        "concentration; auto: spectral where there is a choice");
  l.add("symmetry", p.symmetry,
        "zonal: the density keeps an axis; none: circle, S^2 or tokens; auto: zonal for dim > 2 "
        "unless centres or tokens are given");
  l.add("modes", p.modes,
        "modes (on spheres 1024 at most), or labels (16 at least; on S^2 8 to 100 heights of a "
        "grid); 0: modes are doubled as needed, up to 1024 on the circle and 256 with an axis, or "
        "2048 labels on the circle, 512 with an axis, 20 heights")
      .within(0, 100'000);
}

void add_comparison(MeanfieldSetup& p, ParameterList& l) {
  l.group("Comparison with tokens");
  l.add("compare-particles", p.compare_particles,
        "numbers n of independent tokens to compare with the density at the end")
      .within(2, 1e6)
      .counts()
      .allow("comma-separated whole numbers, 2 to 1000000; on spheres n^2 dim <= 3e9");
  l.add("replicates", p.replicates, "independent sets of tokens for each n")
      .within(2, 100'000)
      .used_if(!p.compare_particles.empty(), "compare-particles");
  l.add("seed", p.seed, "seed of every random draw");
}

std::vector<std::size_t> particle_numbers(const MeanfieldSetup& p, const MeanfieldKind& kind) {
  std::vector<std::size_t> result;
  for (const double n : p.compare_particles) {
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

Compared compare(const MeanfieldSetup& p, const MeanfieldKind& kind, const MeanfieldRecord& record,
                 std::vector<std::size_t> tokens, Pieces& pieces, const Context& context) {
  context.tell(0.5, "tokens for comparison");
  const EndLabels labels = labels_at_end(p, kind, record, pieces, context);
  if (!labels.complete) return {.labels_complete = false};
  const auto name = [](std::size_t n) { return fmt::format("{} tokens", n); };
  const meanfield::ComparisonPlan plan{
      .tokens = std::move(tokens),
      .replicates = p.replicates,
      .seed = p.seed,
      .tolerance = std::max(p.tolerance, 1e-8),
      .stop = context.stop,
      .known = [&](std::size_t n) { return pieces.find<ComparisonRow>(name(n)); },
      .finished = [&](const ComparisonRow& row) { pieces.keep(name(row.tokens), row); }};
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
    return "the labels that tokens are compared with did not reach the end; shorten time or loosen "
           "tolerance";
  if (!compared.rows.complete) return "a run of tokens did not reach its time; loosen tolerance";
  for (const ComparisonRow& row : compared.rows.rows)
    if (!(compared.label_error <= 0.1 * row.rms_moment))
      return fmt::format(
          "{} tokens are as close to the density ({:.1e}) as the labels that stand for it "
          "({:.1e}); "
          "compare fewer, or take form labels with more modes",
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

void add_history(const MeanfieldSetup& p, const MeanfieldRecord& r, Result& answer) {
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

void add_values(const MeanfieldSetup& p, const MeanfieldKind& kind, const MeanfieldRecord& r,
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
  if (p.start == StartLaw::perturbed) {
    v["growth_measured"] = number(r.complete() ? r.growth_measured : kNan);
    v["growth_linear"] = number(r.growth_linear);
    v["growth_error"] = number(r.errors.growth);
  }
  v["order_error"] = number(r.errors.order);
  v["energy_error"] = number(r.errors.energy);
  v["entropy_error"] = number(r.errors.entropy);
  v["density_error"] = number(r.errors.density);
}

// ---- The page.

/// At most so many of the moments are played.
constexpr std::size_t kPlayed = 60;

DensityHistory density_history(const MeanfieldKind& kind, const MeanfieldRecord& r) {
  DensityHistory history{.circle = kind.geometry == Geometry::circle, .angles = r.angles};
  const std::size_t stride = (r.history.size() + kPlayed - 1) / kPlayed;
  for (std::size_t k = 0; k < r.history.size(); ++k) {
    if (k % stride != 0 && k + 1 != r.history.size()) continue;
    history.times.push_back(r.history[k].time);
    history.density.push_back(r.density[k]);
  }
  return history;
}

std::vector<Tile> meanfield_tiles(const MeanfieldKind& kind, const MeanfieldRecord& r,
                                  const Comparison& compared) {
  std::vector<Tile> all;
  if (!r.complete()) {
    add_tile(all, "reached", "t = " + rounded(r.reached), "where the run ended");
    return all;
  }
  const MeanfieldMoment& end = r.history.back();
  if (!r.density.empty()) {
    const std::vector<double>& last = r.density.back();
    add_tile(all, "crowds", grouped(crowds(last, kind.geometry == Geometry::circle)),
             "places 5 % denser than uniform");
    add_tile(all, "densest place", rounded(*std::max_element(last.begin(), last.end())),
             "times the uniform density");
  }
  const bool known = end.order > r.errors.order;
  add_tile(all, "order parameter", known ? rounded(end.order) : "0",
           std::isfinite(r.errors.order) ? "error below " + rounded(r.errors.order)
                                         : "length of the mean token");
  if (std::isfinite(r.growth_measured) && std::isfinite(r.growth_linear) && r.growth_linear != 0)
    add_tile(all, "growth of the mode", rounded(r.growth_measured),
             "linear theory: " + rounded(r.growth_linear));
  if (!compared.rows.empty())
    add_tile(all, "slope of the distance", rounded(compared.moment_slope.value),
             "of n tokens against n; theory: −½");
  add_tile(all, "energy", rounded(std::exp(end.log_energy)), "of interaction");
  add_tile(all, kind.spectral ? "modes" : "labels", grouped(r.modes),
           std::isfinite(r.errors.density) ? "error of the density " + rounded(r.errors.density)
                                           : "that describe the density");
  if (all.size() > kMostTiles) all.resize(kMostTiles);
  return all;
}

Page meanfield_page(const MeanfieldKind& kind, const MeanfieldRecord& r, const Comparison& compared,
                    const std::string& failed) {
  Page page{.tiles = meanfield_tiles(kind, r, compared)};
  if (!failed.empty()) page.warnings.push_back(failed);
  if (!r.density.empty() && r.history.size() > 1)
    page.scene = density_scene(density_history(kind, r));
  return page;
}

}  // namespace

std::span<const std::string_view> names(StartLaw) {
  static constexpr std::string_view kNames[] = {"perturbed", "vmf", "wrapped-cauchy", "map",
                                                "tokens"};
  return kNames;
}

std::span<const std::string_view> names(DensityForm) {
  static constexpr std::string_view kNames[] = {"spectral", "labels"};
  return kNames;
}

std::span<const std::string_view> names(Symmetry) {
  static constexpr std::string_view kNames[] = {"zonal", "none"};
  return kNames;
}

ParameterList list(MeanfieldSetup& p) {
  ParameterList l;
  for (const auto add : {add_dynamics, add_start, add_solver, add_comparison}) add(p, l);
  l.short_help({"dynamics", "dim", "beta", "noise", "start", "mode", "concentration", "tokens-file",
                "time", "compare-particles"});
  return l;
}

Result ask(const MeanfieldSetup& p, const Context& context) {
  const MeanfieldKind kind = kind_of(p);
  const std::vector<std::size_t> tokens = particle_numbers(p, kind);
  Pieces pieces(context, setup_words(p));
  const MeanfieldRecord record = run_meanfield(p, kind, pieces, context);
  Compared compared;
  if (!tokens.empty() && record.complete())
    compared = compare(p, kind, record, tokens, pieces, context);
  if (context.stopped()) {
    pieces.save();
    return {.interrupted = fmt::format("at t = {:.4g}", record.reached)};
  }
  Result answer{.title = "Mean field of attention",
                .headline = meanfield_headline(p, kind, record)};
  add_values(p, kind, record, answer);
  if (!compared.rows.rows.empty()) add_comparison(compared.rows, answer);
  add_history(p, record, answer);
  answer.not_delivered = what_failed(p, kind, record);
  if (answer.not_delivered.empty()) answer.not_delivered = what_comparison_failed(compared);
  answer.remarks = meanfield_remarks(p, kind, record);
  answer.draw = [=] { return meanfield_figures(p, kind, record, compared.rows); };
  answer.page = [=, failed = answer.not_delivered] {
    return meanfield_page(kind, record, compared.rows, failed);
  };
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
      .make = ask_request<MeanfieldSetup>};
}

}  // namespace attractor::lab
