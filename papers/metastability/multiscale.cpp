// Three time scales of many tokens at large beta, on the sphere with V = diag(1, 1, 0). Attention
// is nearly local, A(x) = x + O(1/beta), so first x' = P_x V x: the tangent of the latitude falls
// like e^{-t}, tokens collapse to the equator. There they gather in about sqrt(2 beta) clusters or
// fewer, which then merge one after the other, each when the closest pair alone would: e^{c beta}
// later.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/flow/tableau.hpp"
#include "attractor/mean_field/cluster_count.hpp"
#include "attractor/stability/stability.hpp"
#include "attractor/tokens/generators.hpp"
#include "papers/entry.hpp"
#include "papers/metastability/next_merger.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/textbook_layer.hpp"

namespace attractor::papers::multiscale {
namespace {

constexpr double kBeta = 30, kRadius = 1e-5, kEnd = 1e5;
const std::vector<double> kValue = {1, 0, 0, 0, 1, 0, 0, 0, 0};

struct Moment {
  double time, latitude;  // mean of ln |tan latitude|
  std::size_t clusters;   // maxima of the kernel density along the equator
  std::vector<double> angles, masses;
};

Moment measured(double time, std::span<const double> state, std::span<const double> masses) {
  Moment m{time, 0, 0, {}, {masses.begin(), masses.end()}};
  double total = 0;
  for (std::size_t i = 0; i < masses.size(); ++i) {
    const double *x = &state[3 * i], equator = std::hypot(x[0], x[1]);
    m.angles.push_back(std::atan2(x[1], x[0]));
    m.latitude += masses[i] * std::log(std::max(std::abs(x[2]) / equator, 1e-300));
    total += masses[i];
  }
  m.latitude /= total;
  const meanfield::CircleTokens tokens({.rule = Rule::softmax, .beta = kBeta}, m.masses);
  m.clusters = density_maxima(tokens, kBeta, m.angles).size();
  return m;
}

std::vector<double> start(const Effort& effort) {
  return make_tokens({.tokens = effort.quick ? 2000U : 10'000U, .dim = 3}).data;
}

struct Run {
  std::vector<Moment> moments;
  std::vector<double> coalescences;  // times
  double textbook = 0;               // the first layer's distance from plain arithmetic
};

/// The flow at these times, by layers of step 0.01 as published or converged.
Run run_to(const std::vector<double>& times, bool published, const Effort& effort) {
  flow::Progress progress{.state = start(effort)};
  const Attention attention{.beta = kBeta, .dim = 3, .value = kValue};
  depth::AttentionFlow tokens(attention, progress.state.size() / 3, published ? 0 : kRadius);
  flow::Plan plan{.end = flow::Time(times.back()), .tolerance = 1e-6, .step = 0.01};
  for (const double time : times) plan.outputs.emplace_back(time);
  Run result;
  flow::Hooks hooks;
  hooks.stop = effort.context.stop;
  hooks.output = [&](const flow::Time& time, std::span<const double> state) {
    result.moments.push_back(measured(time.value(), state, tokens.groups().masses()));
    effort.context.tell(
        static_cast<double>(result.moments.size()) / static_cast<double>(times.size()),
        published ? "layers" : "flow");
  };
  hooks.step = [&](const flow::Step& step) {
    if (published && step.start.value() == 0)
      result.textbook = largest_distance(
          step.after,
          textbook_layer(step.before, {.dim = 3, .beta = kBeta, .step = 0.01, .value = kValue}), 3);
  };
  run(tokens, published ? flow::layers() : flow::dormand_prince(), plan, progress, hooks);
  for (const depth::Coalescence& c : tokens.groups().coalescences())
    result.coalescences.push_back(c.time.value());
  std::sort(result.coalescences.begin(), result.coalescences.end());
  return result;
}

/// Each merger of whole clusters against that of the closest pair alone.
Table compare_mergers(const Run& flow, std::vector<Check>& checks) {
  Table table{.name = "mergers",
              .title = "Mergers of clusters: how long they take, and the closest pair alone",
              .columns = {"clusters_before", "wait", "pair_alone", "ratio", "most"}};
  std::size_t before = 10;
  for (const Moment& m : flow.moments) {
    const auto next = std::upper_bound(flow.coalescences.begin(), flow.coalescences.end(), m.time);
    if (m.angles.size() >= before || m.angles.size() < 2 || next == flow.coalescences.end())
      continue;
    before = m.angles.size();
    std::vector<Cluster> clusters;
    for (std::size_t i = 0; i < before; ++i) clusters.push_back({m.angles[i], m.masses[i]});
    std::sort(clusters.begin(), clusters.end(),
              [](const Cluster& a, const Cluster& b) { return a.angle < b.angle; });
    const Merger alone = next_merger(clusters, true, kBeta, 1 - kRadius * kRadius / 2);
    const double ratio = (*next - m.time) / alone.wait, most = 1 / (1 - alone.disturbance);
    table.rows.push_back({static_cast<double>(before), *next - m.time, alone.wait, ratio, most});
    // Neighbours delay a merger; one per cent for all that is of higher order.
    checks.push_back(between(
        fmt::format("merger {}: wait over that of the closest pair alone", table.rows.size()),
        ratio, 0.99, 1.01 * most));
  }
  checks.push_back(
      at_least("mergers of clusters by t = 1e5", static_cast<double>(table.rows.size()), 1));
  return table;
}

const Moment& at(const Run& run, double time) {
  return *std::find_if(run.moments.begin(), run.moments.end() - 1,
                       [&](const Moment& m) { return m.time >= time * (1 - 1e-9); });
}

PageFigure figure(const Run& flow) {
  report::Series latitude{.colour = report::kVermillion},
      clusters{.mark = report::Mark::steps, .colour = report::kBlue};
  for (const Moment& m : flow.moments) {
    if (m.time <= 0) continue;
    if (m.time <= 15) add_point(latitude, std::log10(m.time), m.latitude / std::numbers::ln10);
    add_point(clusters, std::log10(m.time), static_cast<double>(m.clusters));
  }
  const report::Axis time{.label = "time t", .scale = report::Scale::power, .low = -1.5, .high = 5};
  report::Panel top{.title = "fast: collapse to the equator",
                    .x = time,
                    .y = {.label = "tan latitude", .scale = report::Scale::power},
                    .series = {latitude}};
  report::Panel bottom{.title = "then clusters, which merge ever more slowly",
                       .x = time,
                       .y = {.label = "maxima along the equator", .low = 0},
                       .series = {clusters}};
  return two_columns(
      "scales", {top, bottom},
      "Left: geometric mean of the tangent of the latitude. Right: maxima of the kernel density "
      "along the equator.");
}

Finding run(const Effort& effort) {
  Finding finding;
  std::vector<double> times = {0};
  for (int k = -30; k <= 100; ++k) times.push_back(std::pow(10, k / 20.0));
  const Run flow = run_to(times, false, effort);
  if (effort.context.stopped()) return finding;
  std::vector<double> early;
  for (int k = 0; k <= (effort.quick ? 8 : 80); ++k) early.push_back(0.25 * k);
  const Run layers = run_to(early, true, effort);
  if (effort.context.stopped()) return finding;
  const auto rate = [](const Run& r, double t) {
    return (r.moments[0].latitude - at(r, t).latitude) / at(r, t).time;
  };
  const double formed = static_cast<double>(at(flow, 20).clusters);
  const std::size_t fastest = meanfield::stability({.dim = 2, .beta = kBeta}).fastest;
  // A uniform density averages to (coth beta - 1/beta) x, a single point to x.
  const double slowest = 1 / std::tanh(kBeta) - 1 / kBeta;
  finding.checks = {
      between("rate at which tan latitude falls up to t = 2", rate(flow, 2), slowest, 1),
      between("the same by layers of step 0.01", rate(layers, 2), slowest - 0.01, 1),
      between("clusters along the equator at t = 20", formed, static_cast<double>(fastest) - 3,
              static_cast<double>(fastest)),
      at_most("share of clusters left at t = 1e5",
              static_cast<double>(flow.moments.back().clusters) / formed, 0.99),
      at_most("a layer against plain arithmetic, largest distance", layers.textbook, 1e-14)};
  Table schemes{.name = "schemes",
                .title = "Fast phase, up to t = 2",
                .columns = {"rate_published", "rate_flow", "rate_limit"},
                .rows = {{rate(layers, 2), rate(flow, 2), 1}}};
  finding.answer.tables = {compare_mergers(flow, finding.checks), schemes};
  finding.answer.headline = fmt::format(
      "tan latitude falls at rate {:.3f}; by t = 20 there are {:.0f} clusters on the equator "
      "(fastest wave "
      "{}), at t = 10^{{5}} still {}.",
      rate(flow, 2), formed, fastest, flow.moments.back().clusters);
  finding.answer.draw = [flow] { return std::vector{figure(flow)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "multiscale",
          .title = "Three time scales: subspace, clusters, mergers",
          .source = "arXiv 2509.25040",
          .shows =
              "10,000 tokens on the sphere, beta = 30: fast collapse to a subspace, then clusters, "
              "then slow mergers. The value matrix is ours, diag(1, 1, 0).",
          .run = run};
}

}  // namespace attractor::papers::multiscale
