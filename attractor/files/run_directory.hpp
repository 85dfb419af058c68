// One directory per run. `run.toml` holds the parameters from the first moment, `checkpoint.bin`
// the way so far, and result.h5, summary.json, figures/ and index.html appear when the run has
// ended. Beside the parameters run.toml names the command whose run it is, where it was started,
// and what its input files held: a run is continued by its own command and with its own data only.
#pragma once

#include <filesystem>
#include <string>

#include "attractor/files/input_files.hpp"
#include "attractor/lab/parameter.hpp"

namespace attractor::lab {

/// What run.toml says beside the parameters.
struct RunOrigin {
  std::string name;          // of the command: "flow", "reduce pair"
  std::string command{};     // the whole line, for the reader
  std::string started_in{};  // relative files are meant from here
  InputFiles inputs{};
};

/// Of a run.toml or of a file written by hand, which needs none of it. Throws Error on bad syntax.
RunOrigin read_origin(const std::filesystem::path& file);

/// Throws Error if the file names another command than `name`; one written by hand names none.
void require_command(const std::filesystem::path& file, const std::string& name);

class RunDirectory {
 public:
  /// A new run: the directory must not exist or be empty. Throws Error otherwise, saying whose it
  /// is.
  static RunDirectory create(const std::filesystem::path& path, const ParameterList& parameters,
                             RunOrigin origin);
  /// An interrupted run of the command `name`: reads its parameters and its origin. Throws Error if
  /// there is none, if it has ended, if it is another command's (or one of a version that did not
  /// name it), or if an input file has changed.
  static RunDirectory resume(const std::filesystem::path& path, const ParameterList& parameters,
                             const std::string& name);

  RunDirectory(RunDirectory&& other) noexcept;
  RunDirectory& operator=(RunDirectory&&) = delete;
  ~RunDirectory();

  const std::filesystem::path& path() const { return path_; }
  const RunOrigin& origin() const { return origin_; }
  /// The run has ended and its result is on disk: the checkpoint is no longer needed.
  void close();
  /// The run has nothing to keep: takes away what it has written.
  void abandon();

 private:
  explicit RunDirectory(std::filesystem::path path);  // locks an existing directory
  std::filesystem::path path_;
  RunOrigin origin_{};
  bool made_ = false;  // create() made the directory itself
  int lock_ = -1;      // held while this process works on the run
};

}  // namespace attractor::lab
