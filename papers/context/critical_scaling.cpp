// Long contexts: at beta = g log n attention collapses all outputs for g < 1/(1-rho) and does
// nothing for g > 1/(1-rho); at the critical g the output cosine is 4 rho/(1+3 rho).
#include <fmt/format.h>

#include <cmath>

#include "attractor/attention/attention_layer.hpp"
#include "attractor/commands/limits/context_experiment.hpp"
#include "attractor/long_context/long_context.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/generators.hpp"
#include "papers/entry.hpp"
#include "papers/points.hpp"

namespace attractor::papers::critical_scaling {
namespace {

using meanfield::ContextLayer;
using meanfield::ContextState;

constexpr double kRhos[] = {0.1, 0.3, 0.5, 0.9};

/// Cosine of two outputs of the attention layer itself, for explicit equiangular tokens.
double layer_cosine(std::size_t n, double rho, double exponent) {
  const std::size_t dim = n;
  AttentionLayer layer{.beta = exponent * std::log(static_cast<double>(n)), .dim = dim};
  LayerOutput out;
  attend(layer, equiangular(n, dim, rho).data, {}, out);
  const auto a = row(out.out, dim, 0), b = row(out.out, dim, n / 2);
  return dot(a, b) / std::sqrt(dot(a, a) * dot(b, b));
}

ContextState state(double n, double rho, double exponent) {
  return meanfield::context_state({.tokens = n, .rho = rho, .exponent = exponent});
}

void add_limits(Finding& finding) {
  Table table{.name = "limits",
              .title = "Output cosine and gain of a normalised layer as n → ∞ (n = 10^{200})",
              .columns = {"rho", "below", "at", "above", "4rho/(1+3rho)", "gain_below", "gain_at",
                          "gain_above", "1/sqrt(1+3rho)"}};
  double below = 0, at = 0, above = 0, gain = 0;
  for (const double rho : kRhos) {
    const double g = 1 / (1 - rho), limit = 4 * rho / (1 + 3 * rho);
    const ContextState low = state(1e200, rho, 0.8 * g), middle = state(1e200, rho, g),
                       high = state(1e200, rho, 1.2 * g);
    table.rows.push_back({rho, low.output_cosine, middle.output_cosine, high.output_cosine, limit,
                          low.normalised_gain, middle.normalised_gain, high.normalised_gain,
                          1 / std::sqrt(1 + 3 * rho)});
    below = std::max(below, low.gap);
    at = std::max(at, std::abs(middle.output_cosine - limit));
    above = std::max(above, std::abs(high.output_cosine - rho));
    gain = std::max({gain, low.normalised_gain, std::abs(high.normalised_gain - 1),
                     std::abs(middle.normalised_gain - 1 / std::sqrt(1 + 3 * rho))});
  }
  finding.checks.push_back(
      at_most("below g = 1/(1-rho): 1 - output cosine, largest", below, 1e-12));
  finding.checks.push_back(at_most("at it: difference from 4 rho/(1+3 rho), largest", at, 1e-12));
  finding.checks.push_back(at_most("above it: difference from rho, largest", above, 1e-12));
  finding.checks.push_back(
      at_most("backward gain: difference from 0, 1/sqrt(1+3 rho), 1, largest", gain, 1e-12));
  finding.answer.tables.push_back(std::move(table));
}

void add_layers(Finding& finding, const Effort& effort) {
  Table table{.name = "layers",
              .title = "The attention layer on explicit tokens, ρ = 0.5",
              .columns = {"tokens", "exponent", "layer", "closed_form", "limit"}};
  double worst = 0, critical = 0;
  std::vector<std::size_t> sizes = {100, 400};
  if (!effort.quick) sizes.push_back(2000);
  for (const std::size_t n : sizes)
    for (const double g : {1.5, 2.0, 2.5}) {
      if (effort.context.stopped()) return;
      const double cosine = layer_cosine(n, 0.5, g);
      const double exact = state(static_cast<double>(n), 0.5, g).output_cosine;
      worst = std::max(worst, std::abs(cosine - exact));
      if (g == 2 && n == 100) critical = cosine;
      table.rows.push_back({static_cast<double>(n), g, cosine, exact,
                            g < 2   ? 1
                            : g > 2 ? 0.5
                                    : 0.8});
    }
  finding.checks.push_back(
      at_most("attention layer against the closed form, largest difference", worst, 1e-11));
  finding.checks.push_back(
      near("attention layer at n = 100, rho = 0.5, g = 2", critical, 0.8027967806841, 1e-11));
  finding.checks.push_back(near("the same as n grows: n = 400 from the limit 0.8", table.rows[4][2],
                                0.8, 2 * 0.28 / 400));
  finding.answer.tables.push_back(std::move(table));
}

Finding run(const Effort& effort) {
  lab::ContextSetup p;
  p.tokens = 1e12;
  p.map = true;
  Finding finding{.answer = ask(p, effort.context)};
  for (Table& table : finding.answer.tables) table.only_data = true;
  add_limits(finding);
  add_layers(finding, effort);
  if (effort.context.stopped()) return finding;
  // Values of an independent program, 13 digits.
  finding.checks.push_back(near("output cosine at n = 1e12, rho = 0.5, g = 1.5",
                                state(1e12, 0.5, 1.5).output_cosine, 0.9999990019980, 1e-12));
  finding.checks.push_back(near("output cosine at n = 1e12, rho = 0.5, g = 2.5",
                                state(1e12, 0.5, 2.5).output_cosine, 0.5004997500001, 1e-12));
  const ContextLayer critical{.tokens = 1e12, .rho = 0.5, .exponent = 2};
  finding.checks.push_back(near("backward norm at n = d = 1e12, rho = 0.5, g = 2 (limit 1/4)",
                                backward_norm(critical, 1e12), 0.2500000000414, 1e-12));
  finding.answer.values = Json::object();
  finding.answer.remarks.clear();
  finding.answer.headline = fmt::format(
      "Output cosine 1, 4ρ/(1+3ρ), ρ below, at and above g = 1/(1−ρ), forward and backward; at n = "
      "10^{{12}}, ρ = 0.5 the switch still takes {:.2f} in g (10 to 90 % of the own weight).",
      context_transition(critical).width);
  auto usual = finding.answer.draw;
  finding.answer.draw = [usual] {
    std::vector<PageFigure> figures = usual();
    // The map over (rho, g) is the paper's figure: first.
    for (std::size_t k = 0; k < figures.size(); ++k)
      if (figures[k].figure.id == "map_angle") std::swap(figures[0], figures[k]);
    return figures;
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "critical-scaling",
          .title = "Critical scaling of attention in long contexts",
          .source = "arXiv 2510.05554",
          .shows =
              "With beta = g log n and tokens of common cosine rho, the cosine of two outputs "
              "tends to 1, 4 rho/(1+3 rho) or rho as g is below, at or above 1/(1-rho); the "
              "angle ratio over (rho, g) shows the phases, and gradients do the same.",
          .run = run};
}

}  // namespace attractor::papers::critical_scaling
