#include "attractor/kernels/circle/mass_ahead.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/circle/mass_ahead.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using PlaceTag = hn::CappedTag<double, CirclePlaces::kPad>;

// One merge: all places l before the present ones are within reach of every k to come.
struct Merge {
  std::size_t k = 0, l = 0;
  double reach = 0;
  hn::Vec<PlaceTag> within = hn::Zero(PlaceTag()), sum = within;  // mass up to l; of pairs
};

// Compares, and goes on to the next places k or l: nothing for a processor to guess.
HWY_INLINE void go_on(Merge& m, const double* angle, const double* mass, const double* before,
                      std::size_t n) {
  const PlaceTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto last = hn::Add(hn::LoadU(d, angle + m.k), hn::Set(d, m.reach));
  auto even = hn::Zero(d), odd = even;  // two chains of additions
  for (std::size_t r = 0; r < lanes; ++r) {
    const auto near = hn::Le(hn::Set(d, angle[m.l + r]), last);
    auto& found = r % 2 == 0 ? even : odd;
    found = hn::Add(found, hn::IfThenElseZero(near, hn::Set(d, mass[m.l + r])));
  }
  m.within = hn::Add(m.within, hn::Add(even, odd));
  const std::size_t left = n - m.k;
  const bool beyond = !(angle[m.l + lanes - 1] <= angle[m.k + lanes - 1] + m.reach);
  const auto own = hn::IfThenElseZero(hn::FirstN(d, beyond ? left : 0), hn::LoadU(d, mass + m.k));
  const auto ahead = hn::Sub(m.within, hn::LoadU(d, before + m.k + 1));
  m.sum = hn::Add(m.sum, hn::Mul(own, ahead));
  m.within = hn::IfThenElse(hn::FirstN(d, beyond ? lanes : 0), hn::Set(d, before[m.l]), m.within);
  m.k += beyond ? std::min(lanes, left) : 0;
  m.l += beyond || left == 0 ? 0 : lanes;
}

// Four merges at once, each of which waits for itself.
void mass_ahead(const double* angle, const double* mass, const double* before, std::size_t n,
                std::span<const double, CirclePlaces::kReaches> reach,
                std::span<double, CirclePlaces::kReaches> sum) {
  Merge a{.reach = reach[0]}, b{.reach = reach[1]}, c{.reach = reach[2]}, e{.reach = reach[3]};
  while (a.k + b.k + c.k + e.k < CirclePlaces::kReaches * n) {
    go_on(a, angle, mass, before, n);
    go_on(b, angle, mass, before, n);
    go_on(c, angle, mass, before, n);
    go_on(e, angle, mass, before, n);
  }
  std::size_t r = 0;
  for (const Merge* m : {&a, &b, &c, &e})
    sum[r++] = hn::GetLane(hn::SumOfLanes(PlaceTag(), m->sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(mass_ahead);

CirclePlaces::CirclePlaces(std::span<const double> angles, std::span<const double> masses)
    : size_(angles.size()),
      angle_(2 * size_ + kPad, HUGE_VAL),
      mass_(angle_.size(), 0.0),
      before_(angle_.size() + 1, 0.0) {
  for (std::size_t k = 0; k < 2 * size_; ++k) {
    const bool later = k >= size_;
    angle_[k] = later ? angles[k - size_] + 2 * std::numbers::pi : angles[k];
    mass_[k] = masses[later ? k - size_ : k];
  }
  for (std::size_t k = 0; k < mass_.size(); ++k) before_[k + 1] = before_[k] + mass_[k];
}

std::array<double, CirclePlaces::kReaches> CirclePlaces::pairs_ahead(
    const std::array<double, kReaches>& reach) const {
  std::array<double, kReaches> sum{};
  if (size_ < kPad) {  // a vector of places would reach beyond the next turn
    for (std::size_t r = 0; r < kReaches; ++r) sum[r] = pairs_ahead_reference(reach[r]);
    return sum;
  }
  HWY_DYNAMIC_DISPATCH(mass_ahead)(angle_.data(), mass_.data(), before_.data(), size_, reach, sum);
  return sum;
}

double CirclePlaces::pairs_ahead_reference(double reach) const {
  double sum = 0;
  for (std::size_t k = 0, last = 0; k < size_; ++k) {
    while (angle_[last + 1] <= angle_[k] + reach) ++last;
    sum += mass_[k] * (before_[last + 1] - before_[k + 1]);
  }
  return sum;
}

}  // namespace attractor::kernels
#endif
