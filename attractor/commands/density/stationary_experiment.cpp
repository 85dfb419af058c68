#include "attractor/commands/density/stationary_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/commands/density/stationary_figures.hpp"
#include "attractor/lab/pieces.hpp"

namespace attractor::lab {
namespace {

using meanfield::Branch;
using meanfield::HysteresisProgress;
using meanfield::NoisyAttention;
using meanfield::StationarySolver;
using meanfield::StationaryState;

constexpr double kUsualLeast = 0.05;  // of kappa_#, where the branch ends
constexpr std::uint64_t kMostDim = 200;

/// Up to here the branch is followed to its end within seconds. Unnormalised attention in high
/// dimension: beyond, R turns back (bifurcation.hpp).
double most_beta(Rule rule, std::uint64_t dim) {
  if (rule == Rule::softmax) return dim <= 20 ? 100 : 40;
  return dim <= 3 ? 100 : dim == 4 ? 50 : dim == 5 ? 20 : dim <= 9 ? 10 : 5;
}

void check(const StationarySetup& p) {
  check_setup(p);
  if (p.particles > 0 && p.dim != 2)
    throw Error(fmt::format("particles need the circle; dim = {} is not allowed: 2", p.dim));
  const double most = most_beta(p.dynamics, p.dim);
  if (!(p.beta <= most))
    throw Error(
        fmt::format("beta = {} is not allowed with {} in dimension {}: 0 to {}; the critical noise "
                    "at any beta is told by stability",
                    p.beta, name(p.dynamics), p.dim, most));
  if (p.noise && p.noise_ratio)
    throw Error("noise and noise-ratio are given both; allowed: one of them");
}

std::optional<double> asked_ratio(const StationarySetup& p, double log_critical) {
  if (p.noise) return std::exp(std::log(*p.noise) - log_critical);
  return p.noise_ratio;
}

bool discontinuous(const NoisyAttention& model) { return meanfield::branch_curvature(model) > 0; }

// ---- What is computed beside the branch.

void add_states(StationarySolver& solver, StationaryRecord& r) {
  if (!r.noise_ratio) return;
  r.states = states_at(solver, r.branch, *r.noise_ratio);
  constexpr int kParts = 240;
  for (const StationaryState& state : r.states) {
    std::vector<double>& density = r.densities.emplace_back();
    for (int k = 0; k <= kParts; ++k)
      density.push_back(
          std::exp(solver.log_density(state, std::cos(std::numbers::pi * k / kParts))));
  }
}

void add_diagram(StationaryRecord& r, Pieces& pieces, const Context& context) {
  const double star = meanfield::tricritical_beta(r.model.dim);
  const double most = std::max(2 * star, 1.25 * r.model.beta);
  constexpr int kPoints = 40;
  for (int k = 0; k <= kPoints && !context.stopped(); ++k) {
    NoisyAttention model = r.model;
    model.beta = star / 2 + (most - star / 2) * k / kPoints;
    r.diagram.push_back(pieces.get(fmt::format("diagram {}", k),
                                   [&] { return transition_point(model, context.stop); }));
    context.tell(static_cast<double>(k) / kPoints, "diagram");
  }
}

/// Levels from well below kappa_# to well above the fold.
void sweep(const StationarySetup& p, StationaryRecord& r, Pieces& pieces, const Context& context) {
  const double fold = r.branch.fold ? r.branch.fold->noise_ratio : 1;
  const double margin = std::max(0.04, 0.5 * (fold - 1));
  const double low = std::max(0.2, 1 - margin), high = fold + margin;
  meanfield::HysteresisPlan plan{.rule = r.model.rule,
                                 .beta = p.beta,
                                 .tokens = p.particles,
                                 .seed = p.seed,
                                 .settle = p.settle,
                                 .average = p.average,
                                 .stop = context.stop};
  const double parts = static_cast<double>(p.sweep_steps - 1);
  for (std::uint64_t k = 0; k < p.sweep_steps; ++k)
    plan.ratios.push_back(low + (high - low) * static_cast<double>(k) / parts);
  plan.report = [&](double done) { context.tell(done, "particles"); };
  plan.safe_point = [&](const HysteresisProgress& so_far) { pieces.keep("particles", so_far); };
  r.sweep = sweep_noise(
      plan, pieces.find<HysteresisProgress>("particles").value_or(HysteresisProgress{}));
}

// ---- Values and tables.

void add_values(const StationarySolver& solver, const StationaryRecord& r, Result& answer) {
  const double log_critical = solver.log_critical_noise();
  const bool jumps = discontinuous(r.model);
  const auto noise = [&](double ratio) { return number(std::exp(log_critical + std::log(ratio))); };
  Json& v = answer.values;
  v["critical_noise"] = noise(1);
  v["log_critical_noise"] = number(log_critical);
  v["tricritical_beta"] = r.model.rule == Rule::unnormalised
                              ? number(meanfield::tricritical_beta(r.model.dim))
                              : Json(nullptr);
  v["transition"] = jumps ? "discontinuous" : "continuous";
  v["branch_curvature"] = number(meanfield::branch_curvature(r.model));
  const auto add = [&](const std::string& name, const std::optional<StationaryState>& state) {
    v[name + "_noise"] = state ? noise(state->noise_ratio) : Json(nullptr);
    v[name + "_noise_ratio"] = state ? number(state->noise_ratio) : Json(nullptr);
  };
  add("fold", r.branch.fold);
  v["fold_order"] = r.branch.fold ? number(r.branch.fold->order) : Json(nullptr);
  add("transition", jumps ? r.branch.transition : solver.uniform(1));
  v["jump"] = !jumps                ? number(0)
              : r.branch.transition ? number(r.branch.transition->order)
                                    : Json(nullptr);
  if (!r.noise_ratio) return;
  v["noise"] = noise(*r.noise_ratio);
  v["noise_ratio"] = number(*r.noise_ratio);
}

const std::vector<std::string> kStateColumns = {
    "order_parameter", "free_energy", "free_energy_excess", "entropy", "gain", "stable"};

std::vector<double> state_row(const StationarySolver& solver, const StationaryState& s) {
  return {s.order, solver.free_energy(s), s.excess_energy, s.entropy,
          s.gain,  s.stable() ? 1.0 : 0.0};
}

void add_tables(const StationarySolver& solver, const StationaryRecord& r, Result& answer) {
  if (r.noise_ratio) {
    Table states{.name = "states",
                 .title = fmt::format("States at κ = {:.6g} κ_{{#}}", *r.noise_ratio),
                 .columns = kStateColumns,
                 .yes_no = {"stable"}};
    states.label_column = "state";
    states.labels.push_back("uniform");
    states.rows.push_back(state_row(solver, solver.uniform(*r.noise_ratio)));
    for (const StationaryState& state : r.states) {
      states.labels.push_back("ordered");
      states.rows.push_back(state_row(solver, state));
    }
    answer.tables.push_back(std::move(states));
  }
  Table branch{.name = "branch", .title = "Branch of ordered states", .columns = kStateColumns};
  branch.columns.insert(branch.columns.begin(), "noise_ratio");
  branch.only_data = true;
  for (const StationaryState& state : r.branch.states) {
    branch.rows.push_back(state_row(solver, state));
    branch.rows.back().insert(branch.rows.back().begin(), state.noise_ratio);
  }
  answer.tables.push_back(std::move(branch));
  if (!r.sweep.up.empty()) {
    Table table{.name = "sweep",
                .title = "Particles: noise raised, then lowered",
                .columns = {"noise_ratio", "order_parameter", "standard_error"}};
    table.label_column = "direction";
    for (const bool up : {true, false})
      for (const auto& level : up ? r.sweep.up : r.sweep.down) {
        table.labels.push_back(up ? "up" : "down");
        table.rows.push_back({level.noise_ratio, level.order, level.standard_error});
      }
    answer.tables.push_back(std::move(table));
  }
  if (r.diagram.empty()) return;
  Table diagram{.name = "diagram",
                .title = "Transition against β",
                .columns = {"beta", "log_critical_noise", "fold_noise_ratio", "fold_order",
                            "transition_noise_ratio", "jump"}};
  diagram.only_data = true;
  for (const auto& point : r.diagram)
    diagram.rows.push_back({point.beta, point.log_critical_noise, point.fold_ratio,
                            point.fold_order, point.transition_ratio, point.jump});
  answer.tables.push_back(std::move(diagram));
}

// ---- Words.

std::vector<Tile> stationary_tiles(const StationarySolver& solver, const StationaryRecord& r) {
  const double log_critical = solver.log_critical_noise();
  const auto noise = [&](double ratio) {
    return rounded(std::exp(log_critical + std::log(ratio)));
  };
  const bool jumps = discontinuous(r.model);
  std::vector<Tile> all;
  add_tile(all, "critical noise", noise(1), "below it the uniform state is unstable");
  if (jumps && r.branch.transition) {
    add_tile(all, "transition", noise(r.branch.transition->noise_ratio),
             fmt::format("{:.5g} of the critical noise", r.branch.transition->noise_ratio));
    add_tile(all, "jump of the order", rounded(r.branch.transition->order), "at the transition");
  }
  if (r.branch.fold)
    add_tile(
        all, "fold", noise(r.branch.fold->noise_ratio),
        fmt::format("{:.5g} of the critical noise; no order beyond", r.branch.fold->noise_ratio));
  if (!jumps) add_tile(all, "transition", "continuous", "order grows from 0 at the critical noise");
  if (r.model.rule == Rule::unnormalised)
    add_tile(all, "tricritical β", rounded(meanfield::tricritical_beta(r.model.dim)),
             "above it order jumps");
  if (r.noise_ratio) {
    const auto stable = std::count_if(r.states.begin(), r.states.end(),
                                      [](const StationaryState& s) { return s.stable(); });
    add_tile(all, "stable ordered states", grouped(static_cast<std::uint64_t>(stable)),
             fmt::format("at {:.5g} of the critical noise", *r.noise_ratio));
  }
  return all;
}

std::string headline(const StationaryRecord& r) {
  const std::string who = fmt::format("Noisy {} attention on S^{{{}}} at β = {:.6g}",
                                      r.model.rule == Rule::softmax ? "softmax" : "unnormalised",
                                      r.model.dim - 1, r.model.beta);
  if (!discontinuous(r.model)) return who + " orders continuously as noise falls below κ_{#}.";
  if (!r.branch.transition) return who + " orders by a jump, above κ_{#}.";
  return fmt::format(
      "{} orders by a jump to R = {:.4f} at κ_{{c}} = {:.6g} κ_{{#}}; between κ_{{#}} and {:.6g} "
      "κ_{{#}} the uniform and an ordered state are both stable.",
      who, r.branch.transition->order, r.branch.transition->noise_ratio,
      r.branch.fold->noise_ratio);
}

std::string not_followed(const StationaryRecord& r, double least) {
  if (r.branch.states.empty())
    return "No ordered state was found next to the uniform one; take a smaller beta.";
  const StationaryState& last = r.branch.states.back();
  // Beyond the noise asked for one more step of the branch, and a tenth, are needed.
  const double sure = 1.5 * last.noise_ratio;
  const bool less_noise = r.noise_ratio && *r.noise_ratio < sure;
  return fmt::format(
      "The branch of ordered states could be followed to {:.4g} of the critical noise (R = "
      "{:.6g}), "
      "not to {:.4g}; take {}.",
      last.noise_ratio, last.order, least,
      less_noise ? fmt::format("a noise ratio above {:.4g}", sure) : "a smaller beta");
}

void add_limits(const StationaryRecord& r, double least, Result& answer) {
  const bool jumps = discontinuous(r.model);
  if (r.model.rule == Rule::softmax)
    answer.remarks.push_back(
        "Softmax attention with noise descends no free energy in the Wasserstein metric: "
        "none is given, and stability is judged by the gain, the second eigenvalue of the "
        "attention matrix over beta "
        "kappa.");
  if (r.branch.complete && jumps != r.branch.discontinuous())
    answer.not_delivered = "beta is so close to the tricritical one that the fold is not resolved.";
  if (!r.branch.complete) answer.not_delivered = not_followed(r, least);
  if (flow::delivered(r.sweep.status) || r.sweep.status == flow::Status::interrupted) return;
  answer.not_delivered = fmt::format("The particles ended with '{}': {}.",
                                     flow::name(r.sweep.status), flow::remedy(r.sweep.status));
}

}  // namespace

ParameterList list(StationarySetup& p) {
  const char* particles = "particles, the tokens that sweep";
  ParameterList l;
  l.group("Attention and noise");
  l.add("dynamics", p.dynamics, "sa: softmax attention; usa: unnormalised")
      .among({Rule::softmax, Rule::unnormalised});
  l.add("dim", p.dim, "dimension d; 2 is the circle").within(2, static_cast<double>(kMostDim));
  l.add("beta", p.beta,
        "inverse temperature of attention; 0: Kuramoto. At most 40 with sa in dim > 20; with usa "
        "50 in dim 4, 20 in 5, 10 in 6 to 9, 5 above")
      .within(0, 100);
  l.add("noise", p.noise, "kappa of dX = drift dt + sqrt(2 kappa) dB")
      .above(0, 1e300)
      .otherwise("")
      .allow("a number above 0");
  l.add("noise-ratio", p.noise_ratio, "the same in units of the critical noise")
      .above(0, 1e300)
      .otherwise("")
      .allow("a number above 0");
  l.add("diagram", p.diagram, "also the transition against beta");
  l.group("Particles");
  l.add("particles", p.particles, "tokens on the circle that sweep the noise up and down; 0: none")
      .within(0, 1e6);
  l.add("seed", p.seed, "seed of every draw");
  l.add("sweep-steps", p.sweep_steps, "levels of noise, each way")
      .within(2, 200)
      .used_if(p.particles > 0, particles);
  l.add("settle", p.settle, "time at each level before averaging, units of 1 / critical noise")
      .within(0, 1e6)
      .used_if(p.particles > 0, particles);
  l.add("average", p.average, "time averaged over, the same units")
      .above(0, 1e6)
      .used_if(p.particles > 0, particles);
  l.short_help({"dynamics", "dim", "beta", "noise", "noise-ratio", "diagram", "particles"});
  return l;
}

Result ask(const StationarySetup& p, const Context& context) {
  check(p);
  const auto record = std::make_shared<StationaryRecord>();
  StationaryRecord& r = *record;
  r.model = {.rule = p.dynamics, .dim = p.dim, .beta = p.beta};
  StationarySolver solver(r.model, context.stop);
  r.noise_ratio = asked_ratio(p, solver.log_critical_noise());
  const double least = std::min(kUsualLeast, 0.9 * r.noise_ratio.value_or(1));
  Pieces pieces(context, setup_words(p));
  r.branch = pieces.get("branch", [&] { return trace_branch(solver, least); });
  add_states(solver, r);
  if (p.diagram) add_diagram(r, pieces, context);
  if (p.particles > 0) sweep(p, r, pieces, context);
  if (context.stopped()) {
    pieces.save();
    return {.interrupted = kBeforeItsEnd};
  }
  Result answer{.title = "Stationary states of noisy attention", .headline = headline(r)};
  add_values(solver, r, answer);
  answer.tiles = stationary_tiles(solver, r);
  add_tables(solver, r, answer);
  add_limits(r, least, answer);
  answer.draw = [record] { return stationary_figures(*record); };
  return answer;
}

Command stationary_command() {
  return {.name = "stationary",
          .about = "Stationary states of noisy attention and their bifurcation diagram",
          .examples =
              "  attractor stationary --dynamics usa --beta 4 --noise-ratio 1.03 --out noise\n"
              "  attractor stationary --dynamics sa --dim 3 --beta 2 --noise 0.2\n"
              "  attractor stationary --dynamics usa --beta 9 --particles 500 --out hysteresis\n"
              "Theory: docs/theory/noise.md.",
          .make = ask_request<StationarySetup>};
}

}  // namespace attractor::lab
