#include "apps/interrupt.hpp"

#include <atomic>
#include <csignal>

namespace attractor::apps {
namespace {

std::atomic<bool> stop_requested{false};

void on_signal(int signal) {
  stop_requested = true;
  std::signal(signal, SIG_DFL);
}

// A terminal that closes says so more than once (the kernel, and the shell), which is no
// impatience.
void on_hang_up(int) { stop_requested = true; }

}  // namespace

bool interrupted() { return stop_requested; }

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
  // nohup ignores it, and so do we then.
  if (std::signal(SIGHUP, on_hang_up) == SIG_IGN) std::signal(SIGHUP, SIG_IGN);
}

}  // namespace attractor::apps
