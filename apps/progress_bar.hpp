// A progress bar with time left on the terminal behind standard error; silent when there is none.
#pragma once

#include <chrono>
#include <string>

namespace attractor::apps {

class ProgressBar {
 public:
  explicit ProgressBar(bool enabled);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  bool due() const;
  /// fraction in [0, 1], or negative when the end is not known.
  void show(double fraction, const std::string& note);

 private:
  using Clock = std::chrono::steady_clock;
  bool enabled_, drawn_ = false;
  Clock::time_point start_, next_;
};

}  // namespace attractor::apps
