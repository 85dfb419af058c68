#include "attractor/lab/select/bridge_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <span>
#include <tuple>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/lab/flow/flow_experiment.hpp"
#include "attractor/lab/pieces.hpp"
#include "attractor/lab/select/select_experiment.hpp"
#include "attractor/lab/select/select_training.hpp"
#include "attractor/observe/observation_fields.hpp"

namespace attractor::lab {

inline auto fields(BridgeCheckpoint& value) {
  auto& [training, weights, status, steps, cluster_cosine, start, end, first_merge, positions,
         clusters] = value;
  return std::tie(training, weights, status, steps, cluster_cosine, start, end, first_merge,
                  positions, clusters);
}

namespace {

using training::Problem;

constexpr std::size_t kMoments = 600;   // of training, about; more for more checkpoints
constexpr double kTrainingShare = 0.1;  // of the progress bar

// Moments lie evenly in ln t and the checkpoints among them.
SelectSetup training_setup(const BridgeSetup& p) {
  const std::uint64_t between = (kMoments + p.checkpoints - 1) / p.checkpoints;
  SelectSetup select;
  select.data = p.data;
  select.train = p.train;
  select.loss = p.loss;
  select.optimizer = Optimizer::flow;
  select.log10_time = p.log10_time;
  select.tolerance = p.train_tolerance;
  select.outputs = between * p.checkpoints + 1;
  return select;
}

TokenSet problem_tokens(const Problem& problem) {
  TokenSet result{.dim = problem.dim};
  for (std::size_t t = 0; t < problem.tokens; ++t) {
    const std::span<const double> token = problem.token(0, t);
    const double length = norm(token);
    if (!(length > 0))
      throw Error(fmt::format(
          "token {} of the first input is zero and has no place on the sphere; take tokens-from "
          "random",
          t));
    for (const double x : token) result.data.push_back(x / length);
  }
  return result;
}

TokenSet start_of(const BridgeSetup& p, const Problem& problem) {
  if (problem.dim < 2 && (p.train == training::Train::W || p.tokens_from == TokensFrom::problem))
    throw Error("the problem has tokens of one number; their sphere is two points, nothing flows");
  if (p.tokens_from == TokensFrom::problem) return problem_tokens(problem);
  const std::size_t own = p.train == training::Train::W ? problem.dim : 3;
  const std::size_t dim = p.dim == 0 ? own : p.dim;
  if (p.train == training::Train::W && dim != own)
    throw Error(
        fmt::format("dim = {} does not fit W, which is {} x {}; leave dim out", dim, own, own));
  if (dim < 2) throw Error("dim = 1 is not allowed; allowed: 0, or 2 to 65536");
  return make_tokens({.tokens = p.tokens, .dim = dim, .seed = p.seed});
}

// ---- Training.

// The least lead of a selected token over another one of its input.
double least_lead(const Problem& p, std::span<const double> queries,
                  std::span<const std::size_t> selected) {
  double least = kInfinity;
  std::vector<double> difference(p.dim);
  for (std::size_t i = 0; i < p.inputs; ++i) {
    const auto u = queries.size() > p.dim ? queries.subspan(i * p.dim, p.dim) : queries;
    for (std::size_t t = 0; t < p.tokens; ++t) {
      if (t == selected[i]) continue;
      const auto mine = p.token(i, selected[i]), other = p.token(i, t);
      for (std::size_t a = 0; a < p.dim; ++a) difference[a] = mine[a] - other[a];
      least = std::min(least, dot(difference, u));
    }
  }
  return least;
}

std::vector<BridgeMoment> moments_of(const SelectRecord& r) {
  const training::Objective objective(r.problem, r.setup.loss, training::Trained(r.setup.train));
  std::vector<BridgeMoment> moments;
  training::Evaluation e;
  for (std::size_t k = 0; k < r.series.size(); ++k) {
    objective.evaluate(std::span(r.trajectory).subspan(k * objective.dim(), objective.dim()), e);
    const double lead = least_lead(r.problem, e.query, r.selected);
    const SelectMoment& m = r.series[k];
    moments.push_back({.log_time = m.log10_time * std::numbers::ln10,
                       .norm = m.attention_norm,
                       .margin = m.attention_norm > 0 ? lead / m.attention_norm : kNan,
                       .softmax_min = m.softmax_min,
                       .bound = logistic_weight(r.problem.tokens, lead)});
  }
  return moments;
}

// Where in a step, as a share of it, a number of the weights passes `level` from below.
template <class Number>
double crossing(const flow::Step& step, const Number& number, double level) {
  std::vector<double> state(step.after.size());
  double low = 0, high = 1;
  for (int k = 0; k < 50; ++k) {
    const double middle = 0.5 * (low + high);
    step.stepper.interpolate(middle, state);
    (number(state) < level ? low : high) = middle;
  }
  return high;
}

// ln t from which on a number stays at or above `level`; NaN if it ends below, -infinity if it
// always was there.
// Between two moments attention may switch altogether (|p| moves by T / 4 in a unit of ln t), so
// training is repeated from the one to the other and the moment found on its dense output.
template <class Number>
double reached(const BridgeRecord& r, const training::Objective& objective,
               double BridgeMoment::*column, const Number& number, double level) {
  std::size_t k = r.moments.size();
  while (k > 0 && r.moments[k - 1].*column >= level) --k;
  if (k == r.moments.size()) return kNan;
  if (k == 0) return r.moments[0].log_time;
  training::DescentFlow flow(objective, descent_options(r.training.setup));
  flow::Progress progress{
      .state = flow.state(
          std::span(r.training.trajectory).subspan((k - 1) * objective.dim(), objective.dim())),
      .time = k == 1 ? flow::Time(0) : flow::Time(1, r.moments[k - 1].log_time)};
  double found = r.moments[k].log_time;
  const flow::Hooks hooks{.step = [&](const flow::Step& step) {
    if (number(step.before) < level && number(step.after) >= level)
      found = step.at(crossing(step, number, level)).log();
  }};
  const flow::Plan plan{.end = flow::Time(1, r.moments[k].log_time),
                        .tolerance = r.training.setup.tolerance};
  return flow::run(flow, flow::dormand_prince(), plan, progress, hooks) == flow::Status::complete
             ? found
             : kNan;
}

BridgeTheory theory_of(const BridgeRecord& r) {
  const SelectRecord& t = r.training;
  const training::Objective objective(t.problem, t.setup.loss, training::Trained(t.setup.train));
  training::Evaluation e;
  const auto smallest_weight = [&](std::span<const double> weights) {
    objective.evaluate(weights, e);
    double least = 1;
    for (std::size_t i = 0; i < t.selected.size(); ++i)
      least = std::min(least, e.weight[i * t.problem.tokens + t.selected[i]]);
    return least;
  };
  BridgeTheory theory{.norm = t.svm && t.svm->feasible() ? t.svm->norm : kNan};
  theory.transition_norm = theory.norm * std::log(static_cast<double>(t.problem.tokens) - 1);
  theory.transition_log_time = reached(
      r, objective, &BridgeMoment::norm,
      [](std::span<const double> weights) { return norm(weights); }, theory.transition_norm);
  theory.half_log_time = reached(r, objective, &BridgeMoment::softmax_min, smallest_weight, 0.5);
  const BridgeMoment &last = r.checkpoints.back().training,
                     &before = r.checkpoints[r.checkpoints.size() - 2].training;
  theory.slope = (last.norm - before.norm) / (last.log_time - before.log_time);
  return theory;
}

// ---- Tokens.

Attention attention_at(const BridgeSetup& p, std::size_t dim, std::span<const double> trained) {
  const double length = norm(trained);
  Attention attention{.rule = Rule::softmax, .beta = length, .dim = dim, .on_sphere = true};
  if (p.train != training::Train::W || !(length > 0)) return attention;
  attention.query.assign(trained.begin(), trained.end());
  for (double& x : attention.query) x /= length;
  return attention;
}

BridgeCheckpoint flow_tokens(const BridgeSetup& p, const TokenSet& start, Attention attention,
                             const Context& context) {
  FlowSetup flow;
  flow.init = Arrangement::file;
  flow.tokens_file = Array{{start.count(), start.dim}, start.data};
  flow.beta = attention.beta;
  if (!attention.query.empty())
    flow.query = Array{{1, start.dim, start.dim}, std::move(attention.query)};
  flow.seed = p.seed;
  flow.time = p.time;
  flow.tolerance = p.tolerance;
  flow.engine = depth::Engine::dense;
  flow.outputs = 1;
  flow.snapshots = 2;
  const FlowRecord record = run_flow(flow, {.stop = context.stop});
  BridgeCheckpoint result{
      .status = record.status, .steps = record.steps, .cluster_cosine = record.cluster_cosine};
  if (result.status == flow::Status::interrupted) return result;
  result.start = record.series.front();
  result.end = record.series.back();
  for (const observe::Linkage& merge : record.merges)  // ascending; at 0: together from the start
    if (!result.first_merge && merge.time.value() > 0) result.first_merge = merge.time.value();
  result.positions = record.snapshots.back().positions;
  result.clusters = record.snapshots.back().clusters;
  return result;
}

void cross(Pieces& pieces, const Context& context, BridgeRecord& r) {
  const BridgeSetup& p = r.setup;
  const std::size_t intervals = r.moments.size() - 1, count = p.checkpoints;
  if (intervals < count)
    throw Error(fmt::format("checkpoints = {}: weights of {} numbers allow at most {}", count,
                            r.training.weights.size(), intervals));
  const std::size_t size = r.training.weights.size();
  for (std::size_t k = 1; k <= count; ++k) {
    const std::size_t moment = intervals * k / count;
    if (context.report)
      context.report(kTrainingShare + (1 - kTrainingShare) * static_cast<double>(k - 1) /
                                          static_cast<double>(count),
                     fmt::format("tokens, checkpoint {} of {}", k, count));
    const auto trained = std::span(r.training.trajectory).subspan(moment * size, size);
    r.checkpoints.push_back(pieces.get(fmt::format("tokens {}", k), [&] {
      return flow_tokens(p, r.start, attention_at(p, r.start.dim, trained), context);
    }));
    r.checkpoints.back().training = r.moments[moment];
    r.checkpoints.back().weights.assign(trained.begin(), trained.end());
    const flow::Status status = r.checkpoints.back().status;
    if (!flow::delivered(status) && r.status == flow::Status::complete) r.status = status;
    if (status == flow::Status::interrupted) return;
  }
  r.theory = theory_of(r);
}

}  // namespace

std::span<const std::string_view> names(TokensFrom) {
  static constexpr std::string_view kNames[] = {"random", "problem"};
  return kNames;
}

ParameterList list(BridgeSetup& p) {
  using training::Loss;
  using training::Train;
  ParameterList l;
  l.group("Training");
  l.add("data", p.data, "problem, as attractor select takes it")
      .allow("a file, a directory or example:NAME")
      .first();
  l.add("train", p.train, "what is trained: the prompt p, or W").among({Train::p, Train::W});
  l.add("loss", p.loss, "of output f and label y: -yf, ln(1+e^-yf), e^-yf")
      .among({Loss::linear, Loss::logistic, Loss::exponential});
  l.add("log10-time", p.log10_time, "log10 of the time gradient flow ends at").within(1, 1e4);
  l.add("train-tolerance", p.train_tolerance,
        "error of the weights, relative to max(1, their norm)")
      .within(1e-14, 0.1);
  l.add("checkpoints", p.checkpoints, "moments, evenly in ln t, whose attention moves the tokens")
      .within(2, 1000);
  l.group("Flow of tokens");
  l.add("tokens-from", p.tokens_from,
        "random: uniform on the sphere; problem: its first input, scaled to length one");
  l.add("tokens", p.tokens, "random: number of tokens")
      .within(2, 1e5)
      .used_by("tokens-from", {"random"});
  l.add("dim", p.dim, "random: dimension; 0: 3 with p, the problem's with W")
      .within(0, 65536)
      .used_by("tokens-from", {"random"});
  l.add("seed", p.seed, "random: seed").used_by("tokens-from", {"random"});
  l.add("time", p.time, "end time of every flow, in attention layers of step 1").above(0, 1e12);
  l.add("tolerance", p.tolerance, "error of every token").within(1e-14, 0.1);
  l.short_help({"train", "loss", "log10-time", "checkpoints", "tokens-from", "tokens", "time"});
  return l;
}

std::string command(const BridgeSetup& p) {
  BridgeSetup mine = p, defaults;
  return command_line("attractor bridge", list(mine), list(defaults));
}

double logistic_weight(std::size_t tokens, double lead) {
  return 1 / (1 + (static_cast<double>(tokens) - 1) * std::exp(-lead));
}

BridgeRun::BridgeRun(const BridgeSetup& p)
    : record_{.setup = p}, problem_(prepared(training_setup(p))) {
  record_.start = start_of(p, problem_);
}

BridgeRecord BridgeRun::run(const Context& context) && {
  BridgeRecord r = std::move(record_);
  Pieces pieces(context, setup_words(r.setup) + digest(problem_));
  Context training = pieces.inside("training");
  training.report = [&](double done, const std::string& note) {
    if (context.report) context.report(kTrainingShare * done, note);
  };
  r.training = run_select(training_setup(r.setup), std::move(problem_), training);
  r.status = r.training.status;
  if (!flow::delivered(r.status)) return r;
  r.moments = moments_of(r.training);
  cross(pieces, context, r);
  return r;
}

BridgeRecord run_bridge(const BridgeSetup& p, const Context& context) {
  return BridgeRun(p).run(context);
}

}  // namespace attractor::lab
