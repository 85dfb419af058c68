// WordNet's glosses of animals and plants (tools/models glosses) as tokens of a frozen model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attractor/lab/inputs.hpp"
#include "papers/models/ragged_selection.hpp"

namespace attractor::papers {

struct GlossSet {
  RaggedInputs train{}, test{};                    // +1 animal, -1 plant
  std::vector<std::vector<std::string>> pieces{};  // of each input of train
  double tokens = 0;                               // of a gloss, mean
};

/// `count` glosses (0: all) drawn without replacement, a fifth of them held out. Tokens are the
/// states of the model after `layer` layers (0: its embeddings), without those the tokenizer adds,
/// at most 32 of a gloss.
GlossSet glosses(const lab::ModelInput& model, std::size_t count, std::size_t layer,
                 std::uint64_t seed);

}  // namespace attractor::papers
