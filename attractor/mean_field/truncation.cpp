#include "attractor/mean_field/truncation.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "attractor/base/numbers.hpp"

namespace attractor::meanfield {

bool Truncation::due(const flow::Time& now) const {
  if (plan_.twin)
    return doublings_.size() < plan_.doublings.size() && plan_.doublings[doublings_.size()] <= now;
  return !(missing_ <= plan_.double_above) && 2 * modes_ <= plan_.max_modes;
}

bool Truncation::meet(const flow::Time& now, double feed, double damping, double log_unit) {
  const double lapse = now.in_unit(log_unit) - last_.in_unit(log_unit);
  last_ = now;
  if (lapse > 0) {
    const double decay = damping * lapse;
    // (1 - e^-x)/x, the part of the feed that is not damped away within the lapse.
    const double kept = decay > 1e-8 ? -std::expm1(-decay) / decay : 1;
    missing_ = missing_ * std::exp(-decay) + feed * lapse * kept;
  }
  largest_ = missing_ <= largest_ ? largest_ : missing_;  // keeps NaN
  if (due(now)) {
    modes_ *= 2;
    missing_ = 0;
    doublings_.push_back(now);
    return true;
  }
  unresolved_ = unresolved_ || !(missing_ <= plan_.give_up_above);
  return false;
}

ModePlan twin_of(std::size_t first_modes, std::vector<flow::Time> doublings) {
  return {.modes = 2 * first_modes,
          .max_modes = std::numeric_limits<std::size_t>::max(),
          .double_above = kInfinity,
          .give_up_above = kInfinity,
          .twin = true,
          .doublings = std::move(doublings)};
}

}  // namespace attractor::meanfield
