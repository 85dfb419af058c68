#include "papers/select_run.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/lab/select/example_parameters.hpp"
#include "attractor/lab/select/select_training.hpp"
#include "papers/directions.hpp"

namespace attractor::papers {
namespace {

using training::Evaluation;
using training::Objective;

lab::Context context_of(const Effort& effort) {
  return {.stop = effort.context.stop, .report = effort.context.report};
}

SelectMoment observe(const SelectRecord& r, const Objective& objective, const lab::Moment& at,
                     Evaluation& e) {
  objective.evaluate(at.weights, e);
  const std::vector<double> attention = objective.attention_weights(at.weights);
  SelectMoment m;
  m.log10_time = at.time.log() / std::numbers::ln10;
  m.steps = std::round(at.time.value() / r.setup.step);
  m.loss = objective.loss(e);
  m.attention_norm = norm(attention);
  m.head_norm = norm(objective.head_weights(at.weights));
  m.cosine = r.svm->feasible() ? cosine(attention, r.svm->solution) : kNan;
  m.softmax_min = 1;
  const std::size_t inputs = r.problem.inputs;
  for (std::size_t i = 0; i < inputs; ++i) {
    const double weight = e.weight[i * r.problem.tokens + r.selected[i]];
    m.softmax_min = std::min(m.softmax_min, weight);
    m.softmax_mean += weight / static_cast<double>(inputs);
  }
  return m;
}

std::size_t nearest(const SelectRecord& r, std::uint64_t step) {
  const auto far = [&](std::size_t k) {
    return std::abs(r.series[k].steps - static_cast<double>(step));
  };
  std::size_t best = 0;
  for (std::size_t k = 1; k < r.series.size(); ++k)
    if (far(k) < far(best)) best = k;
  return best;
}

std::span<const double> part(std::span<const double> trajectory, const SelectRecord& r,
                             std::size_t moment) {
  const std::size_t size = trajectory.size() / r.series.size();
  return trajectory.subspan(moment * size, size);
}

}  // namespace

SelectRecord select(const SelectSetup& parameters, const Effort& effort) {
  return run_select(parameters, context_of(effort));
}

SelectRecord train(const SelectSetup& p, training::Problem problem, const Effort& effort) {
  SelectRecord r{.setup = p, .problem = std::move(problem)};
  const Objective objective(r.problem, p.loss, training::Trained(p.train));
  r.blocks.assign(objective.blocks().begin(), objective.blocks().end());
  const lab::Context context = context_of(effort);
  lab::Training run(r.setup, objective, context, objective.start());
  run.run();
  r.trained = true;
  r.status = run.status();
  r.time = run.progress().time;
  r.steps = run.progress().steps;
  r.weights = run.weights();
  r.attention = objective.attention_weights(r.weights);
  Evaluation e;
  objective.evaluate(r.weights, e);
  r.selected = e.chosen;
  r.softmax = e.weight;
  r.loss = objective.loss(e);
  r.svm = training::AttSvm(objective, p.mirror).solve(r.selected);
  r.cosine = r.svm->feasible() ? cosine(r.attention, r.svm->solution) : kNan;
  for (const lab::Moment& at : run.moments()) {
    r.series.push_back(observe(r, objective, at, e));
    r.trajectory.insert(r.trajectory.end(), at.weights.begin(), at.weights.end());
  }
  return r;
}

training::Problem example_named(const std::string& name) {
  return lab::problem_of({.name = "example:" + name}, 0);
}

training::MaxMargin margin_of(const training::Problem& problem, training::Train train,
                              std::vector<std::size_t> chosen) {
  const Objective objective(problem, training::Loss::logistic, train);
  if (chosen.empty()) chosen = training::best_tokens(objective);
  return training::AttSvm(objective).solve(std::move(chosen));
}

std::uint64_t outputs_to(std::uint64_t step, std::uint64_t steps) {
  const double half_step = 2 * static_cast<double>(step) * std::log(static_cast<double>(steps));
  return static_cast<std::uint64_t>(half_step) + 2;
}

const SelectMoment& moment_at(const SelectRecord& r, std::uint64_t step) {
  return r.series[nearest(r, step)];
}

std::span<const double> weights_of(const SelectRecord& r, std::size_t moment) {
  return part(r.trajectory, r, moment);
}

std::span<const double> weights_at(const SelectRecord& r, std::uint64_t step, std::size_t start) {
  return part(start == 0 ? r.trajectory : r.others[start - 1].trajectory, r, nearest(r, step));
}

}  // namespace attractor::papers
