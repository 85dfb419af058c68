// What the one who starts a run may want of it while it goes on: to stop it, to hear of it, to keep
// what it has done so far. One shape for every command; an empty one is a run that nobody watches.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

namespace attractor::lab {

struct Context {
  std::filesystem::path directory{};  // for checkpoints; empty: none
  std::string files_from{};           // relative input files are meant from here; empty: from here
  double checkpoint_seconds = 10;     // between checkpoints
  std::function<bool()> stop{};
  std::function<void(double done, const std::string& note)> report{};  // done < 0: end unknown
  std::function<bool()> due{};  // whether a report would be shown now; empty: always

  /// Where an input file is.
  std::string place(const std::string& file) const {
    const bool as_it_is = files_from.empty() || file.empty() || file.front() == '/';
    return as_it_is ? file : files_from + "/" + file;
  }
  bool stopped() const { return stop && stop(); }
  void tell(double done, const std::string& note) const {
    if (report && (!due || due())) report(done, note);
  }
  /// For notes that take longer to write than the steps they are about.
  void tell(double done, const std::function<std::string()>& note) const {
    if (report && (!due || due())) report(done, note());
  }
};

}  // namespace attractor::lab
