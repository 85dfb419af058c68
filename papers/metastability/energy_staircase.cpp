// Dynamic metastability: five tokens on the circle at angles (0, .5, 2, 4, 7) log(beta)/(2 sqrt
// beta). Each merger waits for the closest pair, whose time alone is known exactly
// (reductions/cluster_pair.hpp), and lifts the energy to the next sum of squared masses. The paper
// speeds time up by log(beta)/|grad E| to see all steps; here time is the true one, on a log axis.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"
#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/metastability/next_merger.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::energy_staircase {
namespace {

std::vector<double> start_angles(double beta) {
  std::vector<double> angles = {0, 0.5, 2, 4, 7};
  for (double& angle : angles) angle *= std::log(beta) / std::sqrt(beta) / 2;
  return angles;
}

FlowSetup parameters(double beta) {
  FlowSetup p = at_angles(start_angles(beta));
  p.beta = beta;
  return p;
}

/// How far the first of two clusters moves until they meet: int a / (a + b) d delta, a and b the
/// speeds of both, by the midpoint rule.
double meeting_point(double delta, double beta, double m1, double m2) {
  constexpr int kPieces = 2000;
  double moved = 0;
  for (int k = 0; k < kPieces; ++k) {
    const double at = delta * (k + 0.5) / kPieces;
    const double pull = std::exp(beta * (std::cos(at) - 1));
    const double a = m2 / (m1 + m2 * pull), b = m1 / (m2 + m1 * pull);
    moved += a / (a + b) * delta / kPieces;
  }
  return moved;
}

struct Expected {
  double log10_time, plateau;  // energy after it, over that of one cluster
};

/// Mergers one after the other, each at the time of its pair alone.
std::vector<Expected> isolated_pairs(double beta, double cosine) {
  std::vector<Cluster> clusters;
  for (const double angle : start_angles(beta)) clusters.push_back({angle, 0.2});
  std::vector<Expected> result;
  double clock = 0;
  while (clusters.size() > 1) {
    const Merger next = next_merger(clusters, false, beta, cosine);
    const auto a = clusters.begin() + static_cast<std::ptrdiff_t>(next.pair), b = a + 1;
    clock += next.wait;
    a->angle += meeting_point(b->angle - a->angle, beta, a->mass, b->mass);
    a->mass += b->mass;
    clusters.erase(b);
    double plateau = 0;
    for (const Cluster& c : clusters) plateau += c.mass * c.mass;
    result.push_back({std::log10(clock), plateau});
  }
  return result;
}

/// Energy in the middle of the plateau between two mergers, in log time.
double energy_between(const FlowRecord& record, double from, double to) {
  for (const observe::Observation& o : record.series)
    if (o.log10_time >= (from + to) / 2) return o.energy_ratio;
  return record.series.back().energy_ratio;
}

struct Staircase {
  double beta;
  FlowRecord record;
  std::vector<Expected> expected;
};

void compare(const Staircase& s, Table& table, std::vector<Check>& checks) {
  checks.push_back(near(fmt::format("beta = {}: mergers", s.beta),
                        static_cast<double>(s.record.merges.size()), 4, 0));
  for (std::size_t k = 0; k < std::min<std::size_t>(4, s.record.merges.size()); ++k) {
    const double ours = s.record.merges[k].time.log() / std::numbers::ln10;
    const double ratio = std::pow(10, ours - s.expected[k].log10_time);
    // The middle of a plateau, where there is one.
    const double next = k < 3 ? s.expected[k + 1].log10_time : ours;
    const double energy = next - ours > 1 ? energy_between(s.record, ours, next) : kNan;
    table.rows.push_back({s.beta, static_cast<double>(k + 1), ours, s.expected[k].log10_time, ratio,
                          energy, s.expected[k].plateau});
    // Other clusters pull too, by some per cent (three clusters: 4 %).
    checks.push_back(
        near(fmt::format("beta = {}: time of merger {} over that of its pair alone", s.beta, k + 1),
             ratio, 1, 0.05));
    if (std::isfinite(energy))
      checks.push_back(near(fmt::format("beta = {}: energy after merger {}", s.beta, k + 1), energy,
                            s.expected[k].plateau, 1e-3));
  }
  checks.push_back(at_most(fmt::format("beta = {}: largest fall of the energy", s.beta),
                           largest_fall(column(s.record, &observe::Observation::energy_ratio)),
                           1e-12));
}

/// n = 5, beta = 4, T = 400: layers of step 0.1, and the flow.
Table compare_schemes(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "schemes",
              .title = "β = 4, t up to 400: times of mergers (cosine 0.999)",
              .columns = {"merger", "published_scheme", "flow", "lag_percent"}};
  FlowSetup p = parameters(4);
  p.time = 400;
  const FlowRecord flow = flow_of(p, effort);
  p.stepper = flow::Method::layers;
  const FlowRecord layers = flow_of(p, effort);
  for (std::size_t k = 0; k < std::min(flow.merges.size(), layers.merges.size()); ++k) {
    const double exact = flow.merges[k].time.value(), scheme = layers.merges[k].time.value();
    table.rows.push_back({static_cast<double>(k + 1), scheme, exact, 100 * (scheme / exact - 1)});
  }
  checks.push_back(near("beta = 4, t = 400: clusters", layers.series.back().clusters, 1, 0));
  if (!table.rows.empty())
    checks.push_back(between("beta = 4: lag of the scheme at the last merger, per cent",
                             table.rows.back()[3], 0, 10));
  return table;
}

PageFigure figure(const std::vector<Staircase>& stairs) {
  report::Panel panel{
      .x = {.label = "time t", .scale = report::Scale::power, .low = -1, .high = kNan},
      .y = {.label = "energy / its maximum", .low = 0, .high = 1.05}};
  for (std::size_t k = 0; k < stairs.size(); ++k) {
    report::Series climb = line(fmt::format("β = {}", stairs[k].beta), report::kPalette[k], 2),
                   marks = dots("", report::kPalette[k], 4);
    for (const observe::Observation& o : stairs[k].record.series)
      add_point(climb, o.log10_time, o.energy_ratio);
    for (const Expected& e : stairs[k].expected) add_point(marks, e.log10_time, e.plateau);
    panel.series.push_back(std::move(climb));
    panel.series.push_back(std::move(marks));
  }
  return {{.id = "staircase", .panels = {std::move(panel)}, .width = 1120, .height = 460},
          "Energy of five tokens against true time. Points: when each closest pair would merge if "
          "it were alone, at the energy (sum of squared masses) that this leads to.",
          true};
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table{
      .name = "mergers",
      .title = "Mergers: log_{10} of their times, and energies on the plateaus between them",
      .columns = {"beta", "merger", "log10_time", "pair_log10_time", "ratio", "energy",
                  "sum_of_squares"}};
  std::vector<Staircase> stairs;
  for (const double beta : {500.0, 1000.0, 2000.0, 4000.0}) {
    FlowSetup p = parameters(beta);
    p.time = HUGE_VAL;
    p.tolerance = 1e-10;
    stairs.push_back({beta, flow_of(p, effort), {}});
    if (effort.context.stopped()) return finding;
    stairs.back().expected = isolated_pairs(beta, stairs.back().record.cluster_cosine);
    compare(stairs.back(), table, finding.checks);
  }
  finding.answer.headline = fmt::format(
      "The energy climbs four steps, over {:.0f} decades of time at β = 500 and {:.0f} at β = "
      "4000; "
      "each merger comes when its pair alone would merge (ratio {:.4f} for the last one at β = "
      "4000).",
      table.rows[3][2], table.rows.back()[2], table.rows.back()[4]);
  finding.answer.tables = {table, compare_schemes(effort, finding.checks)};
  finding.answer.remarks.push_back(
      "The paper's clock (speed log beta along grad E/|grad E|) is not run: true time shows the "
      "same steps and can be compared with exact merge times.");
  finding.answer.draw = [stairs] { return std::vector{figure(stairs)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {
      .id = "energy-staircase",
      .title = "Energy staircase of metastable clusters",
      .source = "arXiv 2410.06833",
      .shows =
          "Five tokens on the circle from a fixed start, beta = 500 to 4000: the energy rests on "
          "plateaus and jumps whenever two clusters merge; n = 5, beta = 4, t up to 400 ends in "
          "one cluster.",
      .run = run};
}

}  // namespace attractor::papers::energy_staircase
