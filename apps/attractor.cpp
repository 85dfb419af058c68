// The program. Errors become exit status 2 here and nowhere else.
#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <system_error>

#include "apps/command_line.hpp"
#include "apps/exit_status.hpp"
#include "apps/terminal.hpp"
#include "attractor/base/error.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/ranks/ranks.hpp"

namespace {

using namespace attractor::apps;

constexpr const char* kNoMemory =
    "not enough memory for this many tokens and dimensions; lower tokens or dim";

/// "DIR: Permission denied". Without a path it is about where we are.
std::string told(const std::filesystem::filesystem_error& error) {
  const std::string path = error.path1().string();
  return fmt::format("{}: {}", path.empty() ? "the current directory" : path,
                     error.code().message());
}

// All ranks refuse alike; rank 0 says so.
int complain(std::string_view sentence) {
  if (attractor::ranks::rank() == 0) say(sentence);
  return kBadInput;
}

void require_ranks(const Tool& tool) {
  const std::size_t count = attractor::ranks::count();
  if (count > 1 && !tool.on_ranks)
    throw attractor::Error(
        fmt::format("{} runs on one rank, not on {}; ranks share the work of flow and sweep only",
                    tool.name, count));
}

/// Streams that the caller closed: their numbers must not go to the files of a run, which would
/// then hold what is printed. What stands there instead cannot be written either.
void keep_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDONLY) < 0)
      return;  // no /dev/null here
}

/// `lost`: why standard output could not be written.
int run(const std::vector<std::string>& words, int& lost) {
  try {
    const CommandLine line = parse(words, tools(), text_width());
    fmt::print("{}", line.print);
    if (line.tool == nullptr) return kOk;
    require_ranks(*line.tool);
    return line.tool->make()->run(line.given);
  } catch (const attractor::Error& error) {
    return complain(error.what());
  } catch (const std::bad_alloc&) {
    return complain(kNoMemory);
  } catch (const std::length_error&) {  // more than any memory
    return complain(kNoMemory);
  } catch (const std::filesystem::filesystem_error& error) {
    return complain(told(error));
  } catch (const std::system_error& error) {  // of fmt: what should be printed could not be
    if (std::ferror(stdout) == 0)
      return complain(fmt::format("cannot write: {}", error.code().message()));
    lost = error.code().value();
    return kBadInput;
  } catch (const std::exception& error) {
    return complain(fmt::format("this should not happen, please report it: {}", error.what()));
  }
}

int run_program(int argc, char** argv) {
  int lost = 0;
  const int status = run({argv + 1, argv + argc}, lost);
  errno = 0;
  if (lost == 0 && (std::fflush(stdout) != 0 || std::ferror(stdout) != 0))
    lost = errno != 0 ? errno : EIO;
  if (lost != 0)
    return complain(fmt::format("cannot write to standard output: {}", std::strerror(lost)));
  return status;
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file-size limit is then an ordinary write error,
  std::signal(SIGPIPE, SIG_IGN);  // and so is a reader that left
  keep_closed_streams();
  attractor::close_no_hdf5_at_exit();
  try {
    const attractor::ranks::Session session(argc, argv);
    // What all ranks would print, rank 0 prints.
    if (attractor::ranks::rank() > 0 && std::freopen("/dev/null", "w", stdout) == nullptr)
      return kNotDelivered;
    return run_program(argc, argv);
  } catch (const attractor::Error& error) {
    return complain(error.what());
  }
}
