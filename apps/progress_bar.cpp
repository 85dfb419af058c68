#include "apps/progress_bar.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "apps/terminal.hpp"
#include "attractor/lab/wrap.hpp"

namespace attractor::apps {
namespace {

using lab::columns;
using lab::shortened;

constexpr std::size_t kLongestBar = 30, kShortestBar = 10, kShortestNote = 8;
constexpr std::size_t kSpare = 3;     // for the ^C that a terminal echoes, and its last column
constexpr double kLeastDone = 0.005;  // of the whole, before time left means anything

std::string duration(double seconds) {
  if (seconds < 100) return fmt::format("{:.0f} s", seconds);
  if (seconds < 6000) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string bar(double fraction, std::size_t width) {
  const std::size_t inner = std::clamp(width / 3, kShortestBar, kLongestBar);
  const auto full = static_cast<std::size_t>(fraction * static_cast<double>(inner));
  return "[" + std::string(full, '=') + std::string(inner - full, ' ') + "]";
}

}  // namespace

void Pace::at(double fraction, double seconds) {
  if (!from_ || fraction < fraction_ || seconds < seconds_) {
    from_ = fraction;
    begun_ = seconds;
  }
  fraction_ = fraction;
  seconds_ = seconds;
}

std::optional<double> Pace::left() const {
  if (!from_ || *from_ < 0 || fraction_ - *from_ < kLeastDone) return std::nullopt;
  return (seconds_ - begun_) * (1 - fraction_) / (fraction_ - *from_);
}

std::string bar_line(double fraction, double elapsed, std::optional<double> left,
                     const std::string& note, std::size_t width) {
  const std::size_t room = width > kSpare ? width - kSpare : 0;
  std::string line;
  if (fraction < 0) {
    line = duration(elapsed) + " elapsed";
  } else {
    const double done = std::min(fraction, 1.0);
    line = fmt::format("{} {:3.0f} %", bar(done, width), 100 * done);
    if (left) line += "  " + duration(*left) + " left";
  }
  if (!note.empty() && columns(line) + 2 + std::min(kShortestNote, columns(note)) <= room)
    line += "  " + shortened(note, room - columns(line) - 2);
  return shortened(line, room);
}

ProgressBar::ProgressBar(bool enabled)
    : enabled_(enabled && isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      next_(start_ + std::chrono::milliseconds(300)) {}

bool ProgressBar::due() const { return enabled_ && (!begun_ || Clock::now() >= next_); }

void ProgressBar::show(double fraction, const std::string& note) {
  if (!enabled_) return;
  const Clock::time_point now = Clock::now();
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  pace_.at(fraction, elapsed);
  begun_ = true;
  if (now < next_) return;
  next_ = now + std::chrono::milliseconds(100);
  drawn_ = true;
  // A terminal that is gone must not end the run: fputs does not throw.
  std::fputs(fmt::format("\r\033[K{}", bar_line(fraction, elapsed, pace_.left(), note,
                                                terminal_width(STDERR_FILENO)))
                 .c_str(),
             stderr);
  std::fflush(stderr);
}

void ProgressBar::clear() {
  if (!drawn_) return;
  std::fputs("\r\033[K", stderr);
  std::fflush(stderr);
  drawn_ = false;
}

}  // namespace attractor::apps
