// Where layers normalise decides how fast tokens become one: exponentially where lengths are reset
// (post, nGPT), like t^-2 or 1/t where they grow. Random weights as published, and orthogonal
// tokens with identity weights, where the constants of the laws are known too.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "papers/entry.hpp"
#include "papers/flow_run.hpp"
#include "papers/pictures.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::normalisation_rates {
namespace {

using report::Panel;

constexpr std::array kSchemes = {Normalisation::post, Normalisation::ngpt,
                                 Normalisation::mix,  Normalisation::peri,
                                 Normalisation::pre,  Normalisation::ln_scaling};
constexpr int kOutputs = 40;

struct Band {
  std::vector<double> time, low, middle, high;  // 5 %, 50 %, 95 % over seeds
  double layers = 0;                            // median at the end of layers of step 0.1
};

FlowSetup random_weights(const Effort& effort, Normalisation scheme, std::uint64_t seed) {
  FlowSetup p;
  p.norm = scheme;
  p.query = p.key = p.value = WeightKind::gaussian;
  p.dim = effort.quick ? 64 : 512;
  p.tokens = effort.quick ? 32 : 128;
  p.beta = std::sqrt(static_cast<double>(p.dim));
  p.time = 10;
  p.outputs = kOutputs;
  p.output_spacing = lab::Spacing::linear;
  p.snapshots = 2;
  p.tolerance = 1e-5;
  p.seed = seed;
  return p;
}

Band band(const Effort& effort, Normalisation scheme, std::uint64_t seeds) {
  std::vector<std::vector<double>> cosines(kOutputs + 1);
  std::vector<double> layers;
  Band b;
  for (std::uint64_t seed = 1; seed <= seeds && !effort.context.stopped(); ++seed) {
    FlowSetup p = random_weights(effort, scheme, seed);
    const FlowRecord record = flow_of(p, effort);
    for (std::size_t k = 0; k < std::min(cosines.size(), record.series.size()); ++k)
      cosines[k].push_back(record.series[k].mean_cosine);
    p.stepper = flow::Method::layers;
    p.outputs = 1;
    layers.push_back(flow_of(p, effort).series.back().mean_cosine);
  }
  if (effort.context.stopped()) return b;
  for (std::size_t k = 0; k < cosines.size(); ++k) {
    b.time.push_back(10.0 * static_cast<double>(k) / kOutputs);
    b.low.push_back(quantile(cosines[k], 0.05));
    b.middle.push_back(quantile(cosines[k], 0.5));
    b.high.push_back(quantile(cosines[k], 0.95));
  }
  b.layers = quantile(layers, 0.5);
  return b;
}

/// Orthogonal tokens with identity weights.
struct Decay {
  std::vector<double> time, gap;  // 1 - cosine
};
Decay decay(Normalisation scheme, double end, const Effort& effort) {
  FlowSetup p;
  p.norm = scheme;
  p.init = Arrangement::equiangular;
  p.tokens = p.dim = 8;
  p.beta = 2;
  p.switch_time = scheme == Normalisation::mix ? 5 : 1;
  p.tolerance = 1e-12;
  p.merge_radius = 0;
  p.time = end;
  p.output_spacing = end > 100 ? lab::Spacing::log : lab::Spacing::linear;
  const FlowRecord record = flow_of(p, effort);
  Decay d;
  for (const observe::Observation& o : record.series) {
    d.time.push_back(o.time);
    d.gap.push_back(o.one_minus_mean_cosine);
  }
  return d;
}

/// Slope of ln(1 - cosine) in t, or in ln t, where 1 - cosine lies in (low, high).
double exponent(const Decay& d, bool power, double low, double high) {
  std::vector<double> x, y;
  for (std::size_t k = 0; k < d.gap.size(); ++k) {
    if (d.gap[k] <= low || d.gap[k] >= high) continue;
    x.push_back(power ? std::log(d.time[k]) : d.time[k]);
    y.push_back(std::log(d.gap[k]));
  }
  return slope(x, y);
}

std::vector<PageFigure> figures(const std::vector<Band>& bands, const std::vector<Decay>& decays) {
  Panel random{.title = "random weights",
               .x = {.label = "t", .low = 0, .high = 10},
               .y = {.label = "mean cosine", .low = 0, .high = 1.02}},
      late{.title = "identity weights, n = d = 8, β = 2",
           .x = {.label = "t", .scale = report::Scale::log, .low = 0.1, .high = 1e4},
           .y = {.label = "1 − cosine", .scale = report::Scale::log, .low = 1e-12, .high = 1}};
  for (std::size_t s = 0; s < kSchemes.size(); ++s) {
    const report::Colour colour = report::kPalette[s];
    report::Series middle = line(std::string(name(kSchemes[s])), colour, 2.4),
                   low = line("", colour, 1, true), high = line("", colour, 1, true),
                   fall = line(middle.title, colour);
    middle.x = low.x = high.x = bands[s].time;
    middle.y = bands[s].middle, low.y = bands[s].low, high.y = bands[s].high;
    random.series.insert(random.series.end(), {middle, low, high});
    fall.x = decays[s].time, fall.y = decays[s].gap;
    late.series.push_back(std::move(fall));
  }
  return {picture("schemes", "One attention, six ways to normalise", {random, late},
                  "Left: median over draws of tokens and weights, dashed: 5 % and 95 %. Right: "
                  "post and nGPT fall off like e^{−2t}, mix after its switch at t = 5, pre and "
                  "peri like t^{−2}, ln-scaling like 1/t.")};
}

std::vector<Check> late_checks(const std::vector<Decay>& d) {
  const double k = 3.734953426363;  // K(8, 2)
  const auto end = [&](std::size_t s) { return d[s].gap.back(); };
  const auto last = [&](std::size_t s) { return d[s].time.back(); };
  return {near("post: slope of ln(1 - cosine) in t", exponent(d[0], false, 1e-12, 1e-5), -2, 2e-3),
          near("nGPT: slope of ln(1 - cosine) in t", exponent(d[1], false, 1e-12, 1e-5), -2, 2e-3),
          near("mix: slope of ln(1 - cosine) in ln t", exponent(d[2], true, 0, 1e-10), -2, 2e-3),
          near("peri: slope of ln(1 - cosine) in ln t", exponent(d[3], true, 0, 1e-7), -2, 2e-3),
          near("pre: slope of ln(1 - cosine) in ln t", exponent(d[4], true, 0, 1e-7), -2, 2e-3),
          near("ln-scaling: slope in ln t", exponent(d[5], true, 0, 1e-6), -1, 5e-3),
          near_relative("post: e^{2t} (1 - cosine) at t = 12", end(0) * std::exp(2 * last(0)),
                        8 * k, 1e-5),
          near_relative("nGPT: e^{2t} (1 - cosine) at t = 12", end(1) * std::exp(2 * last(1)),
                        6.1170496819, 1e-5),
          near_relative("pre: t^2 (1 - cosine) at t = 1e8", end(4) * last(4) * last(4), k, 1e-6),
          near_relative("peri: t^2 (1 - cosine) at t = 1e8", end(3) * last(3) * last(3), k, 1e-6),
          near_relative("mix: t^2 (1 - cosine) at t = 1e8", end(2) * last(2) * last(2),
                        0.001354925280, 1e-6),
          near_relative("ln-scaling: 4t (1 - cosine) at t = 1e12", 4 * end(5) * last(5), k, 1e-5)};
}

Finding run(const Effort& effort) {
  const std::uint64_t seeds = 10;
  std::vector<Band> bands;
  std::vector<Decay> decays;
  Finding finding;
  Table table{.name = "random",
              .title = "Random weights, t = 10: mean cosine",
              .columns = {"low_5", "median", "high_95", "layers_step_0.1"},
              .label_column = "scheme"};
  for (Normalisation scheme : kSchemes) {
    bands.push_back(band(effort, scheme, seeds));
    const std::size_t s = bands.size() - 1;
    decays.push_back(decay(scheme, s < 2 ? 12 : s == 5 ? 1e12 : 1e8, effort));
    if (effort.context.stopped()) return finding;
    const Band& b = bands.back();
    table.labels.emplace_back(name(scheme));
    table.rows.push_back({b.low.back(), b.middle.back(), b.high.back(), b.layers});
    effort.context.tell(static_cast<double>(s + 1) / kSchemes.size(), std::string(name(scheme)));
  }
  finding.checks = late_checks(decays);
  const auto middle = [&](std::size_t s) { return bands[s].middle.back(); };
  const double reset = std::min(middle(0), middle(1)),
               grows = std::max({middle(2), middle(3), middle(4)});
  finding.checks.push_back(at_least(
      "random weights: least of post, nGPT minus most of mix, peri, pre", reset - grows, 0));
  finding.checks.push_back(
      at_least("random weights: pre minus ln-scaling", middle(4) - middle(5), 0));
  finding.answer.headline = fmt::format(
      "Post-LN: 1−γ ∝ e^{{{:.4f} t}}, Pre-LN: t^{{{:.4f}}}, Peri-LN: t^{{{:.4f}}}, LN-scaling: "
      "t^{{{:.4f}}}; with random weights at t = 10 the median cosine is {:.4f} (post), {:.3f} "
      "(pre), {:.3f} (ln-scaling).",
      finding.checks[0].got, finding.checks[4].got, finding.checks[3].got, finding.checks[5].got,
      middle(0), middle(4), middle(5));
  finding.answer.tables.push_back(std::move(table));
  finding.answer.remarks.push_back(
      "LN-scaling is read as the layer x + A/sqrt(1+t); the other reading in use, damped Post-LN, "
      "falls like e^{-4 sqrt(1+t)}.");
  finding.answer.draw = [bands, decays] { return figures(bands, decays); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "normalisation-rates",
          .title = "Normalisation schemes and the rate of collapse",
          .source = "arXiv 2510.22026",
          .shows =
              "Mean cosine of tokens over depth for six normalisation schemes (d = 512, n < "
              "d, beta = sqrt(d), random weights, T = 10, 90 % bands); with identity weights "
              "1 - cosine falls like e^{-2t} for Post-LN and like t^-2 for Pre-LN.",
          .run = run};
}

}  // namespace attractor::papers::normalisation_rates
