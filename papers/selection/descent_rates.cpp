// How fast: normalised descent has |p| = eta t and an angle of order 1 / t; descent and flow have
// |p| = |p^mm| ln t and an angle of order 1 / ln t; what is left falls like e^{-margin |p|}.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "attractor/space/space.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/select_run.hpp"

namespace attractor::papers::descent_rates {
namespace {

constexpr double kNorm = 0.7351361561944;  // |p^mm| of authors-like
constexpr double kSteps[] = {1000, 4000, 16000}, kSines[] = {0.0097347, 0.0024266, 0.00060651};
constexpr double kLogTimes[] = {50, 100, 200, 400};
constexpr double kFlowNorms[] = {35.260190, 71.962425, 145.46992, 292.49550};
constexpr double kFlowSines[] = {0.028545, 0.013602, 0.0066714, 0.0033174};

SelectSetup parameters(lab::Optimizer optimizer) {
  SelectSetup p;
  p.data.name = "example:authors-like";
  p.optimizer = optimizer;
  p.steps = 16000;
  p.outputs = outputs_to(1000, p.steps);
  return p;
}

SelectRecord flow(training::Loss loss, double log_time, const Effort& effort) {
  SelectSetup p = parameters(lab::Optimizer::flow);
  p.loss = loss;
  p.log10_time = log_time / std::numbers::ln10;
  p.outputs = 400;
  return select(p, effort);
}

double sine(double cosine) { return std::sqrt(1 - cosine * cosine); }

/// d ln(L - L*) / d|p| between the two ends of flows with the loss -x.
double saturation_slope(const SelectRecord& from, const SelectRecord& to) {
  return (to.log10_excess - from.log10_excess) * std::numbers::ln10 /
         (norm(to.attention) - norm(from.attention));
}

std::vector<PageFigure> draw(const SelectRecord& normalised, const SelectRecord& late) {
  report::Panel steps{.title = "normalised steps of 0.1",
                      .x = {.label = "step t", .scale = report::Scale::log},
                      .y = {.label = "sine of the angle", .scale = report::Scale::log}};
  report::Series ours = line("to the max-margin direction", report::kVermillion);
  for (const SelectMoment& m : normalised.series)
    if (m.steps >= 1) add_point(ours, m.steps, sine(m.cosine));
  steps.series = {std::move(ours),
                  line("1 / t", report::kInk, {100, 16000}, {0.0997, 0.000606}, true)};
  report::Panel flow{.title = "gradient flow",
                     .x = {.label = "ln t", .scale = report::Scale::log},
                     .y = {.label = "sine of the angle", .scale = report::Scale::log}};
  report::Panel norm{.title = "gradient flow",
                     .x = {.label = "ln t", .low = 0},
                     .y = {.label = "norm of p", .low = 0}};
  report::Series angle = line("to the max-margin direction", report::kVermillion);
  report::Series size = line("|p|", report::kBlue);
  for (const SelectMoment& m : late.series) {
    const double log_time = m.log10_time * std::numbers::ln10;
    if (!(log_time > 1)) continue;
    add_point(angle, log_time, sine(m.cosine));
    add_point(size, log_time, m.attention_norm);
  }
  flow.series = {std::move(angle),
                 line("1 / ln t", report::kInk, {10, 400}, {0.1327, 0.0033174}, true)};
  norm.series = {std::move(size), line("slope |p^{mm}|", report::kInk, {0, 400},
                                       {292.4955 - 400 * kNorm, 292.4955}, true)};
  return {figure_of(
      "rates", {std::move(steps), std::move(flow), std::move(norm)},
      "Directions settle like 1 / t with normalised steps, like 1 / ln t in the flow (and in plain "
      "descent), whose norm grows by the norm of the max-margin solution for each unit of ln t.")};
}

Finding run(const Effort& effort) {
  const SelectRecord normalised = select(parameters(lab::Optimizer::ngd), effort);
  Finding finding;
  if (effort.context.stopped()) return {};
  Table steps{.name = "normalised",
              .title = "Normalised steps of 0.1",
              .columns = {"step", "norm_over_eta_t", "sine", "recorded_sine", "t_times_sine"}};
  for (std::size_t k = 0; k < 3; ++k) {
    SelectSetup p = parameters(lab::Optimizer::ngd);
    p.steps = static_cast<std::uint64_t>(kSteps[k]), p.outputs = 2;
    const SelectRecord r = select(p, effort);
    const double s = sine(r.cosine), growth = norm(r.attention) / (0.1 * kSteps[k]);
    steps.rows.push_back({kSteps[k], growth, s, kSines[k], kSteps[k] * s});
    finding.checks.push_back(near_relative(
        fmt::format("normalised: sine of the angle at step {}", kSteps[k]), s, kSines[k], 1e-4));
    finding.checks.push_back(
        near(fmt::format("normalised: |p| / (eta t) at step {}", kSteps[k]), growth, 1, 2e-3));
  }
  Table flows{
      .name = "flow",
      .title = "Gradient flow",
      .columns = {"ln_t", "norm", "recorded_norm", "sine", "recorded_sine", "ln_t_times_sine"}};
  SelectRecord last;
  for (std::size_t k = 0; k < 4; ++k) {
    last = flow(training::Loss::logistic, kLogTimes[k], effort);
    if (effort.context.stopped()) return {};
    const double s = sine(last.cosine), size = norm(last.attention);
    flows.rows.push_back({kLogTimes[k], size, kFlowNorms[k], s, kFlowSines[k], kLogTimes[k] * s});
    finding.checks.push_back(near_relative(fmt::format("flow: |p| at ln t = {}", kLogTimes[k]),
                                           size, kFlowNorms[k], 1e-7));
    finding.checks.push_back(near_relative(
        fmt::format("flow: sine of the angle at ln t = {}", kLogTimes[k]), s, kFlowSines[k], 1e-4));
  }
  const double growth = (flows.rows[3][1] - flows.rows[2][1]) / 200;
  finding.checks.push_back(
      near("flow: d|p| / d ln t from 200 to 400 against |p^mm|", growth, kNorm, 1e-4));
  const SelectRecord from = flow(training::Loss::linear, 1000, effort),
                     to = flow(training::Loss::linear, 2000, effort);
  if (effort.context.stopped()) return {};
  const double slope = saturation_slope(from, to);
  finding.checks.push_back(near_relative(
      "slope of ln(loss above the best) against |p|, over the margin", -slope * kNorm, 1, 1e-3));
  finding.answer.headline = fmt::format(
      "Normalised descent: sine of the angle times t is {:.2f}, {:.2f}, {:.2f}; flow: |p| grows by "
      "{:.5f} per unit of ln t (theory {:.5f}); ln(1 − s) falls by {:.5f} per unit of |p| (margin "
      "{:.5f}).",
      steps.rows[0][4], steps.rows[1][4], steps.rows[2][4], growth, kNorm, -slope, 1 / kNorm);
  finding.answer.tables = {steps, flows};
  finding.answer.draw = [=] { return draw(normalised, last); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "descent-rates",
          .title = "Rates of descent and of saturation",
          .source = "arXiv 2306.13596, 2402.05738",
          .shows =
              "Normalised descent grows |p| linearly and its direction converges like 1 / t; plain "
              "descent grows it like ln t, the direction like 1 / ln t; softmax saturates like "
              "e^{-margin |p|}.",
          .run = run};
}

}  // namespace attractor::papers::descent_rates
