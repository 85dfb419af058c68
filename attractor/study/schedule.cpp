#include "attractor/study/schedule.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "attractor/base/numbers.hpp"

namespace attractor::lab {
namespace {

double first_value(const UnitResult& result, const std::string& measure) {
  const auto at = result.measures.find(measure);
  return at == result.measures.end() || at->second.empty() ? kNan : at->second.front();
}

}  // namespace

Interval interval(const std::vector<double>& values) {
  Interval r{.mean = kNan, .deviation = kNan, .half_width = kNan};
  double sum = 0;
  for (const double x : values)
    if (std::isfinite(x)) sum += x, ++r.count;
  if (r.count == 0) return r;
  const auto n = static_cast<double>(r.count);
  r.mean = sum / n;
  if (r.count < 2) return r;
  double squares = 0;
  for (const double x : values)
    if (std::isfinite(x)) squares += (x - r.mean) * (x - r.mean);
  r.deviation = std::sqrt(squares / (n - 1));
  const boost::math::students_t student(n - 1);
  r.half_width = boost::math::quantile(student, 0.975) * r.deviation / std::sqrt(n);
  return r;
}

Schedule::Schedule(const Study& study, const Shard& shard,
                   const std::map<std::size_t, UnitResult>& finished_units)
    : study_(study), shard_(shard), points_(study.points()) {
  const std::size_t first =
      study.stop ? std::min<std::size_t>(study.stop->round, study.replicates) : study.replicates;
  for (std::size_t p = 0; p < points_.size(); ++p) {
    const bool ours = p % shard.count == shard.index;
    points_[p].limit = ours ? first : 0;
    points_[p].closed = !ours;
    points_[p].known.assign(ours ? study.replicates : 0, false);
    open_ += ours ? 1 : 0;
  }
  for (const auto& [unit, result] : finished_units)
    if (unit / study.replicates % shard.count == shard.index) finished(result);
}

std::optional<std::size_t> Schedule::next() {
  for (; cursor_ < points_.size(); ++cursor_) {
    Point& point = points_[cursor_];
    while (point.given < point.limit && point.known[point.given]) ++point.given;
    if (!point.closed && point.given < point.limit)
      return cursor_ * study_.replicates + point.given++;
  }
  return std::nullopt;
}

void Schedule::finished(const UnitResult& result) {
  const std::size_t p = result.unit / study_.replicates, r = result.unit % study_.replicates;
  Point& point = points_[p];
  if (point.known[r]) return;
  point.known[r] = true;
  ++completed_;
  if (study_.stop) point.stop_values[r] = first_value(result, study_.stop->measure);
  settle(p);
}

/// Closes the point, or lets its next round out, as far as finished units go.
void Schedule::settle(std::size_t p) {
  Point& point = points_[p];
  while (!point.closed) {
    while (point.completed < point.limit && point.known[point.completed]) ++point.completed;
    if (point.completed < point.limit) return;
    if (point.limit == study_.replicates || enough(point)) {
      point.closed = true;
      --open_;
      return;
    }
    point.limit = std::min<std::size_t>(point.limit + study_.stop->round, study_.replicates);
    cursor_ = std::min(cursor_, p);
  }
}

bool Schedule::enough(const Point& point) const {
  std::vector<double> values;
  for (const auto& [replicate, value] : point.stop_values)
    if (replicate < point.limit) values.push_back(value);
  return interval(values).half_width <= study_.stop->half_width;
}

std::size_t Schedule::most() const {
  std::size_t sum = 0;
  for (const Point& point : points_) sum += point.closed ? point.completed : point.known.size();
  return sum;
}

}  // namespace attractor::lab
