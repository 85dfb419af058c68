#include "attractor/training/kinks/sliding.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/space/space.hpp"

namespace attractor::training {
namespace {

constexpr double kHeightOfZero = 1e-13;  // a height that counts as zero
constexpr double kTouch = 1e-12;         // room at which a kink is met
constexpr double kNear = 1e-6;           // farther kinks are not met, whatever a rejected step said
constexpr double kBound = 1e-12;         // a share that counts as 0 or 1

// Does room go from there being some to none? What rounding left below zero may stay there.
bool leaves(double before, double after) {
  return after < -kHeightOfZero && (before >= 0 || after < 2 * before - kTouch);
}

bool any_leaves(const std::vector<double>& before, const std::vector<double>& after) {
  for (std::size_t a = 0; a < before.size(); ++a)
    if (leaves(before[a], after[a])) return true;
  return false;
}

// Where a straight line puts the first end.
double straight(const std::vector<double>& before, const std::vector<double>& after) {
  double first = 1;
  for (std::size_t a = 0; a < before.size(); ++a)
    if (leaves(before[a], after[a]))
      first = std::min(first, std::max(0.0, before[a]) / (std::max(0.0, before[a]) - after[a]));
  return first;
}

}  // namespace

bool Sliding::set_sides(std::vector<Side> sides) {
  if (!sides.empty() && sides.size() != kinks_.size()) return false;
  sides_ = std::move(sides);
  held_.clear();
  for (std::size_t a = 0; a < sides_.size(); ++a)
    if (sides_[a] == Side::held) held_.push_back(a);
  piece_ = sides_.empty() ? Piece() : kinks_.piece(sides_);
  return true;
}

SmallestDescent Sliding::along(std::span<const double> weights, const Evaluation& e,
                               double log_unit, std::span<const double> metric,
                               std::span<const double> descent) const {
  if (held_.empty()) return {.descent = {descent.begin(), descent.end()}};
  return sliding_descent(descent, kinks_.surfaces(held_, weights, e, log_unit), metric);
}

std::vector<double> Sliding::room(std::span<const double> weights, const Evaluation& e,
                                  std::span<const double> metric) const {
  std::vector<double> room(kinks_.size());
  for (std::size_t a = 0; a < room.size(); ++a)
    room[a] = static_cast<double>(sides_[a]) * kinks_.height(a, e);
  if (held_.empty()) return room;
  const double size = log_gradient(objective_, e), unit = std::isfinite(size) ? -size : 0;
  const Surfaces held = kinks_.surfaces(held_, weights, e, unit);
  const SmallestDescent z = sliding_descent(descent_in_unit(objective_, e, unit), held, metric);
  for (std::size_t k = 0; k < held.size(); ++k)
    room[held.kink[k]] = std::min(z.share[k], 1 - z.share[k]);
  return room;
}

double Sliding::share(const std::function<std::vector<double>(double)>& room_at) {
  double low = 0, high = 1;
  const std::vector<double> first = room_at(0);
  std::vector<double> before = first, after = room_at(0.5);
  if (any_leaves(before, after)) {
    high = 0.5;
  } else {
    before = std::move(after), low = 0.5;
    after = room_at(1);
  }
  for (int k = 0; high - low > 1e-14 && any_leaves(before, after) && k < 100; ++k) {
    // Straight lines find it fast from either side; halving bounds the work.
    const double part = std::clamp(straight(before, after), 1e-15, 1.0);
    const double aim = k % 3 == 0   ? part
                       : k % 3 == 1 ? std::min(1.0, part * (1 + 1e-9) + 1e-12)
                                    : 0.5;
    const double theta = low + aim * (high - low);
    if (theta <= low || theta >= high) continue;
    std::vector<double> there = room_at(theta);
    if (any_leaves(before, there))
      high = theta, after = std::move(there);
    else
      low = theta, before = std::move(there);
  }
  met_.clear();
  for (std::size_t a = 0; a < first.size(); ++a) {
    const bool touches = after[a] <= kTouch && after[a] < first[a];
    if (leaves(before[a], after[a]) || touches) met_.push_back(a);
  }
  return high < 1 - 1e-10 && !met_.empty() ? std::max(high, 1e-9) : 1;
}

// On which side does the flow begin? Kinks that it begins on are met.
void Sliding::start(std::span<const double> weights) {
  Evaluation e;
  objective_.evaluate(weights, e);
  set_sides(kinks_.sides(e));
  met_.clear();
  for (std::size_t a = 0; a < kinks_.size(); ++a)
    if (std::abs(kinks_.height(a, e)) <= kHeightOfZero) sides_[a] = Side::held, met_.push_back(a);
  set_sides(sides_);
}

void Sliding::choose(std::span<const double> weights, std::span<const double> metric) {
  Evaluation e;
  objective_.evaluate(weights, e, piece_);
  std::vector<std::size_t> meet = held_;
  for (std::size_t a : met_)
    if (sides_[a] != Side::held && std::abs(kinks_.height(a, e)) <= kNear) meet.push_back(a);
  const double size = log_gradient(objective_, e), unit = std::isfinite(size) ? -size : 0;
  const Surfaces all = kinks_.surfaces(meet, weights, e, unit);
  const std::vector<double> present = descent_in_unit(objective_, e, unit);
  std::vector<Side> sides = sides_;
  std::vector<std::size_t> valleys;
  for (std::size_t k = 0; k < all.size(); ++k) {
    Side& side = sides[all.kink[k]];
    if (all.jump[k] < 0) {
      valleys.push_back(all.kink[k]);
      side = Side::off;
    } else if (side == Side::held) {  // begins on a ridge: to the steeper side
      const double push =
          dot(std::span(all.normal).subspan(k * present.size(), present.size()), present);
      side = push + all.jump[k] / 2 > 0 ? Side::on : Side::off;
    } else {
      side = side == Side::on ? Side::off : Side::on;
    }
  }
  set_sides(sides);
  objective_.evaluate(weights, e, piece_);
  const Surfaces at = kinks_.surfaces(valleys, weights, e, unit);
  const SmallestDescent z = smallest_descent(descent_in_unit(objective_, e, unit), at, metric);
  for (std::size_t k = 0; k < at.size(); ++k)
    sides[at.kink[k]] = z.share[k] <= kBound       ? Side::off
                        : z.share[k] >= 1 - kBound ? Side::on
                                                   : Side::held;
  set_sides(sides);
}

bool Sliding::put_back(std::vector<double>& weights) const {
  if (held_.empty()) return false;
  Evaluation e;
  objective_.evaluate(weights, e, piece_);
  const Surfaces held = kinks_.surfaces(held_, weights, e, 0);
  std::vector<double> height;
  double worst = 0;
  for (std::size_t a : held.kink) height.push_back(kinks_.height(a, e));
  for (double h : height) worst = std::max(worst, std::abs(h));
  if (worst <= 1e-15) return false;
  const std::vector<double> move = move_onto(held, height, weights.size());
  if (!(norm(move) <= 1e-3 * std::max(1.0, norm(weights)))) return false;
  for (std::size_t k = 0; k < weights.size(); ++k) weights[k] += move[k];
  return true;
}

bool Sliding::settle(std::vector<double>& weights, std::span<const double> metric) {
  if (!needed()) return false;
  if (sides_.empty()) start(weights);
  const bool meets = !met_.empty();
  if (meets) choose(weights, metric);
  met_.clear();
  return put_back(weights) || meets;
}

}  // namespace attractor::training
