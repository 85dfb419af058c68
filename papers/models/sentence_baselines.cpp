// How much of the cosine of a text's tokens do all tokens of the model share? Within sentences of a
// novel, and between them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/file.hpp"
#include "papers/entry.hpp"
#include "papers/fetched.hpp"
#include "papers/models/trained.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::sentence_baselines {
namespace {

using models::Band;

struct Elsewhere {
  std::size_t layer;
  double within, across;
};

struct Case {
  const char* name;
  const char* title;
  /// Of the first ten sentences after the last layer, by PyTorch: within, across.
  double within, across;
  /// Of 100 other sentences of the book, by somebody else.
  std::vector<Elsewhere> elsewhere;
};

std::vector<Case> cases() {
  return {{"minilm", "MiniLM", 0.333939, 0.066119, {{5, .318, .271}, {6, .316, .066}}},
          {"gte-small", "gte-small", 0.832770, 0.647433, {{12, .804, .623}}}};
}

/// 100 sentences drawn from the book, with our texts beside them.
InspectRecord drawn(const lab::ModelInput& model, const std::string& name, const std::string& book,
                    const Effort& effort) {
  InspectSetup setup = plain_setup(model, first_lines(texts_for(name), 24));
  setup.baseline = lab::TextInput(book);
  setup.baseline_sentences = 100;
  setup.seed = 1;
  return inspected(setup, effort);
}

/// Every so many-th line, 100 in all: the whole book.
std::string spread_sentences(const std::string& book) {
  const auto lines = static_cast<std::size_t>(std::count(book.begin(), book.end(), '\n'));
  std::string some;
  std::size_t begin = 0;
  for (std::size_t k = 0; k < lines; ++k) {
    const std::size_t end = book.find('\n', begin) + 1;
    if (k % (lines / 100) == 0) some += book.substr(begin, end - begin);
    begin = end;
  }
  return first_lines(some, 100);
}

report::Panel panel_of(const std::string& title, const InspectRecord& sentences,
                       const InspectRecord& texts) {
  report::Panel panel{.title = title,
                      .x = {.label = "layer", .low = 0, .whole = true},
                      .y = {.label = "mean cosine", .low = 0, .high = 1}};
  const auto add = [&](const char* name, report::Colour colour, const lab::Bands& bands) {
    report::Series middle = line(name, colour), low = line("", colour, 1, true),
                   high = line("", colour, 1, true);
    for (std::size_t k = 0; k < bands.size(); ++k) {
      const auto x = static_cast<double>(k);
      add_point(middle, x, bands[k].mean);
      add_point(low, x, bands[k].low);
      add_point(high, x, bands[k].high);
    }
    for (report::Series* s : {&middle, &low, &high}) panel.series.push_back(std::move(*s));
  };
  add("within a sentence of the book", report::kBlue, sentences.within);
  add("within one of our texts", report::kGreen, texts.within);
  add("between sentences", report::kGrey, sentences.across);
  return panel;
}

struct Sentences {
  InspectRecord ten{}, some{}, ours{};  // the first ten; 100 of them; our texts and 100 drawn
};

void add_checks(const Case& c, const Sentences& s, std::vector<Check>& checks) {
  const auto words = [&](const char* what) { return fmt::format("{}: {}", c.title, what); };
  checks.push_back(near(words("within ten sentences, against PyTorch's"), s.ten.within.back().mean,
                        c.within, 1e-4));
  checks.push_back(
      near(words("between them, against PyTorch's"), s.ten.across.back().mean, c.across, 1e-4));
  for (const auto& [k, within, across] : c.elsewhere) {
    checks.push_back(near(fmt::format("{}, layer {}: within, against 100 others", c.title, k),
                          s.some.within[k].mean, within, 0.1));
    checks.push_back(near(fmt::format("{}, layer {}: between, against 100 others", c.title, k),
                          s.some.across[k].mean, across, 0.1));
  }
  checks.push_back(at_least(words("within minus between after the last layer, lower end at 99 %"),
                            s.some.excess.back().low, 0.05));
  const Band &drawn_at = s.ours.across.back(), &spread_at = s.some.across.back();
  checks.push_back(at_most(
      words("between sentences, drawn and evenly spread: difference over the width of their bands"),
      std::abs(drawn_at.mean - spread_at.mean) /
          std::hypot(drawn_at.high - drawn_at.low, spread_at.high - spread_at.low),
      1));
}

void add_rows(const Case& c, const InspectRecord& some, Table& table) {
  for (std::size_t k = 0; k <= some.layers(); ++k) {
    table.labels.emplace_back(c.title);
    table.rows.push_back({static_cast<double>(k), some.within[k].mean, some.across[k].mean,
                          some.across[k].low, some.across[k].high, some.excess[k].mean,
                          some.excess[k].low, some.excess[k].high});
  }
}

Finding run(const Effort& effort) {
  Finding finding;
  const std::string book =
      read_file(fetched_folder() / "moby-dick" / "sentences.txt", std::size_t{1} << 26U);
  std::vector<report::Panel> panels;
  Table table{.name = "layers",
              .title = "100 sentences of Moby-Dick",
              .columns = {"layer", "within", "across", "across_low", "across_high", "excess",
                          "excess_low", "excess_high"},
              .label_column = "model"};
  std::string words;
  for (const Case& c : cases()) {
    const lab::ModelInput model = trained_model(c.name);
    const Sentences s{.ten = inspected(plain_setup(model, first_lines(book, 10)), effort),
                      .some = inspected(plain_setup(model, spread_sentences(book)), effort),
                      .ours = drawn(model, c.name, book, effort)};
    if (effort.context.stopped()) return {};
    add_checks(c, s, finding.checks);
    add_rows(c, s.some, table);
    const Band& across = s.some.across.back();
    words += fmt::format("{}{} {:.3f} within and {:.3f} between sentences ({:.3f} to {:.3f})",
                         words.empty() ? "" : ", ", c.title, s.some.within.back().mean, across.mean,
                         across.low, across.high);
    panels.push_back(panel_of(c.title, s.some, s.ours));
  }
  finding.answer.headline = fmt::format(
      "Mean cosine after the last layer: {}. What tokens of one text share is the rest.", words);
  finding.answer.tables = {table};
  finding.answer.draw = [panels] {
    return std::vector<PageFigure>{
        picture("baselines", "Within and between sentences", panels,
                "Blue: pairs of tokens of one sentence of Moby-Dick. Green: of one of our texts. "
                "Grey: of different sentences, the cosine that all tokens share anyway. Dashed: "
                "99 % bands.")};
  };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "sentence-baselines",
          .title = "Cosines that all tokens of a model share",
          .source = "this laboratory, against PyTorch and numbers measured elsewhere",
          .shows =
              "Most of the cosine of a text's tokens in middle layers is shared by all tokens of "
              "the model: on 100 sentences of Moby-Dick, within and between them, .318 and .271 "
              "in layer 5 of MiniLM, .316 and .066 in layer 6, .804 and .623 in layer 12 of "
              "gte-small.",
          .run = run,
          .needs = {"minilm", "gte-small", "moby-dick"}};
}

}  // namespace attractor::papers::sentence_baselines
