// One directory per run. `run.toml` holds the parameters from the first moment, `checkpoint.bin`
// the way so far, and result.h5, summary.json, figures/ and index.html appear when the run has
// ended. Beside the parameters run.toml names the command whose run it is, where it was started,
// and what its input files held: a run is continued by its own command and with its own data only.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "attractor/base/error.hpp"
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

/// A directory that a run cannot take. The sentence says what it holds; what can be done about it
/// depends on who asks, and how.
class DirectoryError : public Error {
 public:
  enum class Holds { no_directory, other_files, finished_run, unfinished_run, older_run };
  DirectoryError(const std::string& sentence, Holds what, std::string of = "")
      : Error(sentence), holds(what), command(std::move(of)) {}

  Holds holds;
  std::string command;  // whose unfinished run it is, if it says so: "flow"
};

enum class Existing { kept, replaced };  // a run that the directory holds already

class RunDirectory {
 public:
  /// A new run: the directory must not exist, be empty, or hold a run that may be replaced (its
  /// files are removed, others in the directory are not). Throws DirectoryError otherwise.
  static RunDirectory create(const std::filesystem::path& path, const ParameterList& parameters,
                             RunOrigin origin, Existing existing = Existing::kept);
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
