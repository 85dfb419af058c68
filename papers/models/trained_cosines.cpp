// Cosines of pairs of tokens by layer in three trained models: two encoders of the BERT kind and a
// decoder of the Llama kind. They do not collapse, and their cosine is not monotone in depth.
#include <fmt/format.h>

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "papers/entry.hpp"
#include "papers/models/trained.hpp"
#include "papers/pictures.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::trained_cosines {
namespace {

struct Case {
  const char* name;
  const char* title;
  /// Of our first text, by PyTorch in double precision (tests/validation/model_references.py).
  std::vector<double> pytorch;
  /// Of a text of somebody else's that begins like our first one, by another program.
  std::vector<double> elsewhere;
  const char* falls;  // layers after which it fell there by more than 0.005
};

std::vector<Case> cases() {
  return {{"minilm",
           "MiniLM",
           {0.085472, 0.168204, 0.204314, 0.240176, 0.272129, 0.314552, 0.367392},
           {.074, .175, .218, .256, .268, .282, .357},
           ""},
          {"gte-small",
           "gte-small",
           {0.088043, 0.130395, 0.157526, 0.155727, 0.188700, 0.226937, 0.260726, 0.311124,
            0.275637, 0.265360, 0.361956, 0.579431, 0.805919},
           {.075, .129, .165, .170, .197, .227, .261, .295, .266, .257, .344, .584, .812},
           "8 9"},
          {"stories15M",
           "stories15M",
           {0.081309, 0.275478, 0.264250, 0.278944, 0.354105, 0.399276, 0.345785},
           {.064, .272, .277, .295, .361, .370, .315},
           "6"}};
}

double largest_distance(const lab::Bands& ours, const std::vector<double>& theirs) {
  double largest = 0;
  for (std::size_t k = 0; k < theirs.size(); ++k)
    largest = std::max(largest, std::abs(ours[k].mean - theirs[k]));
  return largest;
}

/// Layers after which it fell elsewhere by more than 0.005 and does not here, on average.
double misfits(const InspectRecord& r, const std::vector<double>& theirs) {
  double count = 0;
  for (std::size_t k = 1; k < theirs.size(); ++k)
    if (theirs[k] < theirs[k - 1] - 0.005 && r.cosine[k].mean >= r.cosine[k - 1].mean) count += 1;
  return count;
}

/// Layers whose change elsewhere is none that one of our texts could have: outside the interval
/// that holds another text with 99.9 %.
double strange_changes(const InspectRecord& r, const std::vector<double>& theirs) {
  const auto n = static_cast<double>(r.texts.size());
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.9995);
  double count = 0;
  for (std::size_t k = 1; k < theirs.size(); ++k) {
    std::vector<double> changes;
    for (const models::TextReading& text : r.texts)
      changes.push_back(text.cosine(k) - text.cosine(k - 1));
    const double spread = standard_error(changes) * std::sqrt(n);
    if (std::abs(theirs[k] - theirs[k - 1] - mean(changes)) > t * spread * std::sqrt(1 + 1 / n))
      count += 1;
  }
  return count;
}

std::vector<PageFigure> draw(const std::vector<InspectRecord>& records) {
  std::vector<report::Panel> panels;
  report::Panel lines{.x = {.label = "layer", .low = 0, .whole = true},
                      .y = {.label = "mean cosine of pairs", .low = 0, .high = 1}};
  const std::vector<Case> all = cases();
  for (std::size_t m = 0; m < all.size(); ++m) {
    const std::size_t last = records[m].layers();
    for (report::Panel& panel :
         histogram_panels(records[m], all[m].title, std::vector<std::size_t>{0, last / 2, last}))
      panels.push_back(std::move(panel));
    add_cosine_lines(lines, records[m], all[m].title, report::kPalette[m]);
  }
  PageFigure histograms = picture("histograms", "Cosines of pairs", std::move(panels),
                                  "Cosines of all pairs of tokens of a text, all texts together, "
                                  "after some layers. Dashed: their mean.");
  histograms.figure.height = 780;
  return {std::move(histograms),
          figure_of("cosines", {std::move(lines)},
                    "Mean over texts, and the band in which 99 % of draws of texts have it.")};
}

Finding run(const Effort& effort) {
  Finding finding;
  std::vector<InspectRecord> records;
  Table table{.name = "cosines",
              .title = "Mean cosine of pairs of tokens, mean over texts",
              .columns = {"layer", "ours", "low", "high", "elsewhere", "rank", "clusters"},
              .label_column = "model"};
  for (const Case& c : cases()) {
    const std::string text = first_lines(texts_for(c.name), effort.quick ? 8 : 24);
    records.push_back(inspected(plain_setup(trained_model(c.name), text), effort));
    if (effort.context.stopped()) return {};
    const InspectRecord& r = records.back();
    finding.checks.push_back(
        at_most(fmt::format("{}: mean cosine of a text, any layer, against PyTorch's", c.title),
                largest_difference(r, c.pytorch), 1e-4));
    finding.checks.push_back(
        at_most(fmt::format("{}: mean cosine, any layer, against another text elsewhere", c.title),
                largest_distance(r.cosine, c.elsewhere), 0.1));
    finding.checks.push_back(
        between(fmt::format("{}: layers that fell elsewhere (after {}) and do not here", c.title,
                            *c.falls == '\0' ? "none" : c.falls),
                misfits(r, c.elsewhere), 0, 0));
    finding.checks.push_back(
        between(fmt::format("{}: layers whose change elsewhere no text of ours could have (99.9 %)",
                            c.title),
                strange_changes(r, c.elsewhere), 0, 0));
    for (std::size_t k = 0; k < r.cosine.size(); ++k) {
      table.labels.emplace_back(c.title);
      table.rows.push_back({static_cast<double>(k), r.cosine[k].mean, r.cosine[k].low,
                            r.cosine[k].high, c.elsewhere[k], r.rank[k].mean, r.clusters[k].mean});
    }
  }
  const auto ends = [&](std::size_t m) {
    return fmt::format("{:.3f} → {:.3f}", records[m].cosine.front().mean,
                       records[m].cosine.back().mean);
  };
  finding.answer.headline = fmt::format(
      "Trained layers draw tokens together but do not collapse them: mean cosine {} in MiniLM, {} "
      "in gte-small (it falls after layers {}), {} in stories15M.",
      ends(0), ends(1), falling_layers(records[1], 0.005), ends(2));
  finding.answer.tables = {table};
  finding.answer.draw = [records] { return draw(records); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "trained-cosines",
          .title = "Cosines by layer in BERT and Llama models",
          .source = "arXiv 2312.10794, Figure 1 (for other models than its own)",
          .shows =
              "Cosines of pairs of tokens in a trained model, layer by layer. Here for MiniLM, "
              "gte-small and stories15M, against a forward pass in PyTorch and against cosines "
              "that were measured elsewhere on another text: like them within 0.1, falling after "
              "the same layers.",
          .run = run,
          .needs = {"minilm", "gte-small", "stories15M"}};
}

}  // namespace attractor::papers::trained_cosines
