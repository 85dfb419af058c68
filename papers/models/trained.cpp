#include "papers/models/trained.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/files/models/model_file.hpp"
#include "attractor/observe/pairs.hpp"
#include "papers/fetched.hpp"
#include "papers/models/phonemes_txt.hpp"
#include "papers/models/texts_txt.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers {

lab::ModelInput trained_model(const std::string& name) {
  const std::filesystem::path folder = fetched_folder() / name;
  const LoadedModel loaded = read_model(name == "stories15M" ? folder / "model.bin" : folder);
  lab::ModelInput input;
  input.name = name;
  input.model = loaded.model;
  input.tokenizer = loaded.tokenizer;
  return input;
}

std::string albert_name() { return is_fetched("albert") ? "albert" : "albert-phonemes"; }

std::string albert_stands_in() {
  if (is_fetched("albert")) return "";
  return "the ALBERT of a speech synthesiser, which reads phonemes, stands in for the paper's; a "
         "real one is taken from a folder albert beside it";
}

std::string texts_for(const std::string& name) {
  return std::string(name == "albert-phonemes" ? kPhonemesTxt : kTextsTxt);
}

std::string first_lines(const std::string& text, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t k = 0; k < count && end < text.size(); ++k)
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return text.substr(0, end);
}

InspectSetup plain_setup(const lab::ModelInput& model, const std::string& text) {
  InspectSetup setup;
  setup.model = model;
  setup.text = lab::TextInput(text);
  setup.nulls = 0;
  setup.exponents = 0;
  return setup;
}

InspectRecord inspected(const InspectSetup& setup, const Effort& effort) {
  InspectRecord record =
      run_inspect(setup, {.stop = effort.context.stop, .report = effort.context.report});
  for (models::TextReading& text : record.texts) text.directions = {};  // large, and not drawn
  return record;
}

double largest_difference(const InspectRecord& record, std::span<const double> cosines) {
  const models::TextReading& text = record.texts.front();
  if (text.states.size() != cosines.size()) return kInfinity;
  double largest = 0;
  for (std::size_t k = 0; k < cosines.size(); ++k)
    largest = std::max(largest, std::abs(text.cosine(k) - cosines[k]));
  return largest;
}

std::string falling_layers(const InspectRecord& record, double by) {
  std::string layers;
  for (std::size_t k = 1; k < record.cosine.size(); ++k)
    if (record.cosine[k].mean < record.cosine[k - 1].mean - by)
      layers += fmt::format("{}{}", layers.empty() ? "" : " ", k);
  return layers;
}

std::vector<report::Panel> histogram_panels(const InspectRecord& record, const std::string& title,
                                            std::span<const std::size_t> states) {
  std::vector<report::Panel> panels;
  for (const std::size_t state : states) {
    report::Series steps{.mark = report::Mark::steps, .colour = report::kBlue, .width = 1.6};
    constexpr double kWidth = 2.0 / static_cast<double>(observe::kCosineBins);
    for (std::size_t b = 0; b < observe::kCosineBins; ++b) {
      double share = 0;
      for (const models::TextReading& text : record.texts) share += text.states[state].histogram[b];
      add_point(steps, -1 + kWidth * static_cast<double>(b),
                share / static_cast<double>(record.texts.size()) / kWidth);
    }
    report::Panel panel{
        .title = fmt::format("{}, {}", title,
                             state == 0 ? std::string("embedded") : fmt::format("layer {}", state)),
        .x = {.label = "cosine", .low = -0.5, .high = 1},
        .y = {.label = "density", .low = 0}};
    panel.series.push_back(std::move(steps));
    panel.vertical.push_back(
        {.at = record.cosine[state].mean, .colour = report::kVermillion, .dashed = true});
    panels.push_back(std::move(panel));
  }
  return panels;
}

void add_cosine_lines(report::Panel& panel, const InspectRecord& record, const std::string& title,
                      report::Colour colour) {
  report::Series middle = line(title, colour), low = line("", colour, 1, true),
                 high = line("", colour, 1, true);
  for (std::size_t k = 0; k < record.cosine.size(); ++k) {
    const auto layer = static_cast<double>(k);
    add_point(middle, layer, record.cosine[k].mean);
    add_point(low, layer, record.cosine[k].low);
    add_point(high, layer, record.cosine[k].high);
  }
  for (report::Series* s : {&middle, &low, &high}) panel.series.push_back(std::move(*s));
}

}  // namespace attractor::papers
