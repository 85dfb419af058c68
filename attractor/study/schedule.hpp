// Which unit of a study comes next. Units go out in the order of their numbers; with a stop rule
// the replicates of a point go out round by round, and a point has enough when a whole number of
// rounds is finished and the 95 % interval of the mean of those is narrow enough. The decision
// looks at whole rounds only, so it does not depend on who finished what when: the units of a study
// are the same for any number of threads, ranks and interruptions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <vector>

#include "attractor/study/journal.hpp"
#include "attractor/study/study.hpp"

namespace attractor::lab {

struct Shard {
  std::size_t index = 0, count = 1;  // points with point % count == index
};

class Schedule {
 public:
  Schedule(const Study& study, const Shard& shard,
           const std::map<std::size_t, UnitResult>& finished);

  /// None now: if not done(), one may come when units in flight are finished.
  std::optional<std::size_t> next();
  void finished(const UnitResult& result);
  bool done() const { return open_ == 0; }

  /// Units finished, and the most there can still be.
  std::size_t completed() const { return completed_; }
  std::size_t most() const;

 private:
  struct Point {
    std::size_t limit = 0;      // replicates that may go out
    std::size_t given = 0;      // the first that has not
    std::size_t completed = 0;  // of those below limit
    bool closed = false;
    std::map<std::size_t, double> stop_values{};  // by replicate
    std::vector<bool> known{};                    // finished, also out of order
  };
  void settle(std::size_t point);
  bool enough(const Point& point) const;

  const Study& study_;
  Shard shard_;
  std::vector<Point> points_;
  std::size_t open_ = 0, completed_ = 0, cursor_ = 0;
};

/// Mean, sample standard deviation and half width of the 95 % interval (Student) of what is a
/// number; the latter two NaN for fewer than two.
struct Interval {
  std::size_t count = 0;
  double mean = 0, deviation = 0, half_width = 0;
};
Interval interval(const std::vector<double>& values);

}  // namespace attractor::lab
