// How many clusters unnormalised attention makes of tokens spread uniformly over the circle. A wave
// of number k grows like e^{sigma_k t}, sigma_k = k^2 I_k(beta)/beta; the paper reads the number of
// clusters off the fastest one. N tokens excite every wave with amplitude N^{-1/2}, so the number
// is random: what is shown here is its distribution.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/mean_field/cluster_count.hpp"
#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/metastability/circle_waves.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::metastable_clusters {
namespace {

using meanfield::CircleTokens;

struct Case {
  double beta, time;
  std::size_t clusters;  // as published
  const char* why;
};
constexpr Case kCases[] = {
    {5, 0.6, 3, ""},
    {7, 0.1, 4,
     "waves 3 and 4 grow almost equally fast from random amplitudes, and neighbours merge early: "
     "with 20,000 tokens 8 of 30 starts give the 4 of the published picture, the others 3"}};

double growth(int mode, double beta) { return mode * mode * std::cyl_bessel_i(mode, beta) / beta; }

/// Growth of a small wave over one e-folding, from a run.
double measured_growth(std::uint64_t mode, double beta, const Effort& effort) {
  FlowSetup p;
  p.dynamics = Rule::unnormalised;
  p.beta = beta;
  p.dim = 2;
  p.tokens = 128;
  p.init = Arrangement::circle;
  p.mode = mode;
  p.amplitude = 1e-6;
  p.time = 1 / growth(static_cast<int>(mode), beta);
  p.tolerance = 1e-13;
  p.merge_radius = 0;
  p.outputs = 1;
  p.snapshots = 2;
  return wave_growth(flow_of(p, effort), mode);
}

/// Angles at the end, by the published explicit Euler method or converged.
std::vector<double> end_angles(const Case& c, std::size_t n, std::uint64_t replicate,
                               bool published, const Effort& effort) {
  CircleTokens tokens({.rule = Rule::unnormalised, .beta = c.beta}, n);
  flow::Progress progress{.state = meanfield::uniform_angles(n, 0, replicate)};
  flow::Hooks hooks;
  hooks.stop = effort.context.stop;
  run(tokens, published ? flow::euler() : flow::dormand_prince(),
      {.end = flow::Time(c.time), .outputs = {}, .tolerance = 1e-5, .step = 1e-4}, progress, hooks);
  return progress.state;
}

std::size_t count(const Case& c, const std::vector<double>& angles) {
  const CircleTokens tokens({.rule = Rule::unnormalised, .beta = c.beta}, angles.size());
  return density_maxima(tokens, c.beta, angles).size();
}

/// What is seen of one beta.
struct Seen {
  Case what;
  std::vector<double> example;           // angles of the first replicate at the end
  std::array<double, 9> times{};         // how often so many clusters
  double euler = kNan;                   // clusters of the first replicate as published
  std::vector<double> theory, measured;  // growth of waves 1, 2, ...
};

Seen see(const Case& c, const Effort& effort) {
  Seen seen{.what = c};
  const std::size_t n = effort.quick ? 4000 : 20'000, replicates = effort.quick ? 12 : 30;
  for (std::uint64_t r = 0; r < replicates && !effort.context.stopped(); ++r) {
    const std::vector<double> angles = end_angles(c, n, r, false, effort);
    if (r == 0) seen.example = angles;
    seen.times[std::min<std::size_t>(8, count(c, angles))] += 1;
  }
  // 6000 steps of beta = 5 are left to the run at full size.
  if (!effort.quick || c.time < 0.2)
    seen.euler = static_cast<double>(count(c, end_angles(c, n, 0, true, effort)));
  for (int k = 1; k <= 6; ++k) {
    seen.theory.push_back(growth(k, c.beta));
    seen.measured.push_back(measured_growth(static_cast<std::uint64_t>(k), c.beta, effort));
  }
  return seen;
}

report::Panel density_panel(const Seen& s) {
  report::Series boxes = angle_density(s.example, 90);
  boxes.mark = report::Mark::boxes;
  return {.title = fmt::format("β = {}, t = {}: first start", s.what.beta, s.what.time),
          .x = {.label = "angle, degrees", .low = 0, .high = 360},
          .y = {.label = "density × 2π", .low = 0},
          .series = {std::move(boxes)}};
}

report::Panel growth_panel(const Seen& s) {
  report::Series theory = line("k^{2} I_{k}(β) / β", report::kGrey, 2),
                 points = dots("measured", report::kVermillion, 5);
  for (std::size_t k = 0; k < s.theory.size(); ++k) {
    add_point(theory, static_cast<double>(k + 1), s.theory[k]);
    add_point(points, static_cast<double>(k + 1), s.measured[k]);
  }
  return {.title = fmt::format("β = {}: growth of waves", s.what.beta),
          .x = {.label = "wave number k", .low = 0.5, .high = 6.5},
          .y = {.label = "growth rate",
                .low = 0,
                .high = 1.25 * *std::max_element(s.theory.begin(), s.theory.end())},
          .series = {std::move(theory), std::move(points)}};
}

void compare(const Seen& s, Table& table, std::vector<Check>& checks) {
  const std::size_t most =
      static_cast<std::size_t>(std::max_element(s.times.begin(), s.times.end()) - s.times.begin());
  double total = 0, mean = 0, worst = 0;
  for (std::size_t k = 0; k < s.times.size(); ++k) total += s.times[k];
  for (std::size_t k = 0; k < s.times.size(); ++k)
    mean += static_cast<double>(k) * s.times[k] / total;
  for (std::size_t k = 0; k < s.theory.size(); ++k)
    worst = std::max(worst, std::abs(s.measured[k] / s.theory[k] - 1));
  const auto fastest =
      std::max_element(s.measured.begin(), s.measured.end()) - s.measured.begin() + 1;
  table.rows.push_back({s.what.beta, s.what.time, static_cast<double>(s.what.clusters),
                        static_cast<double>(fastest), mean, s.times[2], s.times[3], s.times[4],
                        s.times[5], s.euler});
  checks.push_back(near(
      fmt::format("beta = {}: commonest number of clusters at t = {}", s.what.beta, s.what.time),
      static_cast<double>(most), static_cast<double>(s.what.clusters), 0, s.what.why));
  checks.push_back(at_least(fmt::format("beta = {}: starts with the published number", s.what.beta),
                            s.times[s.what.clusters], 1));
  checks.push_back(near(fmt::format("beta = {}: fastest wave", s.what.beta),
                        static_cast<double>(fastest), static_cast<double>(s.what.clusters), 0));
  checks.push_back(at_most(
      fmt::format(
          "beta = {}: growth of waves 1 to 6 against k^2 I_k/beta, largest relative difference",
          s.what.beta),
      worst, 1e-5));
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table{
      .name = "clusters",
      .title = "Clusters at the end: published, fastest wave, and how many starts gave 2 to 5",
      .columns = {"beta", "time", "published", "fastest_wave", "mean", "gave_2", "gave_3", "gave_4",
                  "gave_5", "first_start_by_euler"}};
  std::vector<Seen> all;
  for (const Case& c : kCases) {
    all.push_back(see(c, effort));
    if (effort.context.stopped()) return finding;
    compare(all.back(), table, finding.checks);
  }
  finding.answer.headline = fmt::format(
      "The fastest waves are {:.0f} (β = 5) and {:.0f} (β = 7), growing like k^{{2}} I_{{k}}(β)/β; "
      "random starts make {:.2f} and {:.2f} clusters on average.",
      table.rows[0][3], table.rows[1][3], table.rows[0][4], table.rows[1][4]);
  finding.answer.tables = {table};
  finding.answer.draw = [all] {
    std::vector<report::Panel> panels;
    for (const Seen& s : all) panels.insert(panels.end(), {density_panel(s), growth_panel(s)});
    return std::vector{two_columns(
        "clusters", std::move(panels),
        "Left: tokens of one start at the published time. Right: growth rates of small waves, "
        "measured in runs, and linear theory.",
        720)};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {
      .id = "metastable-clusters",
      .title = "Number of metastable clusters on the circle",
      .source = "arXiv 2410.23228",
      .shows =
          "20,000 uniform tokens on the circle under unnormalised attention gather in 3 clusters "
          "(beta = 5, t = 0.6) and 4 (beta = 7, t = 0.1), the fastest wave of linear theory.",
      .run = run};
}

}  // namespace attractor::papers::metastable_clusters
