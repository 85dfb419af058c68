// The journal of a sweep: one line for each finished unit, on disk before the unit counts as done.
// A line is a checksum and a JSON object; a process killed in the middle of a line loses that unit
// only. Every writer (process, rank) has a file of its own, units/NAME.jsonl; readers take all of
// them, whatever wrote them, and a unit that is there twice is there once: it is the same.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "attractor/lab/json.hpp"

namespace attractor::lab {

struct UnitResult {
  std::size_t unit = 0;
  std::string failure{};                                  // empty: the values are there
  std::map<std::string, std::vector<double>> measures{};  // not a number: NaN
};

class Journal {
 public:
  /// Appends to units/NAME.jsonl, after cutting off an unfinished line.
  Journal(const std::filesystem::path& directory, const std::string& name);
  ~Journal();
  Journal(const Journal&) = delete;
  Journal& operator=(const Journal&) = delete;

  /// On disk when it returns. Throws Error (a full disk) and leaves no half line behind.
  void append(const UnitResult& result);

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

/// All units of all journals of the directory, in the order of their numbers; damaged lines are
/// left out. Refuses units from `end` on: they belong to another study.
std::map<std::size_t, UnitResult> read_journals(const std::filesystem::path& directory,
                                                std::size_t end);

/// One line without its newline, and back; false for a damaged one.
std::string journal_line(const UnitResult& result);
bool parse_journal_line(std::string_view line, UnitResult& result);

}  // namespace attractor::lab
