// The way of `attractor sweep`: study -> units, several at once, each committed to the journal when
// it is done -> one Result of statistics. Killed at any moment it loses the units in flight only;
// what is left at the end depends on the study alone, not on order, threads, ranks or shards.
//
// Among several ranks (ranks/ranks.hpp) rank 0 hands out units one by one and computes as well;
// every rank writes a journal of its own. A rank that dies ends the run, which can be resumed.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include "attractor/files/input_files.hpp"
#include "attractor/study/journal.hpp"
#include "attractor/study/schedule.hpp"
#include "attractor/study/study.hpp"

namespace attractor::lab {

struct SweepContext {
  std::filesystem::path directory;  // journals
  std::string files_from{};         // relative files of settings are meant from here
  InputFiles inputs{};              // must hold the same from the first unit to the last
  Shard shard{};
  std::size_t workers = 0;  // units at once on this rank; 0: as many as threads, 1 among ranks
  std::function<bool()> stop{};
  std::function<void(std::size_t completed, std::size_t most)> report{};  // never at once
};

/// True if every unit of the shard is in the journals now; false if it was stopped. The answer is
/// the same on all ranks. Throws Error if a journal cannot be written, a measure does not exist, or
/// an input file is not what it was when the sweep began.
bool run_sweep(const Study& study, const SweepContext& context);

/// One unit; false: interrupted. What a command refuses or cannot deliver is a failure of the unit;
/// a measure that its summary does not have is a mistake in the study and throws Error.
bool run_unit(const Study& study, std::size_t unit, const std::string& files_from,
              const std::function<bool()>& stop, UnitResult& result);

}  // namespace attractor::lab
