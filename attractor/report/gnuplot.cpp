#include "attractor/report/gnuplot.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string_view>
#include <vector>

#include "attractor/base/error.hpp"

extern "C" char** environ;

namespace attractor::report {
namespace {

namespace fs = std::filesystem;

fs::path gnuplot_path() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, colon)) / "gnuplot";
    std::error_code ignored;
    if (colon > 0 && fs::is_regular_file(candidate, ignored) &&
        ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

using TemporaryFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

TemporaryFile temporary_file() {
  TemporaryFile file(std::tmpfile(), &std::fclose);
  if (!file)
    throw Error(fmt::format("cannot open a temporary file for gnuplot: {}", std::strerror(errno)));
  ::fcntl(::fileno(file.get()), F_SETFD, FD_CLOEXEC);
  return file;
}

std::string content(std::FILE* file) {
  std::string text;
  char block[65536];
  std::rewind(file);
  while (const std::size_t got = std::fread(block, 1, sizeof block, file)) text.append(block, got);
  return text;
}

// The caller's environment without what would change the picture.
std::vector<std::string> environment() {
  std::vector<std::string> kept = {"LC_ALL=C.UTF-8", "TZ=UTC"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool drop = text.starts_with("LC_") || text.starts_with("LANG") ||
                      text.starts_with("TZ=") || text.starts_with("GNUPLOT") ||
                      text.starts_with("GDFONTPATH=");
    if (!drop) kept.emplace_back(text);
  }
  return kept;
}

// Of gnuplot's complaint (echoed command, marker, "line N: sentence") the sentence.
std::string complaint(const std::string& text) {
  std::string last;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = text.substr(at, end - at);
    at = end + 1;
    line.erase(0, std::min(line.find_first_not_of(" \t"), line.size()));
    if (line.find("line ") != std::string::npos && line.find(':') != std::string::npos) return line;
    if (!line.empty()) last = line;
  }
  return last.empty() ? "it gave no reason" : last;
}

}  // namespace

bool gnuplot_available() { return !gnuplot_path().empty(); }

std::string run_gnuplot(const std::string& script) {
  fs::path program = gnuplot_path();
  if (program.empty())
    throw Error("figures need gnuplot, which is not on PATH; install gnuplot-nox");
  const TemporaryFile in = temporary_file(), out = temporary_file(), err = temporary_file();
  if (std::fwrite(script.data(), 1, script.size(), in.get()) != script.size() ||
      std::fflush(in.get()) != 0)
    throw Error(fmt::format("cannot write the script for gnuplot: {}", std::strerror(errno)));
  std::rewind(in.get());

  std::vector<std::string> variables = environment();
  std::vector<char*> env;
  for (std::string& variable : variables) env.push_back(variable.data());
  env.push_back(nullptr);
  std::string name = program.string(), option = "-d";  // -d: no initialisation files
  char* const arguments[] = {name.data(), option.data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(in.get()), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(out.get()), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(err.get()), STDERR_FILENO);
  // In a process group of its own: Ctrl-C is for us, and gnuplot's handler may hang on it.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failure =
      ::posix_spawn(&child, name.c_str(), &actions, &attributes, arguments, env.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw Error(fmt::format("cannot start {}: {}", name, std::strerror(failure)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) throw Error(fmt::format("lost track of gnuplot: {}", std::strerror(errno)));
  }
  std::string picture = content(out.get());
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || picture.empty())
    throw Error(fmt::format("gnuplot failed: {}", complaint(content(err.get()))));
  return picture;
}

}  // namespace attractor::report
