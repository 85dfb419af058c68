// Attention climbs an energy: E = (1 / 2 beta n^2) sum e^{beta <x_i,x_j>} rises along both flows,
// and dE/dt is the mean squared speed (weighted by Z_i / n under softmax).
#include <fmt/format.h>

#include <cmath>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/observe/energy.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/generators.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::gradient_flow_energy {
namespace {

using report::Panel;

struct Sample {
  double time, energy, dissipation;
};

/// x[i][a] = sin(1 + 3i + 7a + i a), each row divided by its length.
std::vector<double> reference_tokens(std::size_t n, std::size_t dim) {
  std::vector<double> x;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t a = 0; a < dim; ++a)
      x.push_back(std::sin(static_cast<double>(1 + 3 * i + 7 * a + i * a)));
  const Sphere sphere(dim);
  for (std::size_t i = 0; i < n; ++i) sphere.retract(std::span(x).subspan(i * dim, dim));
  return x;
}

struct Climb {
  Attention attention;
  std::vector<double> tokens;
  double end;
  int outputs;
};

std::vector<Sample> climb(const Climb& c, const Effort& effort) {
  const std::size_t n = c.tokens.size() / c.attention.dim;
  depth::AttentionFlow flow(c.attention, n, 0);
  const std::vector<double> masses(n, 1.0);
  std::vector<Sample> samples;
  flow::Plan plan{.end = flow::Time(c.end), .tolerance = 1e-12};
  for (int k = 0; k <= c.outputs; ++k) plan.outputs.emplace_back(c.end * k / c.outputs);
  flow::Progress progress{.state = c.tokens};
  flow::Hooks hooks{.stop = effort.context.stop};
  hooks.output = [&](const flow::Time& time, std::span<const double> state) {
    const observe::Energy e = observe::energy(c.attention, state, masses, 0);
    samples.push_back({time.value(), std::exp(e.log_energy), std::exp(e.log_dissipation)});
  };
  flow::run(flow, flow::dormand_prince(), plan, progress, hooks);
  return samples;
}

struct Law {
  double worst = 0;         // of |dE/dt - dissipation| / largest dissipation
  double least = HUGE_VAL;  // smallest rise of E between outputs, over E
};

/// dE/dt by central differences of fourth order.
Law law_of(const std::vector<Sample>& s) {
  Law law;
  double largest = 0;
  for (const Sample& x : s) largest = std::max(largest, x.dissipation);
  for (std::size_t k = 1; k < s.size(); ++k)
    law.least = std::min(law.least, (s[k].energy - s[k - 1].energy) / s[k].energy);
  for (std::size_t k = 2; k + 2 < s.size(); ++k) {
    const double slope =
        (8 * (s[k + 1].energy - s[k - 1].energy) - (s[k + 2].energy - s[k - 2].energy)) /
        (6 * (s[k + 2].time - s[k - 2].time) / 2);
    law.worst = std::max(law.worst, std::abs(slope - s[k].dissipation) / largest);
  }
  return law;
}

std::vector<PageFigure> figures(const std::vector<std::vector<Sample>>& runs) {
  const char* names[] = {"softmax", "unnormalised"};
  std::vector<Panel> panels;
  for (std::size_t r = 0; r < 2; ++r) {
    report::Series rate = line("dissipation", report::kOrange, 5),
                   difference = dots("dE/dt by differences", report::kBlue, 2.5);
    report::Series energy = line("E", report::kGreen);
    const std::vector<Sample>& s = runs[r];
    for (std::size_t k = 0; k < s.size(); ++k) {
      add_point(energy, s[k].time, s[k].energy);
      add_point(rate, s[k].time, s[k].dissipation);
      if (k > 0 && k + 1 < s.size() && k % 6 == 0)
        add_point(difference, s[k].time,
                  (s[k + 1].energy - s[k - 1].energy) / (s[k + 1].time - s[k - 1].time));
    }
    panels.push_back({.title = names[r],
                      .x = {.label = "t"},
                      .y = {.label = "energy and its rate"},
                      .series = {energy, rate, difference}});
  }
  return {picture("energy", "Attention climbs its energy", std::move(panels),
                  "Green: the energy of 32 tokens on S^{2}, β = 3. Orange: mean squared speed of "
                  "the tokens, weighted by Z_{i}/n for softmax. Blue: what the energy gains.")};
}

Finding run(const Effort& effort) {
  const std::vector<double> small = reference_tokens(7, 4);
  const std::size_t n = effort.quick ? 32 : 256;
  const std::vector<double> many = make_tokens({.tokens = n, .dim = 3, .seed = 5}).data;
  struct Reference {
    Rule rule;
    const char* name;
    double rate, later, end;
  };
  const Reference references[] = {
      {Rule::softmax, "softmax", 0.1564818428709, 0.8862425223753, 8},
      {Rule::unnormalised, "unnormalised", 0.2702691737317, 1.428213012834, 2}};
  Finding finding;
  Table table{.name = "energies",
              .title = "Seven reference tokens in R^{4}, β = 1.5; random tokens on S^{2}, β = 3",
              .columns = {"energy_0", "rate_0", "energy_1", "rate_error", "least_rise"},
              .label_column = "rule"};
  std::vector<std::vector<Sample>> runs;
  for (const Reference& r : references) {
    const auto few = climb({{.rule = r.rule, .beta = 1.5, .dim = 4}, small, 1, 1}, effort);
    runs.push_back(climb({{.rule = r.rule, .beta = 3, .dim = 3}, many, r.end, 400}, effort));
    if (effort.context.stopped()) return finding;
    const Law law = law_of(runs.back());
    table.labels.push_back(r.name);
    table.rows.push_back(
        {few[0].energy, few[0].dissipation, few.back().energy, law.worst, law.least});
    const auto named = [&](const char* what) { return fmt::format("{}: {}", r.name, what); };
    finding.checks.push_back(near_relative(named("E(0) of the reference tokens"), few[0].energy,
                                           0.6294726737737, 1e-11));
    finding.checks.push_back(near_relative(named("dE/dt at 0 of the reference tokens"),
                                           few[0].dissipation, r.rate, 1e-11));
    finding.checks.push_back(
        near_relative(named("E(1) of the reference tokens"), few.back().energy, r.later, 1e-9));
    finding.checks.push_back(
        at_most(named("dE/dt minus dissipation over the largest dissipation"), law.worst, 1e-5));
    finding.checks.push_back(
        at_least(named("smallest relative rise of E between outputs"), law.least, -1e-12));
  }
  finding.answer.headline = fmt::format(
      "E never falls, and dE/dt equals the weighted mean squared speed within {:.0e} (softmax) and "
      "{:.0e} (unnormalised) of its largest value.",
      table.rows[0][3], table.rows[1][3]);
  finding.answer.tables.push_back(std::move(table));
  finding.answer.draw = [runs] { return figures(runs); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "gradient-flow-energy",
          .title = "Attention climbs an energy",
          .source = "arXiv 2312.10794, theorem-level",
          .shows =
              "With identity weights both flows increase the interaction energy: "
              "unnormalised attention is its Wasserstein gradient ascent, softmax attention "
              "the same for a metric weighted by the partition functions.",
          .run = run};
}

}  // namespace attractor::papers::gradient_flow_energy
