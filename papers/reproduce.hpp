// Runs an entry of the catalogue and says in words whether it agrees with its paper.
#pragma once

#include <filesystem>
#include <string>
#include <tuple>
#include <vector>

#include "papers/entry.hpp"

namespace attractor::papers {

inline auto fields(Check& value) {
  auto& [what, got, least, most, why] = value;
  return std::tie(what, got, least, most, why);
}

struct Verdict {
  std::string id, title, source, words;  // "agrees: 5 of 5 checks", or which do not and why
  bool agrees = false, failed = false;   // failed: it could not be run to its end
  bool skipped = false;                  // what it reads is not on this machine
  bool analogue = false;                 // all checks agree, of something like the paper's
  double seconds = 0;
  std::vector<Check> checks{};
};
inline auto fields(Verdict& value) {
  auto& [id, title, source, words, agrees, failed, skipped, analogue, seconds, checks] = value;
  return std::tie(id, title, source, words, agrees, failed, skipped, analogue, seconds, checks);
}

/// What running an entry gives: its verdict, and what its page shows (nothing if it failed or was
/// skipped).
struct Reproduced {
  Verdict verdict;
  Result answer{};
  lab::Call call{};
};
Reproduced run_entry(const Entry& entry, const Effort& effort);

/// Runs it and, unless the directory is empty, writes its page into directory/id. Throws Error if
/// it cannot write there.
Verdict reproduce(const Entry& entry, const Effort& effort, const std::filesystem::path& directory);

/// "agrees", "analogue", "differs", "skipped" or "failed".
const char* state_of(const Verdict& verdict);
Json json(const Verdict& verdict);

}  // namespace attractor::papers
