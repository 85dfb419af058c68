// Trained models and texts that are not in the repository: tools/models fetches each into a folder
// of its name in
//
//   $ATTRACTOR_MODELS, else $XDG_CACHE_HOME/attractor/models, else ~/.cache/attractor/models.
//
// An entry that needs one says so (Entry::needs) and is skipped without it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attractor::papers {

std::filesystem::path fetched_folder();
bool is_fetched(const std::string& name);

/// Which of these are not there and how they can be had, in a sentence; empty: all are there.
std::string what_is_missing(const std::vector<std::string>& names);

}  // namespace attractor::papers
