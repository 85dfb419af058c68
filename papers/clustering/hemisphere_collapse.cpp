// From an open hemisphere attention with V = I collapses exponentially: if <x_i, w> > 0 for all
// tokens at the start, min_i <x_i, w> never falls, and in the end all distances shrink alike,
//
//   e^{-t} under softmax attention,   e^{-e^beta t} under the unnormalised one,
//
// up to (1 + beta) times the square of the diameter. n <= d tokens in general position are in one;
// more of them with Wendel's probability 2^{1-n} sum_{k<d} C(n-1, k).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/observe/hemisphere.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/generators.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::hemisphere_collapse {
namespace {

constexpr double kWide = 1e-3, kNarrow = 1e-5;  // diameters between which the rate is fitted
/// Of positions, and so 1e-8 of the smallest diameter.
constexpr double kTolerance = 1e-13;

double diameter(std::span<const double> tokens, std::size_t dim) {
  double largest = 0;
  for (std::size_t i = 0; i < tokens.size() / dim; ++i)
    for (std::size_t j = 0; j < i; ++j)
      largest = std::max(largest, squared_distance(row(tokens, dim, i), row(tokens, dim, j)));
  return std::sqrt(largest);
}

double lowest(std::span<const double> tokens, std::size_t dim, std::span<const double> pole) {
  double least = 1;
  for (std::size_t i = 0; i < tokens.size() / dim; ++i)
    least = std::min(least, dot(row(tokens, dim, i), pole));
  return least;
}

struct Case {
  Rule rule;
  double beta;
  std::size_t tokens, dim;
  Arrangement start;
};

struct Collapse {
  bool inside = false;
  std::vector<double> time{}, width{};  // diameters, step by step
  double fall = 0;                      // the largest, of min_i <x_i, pole>
  double rate = 0;                      // of the diameter, over that of the late law
};

Collapse follow(const Case& c, std::uint64_t seed, const Effort& effort) {
  const TokenSet start =
      make_tokens({.arrangement = c.start, .tokens = c.tokens, .dim = c.dim, .seed = seed});
  const observe::Hemisphere half = observe::hemisphere(start.data, c.dim);
  Collapse way{.inside = half.inside};
  if (!half.inside) return way;
  flow::Progress progress{.state = start.data};
  depth::AttentionFlow tokens({.rule = c.rule, .beta = c.beta, .dim = c.dim}, c.tokens, 0);
  const double unit = c.rule == Rule::softmax ? 1 : std::exp(c.beta);  // rate of the late law
  double level = lowest(start.data, c.dim, half.pole);
  std::vector<double> times, logs;
  flow::Hooks hooks;
  hooks.stop = [&] {
    return effort.context.stopped() || (!way.width.empty() && way.width.back() < kNarrow);
  };
  hooks.step = [&](const flow::Step& step) {
    way.time.push_back(step.at(1).value() * unit);
    way.width.push_back(diameter(step.after, c.dim));
    const double now = lowest(step.after, c.dim, half.pole);
    way.fall = std::max(way.fall, level - now);
    level = now;
    if (way.width.back() > kWide || way.width.back() < kNarrow) return;
    times.push_back(way.time.back());
    logs.push_back(std::log(way.width.back()));
  };
  flow::run(tokens, flow::dormand_prince(), {.tolerance = kTolerance}, progress, hooks);
  if (times.size() > 2) way.rate = -slope(times, logs);
  return way;
}

std::vector<Case> cases(bool quick) {
  std::vector<Case> all;
  for (const auto& [rule, beta] : {std::pair{Rule::softmax, 1.0},
                                   {Rule::softmax, 4.0},
                                   {Rule::unnormalised, 1.0},
                                   {Rule::unnormalised, 4.0}}) {
    all.push_back({rule, beta, 3, 3, Arrangement::uniform});
    all.push_back({rule, beta, 8, 8, Arrangement::uniform});
    all.push_back({rule, beta, 32, 3, Arrangement::hemisphere});
    if (quick) continue;
    all.push_back({rule, beta, 16, 32, Arrangement::uniform});
    all.push_back({rule, beta, 64, 5, Arrangement::hemisphere});
  }
  return all;
}

/// Orthogonal tokens, n = d = 8, stay equiangular and in the end have 1 - cosine = 8 K e^{-2t}: K
/// over its closed value, less 1.
double law_constant_error(double beta, double constant, const Effort& effort) {
  const Collapse way = follow({Rule::softmax, beta, 8, 8, Arrangement::equiangular}, 0, effort);
  if (way.width.empty()) return HUGE_VAL;
  const double gap = way.width.back() * way.width.back() / 2;
  return std::abs(gap * std::exp(2 * way.time.back()) / (8 * constant) - 1);
}

double wendel(std::size_t n, std::size_t d) {
  double choose = 1, sum = 0;
  for (std::size_t k = 0; k < std::min(n, d); ++k) {
    sum += choose;
    // In this order whole numbers stay whole.
    choose = choose * static_cast<double>(n - 1 - k) / static_cast<double>(k + 1);
  }
  return std::ldexp(sum, 1 - static_cast<int>(n));
}

/// Shares of uniform starts in a hemisphere.
Table shares(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "hemispheres",
              .title = "Uniform tokens in one open hemisphere",
              .columns = {"tokens", "dim", "starts", "share", "wendel"}};
  const std::uint64_t starts = effort.quick ? 400 : 10'000;
  for (const auto& [n, d] : {std::pair<std::size_t, std::size_t>{3, 3},
                             {8, 8},
                             {16, 16},
                             {12, 32},
                             {20, 10},
                             {16, 4},
                             {12, 6}}) {
    double inside = 0;
    for (std::uint64_t s = 0; s < starts && !effort.context.stopped(); ++s)
      inside += observe::hemisphere(make_tokens({.tokens = n, .dim = d, .seed = s}).data, d).inside;
    const auto count = static_cast<double>(starts);
    const double share = inside / count, law = wendel(n, d);
    table.rows.push_back({static_cast<double>(n), static_cast<double>(d), count, share, law});
    checks.push_back(near(fmt::format("share in a hemisphere, n = {}, d = {}", n, d), share, law,
                          n <= d ? 0 : 4 * std::sqrt(law * (1 - law) / count)));
  }
  return table;
}

report::Panel panel(const std::vector<Case>& all, const std::vector<Collapse>& ways, Rule rule) {
  report::Panel result{
      .title = std::string(name(rule)),
      .x = {.label = rule == Rule::softmax ? "t" : "e^{β} t", .low = 0, .high = 40},
      .y = {.label = "diameter", .scale = report::Scale::log}};
  std::size_t colour = 0;
  for (std::size_t k = 0; k < all.size(); ++k)
    if (all[k].rule == rule)
      result.series.push_back(
          line(fmt::format("n = {}, d = {}, β = {}", all[k].tokens, all[k].dim, all[k].beta),
               report::kPalette[colour++ % report::kPalette.size()], ways[k].time, ways[k].width));
  report::Series law = line("slope of the law", report::kInk, 1.4, true);
  add_point(law, 25, 1e-2);
  add_point(law, 25 + std::log(1e3), 1e-5);
  result.series.push_back(std::move(law));
  return result;
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table{.name = "rates",
              .title = "Rate of the diameter over that of the late law, starts in a hemisphere",
              .columns = {"beta", "tokens", "dim", "starts", "collapsed", "slowest", "fastest",
                          "largest_fall"},
              .label_column = "rule"};
  const std::vector<Case> all = cases(effort.quick);
  std::vector<Collapse> shown;
  double fall = 0, worst = 0, missing = 0, starts = 0;
  for (const Case& c : all) {
    const std::uint64_t seeds = effort.quick ? 2 : 10;
    double slowest = HUGE_VAL, fastest = 0, collapsed = 0, lost = 0;
    for (std::uint64_t s = 0; s < seeds; ++s) {
      Collapse way = follow(c, s, effort);
      if (effort.context.stopped()) return finding;
      collapsed += !way.width.empty() && way.width.back() < kNarrow;
      slowest = std::min(slowest, way.rate);
      fastest = std::max(fastest, way.rate);
      lost = std::max(lost, way.fall);
      if (s == 0) shown.push_back(std::move(way));
    }
    worst = std::max(
        {worst, std::abs(slowest - 1) / (1 + c.beta), std::abs(fastest - 1) / (1 + c.beta)});
    fall = std::max(fall, lost);
    missing += static_cast<double>(seeds) - collapsed;
    starts += static_cast<double>(seeds);
    table.labels.emplace_back(name(c.rule));
    table.rows.push_back({c.beta, static_cast<double>(c.tokens), static_cast<double>(c.dim),
                          static_cast<double>(seeds), collapsed, slowest, fastest, lost});
  }
  finding.checks = {
      near("starts in a hemisphere that did not collapse", missing, 0, 0),
      at_most("rate of the diameter over the law, less 1, over 1 + beta: largest", worst,
              2 * kWide * kWide),
      at_most("largest fall of the lowest token above the first equator", fall, 100 * kTolerance)};
  // K = n^{-1/n} exp((Ei(beta) - gamma_E - ln beta + e^{beta (1+a)} (E1(beta a) - E1(beta
  // (1+a))))/n), a = 1/(n-1), of an independent program; distances are known to 1e-8, and over the
  // way to 1e-6.
  finding.checks.push_back(at_most("orthogonal tokens, beta = 1: constant of the late law, less 1",
                                   law_constant_error(1, 1.533149777739, effort), 1e-6));
  finding.checks.push_back(at_most("orthogonal tokens, beta = 4: constant of the late law, less 1",
                                   law_constant_error(4, 2310.174914114, effort), 1e-6));
  const Table wendels = shares(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  finding.answer.headline = fmt::format(
      "All {:g} starts in a hemisphere collapsed, in the end at the rates 1 and e^{{β}} to within "
      "{:.0e} (1 + β); no token came closer to the first equator than the lowest was.",
      starts, worst);
  finding.answer.tables = {table, wendels};
  finding.answer.draw = [all, shown] {
    return std::vector{two_columns(
        "collapse", {panel(all, shown, Rule::softmax), panel(all, shown, Rule::unnormalised)},
        "Diameters of starts in one open hemisphere, time in units of the late law.")};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "hemisphere-collapse",
          .title = "From a hemisphere tokens collapse exponentially",
          .source = "arXiv 2512.01868, section 4.2; 2312.10794",
          .shows =
              "Tokens that start in an open hemisphere converge to one point exponentially fast, "
              "under both rules and for every beta; n <= d random tokens almost surely do.",
          .run = run};
}

}  // namespace attractor::papers::hemisphere_collapse
