// Phase diagrams with random weights (random_weights.hpp). Besides the share of close pairs the
// span is measured: eigenvalues of the Gram matrix above 1e-3. beta is that of the paper, where
// entries of B have variance 1.
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/phases/random_weights.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::phase_weights {
namespace {

constexpr WeightKind kGaussian = WeightKind::gaussian, kWigner = WeightKind::wigner,
                     kGoe = WeightKind::goe, kQk = WeightKind::qk, kMinusQk = WeightKind::minus_qk;

using observe::Observation;

/// The published scheme in NumPy, independent of the program: 512 or 1024 systems.
struct Measured {
  RandomWeights weights;
  double beta, time, share, share_error, span, span_error;
};
const std::vector<Measured> kMeasured = {
    {{kGaussian}, 3, 10, 0.5384, 0.0062, 2.638, 0.026},
    {{kGaussian, kQk, 1}, 9, 20, 0.4820, 0.0120, 4.816, 0.094},
    {{kGaussian, kMinusQk}, 3, 10, 0.7768, 0.0123, 6.035, 0.229},
    {{kWigner}, 3, 10, 0.2364, 0.0025, 5.448, 0.042},
    {{kWigner, kQk, 1}, 3, 10, 0.2425, 0.0043, 7.103, 0.083},
    {{kGoe}, 9, 30, 0.1544, 0.0023, 7.758, 0.070},
    {{kGoe, kQk, 1}, 3, 10, 0.2662, 0.0046, 6.725, 0.081},
    {{kGaussian, kQk, 1, true}, 9, 20, 0.3487, 0.0083, 5.848, 0.129},
    {{kGaussian, kMinusQk, 0, true}, 3, 10, 0.2802, 0.0061, 4.561, 0.047},
    {{kWigner, kQk, 1, true}, 3, 10, 0.2710, 0.0045, 6.567, 0.078},
};

Table compare(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "ends",
              .title = "Share of close pairs and span dimension: NumPy, here, and converged",
              .columns = {"beta", "time", "numpy_share", "share", "share_error", "flow_share",
                          "numpy_span", "span", "span_error", "flow_span"},
              .label_column = "weights"};
  for (const Measured& m : kMeasured) {
    const std::uint64_t systems = effort.quick ? 24 : 512;
    const auto ends = [&](std::uint64_t count, bool converged) {
      return ends_of(m.weights, m.beta, m.time, count, converged, effort);
    };
    const auto [share, span] = ends(systems, false);
    Ends flow{{kNan, kNan}, {kNan, kNan}};
    if (!m.weights.script) flow = ends(effort.quick ? 4 : systems, true);
    if (effort.context.stopped()) return table;
    const std::string words = m.weights.words();
    const std::string where = fmt::format("{}, beta = {}, t = {}", words, m.beta, m.time);
    checks.push_back(near("share of pairs: " + where, share.mean, m.share,
                          3 * std::hypot(share.error, m.share_error)));
    checks.push_back(near("span dimension: " + where, span.mean, m.span,
                          3 * std::hypot(span.error, m.span_error)));
    checks.push_back(at_most("layers against plain arithmetic: " + words,
                             textbook_error(m.weights, m.beta, effort), 1e-12));
    table.labels.push_back(words);
    table.rows.push_back({m.beta, m.time, m.share, share.mean, share.error, flow.share.mean, m.span,
                          span.mean, span.error, flow.span.mean});
  }
  return table;
}

/// Theorems: V = I keeps tokens in every cone; symmetric V = +-B moves the energy one way only.
void check_theorems(const Effort& effort, std::vector<Check>& checks) {
  double cone = 0, rise = 0, fall = 0;
  for (std::uint64_t seed = 0; seed < (effort.quick ? 2U : 5U); ++seed) {
    const auto series = [&](const RandomWeights& w, double Observation::*value, double sign) {
      FlowSetup p = flow_setup(w, 3, 15, seed);
      p.outputs = 30;
      p.stepper = flow::Method::adaptive;
      std::vector<double> values = column(flow_of(p, effort), value);
      for (double& v : values) v *= sign;
      return largest_fall(values);
    };
    cone += series({kGaussian}, &Observation::hemisphere_depth, 1);
    rise += series({kGoe, kQk}, &Observation::log_energy, 1);
    fall += series({kGoe, kMinusQk}, &Observation::log_energy, -1);
  }
  checks.push_back(at_most("V = I: falls of the depth of the cone", cone, 1e-9));
  checks.push_back(at_most("V = B symmetric: falls of the log of the energy", rise, 1e-7));
  checks.push_back(at_most("V = -B symmetric: rises of the log of the energy", fall, 1e-7));
}

/// Span dimension over beta and time, mean over systems.
report::Panel diagram(const RandomWeights& w, const Effort& effort) {
  const std::size_t betas = effort.quick ? 6 : 30, outputs = effort.quick ? 30 : 100;
  const std::uint64_t replicates = effort.quick ? 1 : 64;
  report::Heat heat{.x = {}, .y = {}, .value = {}, .label = "span dimension", .low = 1, .high = 32};
  heat.value.assign(betas * outputs, 0);
  for (std::size_t b = 0; b < betas; ++b) {
    heat.x.push_back(0.1 + 8.9 * static_cast<double>(b) / static_cast<double>(betas - 1));
    for (std::uint64_t seed = 0; seed < replicates && !effort.context.stopped(); ++seed) {
      FlowSetup p = flow_setup(w, heat.x.back(), 30, seed);
      p.outputs = outputs;
      p.snapshots = outputs + 1;
      const FlowRecord record = flow_of(p, effort);
      for (std::size_t k = 1; k < record.snapshots.size() && k <= outputs; ++k)
        heat.value[(k - 1) * betas + b] +=
            script_span(record.snapshots[k].positions) / static_cast<double>(replicates);
    }
  }
  for (std::size_t k = 1; k <= outputs; ++k)
    heat.y.push_back(30 * static_cast<double>(k) / static_cast<double>(outputs));
  return {.title = w.words(),
          .x = {.label = "inverse temperature β"},
          .y = {.label = "time t"},
          .heat = std::move(heat)};
}

Finding run(const Effort& effort) {
  Finding finding;
  std::vector<report::Panel> panels;
  const std::vector<RandomWeights> drawn = {{kGaussian},         {kWigner},
                                            {kGaussian, kQk},    {kWigner, kQk},
                                            {kGaussian, kQk, 1}, {kGaussian, kMinusQk}};
  for (const RandomWeights& w : drawn) panels.push_back(diagram(w, effort));
  finding.answer.tables = {compare(effort, finding.checks)};
  check_theorems(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  const auto& rows = finding.answer.tables[0].rows;
  finding.answer.headline = fmt::format(
      "Several clusters are left by V = I at t = 10, β = 3 (span {:.2f}) and by V = B redrawn at t "
      "= 20, β = 9 ({:.2f}); V = −B gathers {:.2f} of all pairs, V = −Bᵀ as in the authors' script "
      "{:.2f}.",
      rows[0][7], rows[1][7], rows[2][3], rows[8][3]);
  finding.answer.draw = [panels] {
    return std::vector{two_columns(
        "span", panels,
        "Span dimension (Gram eigenvalues above 1e-3) of 32 tokens in dimension 32, by the "
        "published scheme of step 0.1; B = Q^{T}K with entries of variance 1, V = ±B/√d; "
        "Wigner matrices have random signs.",
        1140)};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "phase-weights",
          .title = "Phase diagrams with random weights",
          .source = "arXiv 2312.10794, 2512.01868",
          .shows =
              "With random Q^T K (Gaussian, Wigner or GOE), V = I or V = +-Q^T K, drawn once or "
              "anew every "
              "period, tokens still gather and their span falls. Pictures only, no numbers.",
          .run = run};
}

}  // namespace attractor::papers::phase_weights
