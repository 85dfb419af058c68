// Runs an entry of the catalogue and says in words whether it agrees with its paper.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "papers/entry.hpp"

namespace attractor::papers {

struct Verdict {
  std::string id, title, source, words;  // "agrees: 5 of 5 checks", or which do not and why
  bool agrees = false, failed = false;   // failed: it could not be run to its end
  double seconds = 0;
  std::vector<Check> checks{};
};

/// Runs it and, unless the directory is empty, writes its page into directory/id. Throws Error if
/// it cannot write there.
Verdict reproduce(const Entry& entry, const Effort& effort, const std::filesystem::path& directory);

Json json(const Verdict& verdict);

}  // namespace attractor::papers
