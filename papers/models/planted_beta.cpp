// Instruments against stacks whose truth is known: heads with a planted beta, layers that are the
// theory's layer map with a planted step and value, tokens with a planted cosine.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/models/planted_model.hpp"
#include "attractor/models/readings/text_reading.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::planted_beta {
namespace {

using models::LayerReading;
using models::NormPlace;
using models::Planted;
using models::TextReading;

TextReading reading_of(const Planted& p, double rho, std::uint64_t seed) {
  models::ReadingOptions brief;
  brief.brief = true;
  return read_text(planted_model(p, models::tokens_with_cosine(p.tokens, p.dim, rho, seed)),
                   models::all_tokens(p.tokens), brief);
}

struct Recovered {
  report::Series betas = dots("heads", report::kBlue), times = dots("layers", report::kBlue),
                 cosines = dots("layers", report::kBlue);
  double beta = 0, r2 = 1, time = 0, cosine = 0, change = 1;  // worst of all
};

/// Four heads in each layer, one of which pushes away.
void recover_betas(std::uint64_t stacks, const Effort& effort, Recovered& found) {
  const std::vector<double> betas = {0.5, 4, -2, 30};
  for (std::uint64_t seed = 0; seed < stacks && !effort.context.stopped(); ++seed) {
    const Planted p{.betas = betas,
                    .place = seed % 2 == 0 ? NormPlace::post : NormPlace::pre,
                    .causal = seed % 4 > 1};
    const TextReading r = reading_of(p, 0.1 + 0.05 * static_cast<double>(seed % 8), seed);
    for (const LayerReading& layer : r.layers)
      for (std::size_t h = 0; h < betas.size(); ++h) {
        add_point(found.betas, betas[h], layer.heads[h].beta);
        found.beta =
            std::max(found.beta, std::abs(layer.heads[h].beta - betas[h]) / std::abs(betas[h]));
        found.r2 = std::min(found.r2, layer.heads[h].r2);
      }
  }
}

/// Small steps, drawing together, half as strongly, and pushing apart.
void recover_times(const Effort& effort, Recovered& found) {
  for (const double rho : {0.05, 0.4, 0.8})
    for (const double beta : {0.5, 2.0, 6.0})
      for (const double value : {1.0, 0.5, -1.0}) {
        if (effort.context.stopped()) return;
        const Planted p{.dim = 384, .layers = 2, .betas = {beta}, .step = 0.02, .value = value};
        for (const LayerReading& layer : reading_of(p, rho, 3).layers) {
          add_point(found.times, 0.02 * value, layer.time);
          found.time =
              std::max(found.time, std::abs(layer.time - 0.02 * value) / (0.02 * std::abs(value)));
        }
      }
}

/// Large steps: the next cosine.
void predict_cosines(const Effort& effort, Recovered& found) {
  for (const NormPlace place : {NormPlace::post, NormPlace::pre})
    for (const double beta : {1.0, 3.0}) {
      if (effort.context.stopped()) return;
      const Planted p{.dim = 512, .betas = {beta}, .step = 0.5, .place = place};
      const TextReading r = reading_of(p, 0.1, 9);
      for (std::size_t k = 0; k < p.layers; ++k) {
        add_point(found.cosines, r.cosine(k + 1), r.layers[k].predicted);
        found.cosine = std::max(found.cosine, std::abs(r.layers[k].predicted - r.cosine(k + 1)));
        found.change = std::min(found.change, std::abs(r.cosine(k + 1) - r.cosine(k)));
      }
    }
}

report::Panel against_truth(const std::string& title, const char* x, const char* y,
                            const report::Series& points) {
  report::Panel panel{.title = title, .x = {.label = x}, .y = {.label = y}};
  const auto [low, high] = std::minmax_element(points.x.begin(), points.x.end());
  panel.series = {line("", report::kGrey, {*low, *high}, {*low, *high}, true), points};
  panel.series.back().title = "";
  return panel;
}

Finding run(const Effort& effort) {
  Recovered found;
  recover_betas(effort.quick ? 4 : 24, effort, found);
  recover_times(effort, found);
  predict_cosines(effort, found);
  Finding finding;
  if (effort.context.stopped()) return finding;
  finding.checks = {
      at_most("beta of a head: largest relative error", found.beta, 1e-5),
      at_least("part of its logits that the cosine explains, least", found.r2, 0.999),
      at_most("effective time of a layer: largest relative error", found.time, 0.05),
      at_most("next cosine: largest error of the prediction", found.cosine, 0.01),
      at_least("next cosine: smallest change that was predicted", found.change, 0.01)};
  finding.answer.headline = fmt::format(
      "From {} heads of planted stacks β comes back within {:.2g} %, from {} layers the effective "
      "time within {:.2g} %, and the next cosine within {:.1g}.",
      found.betas.x.size(), 100 * found.beta, found.times.x.size(), 100 * found.time, found.cosine);
  finding.answer.draw = [found] {
    return std::vector<PageFigure>{
        picture("recovered", "Planted and recovered",
                {against_truth("heads", "β planted", "β_{eff} measured", found.betas),
                 against_truth("layers", "time planted", "effective time", found.times),
                 against_truth("layers", "next mean cosine", "predicted", found.cosines)},
                "On the dashed line what is measured is what was planted.")};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {
      .id = "planted-beta",
      .title = "Planted β, times and cosines come back",
      .source = "this laboratory, against planted stacks",
      .shows =
          "What is measured on trained models is right on stacks whose heads have a known "
          "beta and whose layers are the theory's: beta to single precision, effective time within "
          "5 %, the next cosine within 0.01.",
      .run = run};
}

}  // namespace attractor::papers::planted_beta
