// Where tokens sit in k clusters y_a of masses m_a the energy is nearly flat:
//
//   |grad E| = e^beta (sum_a m_a |sum_b m_b e^{-beta (1 - c_ab)} P_a y_b|^2)^{1/2},
//
// in the metric of unnormalised attention, whose velocity it is: e^{-beta (1 - max c)} of the
// natural speed e^beta. Tokens come down to that value from caps around the y_a while they shrink:
// what a width r adds is at most r, up to beta r of the sum.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/depth/velocity.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/generators.hpp"
#include "papers/entry.hpp"
#include "papers/metastability/three_caps.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"

namespace attractor::papers::slow_manifold {
namespace {

/// |grad E| e^{-beta} of equal tokens, from the velocities of the attention kernel.
double measured(std::span<const double> tokens, std::size_t dim, double beta) {
  std::vector<double> velocity(tokens.size());
  depth::velocity({.attention = {.rule = Rule::unnormalised, .beta = beta, .dim = dim},
                   .engine = depth::Engine::dense,
                   .log_unit = -beta},
                  tokens, {}, velocity);
  return std::sqrt(dot(velocity, velocity) / static_cast<double>(tokens.size() / dim));
}

/// The closed sum over clusters.
double closed(std::span<const double> centres, std::size_t dim, std::span<const double> masses,
              double beta) {
  double squares = 0;
  for (std::size_t a = 0; a < masses.size(); ++a) {
    std::vector<double> pull(dim);
    for (std::size_t b = 0; b < masses.size(); ++b) {
      if (a == b) continue;
      const auto ya = row(centres, dim, a), yb = row(centres, dim, b);
      const double cosine = dot(ya, yb), weight = masses[b] * std::exp(-beta * (1 - cosine));
      for (std::size_t c = 0; c < dim; ++c) pull[c] += weight * (yb[c] - cosine * ya[c]);
    }
    squares += masses[a] * dot(pull, pull);
  }
  return std::sqrt(squares);
}

struct Clusters {
  std::string name;
  std::size_t dim;
  std::vector<double> centres;
  std::vector<std::size_t> counts;  // tokens of each
};

std::vector<Clusters> manifold_points() {
  return {{"3 caps, d = 3", 3, cap_centres(), {4, 4, 4}},
          {"3 unequal caps, d = 3", 3, cap_centres(), {1, 7, 3}},
          {"5 random clusters, d = 6",
           6,
           make_tokens({.tokens = 5, .dim = 6, .seed = 1}).data,
           {2, 3, 4, 5, 6}},
          {"20 random clusters, d = 16", 16, make_tokens({.tokens = 20, .dim = 16, .seed = 2}).data,
           std::vector<std::size_t>(20, 3)}};
}

double largest_cosine(const Clusters& k) {
  double largest = -1;
  for (std::size_t a = 0; a < k.counts.size(); ++a)
    for (std::size_t b = 0; b < a; ++b)
      largest = std::max(largest, dot(row(k.centres, k.dim, a), row(k.centres, k.dim, b)));
  return largest;
}

Table on_manifold(std::vector<Check>& checks) {
  Table table{.name = "manifold",
              .title = "ln(|∇E| e^{−β}) where tokens are k clusters",
              .columns = {"beta", "tokens", "closed_sum", "slope_so_far", "slope_limit"},
              .label_column = "clusters"};
  double worst = 0, off = 0;
  for (const Clusters& k : manifold_points()) {
    std::vector<double> tokens, masses;
    std::size_t n = 0;
    for (const std::size_t count : k.counts) n += count;
    for (std::size_t a = 0; a < k.counts.size(); ++a) {
      masses.push_back(static_cast<double>(k.counts[a]) / static_cast<double>(n));
      for (std::size_t i = 0; i < k.counts[a]; ++i)
        for (const double c : row(k.centres, k.dim, a)) tokens.push_back(c);
    }
    const double limit = largest_cosine(k) - 1;
    double last = kNan, last_beta = kNan;
    for (const double beta : {2.0, 10.0, 50.0, 150.0, 200.0}) {
      const double found = measured(tokens, k.dim, beta),
                   sum = closed(k.centres, k.dim, masses, beta);
      worst = std::max(worst, std::abs(found / sum - 1) / (1 + beta));
      const double rise = (std::log(found) - last) / (beta - last_beta);
      table.labels.push_back(k.name);
      table.rows.push_back({beta, std::log(found), std::log(sum), rise, limit});
      last = std::log(found), last_beta = beta;
    }
    off = std::max(off, std::abs(table.rows.back()[3] - limit));
  }
  checks.push_back(at_most(
      "k clusters: |grad E| of tokens against the closed sum, relative, over 1 + beta: largest",
      worst, 1e-13));
  checks.push_back(
      at_most("slope of ln(|grad E| e^{-beta}) from beta = 150 to 200, from max c - 1: largest",
              off, 2e-3));
  return table;
}

struct Descent {
  double beta;
  std::vector<double> time{}, force{};  // |grad E| e^{-beta}
  double end_width = 0, end_closed = 0;
};

/// From caps under softmax attention until T_1 has passed three times.
Descent descend(double beta, const Effort& effort) {
  const double rho = 0.5 / std::sqrt(beta);
  const double end = 3 * cap_time(beta, rho, std::exp(-beta / 2));
  Descent way{.beta = beta};
  flow::Progress progress{.state = cap_tokens(rho)};
  depth::AttentionFlow tokens({.beta = beta, .dim = 3}, kCaps * kCapTokens, 0);
  flow::Plan plan{.end = flow::Time(end), .tolerance = 1e-13};
  for (int k = 0; k <= 120; ++k) plan.outputs.emplace_back(end * k / 120);
  flow::Hooks hooks{.stop = effort.context.stop};
  hooks.output = [&](const flow::Time& time, std::span<const double> state) {
    way.time.push_back(time.value());
    way.force.push_back(measured(state, 3, beta));
  };
  flow::run(tokens, flow::dormand_prince(), plan, progress, hooks);
  std::vector<double> centres(9);
  for (std::size_t k = 0; k < progress.state.size(); ++k)
    centres[k / (3 * kCapTokens) * 3 + k % 3] += progress.state[k] / kCapTokens;
  for (std::size_t a = 0; a < kCaps; ++a) {
    const auto y = std::span(centres).subspan(3 * a, 3);
    const double length = std::sqrt(dot(y, y));
    for (double& c : y) c /= length;
  }
  way.end_width = widest_cap(progress.state);
  way.end_closed = closed(centres, 3, std::vector<double>(kCaps, 1.0 / kCaps), beta);
  return way;
}

PageFigure figure(const std::vector<Descent>& ways) {
  report::Panel panel{.x = {.label = "t", .low = 0},
                      .y = {.label = "|∇E| e^{−β}", .scale = report::Scale::log}};
  for (std::size_t k = 0; k < ways.size(); ++k) {
    panel.series.push_back(line(fmt::format("β = {}", ways[k].beta), report::kPalette[k],
                                ways[k].time, ways[k].force));
    panel.horizontal.push_back(
        {.at = ways[k].end_closed, .colour = report::kPalette[k], .dashed = true});
  }
  return picture("descent", "Down to the slow manifold", {std::move(panel)},
                 "Three caps under softmax attention: the gradient of the energy falls while caps "
                 "shrink and stays at the closed sum over clusters (dashed).");
}

Finding run(const Effort& effort) {
  Finding finding;
  finding.answer.tables = {on_manifold(finding.checks)};
  Table table{.name = "descent",
              .title = "|∇E| e^{−β} of caps at 3 T_{1}",
              .columns = {"beta", "start", "end", "closed_sum", "width"}};
  std::vector<Descent> ways;
  double worst = 0;
  for (const double beta : {6.0, 12.0, 18.0, 24.0}) {
    ways.push_back(descend(beta, effort));
    if (effort.context.stopped()) return finding;
    const Descent& w = ways.back();
    table.rows.push_back({beta, w.force.front(), w.force.back(), w.end_closed, w.end_width});
    // Positions are known to 1e-13, and so is what holds a cap together.
    const double allowed = 2 * w.end_width + 4 * beta * w.end_width * w.end_closed + 1e-12;
    worst = std::max(worst, std::abs(w.force.back() - w.end_closed) / allowed);
  }
  finding.checks.push_back(at_most(
      "caps at 3 T_1: |grad E| from the closed sum, largest over what their width adds", worst, 1));
  finding.checks.push_back(at_most("beta = 24: |grad E| at 3 T_1 over that at the start",
                                   table.rows[3][2] / table.rows[3][1], 1e-4));
  finding.answer.headline = fmt::format(
      "Where tokens are clusters |∇E| e^{{−β}} is the closed sum over them, of slope max c − 1 in "
      "β; caps come down to it, {:.1e} at β = 24 from {:.2g} at the start.",
      table.rows[3][2], table.rows[3][1]);
  finding.answer.tables.push_back(table);
  finding.answer.draw = [ways] { return std::vector{figure(ways)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "slow-manifold",
          .title = "The slow manifold of k clusters",
          .source = "arXiv 2512.01868, section 5.1; 2410.06833",
          .shows =
              "On the set of k-cluster states the gradient of the energy is exponentially small in "
              "beta; tokens fall towards it quickly and then move slowly along it.",
          .run = run};
}

}  // namespace attractor::papers::slow_manifold
