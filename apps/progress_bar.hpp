// A progress bar with time left on the terminal behind standard error; silent when there is none.
// It takes one line, whatever the width of the terminal, and leaves none behind.
#pragma once

#include <chrono>
#include <optional>
#include <string>

namespace attractor::apps {

/// How long the rest will take at the pace of this process. A run that goes on where another one
/// stopped begins somewhere in the middle: what had been done before says nothing about the pace.
class Pace {
 public:
  /// fraction done, seconds since any moment; both must not fall, or a new stretch begins.
  void at(double fraction, double seconds);
  /// Seconds; none while too little is known.
  std::optional<double> left() const;

 private:
  std::optional<double> from_;
  double begun_ = 0, fraction_ = 0, seconds_ = 0;
};

/// The line, shorter than `width` even if the terminal echoes ^C behind it: what wraps cannot be
/// taken away again.
/// fraction in [0, 1], or negative when the end is not known.
std::string bar_line(double fraction, double elapsed, std::optional<double> left,
                     const std::string& note, std::size_t width);

class ProgressBar {
 public:
  explicit ProgressBar(bool enabled);
  ~ProgressBar() { clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Whether show() would do something now. The first report always counts: the pace begins there.
  bool due() const;
  /// fraction in [0, 1], or negative when the end is not known.
  void show(double fraction, const std::string& note);
  /// Takes the bar away; the next show() draws it again.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_, begun_ = false, drawn_ = false;
  Clock::time_point start_, next_;
  Pace pace_{};
};

}  // namespace attractor::apps
