#include "attractor/commands/phase_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/commands/command.hpp"
#include "attractor/depth/batch_flow.hpp"
#include "attractor/lab/number_list.hpp"
#include "attractor/lab/pieces.hpp"
#include "attractor/reductions/equiangular.hpp"

namespace attractor::lab {
namespace {

using depth::BatchPlan;
using depth::BatchResult;

double end_of(const PhaseSetup& p) {
  if (p.time > 0) return p.time;
  return p.dynamics == Rule::unnormalised ? 1 : 30;
}

std::string text_of(PhaseSetup p, std::string_view name) { return find(list(p), name).text(); }

BatchPlan plan_of(const PhaseSetup& p, const Context& context) {
  BatchPlan plan{.replicates = p.replicates,
                 .tokens = p.tokens,
                 .dim = p.dim,
                 .rule = p.dynamics,
                 .betas = p.beta.values,
                 .method = p.scheme,
                 .threshold = p.threshold,
                 .seed = p.seed,
                 .first_system = p.first_replicate,
                 .stop = context.stop,
                 .progress = [&context](double share) { context.tell(share, "systems"); }};
  if (plan.betas.empty()) throw Error("beta is empty; it needs at least one number");
  if (!std::is_sorted(plan.betas.begin(), plan.betas.end()))
    throw Error(fmt::format("beta = '{}' must ascend", text_of(p, "beta")));
  for (const double beta : plan.betas)
    plan.steps.push_back(plan.rule == Rule::unnormalised ? depth::unnormalised_step(p.step, beta)
                                                         : p.step);
  for (std::uint64_t k = 1; k <= p.outputs; ++k)
    plan.outputs.push_back(end_of(p) * static_cast<double>(k) / static_cast<double>(p.outputs));
  return plan;
}

/// When equiangular tokens that start orthogonal reach the threshold; NaN beyond any double.
double equiangular_time(const PhaseSetup& p, double beta) {
  const meanfield::EquiangularFlow flow(
      {.tokens = static_cast<double>(p.tokens), .beta = beta, .rule = p.dynamics});
  const meanfield::Arrival arrival = flow.arrival(p.threshold);
  return arrival.status == meanfield::Arrival::Status::reached ? arrival.time() : kNan;
}

/// When the fraction first reaches one half, between output times linearly; NaN: not in this run.
double half_time(const BatchPlan& plan, const BatchResult& r, std::size_t beta) {
  double t0 = 0, f0 = 0;
  for (std::size_t k = 0; k < plan.outputs.size(); ++k) {
    const double f = r.mean_at(beta, k);
    if (f >= 0.5) return t0 + (plan.outputs[k] - t0) * (0.5 - f0) / (f - f0);
    t0 = plan.outputs[k];
    f0 = f;
  }
  return kNan;
}

Table diagram(const BatchPlan& plan, const BatchResult& r) {
  Table table{.name = "diagram",
              .title = "P(⟨x_{i},x_{j}⟩ ≥ threshold)",
              .columns = {"beta", "time", "fraction", "error"},
              .only_data = true};
  for (std::size_t b = 0; b < plan.betas.size(); ++b)
    for (std::size_t k = 0; k < plan.outputs.size(); ++k)
      table.rows.push_back({plan.betas[b], plan.outputs[k], r.mean_at(b, k), r.error_at(b, k)});
  return table;
}

Table curves(const PhaseSetup& p, const BatchPlan& plan, const BatchResult& r) {
  Table table{
      .name = "curves",
      .title = "When half of all pairs have met, and when equiangular tokens would",
      .columns = {"beta", "half_time", "equiangular_time", "final_fraction", "final_error"}};
  for (std::size_t b = 0; b < plan.betas.size(); ++b)
    table.rows.push_back({plan.betas[b], half_time(plan, r, b), equiangular_time(p, plan.betas[b]),
                          r.mean_at(b, plan.outputs.size() - 1),
                          r.error_at(b, plan.outputs.size() - 1)});
  return table;
}

std::vector<Tile> phase_tiles(const PhaseSetup& p, const BatchPlan& plan,
                              const Table& curve_table) {
  const std::vector<double>& last = curve_table.rows.back();
  const std::string at = fmt::format("at β = {:.4g}", last[0]);
  std::vector<Tile> all;
  add_tile(all, "pairs that have met", fmt::format("{:.3g} %", 100 * last[3]),
           fmt::format("± {:.2g} %, {}, t = {:.4g}", 100 * last[4], at, end_of(p)));
  add_tile(all, "half of all pairs", std::isnan(last[1]) ? "not yet" : "t = " + rounded(last[1]),
           at);
  if (std::isfinite(last[2]))
    add_tile(all, "equiangular tokens", "t = " + rounded(last[2]),
             fmt::format("reach cosine {} {}", p.threshold, at));
  add_tile(all, "systems", grouped(p.replicates * plan.betas.size()),
           fmt::format("{} for each β", grouped(p.replicates)));
  return all;
}

/// One temperature: a curve instead of a map.
PageFigure fraction_figure(const PhaseSetup& p, const BatchPlan& plan, const BatchResult& r) {
  Series share = curve(report::kBlue, 2.4);
  add_point(share, 0, 0);
  for (std::size_t k = 0; k < plan.outputs.size(); ++k)
    add_point(share, plan.outputs[k], r.mean_at(0, k));
  return plot(
      "phase", "Which pairs have met", {.label = "time t"},
      {.label = "share of pairs", .low = 0, .high = 1.04}, {std::move(share)},
      fmt::format("Share of pairs with cosine at least {}, mean of {} systems of {} tokens in "
                  "dimension {}.",
                  p.threshold, grouped(p.replicates), grouped(p.tokens), grouped(p.dim)));
}

std::vector<PageFigure> figures(const PhaseSetup& p, const BatchPlan& plan, const BatchResult& r,
                                const Table& curve_table) {
  if (plan.outputs.size() < 2) return {};
  if (plan.betas.size() < 2) return {fraction_figure(p, plan, r)};
  report::Heat heat{.x = plan.betas, .y = plan.outputs, .value = {}, .label = "fraction of pairs"};
  for (std::size_t k = 0; k < plan.outputs.size(); ++k)
    for (std::size_t b = 0; b < plan.betas.size(); ++b) heat.value.push_back(r.mean_at(b, k));
  report::Series theory = report::curve(report::kVermillion, 3);
  theory.title = "equiangular tokens";
  for (const std::vector<double>& row : curve_table.rows)
    report::add_point(theory, row[0], row[2] <= end_of(p) ? row[2] : kNan);
  report::Panel panel{.x = {.label = "inverse temperature β"},
                      .y = {.label = "time t"},
                      .heat = std::move(heat),
                      .series = {std::move(theory)}};
  PageFigure figure =
      plot("phase", "Which pairs have met", std::move(panel),
           fmt::format("Share of pairs with cosine at least {}, mean of {} systems of {} tokens in "
                       "dimension {}; the line is where equiangular tokens reach that cosine.",
                       p.threshold, grouped(p.replicates), grouped(p.tokens), grouped(p.dim)));
  figure.figure.width = 640;
  figure.figure.height = 460;
  return {std::move(figure)};
}

}  // namespace

ParameterList list(PhaseSetup& p) {
  ParameterList l;
  l.group("Model");
  l.add("dynamics", p.dynamics, "softmax (sa) or unnormalised (usa) attention")
      .among({Rule::softmax, Rule::unnormalised});
  l.add("tokens", p.tokens, "tokens of each system").within(2, 512);
  l.add("dim", p.dim, "dimension; the tokens start uniformly on the unit sphere").within(2, 1e6);
  l.add("beta", p.beta, "inverse temperatures, ascending")
      .within(0, 1e4)
      .allow("numbers from 0 to 1e4, comma-separated, or from:to:count");
  l.add("threshold", p.threshold, "cosine from which on a pair counts as one").within(-1, 1);
  l.group("Sampling");
  l.add("time", p.time, "end; 0: 30 for sa, 1 for usa").within(0, 1e6);
  l.add("outputs", p.outputs, "times at which pairs are counted, evenly spaced").within(1, 1e5);
  l.add("scheme", p.scheme,
        "layers: x <- normalise(x + step A), as published; euler, rk4: the flow");
  l.add("step", p.step, "of time; usa divides it by max(1, sqrt(beta) e^(beta - 1/2))")
      .within(1e-6, 1);
  l.add("replicates", p.replicates, "systems for each beta").within(1, 1e8);
  l.add("seed", p.seed, "of the starts");
  l.add("first-replicate", p.first_replicate,
        "number of the first start: parts of one diagram share a seed")
      .within(0, 1e15);
  l.short_help({"dynamics", "tokens", "dim", "beta", "time", "replicates", "seed"});
  return l;
}

Result ask(const PhaseSetup& p, const Context& context) {
  check_setup(p);
  BatchPlan plan = plan_of(p, context);
  Pieces pieces(context, setup_words(p));
  plan.safe_point = [&](const depth::BatchProgress& so_far) { pieces.follow("systems", so_far); };
  const BatchResult r = run_batch(
      plan, pieces.find<depth::BatchProgress>("systems").value_or(depth::BatchProgress{}));
  plan.safe_point = {};
  if (r.stopped) pieces.save();
  Result answer{.title = "Phase diagram", .headline = {}};
  if (r.stopped) answer.interrupted = "between two batches of systems";
  const Table curve_table = curves(p, plan, r);
  const std::vector<double>& last = curve_table.rows.back();
  answer.headline = fmt::format(
      "{:.3g} ± {:.2g} % of all pairs have met by t = {:.4g} at β = {:.4g}: {} systems of {} "
      "tokens in "
      "dimension {}{}",
      100 * last[3], 100 * last[4], end_of(p), last[0], grouped(p.replicates), grouped(p.tokens),
      grouped(p.dim),
      plan.betas.size() > 1 ? fmt::format(" for each of {} inverse temperatures", plan.betas.size())
                            : "");
  answer.tiles = phase_tiles(p, plan, curve_table);
  answer.values["end_time"] = end_of(p);
  answer.values["final_fraction"] = number(last[3]);
  answer.values["final_error"] = number(last[4]);
  answer.values["half_time"] = number(last[1]);
  answer.values["equiangular_time"] = number(last[2]);
  answer.tables = {curve_table, diagram(plan, r)};
  if (p.scheme == depth::BatchMethod::layers)
    answer.remarks.push_back(
        "The scheme x <- normalise(x + step A) lags the flow; scheme rk4 shows the flow.");
  answer.draw = [=] { return figures(p, plan, r, curve_table); };
  return answer;
}

Command phase_command() {
  return {.name = "phase",
          .about = "Phase diagram of many small systems: which pairs have met, over beta and time",
          .examples =
              "  attractor phase --dim 2 --beta 0.1:9:90 --out phases\n"
              "  attractor phase --dim 128 --beta 1,3,5,7,9 --replicates 256 --scheme rk4\n"
              "The published diagrams have 2048 replicates: --replicates 2048.",
          .make = ask_request<PhaseSetup>};
}

}  // namespace attractor::lab
