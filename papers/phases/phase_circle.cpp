// The phase diagram on the circle: n = 32 tokens, P(<x_i,x_j> >= 0.999) over beta and time, by the
// published scheme x <- normalise(x + 0.1 A) and by the flow itself (RK4), which is 6 to 10 %
// ahead.
#include <fmt/format.h>

#include <cmath>

#include "papers/entry.hpp"
#include "papers/phases/phase_diagrams.hpp"

namespace attractor::papers::phase_circle {
namespace {

/// Measured with the authors' own script, 256 replicates, at beta = 9.
constexpr double kTimes[] = {5, 10, 20, 30}, kShares[] = {0.190, 0.296, 0.327, 0.341};

/// Runs of their own: of the 200 published checkpoints only the last is at one of these times.
Table compare_shares(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "schemes",
              .title = "As published, and converged: share of pairs at β = 9",
              .columns = {"time", "authors_script", "published_scheme", "error", "flow"}};
  PhaseSetup p;
  p.replicates = effort.quick ? 256 : 2048;
  p.beta = {9};
  p.outputs = 6;
  const Schemes schemes = both_schemes(p, effort);
  if (effort.context.stopped()) return table;
  for (std::size_t k = 0; k < 4; ++k) {
    const Shares at = schemes.at(kTimes[k]);
    table.rows.push_back({kTimes[k], kShares[k], at.published, at.error, at.flow});
    // Three standard errors of a difference; the script's error is that of its 256 replicates.
    const double script = at.error * std::sqrt(static_cast<double>(p.replicates) / 256.0);
    checks.push_back(near(fmt::format("share of pairs at beta = 9, t = {}", kTimes[k]),
                          at.published, kShares[k], 3 * std::hypot(at.error, script)));
    checks.push_back(
        at_least(fmt::format("flow ahead of the published scheme at t = {}", kTimes[k]),
                 at.flow - at.published, -2 * at.error));
  }
  return table;
}

Finding run(const Effort& effort) {
  PhaseSetup p;
  p.replicates = effort.quick ? 256 : 2048;
  p.beta = lab::spaced_numbers(0.1, 9, effort.quick ? 24 : 90);
  p.outputs = effort.quick ? 60 : 200;
  Finding finding{.answer = ask(p, effort.context), .checks = {}};
  if (effort.context.stopped()) return finding;
  const Table schemes = compare_shares(effort, finding.checks);
  finding.answer.tables.insert(finding.answer.tables.begin(), schemes);
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "phase-circle",
          .title = "Phase diagram on the circle",
          .source = "arXiv 2312.10794, 2512.01868",
          .shows =
              "Share of pairs with cosine at least 0.999 for n = 32 tokens, d = 2, over beta in "
              "0.1 to 9 and t up to 30: fast collapse at small beta, long-lived clusters at "
              "large beta.",
          .run = run};
}

}  // namespace attractor::papers::phase_circle
