// Attention and normalisation alone collapse: trained models without their feed-forward blocks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "papers/entry.hpp"
#include "papers/models/trained.hpp"
#include "papers/pictures.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::without_feed_forward {
namespace {

/// Our first text in phonemes through ALBERT without its block and the norm behind it, by PyTorch
/// in double precision.
constexpr double kPhonemes[] = {0.094763, 0.727880, 0.954087, 0.995672, 0.999752};

struct Stack {
  std::string name, title;
  InspectRecord with{}, without{};
};

Stack stack_of(const std::string& name, const std::string& title, std::size_t texts,
               std::uint64_t depth, const Effort& effort) {
  InspectSetup setup = plain_setup(trained_model(name), first_lines(texts_for(name), texts));
  setup.depth = depth;
  Stack stack{.name = name, .title = title};
  stack.with = inspected(setup, effort);
  if (effort.context.stopped()) return stack;
  setup.no_feed_forward = true;
  stack.without = inspected(setup, effort);
  return stack;
}

/// The smallest mean cosine of any text.
double least(const InspectRecord& r, std::size_t state) {
  double smallest = 1;
  for (const models::TextReading& text : r.texts) smallest = std::min(smallest, text.cosine(state));
  return smallest;
}

/// After all layers, of the text in the middle.
double median_clusters(const InspectRecord& r) {
  std::vector<double> counts;
  for (const models::TextReading& text : r.texts)
    counts.push_back(text.states.back().seen.clusters);
  return quantile(std::move(counts), 0.5);
}

std::vector<PageFigure> draw(const std::vector<Stack>& stacks) {
  std::vector<report::Panel> panels;
  for (const Stack& s : stacks) {
    report::Panel panel{.title = s.title,
                        .x = {.label = "layer", .low = 0, .whole = true},
                        .y = {.label = "mean cosine of pairs", .low = 0, .high = 1.02}};
    add_cosine_lines(panel, s.with, "whole", report::kBlue);
    add_cosine_lines(panel, s.without, "without feed-forward", report::kVermillion);
    panels.push_back(std::move(panel));
  }
  return {picture("collapse", "Without feed-forward blocks", std::move(panels),
                  "Blue: as trained, its layers again and again beyond their number. Red: the "
                  "same without feed-forward blocks. Dashed: bands.")};
}

Finding run(const Effort& effort) {
  const std::size_t texts = effort.quick ? 3 : 24;
  const std::string albert = albert_name();
  std::vector<Stack> stacks;
  for (const auto& [name, title] : std::initializer_list<std::pair<std::string, std::string>>{
           {albert, "ALBERT"}, {"minilm", "MiniLM"}, {"gte-small", "gte-small"}}) {
    stacks.push_back(stack_of(name, title, texts, 24, effort));
    if (effort.context.stopped()) return {};
  }
  Finding finding;
  finding.stand_in = albert_stands_in();
  const InspectRecord& alone = stacks[0].without;
  if (albert == "albert-phonemes") {
    double worst = 0;
    for (std::size_t k = 0; k < std::size(kPhonemes); ++k)
      worst = std::max(worst, std::abs(alone.texts.front().cosine(k) - kPhonemes[k]));
    finding.checks.push_back(
        at_most("ALBERT without feed-forward: cosine of a text against PyTorch's", worst, 1e-4));
  }
  finding.checks.push_back(
      at_least("ALBERT without feed-forward: smallest mean cosine at t = 2", least(alone, 2), 0.9));
  finding.checks.push_back(at_least("ALBERT without feed-forward: smallest mean cosine at t = 4",
                                    least(alone, 4), 0.999));
  finding.checks.push_back(
      at_most("ALBERT as trained: mean cosine at t = 24, upper end of its band",
              stacks[0].with.cosine.back().high, 0.9));
  // Elsewhere, of one sentence each.
  for (std::size_t m = 1; m < stacks.size(); ++m)
    finding.checks.push_back(between(
        fmt::format("{} without feed-forward: clusters (linked above 0.9) after 24 layers, median",
                    stacks[m].title),
        median_clusters(stacks[m].without), 2, 2));
  finding.checks.push_back(
      between("gte-small as trained, round and round: clusters after 24 "
              "layers, median",
              median_clusters(stacks[2].with), 1, 1));
  finding.answer.headline = fmt::format(
      "Without feed-forward blocks ALBERT's tokens have mean cosine {:.3f} at t = 2 and {:.5f} at "
      "t = 4 (with them {:.3f} at t = 24); MiniLM and gte-small end in {:.0f} and {:.0f} clusters.",
      alone.cosine[2].mean, alone.cosine[4].mean, stacks[0].with.cosine.back().mean,
      median_clusters(stacks[1].without), median_clusters(stacks[2].without));
  Table table{.name = "cosines",
              .title = "Mean cosine with and without feed-forward blocks",
              .columns = {"layers", "with", "without", "clusters_with", "clusters_without"},
              .label_column = "model"};
  for (const Stack& s : stacks)
    for (const std::size_t k : std::vector<std::size_t>{0, 1, 2, 4, 6, 12, 24}) {
      table.labels.push_back(s.title);
      table.rows.push_back({static_cast<double>(k), s.with.cosine[k].mean, s.without.cosine[k].mean,
                            s.with.clusters[k].mean, s.without.clusters[k].mean});
    }
  finding.answer.tables = {table};
  finding.answer.draw = [stacks] { return draw(stacks); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "without-feed-forward",
          .title = "Trained attention alone collapses",
          .source = "arXiv 2312.10794, section 2 (attention and layer norm alone)",
          .shows =
              "Tokens under attention and normalisation alone cluster to one point; in trained "
              "models feed-forward blocks work against it. ALBERT without them: mean cosine above "
              "0.9 at t = 2 and 0.999 at t = 4.",
          .run = run,
          .needs = {albert_name(), "minilm", "gte-small"}};
}

}  // namespace attractor::papers::without_feed_forward
