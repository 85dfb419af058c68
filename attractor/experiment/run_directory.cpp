#include "attractor/experiment/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"

namespace attractor::experiment {
namespace fs = std::filesystem;
namespace {

std::string toml(const ParameterList& parameters, const std::string& command,
                 const std::string& started_in) {
  std::string text = "# " + command + "\n";
  for (const Parameter& p : parameters) {
    const nlohmann::ordered_json value = p.json();
    // JSON's texts and numbers are TOML's, but for infinity (no quotes) and beyond 2^63 (quotes).
    const bool wide = value.is_number_unsigned() && value.get<std::uint64_t>() >> 63 != 0;
    const std::string plain = p.text() == "inf" ? "inf" : value.dump();
    text += fmt::format("{} = {}\n", p.name, wide ? '"' + plain + '"' : plain);
  }
  return text + fmt::format("started-in = {}\n", nlohmann::json(started_in).dump());
}

// Nothing in it but what a process killed in its first instant may have left.
bool counts_as_empty(const fs::path& path) {
  for (const fs::directory_entry& entry : fs::directory_iterator(path))
    if (entry.path().filename() != "run.toml.partial") return false;
  return true;
}

}  // namespace

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) throw Error(fmt::format("{}: {}", path_.string(), std::strerror(errno)));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw Error(fmt::format("{} is being written by another process", path_.string()));
  }
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)), made_(other.made_), lock_(std::exchange(other.lock_, -1)) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

RunDirectory RunDirectory::create(const fs::path& path, const ParameterList& parameters,
                                  const std::string& command, const std::string& started_in,
                                  bool resumable) {
  std::error_code trouble;
  const bool present = fs::exists(path, trouble);
  if (trouble) throw Error(fmt::format("{}: {}", path.string(), trouble.message()));
  if (present && !fs::is_directory(path))
    throw Error(
        fmt::format("{} exists and is not a directory; choose another --out", path.string()));
  make_directory(path);
  RunDirectory directory(path);  // from here on it is ours
  directory.made_ = !present;
  if (fs::exists(path / "summary.json"))
    throw Error(fmt::format("{} holds a finished run; choose another --out", path.string()));
  if (fs::exists(path / "run.toml"))
    throw Error(resumable
                    ? fmt::format("{} holds an unfinished run; continue it with --resume {} or "
                                  "choose another --out",
                                  path.string(), path.string())
                    : fmt::format("{} holds an unfinished run; run again with another --out",
                                  path.string()));
  if (!counts_as_empty(path))
    throw Error(fmt::format("{} exists and is not empty; choose another --out", path.string()));
  write_file(path / "run.toml", toml(parameters, command, started_in));
  return directory;
}

RunDirectory RunDirectory::resume(const fs::path& path, const ParameterList& parameters,
                                  std::string& started_in) {
  if (!fs::exists(path / "run.toml"))
    throw Error(fmt::format("{} holds no run to resume", path.string()));
  RunDirectory directory(path);
  if (fs::exists(path / "summary.json"))
    throw Error(fmt::format("{} holds a finished run; there is nothing to resume", path.string()));
  started_in = set_from_toml(parameters, (path / "run.toml").string());
  return directory;
}

void RunDirectory::close() {
  std::error_code ignored;
  fs::remove(path_ / "checkpoint.bin", ignored);
}

void RunDirectory::abandon() {
  std::error_code ignored;
  for (const char* name : {"run.toml", "result.h5", "index.html", "summary.json"})
    fs::remove(path_ / name, ignored);
  fs::remove_all(path_ / "figures", ignored);
  if (made_) fs::remove(path_, ignored);
}

}  // namespace attractor::experiment
