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

std::string toml(const FlowParameters& parameters) {
  FlowParameters copy = parameters;
  std::string text = "# " + command(parameters) + "\n";
  for (const Parameter& p : list(copy)) {
    nlohmann::ordered_json value = p.json();
    // JSON's quoted text and numbers are TOML's; only infinity is spelled without quotes.
    text += fmt::format("{} = {}\n", p.name, p.text() == "inf" ? "inf" : value.dump());
  }
  return text;
}

}  // namespace

RunDirectory::RunDirectory(fs::path path) : path_(std::move(path)) {
  lock_ = ::open((path_ / "run.toml").c_str(), O_RDONLY | O_CLOEXEC);
  if (lock_ < 0)
    throw Error(fmt::format("{}: {}", (path_ / "run.toml").string(), std::strerror(errno)));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    ::close(lock_);
    throw Error(fmt::format("{} is being written by another process", path_.string()));
  }
}

RunDirectory::RunDirectory(RunDirectory&& other) noexcept
    : path_(std::move(other.path_)), lock_(std::exchange(other.lock_, -1)) {}

RunDirectory::~RunDirectory() {
  if (lock_ >= 0) ::close(lock_);
}

RunDirectory RunDirectory::create(const fs::path& path, const FlowParameters& parameters) {
  if (fs::exists(path / "summary.json"))
    throw Error(fmt::format("{} holds a finished run; choose another --out", path.string()));
  if (fs::exists(path / "run.toml"))
    throw Error(
        fmt::format("{} holds an unfinished run; continue it with --resume {} or choose "
                    "another --out",
                    path.string(), path.string()));
  if (fs::exists(path) && (!fs::is_directory(path) || !fs::is_empty(path)))
    throw Error(fmt::format("{} exists and is not an empty directory; choose another --out",
                            path.string()));
  make_directory(path);
  write_file(path / "run.toml", toml(parameters));
  return RunDirectory(path);
}

RunDirectory RunDirectory::resume(const fs::path& path, FlowParameters& parameters) {
  if (!fs::exists(path / "run.toml"))
    throw Error(fmt::format("{} holds no run to resume", path.string()));
  if (fs::exists(path / "summary.json"))
    throw Error(fmt::format("{} holds a finished run; there is nothing to resume", path.string()));
  set_from_toml(list(parameters), (path / "run.toml").string());
  return RunDirectory(path);
}

void RunDirectory::close() {
  std::error_code ignored;
  fs::remove(path_ / "checkpoint.bin", ignored);
}

}  // namespace attractor::experiment
