#include "papers/training_tools.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/experiment/example_parameters.hpp"
#include "attractor/experiment/select_training.hpp"
#include "attractor/space/space.hpp"

namespace attractor::papers {
namespace {

using training::Evaluation;
using training::Objective;

experiment::SelectContext context_of(const Effort& effort) {
  return {.stop = effort.context.stop, .report = effort.context.report};
}

SelectMoment observe(const SelectRecord& r, const Objective& objective,
                     const experiment::Moment& at, Evaluation& e) {
  objective.evaluate(at.weights, e);
  const std::vector<double> attention = objective.attention_weights(at.weights);
  SelectMoment m;
  m.log10_time = at.time.log() / std::numbers::ln10;
  m.steps = std::round(at.time.value() / r.parameters.step);
  m.loss = objective.loss(e);
  m.attention_norm = norm(attention);
  m.head_norm = norm(objective.head_weights(at.weights));
  m.cosine = r.svm->feasible() ? cosine(attention, r.svm->solution) : NAN;
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

}  // namespace

SelectRecord select(const SelectParameters& parameters, const Effort& effort) {
  return run_select(parameters, context_of(effort));
}

SelectRecord train(const SelectParameters& p, training::Problem problem, const Effort& effort) {
  SelectRecord r{.parameters = p, .problem = std::move(problem)};
  const Objective objective(r.problem, training::loss_named(p.loss),
                            training::trained_named(p.train));
  r.blocks.assign(objective.blocks().begin(), objective.blocks().end());
  const experiment::SelectContext context = context_of(effort);
  experiment::Training run(r.parameters, objective, context, objective.start());
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
  r.cosine = r.svm->feasible() ? cosine(r.attention, r.svm->solution) : NAN;
  for (const experiment::Moment& at : run.moments()) {
    r.series.push_back(observe(r, objective, at, e));
    r.trajectory.insert(r.trajectory.end(), at.weights.begin(), at.weights.end());
  }
  return r;
}

training::Problem example_named(const std::string& name) {
  return experiment::load_problem("example:" + name, {}, 0);
}

training::Problem published_multi() {
  constexpr double kKeys[3][7][2] = {{{0.774832010269165, -0.23047204315662384},
                                      {-1.086775779724121, 1.1697421073913574},
                                      {-1.0632025003433228, 0.5769561529159546},
                                      {-1.25266695022583, 1.0699965953826904},
                                      {-0.47603169083595276, -0.25246840715408325},
                                      {-0.5494556427001953, -0.7705307602882385},
                                      {-0.3866698741912842, -0.34129834175109863}},
                                     {{0.6889809370040894, -0.06827207654714584},
                                      {-0.8499621152877808, 0.8829004764556885},
                                      {-0.9633044004440308, 1.2778732776641846},
                                      {-0.8107403516769409, 0.8312646150588989},
                                      {-0.4936814606189728, -0.598535418510437},
                                      {-0.41206082701683044, -0.4775177538394928},
                                      {-0.41176873445510864, -0.520461916923523}},
                                     {{0.9420664310455322, 0.01050149742513895},
                                      {-0.5395588874816895, 0.7062212228775024},
                                      {-1.1138496398925781, 1.1839942932128906},
                                      {-0.7420251369476318, 0.7043651938438416},
                                      {-0.5946239829063416, -0.23494502902030945},
                                      {-0.6099487543106079, -0.5959668755531311},
                                      {-0.7133960723876953, -0.27701207995414734}}};
  training::Problem problem = example_named("multi");
  problem.x.clear();
  for (const auto& input : kKeys)
    for (std::size_t t = 0; t < 7; ++t)
      problem.x.insert(problem.x.end(), {input[t][0], input[t][1], t == 0 ? 1.0 : 0.5});
  return problem;
}

std::uint64_t outputs_to(std::uint64_t step, std::uint64_t steps) {
  const double half_step = 2 * static_cast<double>(step) * std::log(static_cast<double>(steps));
  return static_cast<std::uint64_t>(half_step) + 2;
}

const SelectMoment& moment_at(const SelectRecord& r, std::uint64_t step) {
  return r.series[nearest(r, step)];
}

std::span<const double> weights_at(const SelectRecord& r, std::uint64_t step) {
  const std::size_t size = r.trajectory.size() / r.series.size();
  return std::span(r.trajectory).subspan(nearest(r, step) * size, size);
}

std::span<const double> other_at(const SelectRecord& r, std::size_t other, std::uint64_t step) {
  const std::vector<double>& path = r.others[other].trajectory;
  const std::size_t size = path.size() / r.series.size();
  return std::span(path).subspan(nearest(r, step) * size, size);
}

double cosine(std::span<const double> a, std::span<const double> b) {
  return dot(a, b) / (norm(a) * norm(b));
}

double angle(std::span<const double> p) { return std::atan2(p[1], p[0]); }

double apart(std::span<const double> a, std::span<const double> b) {
  double square = 0;
  for (std::size_t k = 0; k < b.size(); ++k) square += (a[k] - b[k]) * (a[k] - b[k]);
  return std::sqrt(square);
}

}  // namespace attractor::papers
