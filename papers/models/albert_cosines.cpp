// The survey's first figure: cosines of pairs of tokens in ALBERT, whose one layer is used again
// and again, by layer; and far beyond the depth it was trained for.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "papers/entry.hpp"
#include "papers/models/trained.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::albert_cosines {
namespace {

/// Of our first text in phonemes, by PyTorch in double precision.
constexpr double kPhonemes[] = {0.094763, 0.390924, 0.370650, 0.341321, 0.327651,
                                0.319138, 0.300832, 0.310989, 0.308113, 0.313708,
                                0.337569, 0.364405, 0.536993};

/// The part of pairs whose cosine is above 0.9.
double close_pairs(const InspectRecord& r, std::size_t state) {
  double sum = 0;
  for (const models::TextReading& text : r.texts) sum += text.states[state].seen.pair_fraction;
  return sum / static_cast<double>(r.texts.size());
}

double mean_tokens(const InspectRecord& r) {
  double sum = 0;
  for (const models::TextReading& text : r.texts) sum += static_cast<double>(text.pieces.size());
  return sum / static_cast<double>(r.texts.size());
}

std::vector<PageFigure> draw(const InspectRecord& trained, const InspectRecord& far) {
  const std::size_t last = trained.layers();
  std::vector<std::size_t> shown = {0, 1, last / 2, last, 4 * last, far.layers()};
  report::Panel lines{.x = {.label = "times the layer was used", .low = 0},
                      .y = {.label = "mean cosine of pairs", .low = 0, .high = 1}};
  add_cosine_lines(lines, far, "", report::kBlue);
  lines.vertical.push_back(
      {.at = static_cast<double>(last), .dashed = true, .label = "trained depth"});
  PageFigure histograms =
      picture("histograms", "Cosines of pairs", histogram_panels(far, "ALBERT", shown),
              "Cosines of all pairs of tokens of a text, all texts together. "
              "Dashed: their mean.");
  histograms.figure.height = 540;
  return {std::move(histograms),
          figure_of("depth", {std::move(lines)},
                    "The same layer again and again, as many times as trained (dashed) and on.")};
}

Finding run(const Effort& effort) {
  const std::string name = albert_name();
  const lab::ModelInput model = trained_model(name);
  const std::string text = first_lines(texts_for(name), effort.quick ? 3 : 24);
  const InspectRecord trained = inspected(plain_setup(model, text), effort);
  InspectSetup deep = plain_setup(model, first_lines(text, effort.quick ? 1 : 3));
  deep.depth = 200;
  const InspectRecord far = effort.context.stopped() ? trained : inspected(deep, effort);
  Finding finding;
  if (effort.context.stopped()) return finding;
  finding.stand_in = albert_stands_in();
  if (name == "albert-phonemes")
    finding.checks.push_back(at_most("mean cosine of a text, any layer, against PyTorch's",
                                     largest_difference(trained, kPhonemes), 1e-4));
  const std::size_t last = trained.layers();
  finding.checks.push_back(
      at_least("mean cosine after the last layer minus that of embedded "
               "tokens, lower end of its 99 % band minus upper",
               trained.cosine[last].low - trained.cosine[0].high, 0.1));
  finding.checks.push_back(at_least("part of pairs above 0.9: after 200 times minus embedded",
                                    close_pairs(far, 200) - close_pairs(far, 0), 0.05));
  finding.checks.push_back(at_most("clusters (linked above 0.9) after 200 times over tokens",
                                   far.clusters[200].mean / mean_tokens(far), 0.5));
  finding.checks.push_back(
      at_most("change of their number from 150 to 200 times over tokens: they have formed",
              std::abs(far.clusters[200].mean - far.clusters[150].mean) / mean_tokens(far), 0.05));
  double least = 1, most = -1;
  for (std::size_t k = 150; k <= 200; ++k) {
    least = std::min(least, far.cosine[k].mean);
    most = std::max(most, far.cosine[k].mean);
  }
  finding.answer.headline = fmt::format(
      "Mean cosine {:.3f} → {:.3f} in {} layers, falling after layers {}; used 200 times it is "
      "{:.3f}, with {:.0f} clusters of {:.0f} tokens: clusters, not one. It does not come to rest: "
      "between 150 and 200 times the mean cosine wanders from {:.3f} to {:.3f}.",
      trained.cosine.front().mean, trained.cosine.back().mean, last, falling_layers(trained, 0.005),
      far.cosine[200].mean, far.clusters[200].mean, mean_tokens(far), least, most);
  Table table{.name = "depth",
              .title = "The layer again and again",
              .columns = {"times", "cosine", "clusters", "rank", "pairs_above_0.9"}};
  for (const std::size_t k :
       std::vector<std::size_t>{0, 1, 2, 4, 6, 8, 10, 12, 24, 48, 100, 150, 200})
    table.rows.push_back({static_cast<double>(k), far.cosine[k].mean, far.clusters[k].mean,
                          far.rank[k].mean, close_pairs(far, k)});
  finding.answer.tables = {table};
  finding.answer.draw = [trained, far] { return draw(trained, far); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "albert-cosines",
          .title = "Cosines by layer in ALBERT",
          .source = "arXiv 2312.10794, Figure 1",
          .shows =
              "Histograms of the cosines of pairs of tokens in ALBERT-xlarge, whose one layer is "
              "iterated: with depth they move towards 1, and tokens cluster.",
          .run = run,
          .needs = {albert_name()}};
}

}  // namespace attractor::papers::albert_cosines
