#include "attractor/lab/select/select_experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numbers>
#include <set>
#include <tuple>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/lab/byte_store.hpp"
#include "attractor/lab/pieces.hpp"
#include "attractor/lab/select/example_parameters.hpp"
#include "attractor/lab/select/select_training.hpp"
#include "attractor/training/margins/margin_fields.hpp"

namespace attractor::lab {

inline auto fields(OtherStart& value) {
  auto& [trajectory, svm, cosine] = value;
  return std::tie(trajectory, svm, cosine);
}

namespace {

using training::AttentionPart;
using training::Block;
using training::Evaluation;
using training::Objective;
using training::Problem;

double cosine(std::span<const double> a, std::span<const double> b) {
  const double lengths = norm(a) * norm(b);
  return lengths > 0 && a.size() == b.size() ? dot(a, b) / lengths : kNan;
}

// K and Q of a problem that gives none: independent normals.
void draw_factors(Problem& problem, const SelectSetup& p) {
  if (problem.rank() > 0) return;
  const std::size_t rank = p.rank > 0 ? p.rank : problem.dim;
  const Stream stream(p.seed, "start of K and Q");
  problem.key_factor.resize(problem.dim * rank);
  problem.query_factor.resize(problem.dim * rank);
  stream.normals(0, problem.key_factor);
  stream.normals(1, problem.query_factor);
  for (double& x : problem.key_factor) x *= p.init_scale;
  for (double& x : problem.query_factor) x *= p.init_scale;
}

// The lead of the selected tokens per unit length of the weights.
double least_lead(const Objective& objective, const Evaluation& e, double length) {
  const Problem& p = objective.problem();
  double least = kInfinity;
  for (std::size_t i = 0; i < p.inputs; ++i) {
    const auto u = std::span(e.query).subspan(p.queries.empty() ? 0 : i * p.dim, p.dim);
    const double top = dot(p.token(i, e.chosen[i]), u);
    for (std::size_t t = 0; t < p.tokens; ++t)
      if (t != e.chosen[i]) least = std::min(least, top - dot(p.token(i, t), u));
  }
  return least / length;
}

void observe_attention(const Evaluation& e, std::size_t tokens,
                       std::span<const std::size_t> selected, SelectMoment& m) {
  const auto inputs = static_cast<double>(selected.size());
  m.softmax_min = 1;
  for (std::size_t i = 0; i < selected.size(); ++i) {
    const auto s = std::span(e.weight).subspan(i * tokens, tokens);
    double squares = 0;
    for (double weight : s) {
      squares += weight * weight;
      if (weight > 0) m.entropy -= weight * std::log(weight) / inputs;
    }
    m.effective_tokens += 1 / squares / inputs;
    m.softmax_min = std::min(m.softmax_min, s[selected[i]]);
    m.softmax_mean += s[selected[i]] / inputs;
  }
}

double log10_excess(const Objective& objective, const Evaluation& e) {
  const bool known = !objective.trained().head && training::is_margin_loss(objective.loss());
  return known ? objective.log_excess(e, objective.best()) / std::numbers::ln10 : kNan;
}

SelectMoment observe(const SelectRecord& r, const Objective& objective, const Moment& at,
                     Evaluation& e) {
  objective.evaluate(at.weights, e);
  const std::vector<double> attention = objective.attention_weights(at.weights);
  const std::span<const double> head = objective.head_weights(at.weights);
  SelectMoment m;
  m.log10_time = at.time.log() / std::numbers::ln10;
  m.steps =
      r.setup.optimizer == Optimizer::flow ? kNan : std::round(at.time.value() / r.setup.step);
  m.loss = objective.loss(e);
  m.log10_excess = log10_excess(objective, e);
  m.attention_norm = norm(attention);
  m.head_norm = norm(head);
  m.cosine = r.svm ? cosine(attention, r.svm->solution) : kNan;
  m.relaxed_cosine = r.relaxed ? cosine(attention, r.relaxed->solution) : kNan;
  m.head_cosine = r.label ? cosine(head, r.label->svm.p) : kNan;
  m.margin = attention.empty() ? kNan : least_lead(objective, e, m.attention_norm);
  observe_attention(e, objective.problem().tokens, r.selected, m);
  return m;
}

// Are the scores of the paper's global theorem: one best token an input, all others equal?
void describe_scores(const Objective& objective, SelectRecord& r) {
  const Problem& p = objective.problem();
  const std::vector<double> scores = training::scores(p);
  for (std::size_t i = 0; i < p.inputs; ++i) {
    const auto own = std::span(scores).subspan(i * p.tokens, p.tokens);
    const double best = *std::max_element(own.begin(), own.end());
    std::set<double> others;
    std::size_t ties = 0;
    for (double score : own)
      if (score == best)
        ++ties;
      else
        others.insert(score);
    if (ties > 1) r.unique_best = false;
    if (others.size() > 1 || ties > 1) r.equal_others = false;
  }
}

// The label margin of v: of the selected tokens, or of the fixed mixtures if attention is frozen.
void solve_label_margin(const Objective& objective, const Evaluation& e, SelectRecord& r) {
  const Problem& p = objective.problem();
  const bool signs =
      std::all_of(p.labels.begin(), p.labels.end(), [](double y) { return std::abs(y) == 1; });
  if (!objective.trained().head || !signs) return;
  const bool frozen = objective.trained().attention == AttentionPart::none;
  r.label = training::label_margin(p, frozen ? e.feature : training::token_features(p, r.selected));
  if (r.label->svm.status == solve::MarginStatus::infeasible)
    r.head_cosine = kNan;
  else
    r.head_cosine = cosine(r.head, r.label->svm.p);
}

void solve_relaxed(const training::AttSvm& svm, SelectRecord& r) {
  if (!r.label || r.label->svm.status == solve::MarginStatus::infeasible) return;
  std::vector<bool> relaxed = r.label->support;
  relaxed.flip();
  if (std::find(relaxed.begin(), relaxed.end(), true) == relaxed.end()) return;
  r.relaxed = svm.solve(r.selected, r.head, relaxed);
  r.relaxed_cosine = r.relaxed->feasible() ? cosine(r.attention, r.relaxed->solution) : kNan;
}

// -grad L with respect to p or W, as a direction, or what the method makes of it (move_now, if not
// empty); for K and Q, how W = K Q^T moves.
std::vector<double> velocity(const Objective& objective, const SelectRecord& r, const Evaluation& e,
                             const std::vector<double>& move_now) {
  const Block& first = objective.blocks()[0];
  const std::vector<double>& all = move_now.empty() ? e.descent : move_now;
  const auto d = first.of(all);
  if (objective.trained().attention != AttentionPart::factors) {
    std::vector<double> move(d.begin(), d.end());
    const double q = r.setup.mirror;
    if (q != 2)  // theta moves by d, w = theta^{1/(q-1)} by |w|^{2-q} d
      for (std::size_t k = 0; k < move.size(); ++k)
        move[k] = r.attention[k] == 0
                      ? 0
                      : move[k] * std::pow(std::abs(r.attention[k]) / norm(r.attention), 2 - q);
    return move;
  }
  std::vector<double> ahead = r.weights;
  const double scale = norm(std::span(all).first(first.size * 2));
  if (scale == 0) return {};
  const double step = 1e-6 * norm(std::span(r.weights).first(first.size * 2)) / scale;
  for (std::size_t k = 0; k < first.size * 2; ++k) ahead[k] += step * all[k];
  std::vector<double> move = objective.attention_weights(ahead);
  for (std::size_t k = 0; k < move.size(); ++k) move[k] -= r.attention[k];
  return move;
}

// The path, from the directions theory knows, and its distance to where it should end.
void follow_path(const Objective& objective, const training::AttSvm& svm, Pieces& pieces,
                 const Context& context, SelectRecord& r) {
  const SelectSetup& p = r.setup;
  const bool local = p.path_cone > 0;
  r.path_svm = svm.solve(local ? r.selected : training::best_tokens(objective, r.head), r.head);
  training::PathOptions options{.radii = p.path.values,
                                .head_ratio = p.path_ratio,
                                .random_starts = p.path_starts,
                                .seed = p.seed,
                                .cone = p.path_cone,
                                .stop = context.stop};
  if (r.path_svm->feasible()) options.directions.push_back(r.path_svm->solution);
  if (local && !r.path_svm->feasible())
    throw Error("path-cone: no weights make this choice, so there is no direction to stay near");
  if (!local && r.svm->feasible()) options.directions.push_back(r.svm->solution);
  r.path = pieces.get("path", [&] { return training::regularisation_path(objective, options); });
  // A joint path ends where its own tokens and its own v say.
  if (objective.trained().head && r.label && !r.path.empty()) {
    const training::PathPoint& last = r.path.back();
    const training::LabelMargin label =
        training::label_margin(r.problem, training::token_features(r.problem, last.selected));
    std::vector<bool> relaxed = label.support;
    relaxed.flip();
    r.path_svm = svm.solve(last.selected, last.head, relaxed);
  }
  for (const training::PathPoint& point : r.path)
    r.path_cosine.push_back(r.path_svm->feasible() ? cosine(point.weights, r.path_svm->solution)
                                                   : kNan);
}

training::LocalChoices find_local(const Objective& objective, const training::AttSvm& svm,
                                  const Context& context, const SelectRecord& r) {
  const SelectSetup& p = r.setup;
  training::LocalChoices all =
      training::enumerate_local_choices(objective, svm, p.local_limit, context.stop, r.head);
  if (all.complete) return all;
  return training::search_local_choices(objective, svm, 1000, p.seed, context.stop, r.head);
}

training::Basins basins_of(const Objective& objective, const training::AttSvm& svm, Pieces& pieces,
                           const Context& context, const SelectSetup& p) {
  using training::BasinProgress;
  const training::BasinOptions options{.side = p.basins_side,
                                       .samples = p.basins_samples,
                                       .radius = p.basins_radius,
                                       .seed = p.seed,
                                       .stop = context.stop,
                                       .report = [&](double done) {
                                         if (context.report) context.report(done, "basins");
                                       }};
  return find_basins(objective, svm, options,
                     pieces.find<BasinProgress>("basins").value_or(BasinProgress{}),
                     [&](const BasinProgress& so_far) { pieces.follow("basins", so_far); });
}

// All norms, and which of them the weights of the run approach.
training::MarginVerdict compare_norms(const Objective& objective, const Training* run,
                                      const SelectRecord& r) {
  training::Trail trail;
  if (run)
    for (const Moment& at : run->moments())
      trail.push_back(objective.attention_weights(at.weights));
  std::vector<training::MarginNorm> norms = training::margin_norms(objective.trained().attention);
  if (r.setup.mirror != 2) norms.push_back(margin_norm(r.setup));
  return training::compare_margins(objective, r.selected, r.head, trail, r.setup.margins_within,
                                   norms);
}

void solve_margins(const Objective& objective, const Evaluation& e, const Training* run,
                   Pieces& pieces, const Context& context, SelectRecord& r) {
  solve_label_margin(objective, e, r);
  if (objective.trained().attention == AttentionPart::none) return;
  const SelectSetup& p = r.setup;
  const training::AttSvm svm(objective, margin_norm(p));
  std::vector<bool> relaxed;
  if (!p.relaxed.empty()) {
    relaxed.assign(r.problem.inputs, false);
    for (std::size_t i : indices(p.relaxed, r.problem.inputs, "relaxed")) relaxed[i] = true;
  }
  r.svm = svm.solve(r.selected, r.head, relaxed);
  if (p.exact) r.exact = svm.prove(*r.svm, r.head);
  r.cosine = r.svm->feasible() ? cosine(r.attention, r.svm->solution) : kNan;
  const bool averaged = run && training::averages_gradients(descent_options(p).rule);
  r.velocity_cosine =
      r.trained && r.svm->feasible()
          ? cosine(velocity(objective, r, e, averaged ? run->move() : std::vector<double>{}),
                   r.svm->solution)
          : kNan;
  if (p.margins == MarginsAsked::all) r.margins = compare_norms(objective, run, r);
  solve_relaxed(svm, r);
  if (p.local)
    r.local = pieces.get("local", [&] { return find_local(objective, svm, context, r); });
  if (!p.path.empty()) follow_path(objective, svm, pieces, context, r);
  if (p.basins) r.basins = basins_of(objective, svm, pieces, context, p);
}

void take(const Objective& objective, const Training& run, SelectRecord& r) {
  const SelectSetup& p = r.setup;
  r.trained = true;
  r.status = run.status();
  r.time = run.progress().time;
  r.steps = run.progress().steps;
  r.rejected = run.progress().rejected;
  r.saturated =
      r.status == flow::Status::complete && p.optimizer != Optimizer::flow && r.steps < p.steps;
  r.at_minimum = run.at_minimum();
  r.weights = run.weights();
  r.lock_in = run.lock_in();
  r.attention = objective.attention_weights(r.weights);
  const std::span<const double> head = objective.head_weights(r.weights);
  r.head.assign(head.begin(), head.end());
}

void train_others(const Objective& objective, const Objective& stepped, Pieces& pieces,
                  const Context& context, SelectRecord& r) {
  if (r.setup.starts.empty()) return;
  const Context no_checkpoints{.stop = context.stop, .report = context.report};
  const training::AttSvm svm(objective, margin_norm(r.setup));
  const auto train = [&](const std::vector<double>& start) -> std::optional<OtherStart> {
    Training run(r.setup, stepped, no_checkpoints, start);
    run.run();
    if (run.status() == flow::Status::interrupted || run.status() == flow::Status::not_finite)
      return {};
    OtherStart other;
    for (const Moment& at : run.moments())
      other.trajectory.insert(other.trajectory.end(), at.weights.begin(), at.weights.end());
    Evaluation e;
    objective.evaluate(run.weights(), e);
    other.svm = svm.solve(e.chosen);
    other.cosine = other.svm.feasible() ? cosine(run.weights(), other.svm.solution) : kNan;
    return other;
  };
  for (const std::vector<double>& start : r.setup.starts.values) {
    std::optional<OtherStart> other =
        pieces.get(fmt::format("start {}", r.others.size()), [&] { return train(start); });
    if (!other) return;
    r.others.push_back(std::move(*other));
  }
}

/// A training that has ended: how, and its last checkpoint.
struct TrainedPiece {
  flow::Status status{};
  std::string bytes{};
};
inline auto fields(TrainedPiece& value) {
  auto& [status, bytes] = value;
  return std::tie(status, bytes);
}

/// Where training keeps its checkpoints; `place` must outlive it.
Context training_place(Pieces& pieces, const std::optional<TrainedPiece>& ended,
                       const Context& context) {
  if (!ended) return pieces.inside("training");
  Context place = context;
  place.checkpoints = std::make_shared<ByteStore>(context.checkpoints->name(), ended->bytes);
  return place;
}

void train(Training& run, Pieces& pieces, const std::optional<TrainedPiece>& ended) {
  if (ended) return run.set_ended(ended->status);
  run.run();
  if (run.status() == flow::Status::interrupted || !pieces.due()) return;
  ByteStore bytes("training");
  run.save(bytes);
  pieces.drop("training");
  pieces.keep("trained", TrainedPiece{run.status(), bytes.bytes()});
}

/// What was to be seen at the moments kept on the way; who stopped the run waits a little only.
void look_back(const Training& run, const Objective& objective, Evaluation& e, SelectRecord& r) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point enough = Clock::now() + std::chrono::milliseconds(50);
  for (const Moment& at : run.moments()) {
    if (r.status == flow::Status::interrupted && Clock::now() > enough) return;
    r.series.push_back(observe(r, objective, at, e));
    r.trajectory.insert(r.trajectory.end(), at.weights.begin(), at.weights.end());
  }
}

/// u: what tokens are multiplied with, n x d or d.
std::vector<double> leads(const SelectRecord& r, std::span<const double> u, double length) {
  const Problem& p = r.problem;
  std::vector<double> result;
  for (std::size_t i = 0; i < r.selected.size(); ++i) {
    const auto own = u.size() > p.dim ? u.subspan(i * p.dim, p.dim) : u;
    double least = kInfinity;
    for (std::size_t t = 0; t < p.tokens; ++t)
      if (t != r.selected[i])
        least = std::min(least, dot(p.token(i, r.selected[i]), own) - dot(p.token(i, t), own));
    result.push_back(least / length);
  }
  return result;
}

std::vector<double> final_leads(const SelectRecord& r, const Objective& objective) {
  std::vector<double> weights = r.weights;
  std::span<const double> attention = r.attention;
  if (!r.svm || weights.size() != objective.dim()) return {};
  if (!r.trained && r.svm->feasible()) {
    const Block& first = objective.blocks()[0];
    attention = r.svm->solution;
    if (first.size != attention.size()) return {};  // K and Q
    std::copy(attention.begin(), attention.end(),
              weights.begin() + static_cast<std::ptrdiff_t>(first.begin));
  }
  if (!(norm(attention) > 0)) return {};
  Evaluation e;
  objective.evaluate(weights, e);
  return leads(r, e.query, norm(attention));
}

std::vector<std::size_t> given_choice(const SelectSetup& p, const Problem& problem) {
  std::vector<std::size_t> chosen = indices(p.choice, problem.tokens, "choice");
  if (chosen.size() != problem.inputs)
    throw Error(fmt::format("choice names {} tokens; the problem has {} inputs", chosen.size(),
                            problem.inputs));
  return chosen;
}

}  // namespace

std::vector<std::pair<std::string, double SelectMoment::*>> select_columns() {
  return {{"log10_time", &SelectMoment::log10_time},
          {"steps", &SelectMoment::steps},
          {"loss", &SelectMoment::loss},
          {"log10_excess", &SelectMoment::log10_excess},
          {"attention_norm", &SelectMoment::attention_norm},
          {"head_norm", &SelectMoment::head_norm},
          {"cosine_to_svm", &SelectMoment::cosine},
          {"cosine_to_relaxed_svm", &SelectMoment::relaxed_cosine},
          {"cosine_to_label_svm", &SelectMoment::head_cosine},
          {"margin", &SelectMoment::margin},
          {"softmax_min", &SelectMoment::softmax_min},
          {"softmax_mean", &SelectMoment::softmax_mean},
          {"entropy", &SelectMoment::entropy},
          {"effective_tokens", &SelectMoment::effective_tokens}};
}

training::Problem prepared(const SelectSetup& p, training::Problem problem) {
  check(p);
  const AttentionPart part = training::Trained(p.train).attention;
  if (part == AttentionPart::factors) draw_factors(problem, p);
  const bool has_keys = part == AttentionPart::prompt && !problem.weights.empty();
  const std::vector<double> keys = has_keys ? training::keys(problem) : std::vector<double>{};
  if (part != AttentionPart::none)
    training::require_distinct_keys(problem, has_keys ? std::span<const double>(keys) : problem.x);
  (void)Objective(problem, p.loss, training::Trained(p.train), p.precision);
  if (!p.choice.empty()) (void)given_choice(p, problem);
  (void)indices(p.relaxed, problem.inputs, "relaxed");
  for (const std::vector<double>& start : p.starts.values)
    if (start.size() != problem.dim)
      throw Error(
          fmt::format("starts: a start has {} numbers; p has {}", start.size(), problem.dim));
  return problem;
}

training::Problem prepared(const SelectSetup& p) {
  check(p);
  return prepared(p, problem_of(p.data, p.seed));
}

SelectRecord run_select(const SelectSetup& p, const Context& context) {
  return run_select(p, prepared(p), context);
}

SelectRecord run_select(const SelectSetup& p, training::Problem problem, const Context& context) {
  SelectRecord r{.setup = p, .problem = std::move(problem)};
  const Objective objective(r.problem, p.loss, training::Trained(p.train));
  // Only steps see rounded tokens: what is said of the weights they reach is of doubles.
  std::optional<Objective> rounded;
  if (p.precision == kernels::Precision::f32)
    rounded.emplace(r.problem, p.loss, training::Trained(p.train), p.precision);
  const Objective& stepped = rounded ? *rounded : objective;
  r.blocks.assign(objective.blocks().begin(), objective.blocks().end());
  describe_scores(objective, r);
  Pieces pieces(context, command(p) + digest(r.problem), "training");
  const auto ended = pieces.find<TrainedPiece>("trained");
  const Context place = training_place(pieces, ended, context);
  std::optional<Training> run;
  Evaluation e;
  if (p.choice.empty()) {
    run.emplace(p, stepped, place, objective.start());
    train(*run, pieces, ended);
    take(objective, *run, r);
    if (r.status == flow::Status::not_finite) return r;
    objective.evaluate(r.weights, e);
    r.selected = e.chosen;
  } else {
    r.weights = objective.start();
    objective.evaluate(r.weights, e);
    r.attention = objective.attention_weights(r.weights);
    r.head = r.problem.head.v;
    r.selected = given_choice(p, r.problem);
  }
  r.loss = objective.loss(e);
  r.log10_excess = log10_excess(objective, e);
  r.softmax = e.weight;
  SelectMoment end;
  observe_attention(e, r.problem.tokens, r.selected, end);
  r.softmax_min = end.softmax_min;
  if (r.status != flow::Status::interrupted) {
    solve_margins(objective, e, run ? &*run : nullptr, pieces, context, r);
    r.leads = final_leads(r, objective);
    train_others(objective, stepped, pieces, context, r);
    if (context.stopped()) {
      r.status = flow::Status::interrupted;
      pieces.save();
    }
  }
  if (run) look_back(*run, objective, e, r);
  return r;
}

}  // namespace attractor::lab
