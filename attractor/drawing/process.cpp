#include "attractor/drawing/process.hpp"

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

#include "attractor/base/error.hpp"

extern "C" char** environ;

namespace attractor::report {
namespace {

namespace fs = std::filesystem;

fs::path program_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const fs::path candidate = fs::path(rest.substr(0, colon)) / name;
    std::error_code ignored;
    if (colon > 0 && fs::is_regular_file(candidate, ignored) &&
        ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return {};
}

using TemporaryFile = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

TemporaryFile temporary_file(const std::string& name) {
  TemporaryFile file(std::tmpfile(), &std::fclose);
  if (!file)
    throw Error(fmt::format("cannot open a temporary file for {}: {}", name, std::strerror(errno)));
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

// The caller's environment without what would change the result.
std::vector<std::string> environment(const std::vector<std::string>& without) {
  std::vector<std::string> kept = {"LC_ALL=C.UTF-8", "TZ=UTC"};
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const bool drop = text.starts_with("LC_") || text.starts_with("LANG") ||
                      text.starts_with("TZ=") ||
                      std::any_of(without.begin(), without.end(),
                                  [&](const std::string& w) { return text.starts_with(w); });
    if (!drop) kept.emplace_back(text);
  }
  return kept;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

}  // namespace

bool program_available(const std::string& name) { return !program_path(name).empty(); }

ProgramResult run_program(const std::string& name, const std::vector<std::string>& arguments,
                          const std::string& input, const std::vector<std::string>& without) {
  const std::string path = program_path(name).string();
  if (path.empty()) throw Error(fmt::format("{} is not on PATH", name));
  const TemporaryFile in = temporary_file(name), out = temporary_file(name),
                      err = temporary_file(name);
  if (std::fwrite(input.data(), 1, input.size(), in.get()) != input.size() ||
      std::fflush(in.get()) != 0)
    throw Error(fmt::format("cannot write the input of {}: {}", name, std::strerror(errno)));
  std::rewind(in.get());

  std::vector<std::string> variables = environment(without), words = {path};
  words.insert(words.end(), arguments.begin(), arguments.end());
  const std::vector<char*> env = pointers(variables), argv = pointers(words);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(in.get()), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(out.get()), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(err.get()), STDERR_FILENO);
  // In a process group of its own: Ctrl-C is for us.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t child = 0;
  const int failure =
      ::posix_spawn(&child, path.c_str(), &actions, &attributes, argv.data(), env.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw Error(fmt::format("cannot start {}: {}", path, std::strerror(failure)));
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR)
      throw Error(fmt::format("lost track of {}: {}", name, std::strerror(errno)));
  }
  return {.succeeded = WIFEXITED(status) && WEXITSTATUS(status) == 0,
          .output = content(out.get()),
          .complaint = content(err.get())};
}

}  // namespace attractor::report
