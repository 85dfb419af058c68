// Several heads that select: f(X) = sum_h <X v_h, softmax(X p_h)>, logistic loss, all p_h trained
// from 0. The heads share the loss's slopes w_i = sigma(-Y_i f(X_i)) and nothing else,
//
//   -dL/dp_h = (1/n) sum_i w_i Y_i d<X_i v_h, softmax(X_i p_h)>/dp_h,
//
// and outputs are bounded, so the w_i stay between two positive numbers: each head goes the way of
// one that is alone, to the max-margin direction of tokens that are locally optimal for its own
// v_h, p_h = p_svm,h ln t_h + O(1). Steps have one length here, dp_h = length g/|g|, so that head h
// has the time dt_h = length / |g|. Equal heads stay equal. What one head selects changes the loss
// of the others, not the tokens that are best for them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"
#include "papers/directions.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"

namespace attractor::papers::several_heads {
namespace {

constexpr std::size_t kInputs = 4, kTokens = 6, kDim = 12;
constexpr double kLength = 0.1;  // of steps

/// Tokens, labels and, for each head, its values.
std::vector<training::Problem> heads_of(std::uint64_t seed, std::size_t heads) {
  training::Problem p{.inputs = kInputs, .tokens = kTokens, .dim = kDim};
  const Stream stream(seed, "several heads");
  p.x.resize(kInputs * kTokens * kDim);
  stream.normals(0, p.x);
  for (double& x : p.x) x /= std::sqrt(static_cast<double>(kDim));
  for (std::size_t i = 0; i < kInputs; ++i) p.labels.push_back(i % 2 == 0 ? 1 : -1);
  std::vector<training::Problem> all(heads, p);
  for (std::size_t h = 0; h < heads; ++h) {
    all[h].head.v.resize(kDim);
    stream.normals(h + 1, all[h].head.v);
  }
  return all;
}

/// Heads trained together. The slopes of the loss stand in for the labels of a linear loss, which
/// makes its gradient that of the logistic one.
class Training {
 public:
  explicit Training(std::vector<training::Problem> heads)
      : labels_(heads[0].labels), heads_(std::move(heads)), looks_(heads_.size()) {
    for (const training::Problem& head : heads_) {
      objectives_.emplace_back(head, training::Loss::linear, training::Train::p);
      p_.emplace_back(head.dim, 0.0);
      log_time_.push_back(-HUGE_VAL);
    }
  }

  void step(double length) {
    look();
    for (std::size_t i = 0; i < labels_.size(); ++i) {
      double output = 0;
      for (const training::Evaluation& e : looks_) output += e.output[i];
      const double slope = labels_[i] / (1 + std::exp(labels_[i] * output));
      for (training::Problem& head : heads_) head.labels[i] = slope;
    }
    look();
    for (std::size_t h = 0; h < heads_.size(); ++h) {
      const std::vector<double>& descent = looks_[h].descent;
      const double size = norm(descent);
      for (std::size_t k = 0; k < p_[h].size(); ++k) p_[h][k] += length / size * descent[k];
      const double more = std::log(length / size) - looks_[h].log_scale[0];
      const double most = std::max(more, log_time_[h]);
      log_time_[h] = most + std::log(std::exp(more - most) + std::exp(log_time_[h] - most));
    }
  }

  const std::vector<double>& weights(std::size_t head) const { return p_[head]; }
  double log_time(std::size_t head) const { return log_time_[head]; }
  std::vector<std::size_t> chosen(std::size_t head) {
    look();
    return looks_[head].chosen;
  }
  double least_weight(std::size_t head) {
    look();
    double least = 1;
    for (std::size_t i = 0; i < labels_.size(); ++i)
      least = std::min(least, looks_[head].weight[i * kTokens + looks_[head].chosen[i]]);
    return least;
  }

 private:
  void look() {
    for (std::size_t h = 0; h < heads_.size(); ++h) objectives_[h].evaluate(p_[h], looks_[h]);
  }

  std::vector<double> labels_;
  std::vector<training::Problem> heads_;
  std::vector<training::Objective> objectives_{};
  std::vector<std::vector<double>> p_{};
  std::vector<double> log_time_{};
  std::vector<training::Evaluation> looks_;
};

struct Look {
  double step;
  std::vector<std::vector<double>> p;  // of each head
  std::vector<double> log_time;
};

/// Every head, ten looks in each decade of steps.
std::vector<Look> train_together(Training& training, std::size_t heads, std::uint64_t steps,
                                 const Effort& effort) {
  std::vector<Look> looks;
  double next = 1;
  for (std::uint64_t k = 1; k <= steps && !effort.context.stopped(); ++k) {
    training.step(kLength);
    if (static_cast<double>(k) < next && k < steps) continue;
    next *= std::pow(10, 0.1);
    looks.push_back({static_cast<double>(k), {}, {}});
    for (std::size_t h = 0; h < heads; ++h) {
      looks.back().p.push_back(training.weights(h));
      looks.back().log_time.push_back(training.log_time(h));
    }
  }
  return looks;
}

struct Outcome {
  std::size_t heads = 0, distinct = 0;  // choices of tokens among the heads of all problems
  double least_cosine = 1, farthest_norm = 0, least_weight = 1;
  bool optimal = true;  // every choice is locally optimal
  std::vector<Look> looks{};
  std::vector<training::MaxMargin> svm{};  // of the last problem
};

void add_problem(std::uint64_t seed, std::size_t heads, std::uint64_t steps, const Effort& effort,
                 Outcome& all) {
  const std::vector<training::Problem> problems = heads_of(seed, heads);
  Training training(problems);
  all.looks = train_together(training, heads, steps, effort);
  if (effort.context.stopped()) return;
  all.svm.clear();
  std::set<std::vector<std::size_t>> choices;
  const Look &late = all.looks.back(), &early = all.looks[all.looks.size() - 11];
  for (std::size_t h = 0; h < heads; ++h) {
    const training::MaxMargin svm = margin_of(problems[h], training::Train::p, training.chosen(h));
    std::vector<double> growth = late.p[h];
    for (std::size_t k = 0; k < growth.size(); ++k)
      growth[k] = (growth[k] - early.p[h][k]) / (late.log_time[h] - early.log_time[h]);
    all.optimal &= svm.feasible() && svm.locally_optimal;
    if (svm.feasible()) {
      all.least_cosine = std::min(all.least_cosine, cosine(growth, svm.solution));
      all.farthest_norm = std::max(all.farthest_norm, std::abs(norm(growth) / svm.norm - 1));
    }
    all.least_weight = std::min(all.least_weight, training.least_weight(h));
    choices.insert(svm.chosen);
    all.svm.push_back(svm);
  }
  all.heads += heads;
  all.distinct += choices.size();
}

/// Heads with the same values, from 0: how far apart they are later.
double twins_apart(const Effort& effort) {
  std::vector<training::Problem> problems = heads_of(1, 2);
  problems[1].head.v = problems[0].head.v;
  Training training(problems);
  const std::vector<Look> looks = train_together(training, 2, 500, effort);
  return looks.empty() ? HUGE_VAL : apart(looks.back().p[0], looks.back().p[1]);
}

/// One head of this training against `attractor select`, which has its own loop and loss.
double alone_apart(const Effort& effort) {
  const std::vector<training::Problem> problems = heads_of(2, 1);
  Training training(problems);
  const std::vector<Look> looks = train_together(training, 1, 400, effort);
  SelectSetup p;
  p.optimizer = lab::Optimizer::ngd;
  p.step = kLength;
  p.steps = 400;
  const SelectRecord r = train(p, problems[0], effort);
  if (effort.context.stopped()) return HUGE_VAL;
  return apart(looks.back().p[0], weights_at(r, 400));
}

PageFigure figure(const Outcome& o) {
  report::Panel panel{.title = "one problem, four heads",
                      .x = {.label = "step", .scale = report::Scale::log},
                      .y = {.label = "1 − cosine to the head's own max-margin direction",
                            .scale = report::Scale::log}};
  for (std::size_t h = 0; h < o.svm.size(); ++h) {
    report::Series s = line(fmt::format("head {}", h + 1), report::kPalette[h]);
    for (const Look& look : o.looks)
      add_point(s, look.step, 1 - cosine(look.p[h], o.svm[h].solution));
    panel.series.push_back(s);
  }
  return picture(
      "heads", "Every head goes its own way", {std::move(panel)},
      "Heads that share a loss, trained from 0 by gradient descent with steps of one length.");
}

Finding run(const Effort& effort) {
  Finding finding;
  Outcome all;
  const std::uint64_t steps = effort.quick ? 50'000 : 500'000;
  for (std::uint64_t seed = 10; seed < (effort.quick ? 14U : 30U); ++seed)
    add_problem(seed, 4, steps, effort, all);
  const double twins = twins_apart(effort), alone = alone_apart(effort);
  if (effort.context.stopped()) return finding;
  finding.checks = {
      at_most("one head: p from that of select, relative", alone, 1e-10),
      at_most("two heads with equal values: how far apart", twins, 1e-12),
      at_least("heads whose tokens are locally optimal: all (1)", all.optimal ? 1 : 0, 1),
      at_least("cosine of the growth of p to the head's own max-margin direction, least",
               all.least_cosine, 1 - 1e-6),
      at_most("growth per ln t over |p_svm|, from 1", all.farthest_norm, 1e-4),
      at_least("weight of the selected tokens at the end, least", all.least_weight, 1 - 1e-6),
      at_least("choices among four heads of a problem, mean",
               4 * static_cast<double>(all.distinct) / static_cast<double>(all.heads), 2)};
  finding.answer.headline = fmt::format(
      "{} heads in {} problems: each grows along the max-margin direction of its own tokens "
      "(cosine "
      "{:.5f} at least, rate to {:.3f}); four heads make {:.1f} different choices.",
      all.heads, all.heads / 4, all.least_cosine, all.farthest_norm,
      4 * static_cast<double>(all.distinct) / static_cast<double>(all.heads));
  finding.answer.draw = [all] { return std::vector{figure(all)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "several-heads",
          .title = "Several heads that select",
          .source = "arXiv 2306.13596, several heads",
          .shows =
              "Gradient descent of one head goes to the max-margin direction of locally optimal "
              "tokens. Heads that share a loss do so each for its own values.",
          .run = run};
}

}  // namespace attractor::papers::several_heads
