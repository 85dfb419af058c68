// Phase diagrams with random weights: B = Q^T K, Gaussian matrices or the Gaussian orthogonal
// ensemble, V = I or +-B / sqrt(d), drawn once or anew after every unit of time. Besides the share
// of close pairs the span is measured: eigenvalues of the Gram matrix above 1e-3. beta is that of
// the paper, where entries of B have variance 1; ours is beta sqrt(d).
#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "attractor/attention/weights.hpp"
#include "experiments/clustering_tools.hpp"
#include "experiments/entries.hpp"

namespace attractor::experiments {
namespace {

using observe::Observation;

constexpr std::size_t kDim = 32;

struct Weights {
  const char* kind;   // of B: goe or gaussian
  const char* value;  // "", qk, minus-qk
  double redraw;
  std::string words() const {
    const std::string b = kind[1] == 'o' ? "GOE" : "Gaussian", v = value;
    const std::string sign = v.empty() ? "I" : v == "qk" ? "B" : "-B";
    return fmt::format("{} B, V = {}{}", b, sign, redraw > 0 ? ", redrawn" : "");
  }
};

/// The published scheme in NumPy, independent of the program: 128 replicates.
struct Measured {
  Weights weights;
  double beta, time, share, share_error, span, span_error;
};
constexpr Measured kMeasured[] = {
    {{"gaussian", "", 0}, 3, 10, 0.5172, 0.0170, 2.797, 0.081},
    {{"goe", "", 0}, 9, 30, 0.1559, 0.0043, 7.703, 0.129},
    {{"goe", "qk", 1}, 3, 10, 0.2884, 0.0118, 6.320, 0.211},
    {{"gaussian", "qk", 1}, 9, 20, 0.4649, 0.0216, 4.719, 0.182},
    {{"gaussian", "minus-qk", 0}, 3, 10, 0.7769, 0.0343, 6.008, 0.607},
};

FlowParameters parameters(const Weights& w, double beta, double time, std::uint64_t seed) {
  FlowParameters p;
  p.tokens = 32;
  p.dim = kDim;
  p.beta = beta * std::sqrt(static_cast<double>(kDim));
  p.query = w.kind;
  p.key = p.query == "gaussian" ? "gaussian" : "";
  p.value = w.value;
  p.redraw = w.redraw;
  p.seed = seed;
  p.time = time;
  p.stepper = "layers";
  p.outputs = 1;
  p.output_spacing = "linear";
  p.snapshots = "2";
  return p;
}

/// Share and span at the end, over systems with weights and starts of their own.
std::pair<Sampled, Sampled> at_end(const Measured& m, bool converged, const Effort& effort) {
  std::vector<double> shares, spans;
  for (std::uint64_t seed = 0; seed < (effort.quick ? 36U : 512U); ++seed) {
    FlowParameters p = parameters(m.weights, m.beta, m.time, seed);
    if (converged) p.stepper = "adaptive", p.tolerance = 1e-4;
    const Observation end = flow_of(p, effort).series.back();
    if (effort.context.stopped()) break;
    shares.push_back(end.pair_fraction);
    spans.push_back(end.span_dimension);
  }
  return {sampled(shares), sampled(spans)};
}

/// One layer with these weights against plain arithmetic, largest distance of a token.
double textbook_error(const Measured& m, const Effort& effort) {
  const FlowParameters p = parameters(m.weights, m.beta, 0.1, 0);
  const FlowRecord record = flow_of(p, effort);
  const auto kind = [](const std::string& word) {
    return word.empty() ? WeightKind::identity : weight_kind_named(word);
  };
  const Head head = draw_head({kind(p.query), kind(p.key), kind(p.value)}, kDim, 0, 0, 0);
  const std::vector<double> interaction = query_key_product(head.query, head.key, kDim, 1);
  const Textbook layer{kDim, p.beta, 0.1, interaction, head.value};
  return largest_distance(textbook_layer(record.snapshots.front().positions, layer),
                          record.snapshots.back().positions, kDim);
}

Table compare(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "ends",
              .title = "Share of close pairs and span dimension: NumPy, here, and converged",
              .columns = {"beta", "time", "numpy_share", "share", "share_error", "flow_share",
                          "numpy_span", "span", "span_error", "flow_span"},
              .label_column = "weights"};
  for (const Measured& m : kMeasured) {
    const auto [share, span] = at_end(m, false, effort);
    const auto [flow_share, flow_span] = at_end(m, true, effort);
    if (effort.context.stopped()) return table;
    const std::string words = m.weights.words();
    const std::string where = fmt::format("{}, beta = {}, t = {}", words, m.beta, m.time);
    checks.push_back(near("share of pairs: " + where, share.mean, m.share,
                          3 * std::hypot(share.error, m.share_error)));
    checks.push_back(near("span dimension: " + where, span.mean, m.span,
                          3 * std::hypot(span.error, m.span_error)));
    checks.push_back(
        at_most("a layer against plain arithmetic: " + words, textbook_error(m, effort), 1e-12));
    table.labels.push_back(words);
    table.rows.push_back({m.beta, m.time, m.share, share.mean, share.error, flow_share.mean, m.span,
                          span.mean, span.error, flow_span.mean});
  }
  return table;
}

/// Theorems: V = I keeps tokens in every cone; symmetric V = +-B moves the energy one way only.
void check_theorems(const Effort& effort, std::vector<Check>& checks) {
  double cone = 0, rise = 0, fall = 0;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto series = [&](const Weights& w, double Observation::*value, double sign) {
      FlowParameters p = parameters(w, 3, 15, seed);
      p.outputs = 30;
      p.stepper = "adaptive";
      std::vector<double> values = column(flow_of(p, effort), value);
      for (double& v : values) v *= sign;
      return largest_fall(values);
    };
    cone += series({"gaussian", "", 0}, &Observation::hemisphere_depth, 1);
    rise += series({"goe", "qk", 0}, &Observation::log_energy, 1);
    fall += series({"goe", "minus-qk", 0}, &Observation::log_energy, -1);
  }
  checks.push_back(at_most("V = I: falls of the depth of the cone", cone, 1e-9));
  checks.push_back(at_most("V = B symmetric: falls of the log of the energy", rise, 1e-7));
  checks.push_back(at_most("V = -B symmetric: rises of the log of the energy", fall, 1e-7));
}

/// Span dimension over beta and time, mean over systems.
report::Panel diagram(const Weights& w, const Effort& effort) {
  const std::size_t betas = effort.quick ? 6 : 30, outputs = effort.quick ? 30 : 100;
  const std::uint64_t replicates = effort.quick ? 2 : 64;
  report::Heat heat{.x = {}, .y = {}, .value = {}, .label = "span dimension", .low = 1, .high = 32};
  heat.value.assign(betas * outputs, 0);
  for (std::size_t b = 0; b < betas; ++b) {
    heat.x.push_back(0.1 + 8.9 * static_cast<double>(b) / static_cast<double>(betas - 1));
    for (std::uint64_t seed = 0; seed < replicates && !effort.context.stopped(); ++seed) {
      FlowParameters p = parameters(w, heat.x.back(), 30, seed);
      p.outputs = outputs;
      const FlowRecord record = flow_of(p, effort);
      for (std::size_t k = 1; k < record.series.size() && k <= outputs; ++k)
        heat.value[(k - 1) * betas + b] +=
            record.series[k].span_dimension / static_cast<double>(replicates);
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
  report::Figure figure{.id = "span", .columns = 2, .width = 1120, .height = 760};
  for (const Weights& w : {Weights{"gaussian", "", 0}, Weights{"gaussian", "qk", 0},
                           Weights{"gaussian", "minus-qk", 0}, Weights{"gaussian", "qk", 1}})
    figure.panels.push_back(diagram(w, effort));
  finding.answer.tables = {compare(effort, finding.checks)};
  check_theorems(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  const auto& rows = finding.answer.tables[0].rows;
  finding.answer.headline = fmt::format(
      "Several clusters are left at t = 10, β = 3 by V = I (span {:.2f}) and V = B redrawn "
      "({:.2f}); "
      "V = -B keeps nothing apart: {:.2f} of all pairs have met.",
      rows[0][7], rows[2][7], rows[4][3]);
  finding.answer.draw = [figure] {
    return std::vector<PageFigure>{
        {figure,
         "Span dimension (Gram eigenvalues above 1e-3) of 32 tokens in dimension 32, by the "
         "published scheme of step 0.1; B = Q^{T}K with entries of variance 1, V = ±B/√d.",
         true}};
  };
  return finding;
}

}  // namespace

Entry phase_weights() {
  return {.id = "phase-weights",
          .title = "Phase diagrams with random weights",
          .source = "arXiv 2312.10794, 2512.01868",
          .shows =
              "With random Q^T K (Gaussian or GOE), V = I or V = +-Q^T K, drawn once or anew every "
              "period, tokens still gather and their span falls. Pictures only, no numbers.",
          .run = run};
}

}  // namespace attractor::experiments
