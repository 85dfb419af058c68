// Two clusters live e^{c beta}: merge times of particles, the exact pair formula and its large-beta
// law, for both rules, several angles and unequal masses.
#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "attractor/base/numbers.hpp"
#include "attractor/reductions/cluster_pair.hpp"
#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::two_cluster_lifetime {
namespace {

using meanfield::ClusterPair;
using meanfield::PairAngle;
using report::Panel;

constexpr double kDegrees[] = {60, 90, 120};

struct Case {
  Rule rule;
  double beta, degrees;
  int tokens1, tokens2;
};

ClusterPair pair_of(const Case& c) {
  const double all = c.tokens1 + c.tokens2;
  return {.rule = c.rule, .beta = c.beta, .mass1 = c.tokens1 / all, .mass2 = c.tokens2 / all};
}

/// ln of the time at which two crowds of tokens come within cosine 0.999.
double log_simulated(const Case& c, const Effort& effort) {
  std::vector<double> angles(static_cast<std::size_t>(c.tokens1), 0.0);
  angles.resize(static_cast<std::size_t>(c.tokens1 + c.tokens2),
                c.degrees * std::numbers::pi / 180);
  FlowSetup p = at_angles(angles);
  p.dynamics = c.rule;
  p.beta = c.beta;
  p.time = kInfinity;
  p.tolerance = 1e-10;
  p.cluster_cosine = 0.999;
  const FlowRecord record = flow_of(p, effort);
  return record.merges.empty() ? kNan : record.merges.back().time.log();
}

std::vector<Case> cases(bool quick) {
  std::vector<Case> all = {{Rule::unnormalised, 4, 90, 1, 1},
                           {Rule::unnormalised, 9, 60, 1, 1},
                           {Rule::softmax, 4, 90, 1, 3},
                           {Rule::softmax, 25, 90, 2, 5}};
  for (const double beta : {1.0, 4.0, 9.0, 16.0, 25.0, 49.0})
    for (const double degrees : kDegrees)
      if (!quick || degrees == 90 || beta == 9 || beta == 25)
        all.push_back({Rule::softmax, beta, degrees, 1, 1});
  return all;
}

std::vector<PageFigure> figures(const Table& table) {
  const report::Colour colours[] = {report::kBlue, report::kGreen, report::kVermillion};
  Panel panel{.x = {.label = "β", .low = 0, .high = 52},
              .y = {.label = "time until they merge", .scale = report::Scale::power}};
  for (std::size_t a = 0; a < 3; ++a) {
    report::Series exact = line(fmt::format("exact, {}°", kDegrees[a]), colours[a]),
                   law = line("", colours[a], 1.3, true), found = dots("", colours[a], 4.5);
    const PairAngle from = PairAngle::of_degrees(kDegrees[a]);
    for (double beta = 0.5; beta <= 50; beta += 0.5) {
      const ClusterPair pair{.beta = beta};
      add_point(exact, beta, log_merge_time(pair, from) / std::log(10));
      add_point(law, beta, log_asymptotic_time(pair, from) / std::log(10));
    }
    for (std::size_t k = 4; k < table.rows.size(); ++k)
      if (table.rows[k][1] == kDegrees[a])
        add_point(found, table.rows[k][0], table.rows[k][4] / std::log(10));
    panel.series.insert(panel.series.end(), {exact, law, found});
  }
  return {picture("lifetime", "Two equal clusters under softmax attention", {std::move(panel)},
                  "Dots: tokens; lines: exact formula; dashed: e^{β(1−cos δ)} / (2β sin^{2} δ). "
                  "The time is until cosine 0.999.")};
}

Finding run(const Effort& effort) {
  Finding finding;
  Table table{.name = "merge_times",
              .title = "ln of the time until cosine 0.999",
              .columns = {"beta", "degrees", "mass1", "mass2", "tokens", "exact", "large_beta",
                          "relative_error"},
              .label_column = "rule"};
  double worst = 0;
  for (const Case& c : cases(effort.quick)) {
    const double simulated = log_simulated(c, effort);
    if (effort.context.stopped()) return finding;
    const ClusterPair pair = pair_of(c);
    const PairAngle from = PairAngle::of_degrees(c.degrees);
    const double exact = log_merge_time(pair, from),
                 error = std::abs(std::expm1(simulated - exact));
    worst = std::isnan(error) ? HUGE_VAL : std::max(worst, error);
    table.labels.emplace_back(name(c.rule));
    table.rows.push_back({c.beta, c.degrees, pair.mass1, pair.mass2, simulated, exact,
                          log_asymptotic_time(pair, from), error});
  }
  const auto simulated_at = [&](double beta, double degrees) {
    for (std::size_t k = 4; k < table.rows.size(); ++k)
      if (table.rows[k][0] == beta && table.rows[k][1] == degrees) return table.rows[k][4];
    return kNan;
  };
  const double rate = (simulated_at(49, 90) - simulated_at(25, 90)) / 24;
  const double law = 1 - std::log(49.0 / 25) / 24;  // of e^{beta} / 2 beta between the two
  finding.checks = {
      at_most("merge times of tokens against the exact ones, largest relative error", worst, 1e-7),
      // Reference values of an independent quadrature.
      near_relative("equal pair at 90 degrees, beta = 9", std::exp(simulated_at(9, 90)),
                    466.7106529100, 1e-7),
      near_relative("equal pair at 60 degrees, beta = 25", std::exp(simulated_at(25, 60)),
                    7637.242181796, 1e-7),
      near_relative("masses 1/4 and 3/4 at 90 degrees, beta = 4", std::exp(table.rows[2][4]),
                    8.148917897344, 1e-7),
      near("growth of ln T with beta at 90 degrees, 25 to 49, against e^{beta}/2 beta", rate, law,
           1e-3),
      // 1 + 2/beta^2 + ... at 90 degrees.
      near("exact over large-beta time at 90 degrees, beta = 25",
           ratio_to_asymptotic({.beta = 25}, PairAngle::of_degrees(90)), 1.003264706, 1e-9)};
  finding.answer.headline = fmt::format(
      "Merge times of tokens equal the exact two-cluster formula to {:.1e} over "
      "nineteen decades; at 90° they grow like e^{{{:.4f} β}} between β = 25 and 49.",
      worst, rate);
  finding.answer.tables.push_back(table);
  finding.answer.draw = [table] { return figures(table); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "two-cluster-lifetime",
          .title = "Two clusters live exponentially long",
          .source = "arXiv 2410.06833, theorem-level",
          .shows =
              "At large beta separate clusters are metastable: two of them at angle delta "
              "merge after a time of order e^{beta (1 - cos delta)} under softmax attention.",
          .run = run};
}

}  // namespace attractor::papers::two_cluster_lifetime
