// The phase diagram on the circle: n = 32 tokens, P(<x_i,x_j> >= 0.999) over beta and time, by the
// published scheme x <- normalise(x + 0.1 A) and by the flow itself (RK4), which is 6 to 10 %
// ahead.
#include <fmt/format.h>

#include <cmath>

#include "attractor/experiment/phase_experiment.hpp"
#include "experiments/entries.hpp"

namespace attractor::experiments {
namespace {

using experiment::PhaseParameters;

/// Measured with the authors' own script, 256 replicates, at beta = 9.
constexpr double kTimes[] = {5, 10, 20, 30}, kShares[] = {0.190, 0.296, 0.327, 0.341};

/// Row of a phase answer's diagram at the last beta and a time.
const std::vector<double>& at(const Answer& answer, double time) {
  const std::vector<std::vector<double>>& rows = answer.tables.back().rows;
  for (auto row = rows.rbegin(); row != rows.rend(); ++row)
    if (std::abs((*row)[1] - time) < 1e-9) return *row;
  return rows.back();
}

Finding run(const Effort& effort) {
  PhaseParameters published;
  published.replicates = effort.quick ? 256 : 2048;
  published.beta = effort.quick ? "0.1:9:24" : "0.1:9:90";
  published.outputs = effort.quick ? 60 : 200;
  PhaseParameters converged = published;
  converged.scheme = "rk4";
  Finding finding{.answer = ask(published, effort.context)};
  if (effort.context.stopped()) return finding;
  const Answer flow = ask(converged, effort.context);
  Table table{.name = "schemes",
              .title = "As published, and converged: share of pairs at β = 9",
              .columns = {"time", "authors_script", "published_scheme", "error", "flow"}};
  for (std::size_t k = 0; k < 4; ++k) {
    const std::vector<double>&ours = at(finding.answer, kTimes[k]), &exact = at(flow, kTimes[k]);
    table.rows.push_back({kTimes[k], kShares[k], ours[2], ours[3], exact[2]});
    // Three standard errors of a difference; the script's error is that of its 256 replicates.
    const double script = ours[3] * std::sqrt(published.replicates / 256.0);
    finding.checks.push_back(near(fmt::format("share of pairs at beta = 9, t = {}", kTimes[k]),
                                  ours[2], kShares[k], 3 * std::hypot(ours[3], script)));
    finding.checks.push_back(
        at_least(fmt::format("flow ahead of the published scheme at t = {}", kTimes[k]),
                 exact[2] - ours[2], -2 * ours[3]));
  }
  finding.answer.tables.insert(finding.answer.tables.begin(), table);
  return finding;
}

}  // namespace

Entry phase_circle() {
  return {.id = "phase-circle",
          .title = "Phase diagram on the circle",
          .source = "arXiv 2312.10794, 2512.01868",
          .shows =
              "Share of pairs with cosine at least 0.999 for n = 32 tokens, d = 2, over beta in "
              "0.1 to 9 and t up to 30: fast collapse at small beta, long-lived clusters at "
              "large beta.",
          .run = run};
}

}  // namespace attractor::experiments
