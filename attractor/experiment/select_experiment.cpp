#include "attractor/experiment/select_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "attractor/base/version.hpp"

namespace attractor::experiment {
namespace {

using Json = nlohmann::ordered_json;
using training::Descent;

Json number(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

double cosine(std::span<const double> a, std::span<const double> b) {
  const double lengths = norm(a) * norm(b);
  return lengths > 0 ? dot(a, b) / lengths : std::numeric_limits<double>::quiet_NaN();
}

Descent descent_of(const SelectParameters& p) {
  if (p.optimizer == "ngd") return Descent::normalised;
  if (p.optimizer == "published") return Descent::published;
  return Descent::gradient;
}

// Gradient descent is explicit Euler; the flow is integrated in time up to 10^log10_time.
flow::Status train(const SelectParameters& p, const training::Prompt& prompt,
                   flow::Progress& progress, const std::function<bool()>& stop) {
  training::PromptFlow flow(prompt, descent_of(p), p.epsilon);
  flow::Hooks hooks;
  hooks.stop = stop;
  if (p.optimizer == "flow")
    return flow::run(
        flow, flow::dormand_prince(),
        {.end = flow::Time(1, p.log10_time * std::numbers::ln10), .tolerance = p.tolerance},
        progress, hooks);
  const double end = p.step * static_cast<double>(p.steps);
  return flow::run(flow, flow::euler(),
                   {.end = flow::Time(end), .step = p.step, .max_steps = p.steps + 1}, progress,
                   hooks);
}

double smallest_selected_weight(const training::Prompt& prompt, std::span<const double> p,
                                const std::vector<std::size_t>& chosen) {
  const std::vector<double> weights = prompt.attention(p);
  double smallest = 1;
  for (std::size_t i = 0; i < chosen.size(); ++i)
    smallest = std::min(smallest, weights[i * prompt.tokens() + chosen[i]]);
  return smallest;
}

Json tokens_json(const std::vector<training::TokenMargin>& tokens) {
  Json list = Json::array();
  for (const training::TokenMargin& t : tokens)
    list.push_back({{"input", t.input}, {"token", t.token}, {"margin", t.margin}});
  return list;
}

std::string_view name(solve::HardMarginStatus status) {
  switch (status) {
    case solve::HardMarginStatus::optimal:
      return "optimal";
    case solve::HardMarginStatus::infeasible:
      return "infeasible";
    case solve::HardMarginStatus::precision_limit:
      return "precision_limit";
    case solve::HardMarginStatus::iteration_limit:
      return "iteration_limit";
  }
  return "unknown";
}

}  // namespace

ParameterList list(SelectParameters& p) {
  const std::string group = "Training";
  return {
      {.name = "train",
       .group = group,
       .help = "what is trained: the prompt p (v and W stay)",
       .target = &p.train,
       .choices = {"p"}},
      {.name = "loss",
       .group = group,
       .help = "of the signed output: -f, ln(1+e^-f), e^-f",
       .target = &p.loss,
       .choices = {"linear", "logistic", "exponential"}},
      {.name = "optimizer",
       .group = group,
       .help =
           "gd: p -= step grad; ngd: exactly normalised; published: grad/(|grad|+epsilon); flow: "
           "dp/dt = -grad up to 10^log10-time",
       .target = &p.optimizer,
       .choices = {"gd", "ngd", "published", "flow"}},
      {.name = "step",
       .group = group,
       .help = "step of gd, ngd and published",
       .target = &p.step,
       .least = 0,
       .most = 1e6,
       .above_least = true},
      {.name = "steps",
       .group = group,
       .help = "number of steps",
       .target = &p.steps,
       .least = 1,
       .most = 1e9},
      {.name = "epsilon",
       .group = group,
       .help = "published: added to the gradient's norm",
       .target = &p.epsilon,
       .least = 0,
       .most = 1},
      {.name = "log10-time",
       .group = group,
       .help = "flow: log10 of the end time",
       .target = &p.log10_time,
       .least = -10,
       .most = 1e6},
      {.name = "tolerance",
       .group = group,
       .help = "flow: error of p, relative to max(1, |p|)",
       .target = &p.tolerance,
       .least = 1e-14,
       .most = 0.1},
  };
}

SelectRecord run_select(const SelectParameters& p, const std::function<bool()>& stop) {
  const training::Problem problem = training::read_problem(p.data);
  const training::Prompt prompt(problem, training::loss_named(p.loss));
  training::require_distinct_keys(problem, prompt.keys());
  SelectRecord record{
      .parameters = p, .inputs = problem.inputs, .tokens = problem.tokens, .dim = problem.dim};
  flow::Progress progress{.state = problem.start};
  record.status = train(p, prompt, progress, stop);
  record.time = progress.time;
  record.steps = progress.steps;
  record.p = progress.state;
  record.saturated =
      record.status == flow::Status::complete && p.optimizer != "flow" && record.steps < p.steps;
  record.loss = prompt.loss(record.p);
  record.best = training::max_margin(prompt, prompt.selected(record.p));
  record.softmax_min = smallest_selected_weight(prompt, record.p, record.best.chosen);
  if (!record.best.feasible()) {
    record.cosine_to_svm = record.velocity_cosine = std::numeric_limits<double>::quiet_NaN();
    return record;
  }
  record.cosine_to_svm = cosine(record.p, record.best.svm.p);
  record.velocity_cosine = cosine(prompt.descent(record.p).vector, record.best.svm.p);
  return record;
}

Json summary(const SelectRecord& r, double wall_seconds) {
  SelectParameters copy = r.parameters;
  const bool feasible = r.best.feasible();
  Json json;
  json["status"] = flow::name(r.status);
  json["inputs"] = r.inputs;
  json["tokens"] = r.tokens;
  json["dim"] = r.dim;
  json["steps"] = r.steps;
  json["saturated"] = r.saturated;
  json["log10_time"] = number(r.time.log() / std::numbers::ln10);
  json["loss"] = number(r.loss);
  json["selected"] = r.best.chosen;
  json["locally_optimal"] = r.best.locally_optimal;
  json["globally_optimal"] = r.best.globally_optimal;
  json["cosine_to_svm"] = number(r.cosine_to_svm);
  json["velocity_cosine_to_svm"] = number(r.velocity_cosine);
  json["svm_status"] = name(r.best.svm.status);
  json["svm_norm"] = feasible ? number(r.best.svm.norm) : Json(nullptr);
  json["margin"] = feasible ? number(r.best.margin()) : Json(nullptr);
  json["duality_gap"] = feasible ? number(r.best.svm.relative_gap) : Json(nullptr);
  json["farkas_residual"] = feasible ? Json(nullptr) : number(r.best.svm.farkas_residual);
  json["svm"] = feasible ? Json(r.best.svm.p) : Json(nullptr);
  json["neighbours"] = tokens_json(r.best.neighbours);
  json["rivals"] = tokens_json(r.best.rivals);
  json["p"] = r.p;
  json["p_norm"] = number(norm(r.p));
  json["softmax_min"] = number(r.softmax_min);
  json["version"] = kVersion;
  json["wall_seconds"] = wall_seconds;
  json["parameters"]["data"] = r.parameters.data;
  for (const Parameter& parameter : list(copy))
    json["parameters"][parameter.name] = parameter.json();
  return json;
}

}  // namespace attractor::experiment
