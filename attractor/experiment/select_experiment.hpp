// The way of `attractor select`: problem -> objective -> gradient method -> which tokens were
// selected, and the max-margin theory of that choice. With a directory, training can be interrupted
// or killed at any moment and resumed; the run ends with the same bytes.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "attractor/experiment/select_record.hpp"

namespace attractor::experiment {

struct SelectContext {
  std::filesystem::path directory{};  // for checkpoints; empty: none
  std::string files_from{};           // a relative problem file is meant from here
  double checkpoint_seconds = 10;
  std::function<bool()> stop{};
  /// fraction done, and a note
  std::function<void(double, const std::string&)> report{};
};

/// All that can be refused is refused here, before anything is written: reads the problem.
void validate(const SelectParameters& parameters);

SelectRecord run_select(const SelectParameters& parameters, const SelectContext& context);

}  // namespace attractor::experiment
