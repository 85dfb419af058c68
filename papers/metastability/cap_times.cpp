// Separated caps have two times: within T_1 ~ beta each has shrunk to e^{-beta/2}, and until T_2,
// ln T_2 ~ beta, no two of them meet. For caps of width 1/(2 sqrt(beta)) (three_caps.hpp)
//
//   T_1 = beta/2 - (ln beta)/2 + const,   T_2 = e^{beta (1 - cos delta)} / (2 beta sin^2 delta),
//
// the first an integral of one cap alone, the second the life of the closest pair alone, both up to
// what the other caps do: e^{-beta (1 - cos delta)} of the one, e^{-beta (cos delta - cos delta')}
// of the other.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/observe/merge_tree.hpp"
#include "attractor/reductions/cluster_pair.hpp"
#include "papers/entry.hpp"
#include "papers/metastability/three_caps.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::cap_times {
namespace {

using std::numbers::pi;

constexpr double kTolerance = 1e-12;
constexpr double kRadius = 1e-5;  // tokens closer than this are moved as one
/// Relative: distances inside such a group are known to kTolerance/kRadius in each of some steps.
constexpr double kOffsets = 10 * kTolerance / kRadius;

double width(double beta) { return 0.5 / std::sqrt(beta); }

/// ln of the largest offset of a token from its cap. A cap that is moved as one has its offsets in
/// the book of groups, where they do not round away.
double log_width(const depth::AttentionFlow& tokens, std::span<const double> state) {
  const depth::TokenGroups& groups = tokens.groups();
  bool whole = true;
  for (std::size_t i = 0; i < kCaps * kCapTokens; ++i)
    whole &= groups.owner()[i] == groups.owner()[i / kCapTokens * kCapTokens];
  return std::log(widest_cap(whole ? groups.offsets() : groups.expand(state)));
}

struct Times {
  double beta, collapse = kNan, log_merge = kNan;  // T_1, ln T_2
};

/// When a step passes the width e^{-beta/2}, by its dense output; NaN if it does not. It may be a
/// wait of clusters, of which the last of shrinking is the very beginning.
double collapse_time(const flow::Step& step, depth::AttentionFlow& tokens, double beta) {
  std::vector<double> state(step.after.size());
  const auto excess = [&](double share) {
    step.state_at(step.clock.theta(share), state);
    tokens.carry(step.stretch(), share);
    return log_width(tokens, state) + beta / 2;
  };
  double low = 0, high = 1, end = excess(high);
  if (end > 0) return kNan;
  double start = excess(low);
  // Widths fall like e^{-t}: linear in ln, but for the digits that a long way leaves.
  for (int k = 0; k < 200 && high - low > 1e-15 * high; ++k) {
    double middle = low + (high - low) * start / (start - end);
    if (k % 3 == 2 || !(middle > low && middle < high)) middle = (low + high) / 2;
    const double value = excess(middle);
    (value > 0 ? low : high) = middle;
    (value > 0 ? start : end) = value;
  }
  return step.start.after(high * step.h, step.log_unit).value();
}

Times times_of(double beta, const Effort& effort) {
  flow::Progress progress{.state = cap_tokens(width(beta))};
  depth::AttentionFlow tokens({.beta = beta, .dim = 3}, kCaps * kCapTokens, kRadius);
  observe::MergeTree tree(kCaps * kCapTokens, 3, std::sqrt(2 * (1 - meanfield::kMergeCosine)));
  tree.start(progress.time, progress.state, tokens.groups().owner());
  Times times{.beta = beta};
  flow::Hooks hooks;
  hooks.stop = [&] { return effort.context.stopped() || tree.clusters() < kCaps; };
  hooks.step = [&](const flow::Step& step) {
    if (std::isnan(times.collapse)) times.collapse = collapse_time(step, tokens, beta);
    tree.watch(step, tokens.groups().owner());
  };
  flow::run(tokens, flow::dormand_prince(), {.tolerance = kTolerance}, progress, hooks);
  if (tree.clusters() < kCaps) times.log_merge = tree.merges().back().time.log();
  return times;
}

std::vector<PageFigure> figures(const Table& table) {
  report::Panel collapse{.title = "inside: T_{1}",
                         .x = {.label = "β", .low = 0},
                         .y = {.label = "time until width e^{−β/2}", .low = 0}};
  report::Panel merge{.title = "between: T_{2}",
                      .x = {.label = "β", .low = 0},
                      .y = {.label = "time until two caps meet", .scale = report::Scale::power}};
  report::Series one = dots("tokens", report::kBlue, 4.5), one_law = line("one cap", report::kInk),
                 two = dots("tokens", report::kVermillion, 4.5),
                 two_law = line("closest pair", report::kInk);
  for (const std::vector<double>& r : table.rows) {
    add_point(one, r[0], r[1]);
    add_point(one_law, r[0], r[2]);
    add_point(two, r[0], r[3] / std::numbers::ln10);
    add_point(two_law, r[0], r[4] / std::numbers::ln10);
  }
  collapse.series = {one_law, one};
  merge.series = {two_law, two};
  return {two_columns("times", {std::move(collapse), std::move(merge)},
                      "Three caps of four tokens. Left: the time of collapse grows like β/2. "
                      "Right: the time until two of them meet like e^{β(1 − cos 70°)}.")};
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table{.name = "times",
              .title = "Collapse inside caps and life of caps",
              .columns = {"beta", "T1", "T1_one_cap", "ln_T2", "ln_T2_pair"}};
  const double apart = std::cos(kCapDegrees * pi / 180), third = std::cos(kThirdDegrees * pi / 180);
  std::vector<double> betas = {12, 16, 24, 48, 64};
  if (!effort.quick) betas = {12, 16, 20, 24, 32, 40, 48, 56, 64, 96};
  double inside = 0, between = 0;
  for (const double beta : betas) {
    const Times t = times_of(beta, effort);
    if (effort.context.stopped()) return finding;
    // sin rho of the cross is its width.
    const double one = cap_time(beta, width(beta), std::asin(std::exp(-beta / 2)));
    const double pair =
        meanfield::log_merge_time({.beta = beta}, meanfield::PairAngle::of_degrees(kCapDegrees));
    table.rows.push_back({beta, t.collapse, one, t.log_merge, pair});
    // Other caps stretch a cap by beta e^{-beta(1-cos)} of its own pull; while caps are wide their
    // tokens pull e^{beta width} times as much.
    const double wide = std::exp(beta * width(beta));
    inside = std::max(inside, std::abs(t.collapse / one - 1) /
                                  (wide * beta * std::exp(-beta * (1 - apart)) + kOffsets));
    const double early = wide * one * std::exp(-pair);  // for a time T_1
    between = std::max(between, std::abs(std::expm1(t.log_merge - pair)) /
                                    (early + 3 * std::exp(-beta * (apart - third)) + 1e-7));
  }
  const auto& r = table.rows;
  const std::size_t a = effort.quick ? 3 : 6, b = effort.quick ? 4 : 8;  // beta = 48, 64
  const double logs = std::log(64.0 / 48) / 16;
  finding.checks = {
      at_most("T_1 from that of one cap alone, largest over its allowance", inside, 1),
      at_most("T_2 from that of the pair alone, largest over its allowance", between, 1),
      near("growth of T_1 with beta from 48 to 64, against (beta - ln beta)/2",
           (r[b][1] - r[a][1]) / 16, 0.5 - logs / 2, 1e-3),
      near("growth of ln T_2 with beta from 48 to 64, against e^{beta (1 - cos)}/beta",
           (r[b][3] - r[a][3]) / 16, 1 - apart - logs, 1e-3)};
  finding.answer.headline = fmt::format(
      "Three caps shrink to e^{{−β/2}} within T_{{1}} = {:.2f} at β = 12 and {:.2f} at β = 64, and "
      "live until T_{{2}} = 10^{{{:.2f}}} and 10^{{{:.2f}}}: T_{{1}} grows like β/2, ln T_{{2}} "
      "like (1 − cos 70°) β = {:.4f} β.",
      r[0][1], r[b][1], r[0][3] / std::numbers::ln10, r[b][3] / std::numbers::ln10, 1 - apart);
  finding.answer.tables.push_back(table);
  finding.answer.draw = [table] { return figures(table); };
  return finding;
}

}  // namespace

Entry entry() {
  return {
      .id = "cap-times",
      .title = "Two times of separated caps",
      .source = "arXiv 2512.01868, section 5.1; 2410.06833",
      .shows =
          "Tokens in separated caps collapse within each cap by a time of the order of beta and "
          "stay separate until a time whose logarithm is of the order of beta.",
      .run = run};
}

}  // namespace attractor::papers::cap_times
