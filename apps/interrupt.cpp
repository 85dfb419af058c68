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

}  // namespace

bool interrupted() { return stop_requested; }

void catch_interrupts() {
  std::signal(SIGINT, on_signal);
  std::signal(SIGTERM, on_signal);
}

}  // namespace attractor::apps
