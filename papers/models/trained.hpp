// Trained models (papers/fetched.hpp) inspected on texts of our own (texts.txt, and the same in
// phonemes), and what entries about them draw and compare.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "attractor/lab/inspect/inspect_run.hpp"
#include "papers/entry.hpp"

namespace attractor::papers {

using lab::InspectRecord;
using lab::InspectSetup;

/// By the name of its folder.
lab::ModelInput trained_model(const std::string& name);
/// The ALBERT there is: a folder `albert` that somebody has put beside the fetched ones, else the
/// phoneme encoder.
std::string albert_name();
/// What an ALBERT of phonemes stands in for; empty for a real one.
std::string albert_stands_in();

/// All of our texts, one on each line, as this model reads them.
std::string texts_for(const std::string& name);
/// The first so many lines.
std::string first_lines(const std::string& text, std::size_t count);

/// Our texts (the first `texts` of them; 0: all) through the model, with whatever else the setup
/// says. Without nulls and exponents unless it asks for them.
InspectSetup plain_setup(const lab::ModelInput& model, const std::string& text);
InspectRecord inspected(const InspectSetup& setup, const Effort& effort);

/// Mean cosine of the first text after each layer, against numbers of another program: the largest
/// difference. Infinite if there are not as many.
double largest_difference(const InspectRecord& record, std::span<const double> cosines);

/// Layers after which the mean cosine over texts is lower by more than `by`: "8 9".
std::string falling_layers(const InspectRecord& record, double by);

/// The cosines of all pairs after some layers, one panel each.
std::vector<report::Panel> histogram_panels(const InspectRecord& record, const std::string& title,
                                            std::span<const std::size_t> states);

/// Mean cosine over texts by layer, and its band as thin lines.
void add_cosine_lines(report::Panel& panel, const InspectRecord& record, const std::string& title,
                      report::Colour colour);

}  // namespace attractor::papers
