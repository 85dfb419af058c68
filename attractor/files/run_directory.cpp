#include "attractor/files/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/files/parameter_file.hpp"
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

/// A directory with an unfinished run: whose, and what can be done about it.
std::string unfinished(const fs::path& path) {
  const std::string name = read_origin(path / "run.toml").name;
  if (name == "flow" || name == "select" || name == "sweep")
    return fmt::format(
        "{} holds an unfinished run; continue it with attractor {} --resume {} or choose another "
        "--out",
        path.string(), name, path.string());
  return fmt::format("{} holds an unfinished run{}; run again with another --out", path.string(),
                     name.empty() ? "" : " of attractor " + name);
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

}  // namespace

RunOrigin read_origin(const fs::path& file) {
  toml::table table;
  try {
    table = toml::parse(read_file(file, 1 << 20), file.string());
  } catch (const toml::parse_error& error) {
    throw Error(fmt::format("{}, line {}: {}", file.string(), error.source().begin.line,
                            error.description()));
  }
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
                                  RunOrigin origin) {
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
  if (fs::exists(path / "run.toml")) throw Error(unfinished(path));
  if (!counts_as_empty(path))
    throw Error(fmt::format("{} exists and is not empty; choose another --out", path.string()));
  directory.origin_ = std::move(origin);
  write_file(path / "run.toml", toml_text(parameters, directory.origin_));
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
    throw Error(fmt::format(
        "{} does not name its command: an older version wrote it; start again with another --out",
        file.string()));
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
  std::error_code ignored;
  for (const char* name : {"run.toml", "result.h5", "index.html", "summary.json"})
    fs::remove(path_ / name, ignored);
  fs::remove_all(path_ / "figures", ignored);
  if (made_) fs::remove(path_, ignored);
}

}  // namespace attractor::lab
