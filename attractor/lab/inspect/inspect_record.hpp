// What an inspection found: readings of every text, what random sentences and models that know
// nothing give, and how well the theory predicts the next layer.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "attractor/base/array.hpp"
#include "attractor/models/architecture.hpp"
#include "attractor/models/nulls.hpp"
#include "attractor/models/readings/head_spectra.hpp"
#include "attractor/models/readings/sentence_cosines.hpp"
#include "attractor/models/readings/text_reading.hpp"

namespace attractor::lab {

/// A quantity of each layer or state over texts: its mean, and an interval of that mean.
using Bands = std::vector<models::Band>;

/// Models that know nothing, on the same texts: the mean of each draw over texts, layer by layer.
struct NullReading {
  models::Null kind{};
  std::vector<std::vector<double>> cosine{};        // draws x (layers + 1)
  std::vector<std::vector<double>> beta{}, time{};  // draws x layers; time: since the start
  std::vector<std::vector<double>> slope{}, r2{};   // draws x layers; of heads, their mean
};

/// The next mean cosine, predicted in three ways: mean absolute errors over texts and layers.
struct PredictionErrors {
  models::Band equiangular{}, persistence{}, linear{};
  double slope = 1, intercept = 0;  // of the linear fit over all texts
  std::size_t pairs = 0;
};

struct InspectRecord {
  bool of_model = true;
  models::Architecture architecture{};  // if there is a model
  std::string model{};                  // its name
  std::vector<models::TextReading> texts{};
  std::vector<std::string> lines{};                         // the texts
  std::size_t cut = 0;                                      // texts of which tokens were left out
  std::vector<std::vector<models::HeadSpectra>> spectra{};  // own layers x heads

  Bands cosine{}, rank{}, clusters{};                           // states
  Bands beta{}, joint_beta{}, r2{}, entropy{}, time{}, step{};  // layers
  Bands within{}, across{}, excess{};  // states; across and excess NaN without baseline
  std::size_t baseline_sentences = 0;
  std::vector<NullReading> nulls{};
  std::size_t null_texts = 0;
  PredictionErrors errors{};
  std::string written{};  // the first text and what the model goes on with
  bool stopped = false;

  Array states{}, attention{}, keys{};  // of the first text, if asked for

  std::size_t layers() const { return texts.front().layers.size(); }
};

}  // namespace attractor::lab
