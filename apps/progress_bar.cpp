#include "apps/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace attractor::apps {
namespace {

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

}  // namespace

ProgressBar::ProgressBar(bool enabled)
    : enabled_(enabled && isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      next_(start_ + std::chrono::milliseconds(300)) {}

ProgressBar::~ProgressBar() {
  if (drawn_) fmt::print(stderr, "\r\033[K");
}

bool ProgressBar::due() const { return enabled_ && Clock::now() >= next_; }

void ProgressBar::show(double fraction, const std::string& note) {
  const double spent = std::chrono::duration<double>(Clock::now() - start_).count();
  next_ = Clock::now() + std::chrono::milliseconds(100);
  drawn_ = true;
  if (fraction < 0) {
    fmt::print(stderr, "\r\033[K{} elapsed  {}", duration(spent), note);
  } else {
    constexpr int kWidth = 30;
    const int full = static_cast<int>(std::clamp(fraction, 0.0, 1.0) * kWidth);
    const std::string left =
        fraction > 0.005 ? duration(spent * (1 - fraction) / fraction) + " left" : "";
    fmt::print(stderr, "\r\033[K[{:=<{}}{:>{}}] {:3.0f} %  {}  {}", "", full, "", kWidth - full,
               100 * fraction, left, note);
  }
  std::fflush(stderr);
}

}  // namespace attractor::apps
