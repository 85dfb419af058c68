// Phase diagrams in higher dimensions: n = 32 tokens on S^{d-1}, d = 8, 16, 128, 1024. The higher
// the dimension, the closer random tokens are to equiangular ones, whose curve is exact; the
// published scheme x <- normalise(x + 0.1 A) is some 10 % behind it.
#include <fmt/format.h>

#include <cmath>

#include "attractor/reductions/equiangular.hpp"
#include "papers/entry.hpp"
#include "papers/phases/phase_diagrams.hpp"

namespace attractor::papers::phase_sphere {
namespace {

/// Measured with the authors' own script, step 0.1, 256 replicates.
struct Measured {
  std::uint64_t dim;
  double beta, share[4];
  double front;  // when about half of the pairs have met
};
constexpr double kTimes[] = {5, 10, 20, 30};
constexpr Measured kMeasured[] = {{16, 5, {0.002, 0.417, 0.774, 0.851}, 10},
                                  {128, 7, {0, 0, 0.001, 0.670}, 30}};

/// Times at which equiangular tokens reach cosine 0.999: exact, and of the scheme.
constexpr double kLag[][3] = {{5, 9.54, 10.4}, {9, 178.7, 196.7}};

Table compare_shares(const Effort& effort, std::vector<Check>& checks) {
  Table table{
      .name = "shares",
      .title = "Share of pairs with cosine ≥ 0.999: as published, and converged",
      .columns = {"d", "beta", "time", "authors_script", "published_scheme", "error", "flow"}};
  for (const Measured& m : kMeasured) {
    PhaseSetup p;
    p.dim = m.dim;
    p.beta = {m.beta};
    p.outputs = 6;
    p.replicates = effort.quick ? 256 : 2048;
    const Schemes schemes = both_schemes(p, effort);
    if (effort.context.stopped()) return table;
    for (std::size_t k = 0; k < 4; ++k) {
      const Shares at = schemes.at(kTimes[k]);
      table.rows.push_back({static_cast<double>(m.dim), m.beta, kTimes[k], m.share[k], at.published,
                            at.error, at.flow});
      // Three standard errors of a difference of two samples, and half of the last digit given.
      const double script = at.error * std::sqrt(effort.quick ? 1.0 : 8.0);
      checks.push_back(
          near(fmt::format("share of pairs at d = {}, beta = {}, t = {}", m.dim, m.beta, kTimes[k]),
               at.published, m.share[k], 3 * std::hypot(at.error, script) + 5e-4));
    }
    const Shares front = schemes.at(m.front);
    checks.push_back(
        at_least(fmt::format("lead of the flow over the scheme at d = {}, t = {}", m.dim, m.front),
                 front.flow - front.published, 0));
  }
  return table;
}

Table compare_lag(std::vector<Check>& checks) {
  Table table{.name = "lag",
              .title = "Time to cosine 0.999, equiangular tokens: the flow, and layers of step 0.1",
              .columns = {"beta", "flow", "scheme", "lag_percent"}};
  for (const auto& [beta, exact, scheme] : kLag) {
    const meanfield::Equiangular problem{.tokens = 32, .beta = beta};
    const double flow = meanfield::EquiangularFlow(problem).arrival(0.999).time();
    const double ours = layer_time(problem, 3000);
    table.rows.push_back({beta, flow, ours, 100 * (ours / flow - 1)});
    checks.push_back(near(fmt::format("exact time to cosine 0.999 at beta = {}", beta), flow, exact,
                          beta < 6 ? 0.005 : 0.05));
    checks.push_back(near(fmt::format("the scheme's time at beta = {}", beta), ours, scheme, 0.05));
  }
  return table;
}

Finding run(const Effort& effort) {
  Finding finding;
  PhaseSetup p;
  p.replicates = effort.quick ? 24 : 2048;
  p.beta = lab::spaced_numbers(0.1, 9, effort.quick ? 24 : 90);
  p.outputs = effort.quick ? 60 : 200;
  const Diagrams diagrams = diagrams_over({8, 16, 128, 1024}, p, effort, finding.answer);
  if (effort.context.stopped()) return finding;
  const Table shares = compare_shares(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  finding.answer.tables.insert(finding.answer.tables.begin(),
                               {shares, compare_lag(finding.checks)});
  const std::vector<double>&low = shares.rows[3], &high = shares.rows[7];
  finding.answer.headline = fmt::format(
      "At t = 30 a share {:.3f} ± {:.3f} of all pairs has met for d = 16, β = 5 and {:.3f} ± "
      "{:.3f} for d = 128, β = 7, as in the authors' script; the flow itself is ahead: {:.3f} and "
      "{:.3f}.",
      low[4], low[5], high[4], high[5], low[6], high[6]);
  finding.answer.draw = drawn(
      diagrams,
      "Share of pairs with cosine at least 0.999 for 32 tokens, by the published scheme. The "
      "line is where equiangular tokens reach that cosine, exactly: as d grows the boundary of "
      "collapse approaches it.");
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "phase-sphere",
          .title = "Phase diagrams on spheres of higher dimension",
          .source = "arXiv 2312.10794, 2512.01868",
          .shows =
              "Share of pairs with cosine at least 0.999 for n = 32 tokens, d = 8, 16, 128, 1024, "
              "over beta in 0.1 to 9 and t up to 30: for large d collapse sets in along the curve "
              "of equiangular tokens.",
          .run = run};
}

}  // namespace attractor::papers::phase_sphere
