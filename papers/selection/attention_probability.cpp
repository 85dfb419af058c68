// How fast softmax takes the best token and |p| grows: normalised steps of 0.1 against plain steps
// of 1, 200 steps from 0, on the authors' three inputs.
#include <fmt/format.h>

#include <cmath>

#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"
#include "papers/selection/published_inputs.hpp"
#include "papers/selection/training_pictures.hpp"

namespace attractor::papers::attention_probability {
namespace {

/// Re-measured with the authors' script: |p| of plain steps (any precision gives it), its smallest
/// and mean weight on a best token; |p| of g / (|g| + 1e-12) in double and in their single
/// precision.
constexpr double kPlainNorm = 3.8545, kPlainLeast = 0.95486,
                 kPlainMean = (0.97309 + 0.95486 + 0.98811) / 3;
constexpr double kDoubleNorm = 19.84756, kSingleNorm = 19.50426;
constexpr double kExactNorm = 19.89068;  // of g / |g|, logarithmic arithmetic
constexpr double kPlainSteps[] = {100, 200, 500, 1000}, kPlainNorms[] = {3.16, 3.85, 4.66, 5.24};

SelectRecord descend(lab::Optimizer optimizer, double step, std::uint64_t steps,
                     const Effort& effort) {
  SelectSetup p;
  p.optimizer = optimizer;
  p.step = step;
  p.steps = steps;
  p.epsilon = 1e-12;
  p.outputs = outputs_to(1000, steps);
  return train(p, published_multi(), effort);
}

std::vector<PageFigure> draw(const SelectRecord& exact, const SelectRecord& published,
                             const SelectRecord& plain) {
  const auto panel = [&](const char* name, double SelectMoment::*column, double high) {
    report::Panel p{.x = {.label = "step", .low = 0, .high = 200},
                    .y = {.label = name, .low = 0, .high = high}};
    p.series = {against_steps(exact, column, report::kVermillion, "normalised, step 0.1"),
                against_steps(published, column, report::kOrange, "authors’ update, step 0.1"),
                against_steps(plain, column, report::kBlue, "plain, step 1")};
    p.series[1].dashed = true;
    return p;
  };
  return {figure_of("attention",
                    {panel("mean softmax weight of best tokens", &SelectMoment::softmax_mean, 1.02),
                     panel("norm of p", &SelectMoment::attention_norm, 21)},
                    "Left: attention on the best tokens. Right: growth of the prompt, linear for "
                    "normalised steps, logarithmic for plain ones.")};
}

Table schemes_table(const SelectRecord& exact, const SelectRecord& published) {
  Table table{.name = "schemes",
              .title = "Normalised steps, |p| after 200 of them",
              .columns = {"norm"},
              .label_column = "scheme",
              .labels = {"g / |g|, ours", "g / (|g| + 10^{−12}), ours",
                         "the same, authors’ script in double precision",
                         "in single precision, as published"}};
  table.rows = {{moment_at(exact, 200).attention_norm},
                {moment_at(published, 200).attention_norm},
                {kDoubleNorm},
                {kSingleNorm}};
  return table;
}

Finding run(const Effort& effort) {
  const SelectRecord exact = descend(lab::Optimizer::ngd, 0.1, 200, effort);
  const SelectRecord published = descend(lab::Optimizer::published, 0.1, 200, effort);
  const SelectRecord plain = descend(lab::Optimizer::gd, 1, 1000, effort);
  Finding finding;
  if (effort.context.stopped()) return {};
  std::vector<Check>& checks = finding.checks;
  const SelectMoment& end = moment_at(plain, 200);
  checks = {
      near("plain: |p| at step 200", end.attention_norm, kPlainNorm, 5e-5),
      near("plain: smallest weight on a best token at step 200", end.softmax_min, kPlainLeast,
           1e-5),
      near("plain: mean weight on best tokens at step 200", end.softmax_mean, kPlainMean, 1e-5),
      near("normalised: |p| at step 200", moment_at(exact, 200).attention_norm, kExactNorm, 1e-5),
      near("authors' update in double precision: |p| at step 200",
           moment_at(published, 200).attention_norm, kDoubleNorm, 1e-3),
      near("published figure: |p| of normalised steps at step 200",
           moment_at(published, 200).attention_norm, kSingleNorm, 0.05,
           "the script runs in single precision, where softmax rounds to 1 and the gradient "
           "is lost; the same script in double precision gives 19.848"),
      at_least("normalised: smallest weight at step 200", moment_at(exact, 200).softmax_min,
               1 - 1e-8)};
  Table table{.name = "norms",
              .title = "Plain steps: the norm of p grows like ln t",
              .columns = {"step", "recorded", "ours", "least_softmax_weight"}};
  for (std::size_t k = 0; k < 4; ++k) {
    const SelectMoment& m = moment_at(plain, static_cast<std::uint64_t>(kPlainSteps[k]));
    table.rows.push_back({kPlainSteps[k], kPlainNorms[k], m.attention_norm, m.softmax_min});
    checks.push_back(near(fmt::format("plain: |p| at step {}", kPlainSteps[k]), m.attention_norm,
                          kPlainNorms[k], 0.005));
  }
  finding.answer.headline = fmt::format(
      "After 200 steps |p| is {:.2f} with normalised and {:.2f} with plain steps; the published "
      "19.5 is {:.2f} without single-precision rounding.",
      moment_at(exact, 200).attention_norm, end.attention_norm,
      moment_at(published, 200).attention_norm);
  finding.answer.tables = {schemes_table(exact, published), table};
  finding.answer.draw = [=] { return draw(exact, published, plain); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "attention-probability",
          .title = "Attention sharpens, the prompt grows",
          .source = "arXiv 2306.13596, Figure 2",
          .shows =
              "Softmax weight of the best tokens and |p| over 200 steps from 0: normalised "
              "steps of 0.1 saturate attention and reach |p| = 19.5, plain steps of 1 reach 3.85.",
          .run = run};
}

}  // namespace attractor::papers::attention_probability
