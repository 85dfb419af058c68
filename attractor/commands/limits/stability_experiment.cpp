#include "attractor/commands/limits/stability_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/commands/limits/stability_figures.hpp"
#include "attractor/mean_field/cluster_count.hpp"
#include "attractor/stability/stability.hpp"

namespace attractor::lab {
namespace {

using meanfield::ClusterHistory;
using meanfield::ClusterMoment;
using meanfield::Stability;

constexpr std::size_t kMostListed = 200;  // listed unless more are asked for

std::size_t listed_modes(const StabilitySetup& p) {
  if (p.modes > 0) return p.modes;
  return std::clamp<std::size_t>(last_mode(p, 1e-6), 5, kMostListed);
}

constexpr double kLongest = 1e4;  // e-foldings of a run

std::string words(const flow::Time& time) {
  return time.value() > 1e-300 && std::isfinite(time.value()) ? fmt::format("{:.3g}", time.value())
                                                              : fmt::format("e^{:.6g}", time.log());
}

void check(const StabilitySetup& p) {
  check_setup(p);
  if (p.observe == 0) return;
  if (p.dim != 2)
    throw Error(
        fmt::format("observe needs dim = 2, not {}: tokens are counted on the circle", p.dim));
  if (p.beta < 0)
    throw Error(fmt::format(
        "observe needs beta of at least 0, not {}: below it clusters are counted in a flow",
        p.beta));
  if (p.noise > 0)
    throw Error(fmt::format("observe needs noise = 0, not {}: noisy clusters merge soon", p.noise));
  const std::size_t least = meanfield::least_tokens(p.beta);
  if (p.observe < least)
    throw Error(fmt::format(
        "observe = {} is not allowed at beta = {}; allowed: at least {} tokens (fewer are not "
        "uniform but stand alone, clusters of their own from the start)",
        p.observe, p.beta, least));
  const flow::Time most = meanfield::e_foldings(p.dynamics, p.beta, kLongest);
  if (most < flow::Time(p.time))
    throw Error(
        fmt::format("time = {} is not allowed; allowed: 0 to {}, {} e-foldings of the "
                    "fastest mode",
                    p.time, words(most), kLongest));
}

// ---- Observation.

std::vector<ClusterHistory> observe(const StabilitySetup& p, const Context& context) {
  std::vector<ClusterHistory> runs;
  const flow::Time end =
      p.time > 0 ? flow::Time(p.time) : meanfield::e_foldings(p.dynamics, p.beta, p.horizon);
  for (std::uint64_t r = 0; r < p.replicates && !context.stopped(); ++r) {
    context.tell(static_cast<double>(r) / static_cast<double>(p.replicates),
                 fmt::format("replicate {} of {}", r + 1, p.replicates));
    runs.push_back(meanfield::watch_clusters({.rule = p.dynamics,
                                              .beta = p.beta,
                                              .tokens = p.observe,
                                              .seed = p.seed,
                                              .replicate = r,
                                              .end = end,
                                              .stop = context.stop}));
  }
  return runs;
}

/// The count asked for; NaN where clusters did not form.
double count_of(const ClusterHistory& run, bool at_time) {
  if (run.moments.empty()) return kNan;
  const ClusterMoment* moment = at_time ? &run.moments.back() : run.formation();
  return moment ? static_cast<double>(moment->maxima) : kNan;
}

Table observed_table(const std::vector<ClusterHistory>& runs, bool at_time) {
  Table table{.name = "observed",
              .title = "Observed clusters, one row for each replicate",
              .columns = {"replicate", "clusters", "formed_after_e_foldings", "clusters_at_end"}};
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const ClusterHistory& run = runs[r];
    const ClusterMoment* formed = run.formation();
    table.rows.push_back({static_cast<double>(r), count_of(run, at_time),
                          formed ? formed->e_foldings : kNan, count_of(run, true)});
  }
  return table;
}

void add_observed(const StabilitySetup& p, const std::vector<ClusterHistory>& runs,
                  Result& answer) {
  const bool at_time = p.time > 0;
  double sum = 0;
  std::size_t formed = 0;
  Json each = Json::array();
  for (const ClusterHistory& run : runs) {
    const double count = count_of(run, at_time);
    each.push_back(number(count));
    if (std::isnan(count)) continue;
    sum += count;
    ++formed;
  }
  answer.values["observed_clusters"] =
      number(formed > 0 ? sum / static_cast<double>(formed) : kNan);
  answer.values["observed_per_replicate"] = each;
  const double growing = std::log(static_cast<double>(p.observe)) / 2;
  answer.values["linear_phase_maxima"] =
      number(meanfield::expected_density_maxima(p.beta, growing));
  answer.tables.push_back(observed_table(runs, at_time));
  answer.remarks.push_back(
      "Independent tokens start all modes alike, not the fastest alone. When its growth ends, "
      "after "
      "ln sqrt(n) e-foldings, their density has as many maxima on average as \"linear phase "
      "maxima\" "
      "says (Rice); irregular neighbours merge while they form and later, so fewer clusters than "
      "predicted are "
      "seen, and fewer with time.");
  for (const ClusterHistory& run : runs)
    if (!flow::delivered(run.status) && run.status != flow::Status::interrupted)
      answer.not_delivered = fmt::format("a run of tokens ended early ({}); {}",
                                         flow::name(run.status), flow::remedy(run.status));
  if (formed < runs.size() && answer.not_delivered.empty())
    answer.not_delivered = fmt::format(
        "in {} of {} replicates no clusters had formed after {} e-foldings; use a longer horizon",
        runs.size() - formed, runs.size(), p.horizon);
}

// ---- In words.

std::string growth_words(const Stability& s) {
  const double growth = s.growth(s.fastest);
  return std::isfinite(growth) ? rounded(growth)
                               : fmt::format("e^{{{:.6g}}}", s.log_growth(s.fastest));
}

std::string headline(const StabilitySetup& p, const Stability& s) {
  const std::string tokens = fmt::format(
      "Uniform tokens {} at β = {:.6g}",
      p.dim == 2 ? "on the circle" : "on the sphere S" + superscript(p.dim - 1), p.beta);
  if (!s.is_unstable())
    return fmt::format("{} stay uniform: noise κ = {:.4g} is not below the critical {}.", tokens,
                       p.noise, rounded(s.critical_noise()));
  const char* what = p.dim == 2 ? "wave number" : "degree";
  return fmt::format("{} break up: {} {} grows fastest, at rate {}.", tokens, what, s.fastest,
                     growth_words(s));
}

// ---- Values.

void add_rates(std::size_t modes, const Stability& s, Result& answer) {
  Json rates = Json::array();
  Table table{.name = "modes",
              .title = "Modes",
              .columns = {"degree", "growth", "log_growth"},
              .only_data = true};
  for (std::size_t l = 1; l <= modes; ++l) {
    rates.push_back(number(s.growth(l)));
    table.rows.push_back({static_cast<double>(l), s.growth(l), s.log_growth(l)});
  }
  answer.values["growth_rates"] = rates;
  answer.tables.push_back(table);
}

void add_values(const StabilitySetup& p, std::size_t modes, const Stability& s, Result& answer) {
  Json& v = answer.values;
  const bool circle = p.dim == 2;
  v["fastest_mode"] = s.fastest;
  v["growth"] = number(s.growth(s.fastest));
  v["log_growth"] = number(s.log_growth(s.fastest));
  v["runner_up"] = s.runner_up;
  v["runner_up_ratio"] = number(s.runner_up_ratio());
  v["critical_noise"] = number(s.critical_noise());
  v["log_critical_noise"] = number(s.log_critical_noise());
  v["unstable_modes"] = s.unstable == meanfield::kEveryMode ? Json() : Json(s.unstable);
  v["rule_of_thumb"] = number(meanfield::fastest_mode_rule(p.dim, p.beta));
  v["predicted_clusters"] = s.predicted_clusters();
  v["tricritical_beta"] = number(meanfield::tricritical_beta(p.dim));
  v["kde_maxima"] = number(circle ? meanfield::expected_density_maxima(p.beta) : kNan);
  add_rates(modes, s, answer);
  if (s.unstable == meanfield::kEveryMode)
    answer.remarks.push_back(p.beta < 0 ? "Without noise every odd mode grows; even ones decay."
                                        : "Without noise every mode grows.");
  if (!circle && s.is_unstable())
    answer.remarks.push_back(
        "On a sphere clusters are predicted along a great circle: their number is the degree of "
        "the "
        "fastest harmonics.");
}

std::vector<Tile> stability_tiles(const StabilitySetup& p, const Stability& s) {
  std::vector<Tile> all;
  const std::string clusters = grouped(s.predicted_clusters());
  add_tile(all, "clusters expected", s.is_unstable() ? clusters : "none",
           !s.is_unstable() ? "the uniform state is stable"
           : p.dim == 2     ? "the fastest mode"
                            : "along a great circle: the fastest mode");
  add_tile(all, "growth rate", growth_words(s), "of the fastest mode");
  add_tile(all, "rule of thumb", rounded(meanfield::fastest_mode_rule(p.dim, p.beta)),
           p.dim == 2 ? "√(2|β|)" : "root of l (l + d − 2) = 2|β|");
  add_tile(all, "second fastest mode", grouped(s.runner_up),
           fmt::format("grows at {} of the fastest rate", rounded(s.runner_up_ratio())));
  const char* every = p.beta < 0 ? "all odd ones" : "all";
  add_tile(all, "growing modes", s.unstable == meanfield::kEveryMode ? every : grouped(s.unstable),
           p.noise > 0 ? fmt::format("at noise κ = {}", rounded(p.noise)) : "without noise");
  add_tile(all, "critical noise", rounded(s.critical_noise()), "above it nothing grows");
  return all;
}

}  // namespace

ParameterList list(StabilitySetup& p) {
  const char* count = "observe, the number of tokens to count with";
  ParameterList l;
  l.group("Model");
  l.add("dynamics", p.dynamics, "sa: softmax attention; usa: unnormalised")
      .among({Rule::softmax, Rule::unnormalised});
  l.add("dim", p.dim, "dimension d of the sphere S^{d-1}").within(2, 1e4);
  l.add("beta", p.beta, "inverse temperature; below 0 tokens attend most to those far away")
      .within(-1e6, 1e6);
  l.add("noise", p.noise, "kappa of sqrt(2 kappa) dB").within(0, 1e300);
  l.add("modes", p.modes,
        "degrees listed in growth_rates; 0: until they are negligible, at most 200")
      .within(0, 1e5);
  l.group("Observation with tokens on the circle");
  l.add("observe", p.observe,
        "count the clusters of so many independent uniform tokens, at least about 4 sqrt(pi "
        "beta); 0: theory only")
      .within(0, 1e7);
  l.add("replicates", p.replicates, "independent starts")
      .within(1, 1000)
      .used_if(p.observe > 0, count);
  l.add("seed", p.seed, "seed of every random draw");
  l.add("horizon", p.horizon, "end of the runs, in e-foldings of the fastest mode")
      .above(0, kLongest)
      .used_if(p.observe > 0, count);
  l.add("time", p.time,
        "count at this time, at most 10000 e-foldings; 0: when clusters have formed")
      .at_least(0)
      .used_if(p.observe > 0, count);
  l.short_help({"dynamics", "dim", "beta", "noise", "observe", "replicates"});
  return l;
}

Result ask(const StabilitySetup& p, const Context& context) {
  check(p);
  const std::size_t modes = listed_modes(p);
  const Stability s = meanfield::stability(state_of(p), modes);
  Result answer{.title = "Stability of uniform tokens", .headline = headline(p, s)};
  add_values(p, modes, s, answer);
  answer.tiles = stability_tiles(p, s);
  std::vector<ClusterHistory> runs;
  if (p.observe > 0) {
    runs = observe(p, context);
    add_observed(p, runs, answer);
    if (const Json& seen = answer.values["observed_clusters"]; seen.is_number())
      answer.tiles[2] = {
          "clusters seen", rounded(seen.get<double>()),
          fmt::format("mean of {} runs of {} tokens", p.replicates, grouped(p.observe))};
  }
  answer.draw = [p, runs] { return stability_figures(p, runs); };
  return answer;
}

Command stability_command() {
  return {.name = "stability",
          .about = "Growth of every mode of the uniform state; how many clusters to expect",
          .examples =
              "  attractor stability --dim 2 --beta 25\n"
              "  attractor stability --dim 2 --beta -9\n"
              "  attractor stability --dynamics usa --dim 3 --beta 9 --noise 0.5 --out modes\n"
              "  attractor stability --dim 2 --beta 25 --observe 20000\n"
              "Theory: docs/theory/stability.md.",
          .make = ask_request<StabilitySetup>};
}

}  // namespace attractor::lab
