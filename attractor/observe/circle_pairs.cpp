#include "attractor/observe/circle_pairs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// Places 0 .. n - 1 around the circle, and n .. 2n - 1 a turn later.
class Ring {
 public:
  Ring(const CircleOrder& order, std::span<const double> masses)
      : size_(order.token.size()), angle_(2 * size_ + 1, kInfinity), before_(2 * size_ + 1, 0.0) {
    for (std::size_t k = 0; k < 2 * size_; ++k) {
      const bool later = k >= size_;
      const double m = masses[order.token[later ? k - size_ : k]];
      angle_[k] = later ? order.angle[k - size_] + kTurn : order.angle[k];
      before_[k + 1] = before_[k] + m;
      if (!later) merged_ += m * (m - 1);
    }
  }

  std::size_t size() const { return size_; }
  double total() const { return before_[size_]; }
  double pairs() const { return total() * (total() - 1); }
  double angle(std::size_t k) const { return angle_[k]; }

  /// Calls seen(k, last) for each place, `last` being the last place at most `reach` ahead of it.
  template <class Seen>
  void walk(double reach, const Seen& seen) const {
    for (std::size_t k = 0, last = 0; k < size(); ++k) {
      last = std::max(last, k);
      while (last + 1 < k + size() && angle(last + 1) - angle(k) <= reach) ++last;
      seen(k, last);
    }
  }

  /// Ordered pairs of originals at most so far apart, each reach from 0 to below pi; merged ones
  /// are 0 apart. Whole numbers. Several reaches at once, each step taking a place in or going on
  /// to the next place: nothing for a processor to guess.
  static constexpr std::size_t kReaches = 4;
  std::array<double, kReaches> pairs_within(const std::array<double, kReaches>& reach) const {
    const double *angle = angle_.data(), *before = before_.data();
    std::array<std::size_t, kReaches> place{}, last{};
    std::array<double, kReaches> ahead{};
    const auto step = [&](std::size_t r) {
      const std::size_t k = place[r], l = last[r];
      const std::size_t in = angle[l + 1] - angle[k] <= reach[r], on = (1 - in) & (k < size_);
      ahead[r] +=
          static_cast<double>(on) * (before[k + 1] - before[k]) * (before[l + 1] - before[k + 1]);
      last[r] = l + in;
      place[r] = k + on;
    };
    while (place[0] + place[1] + place[2] + place[3] < kReaches * size_) {
      step(0);
      step(1);
      step(2);
      step(3);
    }
    for (double& pairs : ahead) pairs = 2 * pairs + merged_;
    return ahead;
  }

 private:
  std::size_t size_;
  std::vector<double> angle_, before_;  // of places; mass of the places before
  double merged_ = 0;
};

double close_pairs(const Ring& ring, double gap) {
  if (gap < 0) return 0;
  return gap < 2 ? ring.pairs_within({2 * std::asin(std::sqrt(gap / 2))})[0] : ring.pairs();
}

// Bins are closed below; an edge missed by rounding counts as met (pairs.hpp).
void fill_histogram(const Ring& ring, std::array<double, kCosineBins>& histogram) {
  constexpr double kMissed = 2e-11;
  std::array<double, kCosineBins + 1> above{};  // pairs with a cosine of at least the edge
  above[0] = ring.pairs();
  parallel_for(kCosineBins - 1, Ring::kReaches, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin + 1; b <= end; b += Ring::kReaches) {
      const std::size_t count = std::min(Ring::kReaches, end + 1 - b);
      std::array<double, Ring::kReaches> reach{};
      for (std::size_t r = 0; r < count; ++r)
        reach[r] = std::acos(-1 + static_cast<double>(b + r) / 50 - kMissed);
      const auto pairs = ring.pairs_within(reach);
      std::copy_n(pairs.begin(), count, &above[b]);
    }
  });
  for (std::size_t b = 0; b < kCosineBins; ++b)
    histogram[b] = (above[b] - above[b + 1]) / ring.pairs();
}

}  // namespace

PairStatistics circle_pair_statistics(const CircleOrder& order, std::span<const double> tokens,
                                      std::span<const double> masses, double threshold,
                                      bool histogram) {
  const Ring ring(order, masses);
  if (ring.total() < 2) return {};
  PairStatistics result;
  result.fraction = close_pairs(ring, 1 - threshold) / ring.pairs();
  if (histogram) fill_histogram(ring, result.histogram);
  // By both chords (Kahan): accurate at 0 and at pi.
  double widest = 0, chord = 0, rest = 1;
  const auto look = [&](std::size_t k, std::size_t j) {
    const double ahead = ring.angle(j) - ring.angle(k), apart = std::min(ahead, kTurn - ahead);
    if (!(apart > widest)) return;
    widest = apart;
    const double* x = &tokens[2 * order.token[k]];
    const double* y = &tokens[2 * order.token[j % ring.size()]];
    chord = std::hypot(x[0] - y[0], x[1] - y[1]);
    rest = std::hypot(x[0] + y[0], x[1] + y[1]);
  };
  ring.walk(std::numbers::pi, [&](std::size_t k, std::size_t last) {
    if (last > k) look(k, last);
    if (last + 1 < k + ring.size()) look(k, last + 1);
  });
  result.smallest_cosine = std::max(-1.0, 1 - chord * chord / 2);
  result.largest_angle = 2 * std::atan2(chord, rest);
  return result;
}

}  // namespace attractor::observe
