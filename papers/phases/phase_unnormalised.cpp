// Phase diagrams of unnormalised attention, A_i = (1/n) sum_j e^{beta <x_i,x_j>} x_j: time runs to
// 1 only, since tokens move up to e^beta times faster, and the published step shrinks accordingly,
// h = 0.1 / max(1, sqrt(beta) e^{beta - 1/2}). The price is up to 150,000 layers a system.
#include <fmt/format.h>

#include <cmath>

#include "papers/entry.hpp"
#include "papers/phases/phase_diagrams.hpp"

namespace attractor::papers::phase_unnormalised {
namespace {

/// By the published scheme written in NumPy, independent of the program: 256 replicates.
struct Measured {
  std::uint64_t dim;
  double beta, time, share, error;
};
constexpr Measured kMeasured[] = {{2, 4, 0.25, 0.1556, 0.0057}, {2, 4, 1, 0.4755, 0.0059},
                                  {2, 5, 0.25, 0.3710, 0.0049}, {16, 4, 1, 0.6105, 0.0169},
                                  {16, 5, 0.5, 0.2257, 0.0126}, {32, 5, 0.75, 0.5664, 0.0186}};

Table compare_shares(const Effort& effort, std::vector<Check>& checks) {
  Table table{
      .name = "shares",
      .title = "Share of pairs with cosine ≥ 0.999: published scheme, here and in NumPy; the flow",
      .columns = {"d", "beta", "time", "numpy", "published_scheme", "error", "flow"}};
  for (const Measured& m : kMeasured) {
    PhaseSetup p;
    p.dynamics = Rule::unnormalised;
    p.dim = m.dim;
    p.beta = {m.beta};
    p.time = m.time;
    p.outputs = 1;
    p.replicates = effort.quick ? 128 : 2048;
    const Schemes schemes = both_schemes(p, effort);
    if (effort.context.stopped()) return table;
    const Shares at = schemes.at(m.time);
    table.rows.push_back(
        {static_cast<double>(m.dim), m.beta, m.time, m.share, at.published, at.error, at.flow});
    checks.push_back(
        near(fmt::format("share of pairs at d = {}, beta = {}, t = {}", m.dim, m.beta, m.time),
             at.published, m.share, 3 * std::hypot(at.error, m.error) + 5e-5));
  }
  return table;
}

Finding run(const Effort& effort) {
  Finding finding;
  PhaseSetup p;
  p.dynamics = Rule::unnormalised;
  p.replicates = effort.quick ? 10 : 256;
  p.beta = effort.quick ? lab::spaced_numbers(0.1, 6, 14) : lab::spaced_numbers(0.1, 9, 90);
  p.outputs = effort.quick ? 50 : 200;
  const Diagrams diagrams = diagrams_over({2, 8, 16, 128}, p, effort, finding.answer);
  if (effort.context.stopped()) return finding;
  const Table shares = compare_shares(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  finding.answer.tables.insert(finding.answer.tables.begin(), shares);
  const std::vector<double>&low = shares.rows.front(), &high = shares.rows.back();
  finding.answer.headline = fmt::format(
      "At t = {} a share {:.3f} ± {:.3f} of all pairs has met for d = {}, β = {}; at t = {} a "
      "share "
      "{:.3f} ± {:.3f} for d = {}, β = {}. Collapse comes sooner the larger β is.",
      low[2], low[4], low[5], low[0], low[1], high[2], high[4], high[5], high[0], high[1]);
  finding.answer.remarks.push_back(
      "At full size the diagrams have 256 systems for each beta, the paper's 2048: at beta = 9 "
      "the published step takes 150,000 layers.");
  finding.answer.draw = drawn(
      diagrams,
      "Share of pairs with cosine at least 0.999 for 32 tokens of unnormalised attention, by the "
      "published scheme. The line is where equiangular tokens reach that cosine, exactly.");
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "phase-unnormalised",
          .title = "Phase diagrams of unnormalised attention",
          .source = "arXiv 2312.10794",
          .shows =
              "Share of pairs with cosine at least 0.999 for n = 32 tokens under unnormalised "
              "attention, over beta and t up to 1, with steps 0.1/max(1, sqrt(beta) e^{beta-1/2}).",
          .run = run};
}

}  // namespace attractor::papers::phase_unnormalised
