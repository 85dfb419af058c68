#include "attractor/base/apart.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "attractor/base/error.hpp"

namespace attractor {
namespace {

constexpr rlim_t kMostAddressSpace = rlim_t{1} << 42;

/// What this process has of address space, in bytes.
std::size_t address_space() {
  unsigned long pages = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%lu", &pages) != 1) pages = 0;
    std::fclose(file);
  }
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

void limit(int resource, rlim_t most) {
  rlimit now{};
  if (::getrlimit(resource, &now) != 0) return;
  now.rlim_cur = std::min(now.rlim_max, most);
  ::setrlimit(resource, &now);
}

void become_apart(pid_t parent, const ApartLimits& limits) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) std::signal(signal, SIG_IGN);
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS}) std::signal(signal, SIG_DFL);
  limit(RLIMIT_CORE, 0);
  // Sanitizers take terabytes of address space, and more as they go.
  const std::size_t now = address_space();
  if (now > 0 && now < kMostAddressSpace) limit(RLIMIT_AS, now + limits.bytes);
}

}  // namespace

// ---- Channel.

void Channel::put_bytes(const void* from, std::size_t size) {
  for (const char* at = static_cast<const char*>(from); size > 0;) {
    const ssize_t sent = ::send(descriptor_, at, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) throw ChannelLost{false};
    at += sent;
    size -= static_cast<std::size_t>(sent);
  }
}

void Channel::get_bytes(void* to, std::size_t size, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                      std::chrono::duration<double>(seconds));
  for (char* at = static_cast<char*>(to); size > 0;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    if (left.count() <= 0) throw ChannelLost{true};
    pollfd one{descriptor_, POLLIN, 0};
    const int ready = ::poll(&one, 1, static_cast<int>(std::min<long long>(left.count(), 1000)));
    if (ready <= 0) continue;
    const ssize_t got = ::recv(descriptor_, at, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) throw ChannelLost{false};
    at += got;
    size -= static_cast<std::size_t>(got);
  }
}

void Channel::put(std::string_view text) {
  put(static_cast<std::uint64_t>(text.size()));
  put_bytes(text.data(), text.size());
}

void Channel::put(std::span<const double> numbers) {
  put_bytes(numbers.data(), numbers.size_bytes());
}

std::uint64_t Channel::number() {
  std::uint64_t value = 0;
  get_bytes(&value, sizeof value, seconds_);
  return value;
}

double Channel::real() {
  double value = 0;
  get_bytes(&value, sizeof value, seconds_);
  return value;
}

std::string Channel::text(std::size_t most) {
  const std::uint64_t size = number();
  if (size > most) throw ChannelLost{false};
  std::string value(size, '\0');
  get_bytes(value.data(), value.size(), seconds_);
  return value;
}

void Channel::reals(std::span<double> out, double seconds) {
  get_bytes(out.data(), out.size_bytes(), seconds_ + seconds);
}

// ---- Apart.

Apart::Apart(std::string what, const ApartLimits& limits,
             const std::function<void(Channel&)>& serve)
    : what_(std::move(what)), seconds_(limits.seconds) {
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(fmt::format("{}: no channel to a process apart: {}", what_, std::strerror(errno)));
  const pid_t parent = ::getpid();
  child_ = ::fork();
  if (child_ == 0) {
    ::close(ends[0]);
    become_apart(parent, limits);
    int status = 0;
    try {
      Channel channel(ends[1], 1e9);
      serve(channel);
    } catch (...) {
      status = 1;  // the parent has gone, or sees that this one has
    }
    ::_exit(status);
  }
  const int reason = errno;
  ::close(ends[1]);
  descriptor_ = ends[0];
  if (child_ < 0) {
    ::close(descriptor_);
    throw Error(fmt::format("{}: no process apart to read it: {}", what_, std::strerror(reason)));
  }
}

Apart::~Apart() { end(); }

// Its exit status, as wait() gives it.
int Apart::end() {
  if (child_ < 0) return 0;
  ::close(descriptor_);
  ::kill(child_, SIGKILL);
  int status = 0;
  while (::waitpid(child_, &status, 0) < 0 && errno == EINTR) {
  }
  child_ = -1;
  return status;
}

void Apart::lost(bool late) {
  if (late) {
    end();
    failure_ =
        fmt::format("{}: reading it takes longer than {:g} s; it is damaged", what_, seconds_);
    throw Error(failure_);
  }
  // It has closed its end: its own status tells why, if it is given a moment to end.
  int status = 0;
  for (int k = 0; k < 200 && ::waitpid(child_, &status, WNOHANG) == 0; ++k) ::usleep(1000);
  const bool crashed = WIFSIGNALED(status);
  end();
  failure_ = crashed ? fmt::format("{}: the library that reads it crashes ({}); it is damaged",
                                   what_, ::strsignal(WTERMSIG(status)))
                     : fmt::format("{}: the process that reads it ended; it is damaged", what_);
  throw Error(failure_);
}

void Apart::ask(const std::function<void(Channel&)>& talk) {
  if (!failure_.empty()) throw Error(failure_);
  try {
    Channel channel(descriptor_, seconds_);
    talk(channel);
  } catch (const ChannelLost& why) {
    lost(why.late);
  }
}

}  // namespace attractor
