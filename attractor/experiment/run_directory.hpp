// One directory per run. `run.toml` holds the parameters from the first moment, `checkpoint.bin`
// the way so far, and result.h5, summary.json, figures/ and index.html appear when the run has
// ended.
#pragma once

#include <filesystem>
#include <string>

#include "attractor/experiment/parameter.hpp"

namespace attractor::experiment {

class RunDirectory {
 public:
  /// A new run: the directory must not exist or be empty. Throws Error otherwise, saying whose it
  /// is. `resumable`: a run that was interrupted can be continued.
  static RunDirectory create(const std::filesystem::path& path, const ParameterList& parameters,
                             const std::string& command, const std::string& started_in,
                             bool resumable = true);
  /// An interrupted run: reads its parameters and where it was started. Throws Error if there is
  /// none or it has ended.
  static RunDirectory resume(const std::filesystem::path& path, const ParameterList& parameters,
                             std::string& started_in);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::filesystem::path& path() const { return path_; }
  /// The run has ended and its result is on disk: the checkpoint is no longer needed.
  void close();
  /// The run has nothing to keep: takes away what it has written.
  void abandon();

 private:
  explicit RunDirectory(std::filesystem::path path);  // locks an existing directory
  std::filesystem::path path_;
  bool made_ = false;  // create() made the directory itself
  int lock_ = -1;      // held while this process works on the run
};

}  // namespace attractor::experiment
