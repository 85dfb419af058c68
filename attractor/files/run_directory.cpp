#include "attractor/files/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "attractor/base/file.hpp"
#include "attractor/files/bounded_json.hpp"
#include "attractor/files/parameter_file.hpp"
#include "attractor/files/toml_text.hpp"
#include "attractor/lab/json.hpp"

namespace attractor::lab {
namespace fs = std::filesystem;
namespace {

std::string quoted(const std::string& text) { return Json(text).dump(); }

std::string toml_text(const ParameterList& parameters, const RunOrigin& origin) {
  std::string text = fmt::format("# {}\ncommand = {}\n", origin.command, quoted(origin.name));
  for (const Parameter& p : parameters) {
    if (!p.stored) continue;
    const Json value = p.json();
    // JSON's texts and numbers are TOML's, but for infinity (no quotes) and beyond 2^63 (quotes).
    const bool wide = value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0;
    const std::string plain =
        p.text() == "inf" && !value.is_number() && !std::holds_alternative<std::string*>(p.target)
            ? "inf"
            : value.dump();
    text += fmt::format("{} = {}\n", p.name, wide ? '"' + plain + '"' : plain);
  }
  text += fmt::format("started-in = {}\n[inputs]\n", quoted(origin.started_in));
  for (const InputFile& file : origin.inputs.files())
    text += fmt::format("{} = {}\n", quoted(file.name), quoted(file.fingerprint));
  return text;
}

/// Parameters are texts already when they are set; a directory may have any name.
std::string checked_toml(const ParameterList& parameters, const RunOrigin& origin) {
  try {
    return toml_text(parameters, origin);
  } catch (const JsonError&) {
    throw Error(fmt::format(
        "the directory {} has a name that is not UTF-8, which run.toml cannot hold; start from "
        "another directory, or without out",
        shown_text(origin.started_in)));
  }
}

using Holds = DirectoryError::Holds;

DirectoryError unfinished(const fs::path& path) {
  const std::string name = read_origin(path / "run.toml").name;
  return {fmt::format("{} holds an unfinished run{}", path.string(),
                      name.empty() ? "" : " of attractor " + name),
          Holds::unfinished_run, name};
}

std::string other_command(const fs::path& where, const std::string& of, const std::string& name) {
  return fmt::format("{} belongs to attractor {}, not to attractor {}", where.string(), of, name);
}

// Nothing in it but what a process killed in its first instant may have left.
bool counts_as_empty(const fs::path& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    if (entry.path().filename() != "run.toml.partial") return false;
  return true;
}

/// What a run writes. run.toml goes last: a directory that has it is a run's.
void remove_run(const fs::path& path) {
  std::error_code ignored;
  for (const char* name : {"summary.json", "index.html", "result.h5", "checkpoint.bin",
                           "study.toml", "shard", "run.toml"})
    for (const char* end : {"", ".partial"}) fs::remove(path / (std::string(name) + end), ignored);
  for (const char* name : {"figures", "units"}) fs::remove_all(path / name, ignored);
}

/// Throws unless a new run may begin in this directory, which is ours alone.
void require_free(const fs::path& path) {
  if (fs::exists(path / "summary.json"))
    throw DirectoryError(fmt::format("{} holds a finished run", path.string()),
                         Holds::finished_run);
  if (fs::exists(path / "run.toml")) throw unfinished(path);
  if (!counts_as_empty(path))
    throw DirectoryError(fmt::format("{} exists and is not empty", path.string()),
                         Holds::other_files);
}

}  // namespace

RunOrigin read_origin(const fs::path& file) {
  const toml::table table = parse_toml(read_file(file, 1 << 20), file.string());
  RunOrigin origin{.name = table["command"].value_or(std::string()),
                   .started_in = table["started-in"].value_or(std::string())};
  std::vector<InputFile> files;
  if (const toml::table* inputs = table["inputs"].as_table())
    for (const auto& [name, fingerprint] : *inputs)
      files.push_back({std::string(name.str()), fingerprint.value_or(std::string())});
  origin.inputs = InputFiles::recorded(std::move(files), origin.started_in);
  return origin;
}

void require_command(const fs::path& file, const std::string& name) {
  const std::string of = read_origin(file).name;
  if (!of.empty() && of != name) throw Error(other_command(file, of, name));
}

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) throw Error(fmt::format("{}: {}", path_.string(), std::strerror(errno)));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw Error(fmt::format("{} is being written by another process", path_.string()));
  }
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)),
      origin_(std::move(other.origin_)),
      made_(other.made_),
      lock_(std::exchange(other.lock_, -1)) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

RunDirectory RunDirectory::create(const fs::path& path, const ParameterList& parameters,
                                  RunOrigin origin, Existing existing) {
  const std::string text = checked_toml(parameters, origin);
  std::error_code trouble;
  const bool present = fs::exists(path, trouble);
  if (trouble) throw Error(fmt::format("{}: {}", path.string(), trouble.message()));
  if (present && !fs::is_directory(path))
    throw DirectoryError(fmt::format("{} exists and is not a directory", path.string()),
                         Holds::no_directory);
  make_directory(path);
  RunDirectory directory(path);  // from here on it is ours
  directory.made_ = !present;
  if (existing == Existing::replaced && fs::exists(path / "run.toml"))
    remove_run(path);
  else
    require_free(path);
  directory.origin_ = std::move(origin);
  write_file(path / "run.toml", text);
  return directory;
}

RunDirectory RunDirectory::resume(const fs::path& path, const ParameterList& parameters,
                                  const std::string& name) {
  const fs::path file = path / "run.toml";
  if (!fs::exists(file)) throw Error(fmt::format("{} holds no run to resume", path.string()));
  RunDirectory directory(path);
  if (fs::exists(path / "summary.json"))
    throw Error(fmt::format("{} holds a finished run; there is nothing to resume", path.string()));
  directory.origin_ = read_origin(file);
  if (directory.origin_.name.empty())
    throw DirectoryError(
        fmt::format("{} does not name its command: an older version wrote it", file.string()),
        Holds::older_run);
  if (directory.origin_.name != name)
    throw Error(other_command("the run in " + path.string(), directory.origin_.name, name));
  set_from_toml(parameters, file.string());
  directory.origin_.inputs.require_unchanged();
  return directory;
}

void RunDirectory::close() {
  std::error_code ignored;
  fs::remove(path_ / "checkpoint.bin", ignored);
}

void RunDirectory::abandon() {
  remove_run(path_);
  std::error_code ignored;
  if (made_) fs::remove(path_, ignored);
}

}  // namespace attractor::lab
