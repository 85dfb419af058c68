#include "attractor/observe/circle_pairs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/circle/mass_ahead.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

class Ring {
 public:
  Ring(const CircleOrder& order, std::span<const double> masses)
      : places_(order.angle, picked(masses, order.token)) {
    for (const double m : masses) merged_ += m * (m - 1);
  }

  std::size_t size() const { return places_.size(); }
  double total() const { return places_.total(); }
  double pairs() const { return total() * (total() - 1); }
  double angle(std::size_t k) const { return places_.angle(k); }

  /// Calls seen(k, last) for each place, `last` being the last place at most `reach` ahead of it.
  template <class Seen>
  void walk(double reach, const Seen& seen) const {
    for (std::size_t k = 0, last = 0; k < size(); ++k) {
      last = std::max(last, k);
      while (last + 1 < k + size() && angle(last + 1) - angle(k) <= reach) ++last;
      seen(k, last);
    }
  }

  /// Ordered pairs of originals at most so far apart, each from 0 to below pi; merged ones are 0
  /// apart.
  using Four = std::array<double, kernels::CirclePlaces::kReaches>;
  Four pairs_within(const Four& reach) const {
    Four pairs = places_.pairs_ahead(reach);
    for (double& p : pairs) p = 2 * p + merged_;
    return pairs;
  }

 private:
  static std::vector<double> picked(std::span<const double> masses,
                                    std::span<const std::uint32_t> from) {
    std::vector<double> result(from.size());
    for (std::size_t k = 0; k < from.size(); ++k) result[k] = masses[from[k]];
    return result;
  }

  kernels::CirclePlaces places_;
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
  const std::size_t together = Ring::Four().size();
  parallel_for(kCosineBins - 1, together, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin + 1; b <= end; b += together) {
      const std::size_t count = std::min(together, end + 1 - b);
      Ring::Four reach{};
      for (std::size_t r = 0; r < count; ++r)
        reach[r] = std::acos(-1 + static_cast<double>(b + r) / 50 - kMissed);
      std::copy_n(ring.pairs_within(reach).begin(), count, &above[b]);
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
