// Attention that learns wrong labels by heart and still answers right: n = 20 inputs of which four
// have a flipped label. Each has one relevant token, weaker ones of both classes, and noise. W and
// p are trained, the head is fixed.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/space/space.hpp"
#include "attractor/training/prompt_and_map.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::benign_overfitting {
namespace {

using training::Objective;

constexpr std::size_t kInputs = 20, kTokens = 8, kDim = 2000, kFlipped = 2;  // of each class
constexpr double kWeak = 0.1, kStep = 0.005;
/// A layer with entries uniform in +-1 / sqrt d: W W^T = I / 3 up to O(1 / sqrt d).
constexpr double kMap = 1.0 / 3;

struct Data {
  double signal;                // |mu|; mu_+ and mu_- lie along the first two axes
  training::Problem problem{};  // labels with noise
  std::array<bool, kInputs> flipped{};
};

Data data_of(double signal, std::uint64_t seed) {
  const Stream stream(seed, "papers.benign_overfitting");
  Data data{.signal = signal};
  training::Problem& p = data.problem;
  p = {.inputs = kInputs,
       .tokens = kTokens,
       .dim = kDim,
       .x = std::vector<double>(kInputs * kTokens * kDim),
       .prompt = std::vector<double>(kDim, 0.0)};
  for (std::size_t k = 0; k < kInputs * kTokens; ++k)
    stream.normals(k, std::span(p.x).subspan(k * kDim, kDim));
  for (std::size_t i = 0; i < kInputs; ++i) {
    const std::size_t own = i < kInputs / 2 ? 0 : 1;
    double* x = &p.x[i * kTokens * kDim];
    x[own] += signal;
    x[kDim + own] += kWeak * signal;
    x[2 * kDim + 1 - own] += kWeak * signal;
    data.flipped[i] = i % (kInputs / 2) < kFlipped;
    p.labels.push_back((own == 0 ? 1 : -1) * (data.flipped[i] ? -1 : 1));
  }
  p.head.v.assign(kDim, 0.0);  // nu = (mu_+ - mu_-) / |mu_+ - mu_-| / |mu|
  p.head.v[0] = std::sqrt(0.5) / signal;
  p.head.v[1] = -p.head.v[0];
  training::check(p);
  return data;
}

struct Look {
  double step = 0;
  double loss = 0, test_loss = 0;
  double accuracy = 0, flipped = 0, test_accuracy = 0;  // flipped: on the wrong labels alone
  double relevant = 0, test_relevant = 0;  // weight on the relevant token, of right labels
};

/// Test inputs enter by the products of their tokens with u and nu alone, which are normal.
class Test {
 public:
  Test(double signal, std::size_t count) : signal_(signal), draws_(count * kTokens * 2) {
    Stream(0, "papers.benign_overfitting.test").normals(0, draws_);
  }

  void see(std::span<const double> u, std::span<const double> nu, Look& look) const {
    const double length = norm(u), along = length > 0 ? dot(u, nu) / length : 0,
                 across = std::sqrt(std::max(0.0, dot(nu, nu) - along * along));
    const std::size_t count = draws_.size() / (2 * kTokens);
    for (std::size_t i = 0; i < count; ++i) {
      const std::size_t own = i % 2;
      const double label = own == 0 ? 1 : -1;
      std::array<double, kTokens> logit{}, score{};
      for (std::size_t t = 0; t < kTokens; ++t) {
        const double a = draws_[2 * (i * kTokens + t)], b = draws_[2 * (i * kTokens + t) + 1];
        const double mean = t == 0 ? signal_ : t < 3 ? kWeak * signal_ : 0;
        const std::size_t axis = t == 2 ? 1 - own : own;
        logit[t] = length * a + mean * u[axis];
        score[t] = along * a + across * b + mean * nu[axis];
      }
      const double top = *std::max_element(logit.begin(), logit.end());
      double sum = 0, output = 0;
      for (std::size_t t = 0; t < kTokens; ++t) {
        const double weight = std::exp(logit[t] - top);
        sum += weight, output += weight * score[t];
      }
      const double share = 1 / static_cast<double>(count), f = label * output / sum;
      look.test_accuracy += f > 0 ? share : 0;
      look.test_loss += share * std::log1p(std::exp(-f));
      look.test_relevant += share * std::exp(logit[0] - top) / sum;
    }
  }

 private:
  double signal_;
  std::vector<double> draws_;
};

void see_training(const Data& data, const Objective& objective, std::span<const double> u,
                  Look& look) {
  training::Evaluation e;
  objective.evaluate(u, e);
  look.loss = objective.loss(e);
  for (std::size_t i = 0; i < kInputs; ++i) {
    const double right = e.output[i] * data.problem.labels[i] > 0 ? 1 : 0;
    look.accuracy += right / kInputs;
    if (data.flipped[i])
      look.flipped += right / (2 * kFlipped);
    else
      look.relevant += e.weight[i * kTokens] / (kInputs - 2 * kFlipped);
  }
}

std::vector<Look> train(double signal, std::uint64_t seed, std::uint64_t steps, double step,
                        const Effort& effort) {
  const Data data = data_of(signal, seed);
  const Objective objective(data.problem, training::Loss::logistic, {});
  const Test test(signal, effort.quick ? 2000 : 10'000);
  training::PromptAndMapFlow flow(objective, kMap);
  std::vector<Look> looks;
  flow::Hooks hooks;
  hooks.stop = effort.context.stop;
  hooks.output = [&](const flow::Time& time, std::span<const double> u) {
    Look look{.step = std::round(time.value() / step)};
    see_training(data, objective, u, look);
    test.see(u, data.problem.head.v, look);
    looks.push_back(look);
  };
  flow::Plan plan{.end = flow::Time(step * static_cast<double>(steps)), .step = step};
  const std::uint64_t every = steps / 100;
  for (std::uint64_t k = 0; k <= steps; k += every)
    plan.outputs.emplace_back(step * static_cast<double>(k));
  flow::Progress progress{.state = std::vector<double>(kDim, 0.0)};
  flow::run(flow, flow::euler(), plan, progress, hooks);
  return looks;
}

/// How fast the loss falls at the start, over -c |dL/du|^2 formed by plain sums: attention is
/// uniform there.
double first_fall(std::uint64_t seed) {
  const Data data = data_of(20, seed);
  const training::Problem& p = data.problem;
  std::vector<double> g(kDim, 0.0);
  for (std::size_t i = 0; i < kInputs; ++i) {
    double f = 0;
    for (std::size_t t = 0; t < kTokens; ++t) f += dot(p.token(i, t), p.head.v) / kTokens;
    const double pull = p.labels[i] / (1 + std::exp(p.labels[i] * f)) / kInputs;
    for (std::size_t t = 0; t < kTokens; ++t) {
      const double share = pull / kTokens * (dot(p.token(i, t), p.head.v) - f);
      for (std::size_t a = 0; a < kDim; ++a) g[a] += share * p.token(i, t)[a];
    }
  }
  const Objective objective(p, training::Loss::logistic, {});
  const training::PromptAndMapFlow flow(objective, kMap);
  std::vector<double> u(kDim, 0.0), move(kDim);
  flow.drift(u, 0, move);
  const double before = objective.loss(flow.latest()), h = 1e-5;
  for (std::size_t a = 0; a < kDim; ++a) u[a] = h * move[a];
  training::Evaluation e;
  objective.evaluate(u, e);
  return (before - objective.loss(e)) / h / (kMap * dot(g, g));
}

/// The first step at which a number is above a half.
double half_step(const std::vector<Look>& looks, double Look::*number) {
  for (const Look& look : looks)
    if (look.*number > 0.5) return look.step;
  return kInfinity;
}

PageFigure draw(const std::vector<Look>& looks) {
  report::Panel losses{.x = {.label = "step"}, .y = {.label = "loss"}};
  report::Panel weights{.x = {.label = "step"},
                        .y = {.label = "accuracy, weight", .low = 0, .high = 1.02}};
  const auto curve = [&](const char* title, report::Colour colour, double Look::*number) {
    report::Series series = line(title, colour);
    for (const Look& look : looks) add_point(series, look.step, look.*number);
    return series;
  };
  losses.series = {curve("training", report::kVermillion, &Look::loss),
                   curve("test", report::kBlue, &Look::test_loss)};
  weights.series = {curve("accuracy on flipped labels", report::kOrange, &Look::flipped),
                    curve("test accuracy", report::kBlue, &Look::test_accuracy),
                    curve("relevant token, training", report::kVermillion, &Look::relevant),
                    curve("relevant token, test", report::kGreen, &Look::test_relevant)};
  return figure_of("training", {std::move(losses), std::move(weights)},
                   "|μ| = 20, d = 2000: wrong labels are learnt by their noise; the relevant token "
                   "is found in training inputs first, and in test inputs later.");
}

Finding run(const Effort& effort) {
  const std::uint64_t seeds = effort.quick ? 2 : 10;
  Table table{.name = "runs",
              .title =
                  "After training: accuracies, losses, and when half of the weight is on the "
                  "relevant token",
              .columns = {"signal", "seed", "accuracy", "on_flipped", "test_accuracy", "loss",
                          "test_loss", "half_step", "test_half_step"}};
  double accuracy = 0, least_test = 1, weak_accuracy = 0, lost = 0, late = kInfinity;
  std::vector<Look> shown;
  for (std::uint64_t seed = 0; seed < seeds; ++seed)
    for (const double signal : {20.0, 5.0}) {
      // Weak signals need the same time in units of the noise that they stand in: 16 |mu|^-2.
      const bool weak = signal < 20;
      const std::vector<Look> looks = train(signal, seed, 1000, weak ? 16 * kStep : kStep, effort);
      if (effort.context.stopped()) return {};
      const Look& end = looks.back();
      const double own = half_step(looks, &Look::relevant),
                   test = half_step(looks, &Look::test_relevant);
      table.rows.push_back({signal, static_cast<double>(seed), end.accuracy, end.flipped,
                            end.test_accuracy, end.loss, end.test_loss, own, test});
      const double share = 1 / static_cast<double>(seeds);
      (weak ? weak_accuracy : accuracy) += share * end.accuracy;
      if (weak) lost += share * (looks.front().test_accuracy - end.test_accuracy);
      if (!weak)
        least_test = std::min(least_test, end.test_accuracy), late = std::min(late, test / own);
      if (shown.empty()) shown = looks;
    }
  Finding finding;
  finding.checks = {
      at_least("|mu| = 20: mean training accuracy after 1000 steps, flipped labels included",
               accuracy, 0.95),
      at_least("|mu| = 20: least test accuracy", least_test, 0.999),
      at_least("|mu| = 20: step at which test inputs find the relevant token over that of training "
               "inputs, least",
               late, 1.1),
      near("first fall of the loss over -c |dL/du|^2 of plain sums", first_fall(0), 1, 1e-3),
      at_least("|mu| = 5: mean training accuracy", weak_accuracy, 0.99),
      at_least("|mu| = 5: what training takes from the test accuracy of uniform attention, mean",
               lost, 0.01)};
  finding.answer.headline = fmt::format(
      "At |μ| = 20 attention fits {:.0f} % of its labels, the flipped ones among them, with test "
      "accuracy {:.4f}; test inputs find the relevant token {:.1f} times later than training "
      "inputs. At |μ| = 5 it fits {:.0f} % and test accuracy falls by {:.3f}.",
      100 * accuracy, least_test, late, 100 * weak_accuracy, lost);
  finding.answer.tables.push_back(std::move(table));
  finding.answer.draw = [shown] { return std::vector<PageFigure>{draw(shown)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "benign-overfitting",
          .title = "Overfitting that does no harm",
          .source = "arXiv 2409.17625",
          .shows =
              "Attention trained on labels of which 20 % are flipped fits all of them and still "
              "generalises (n = 20, T = 8, d = 2000, |mu| = 20, rho = 0.1, step 0.005, 1000 "
              "steps); generalisation comes later than the fit.",
          .run = run};
}

}  // namespace attractor::papers::benign_overfitting
