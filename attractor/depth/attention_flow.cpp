#include "attractor/depth/attention_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/balance.hpp"
#include "attractor/depth/clumps/clump_sums.hpp"
#include "attractor/depth/coalescence/coalesce.hpp"
#include "attractor/depth/coalescence/merge_shift.hpp"
#include "attractor/depth/coalescence/offset_flow.hpp"

namespace attractor::depth {

namespace {

constexpr std::size_t kFewestClumped = 64;  // fewer tokens are quicker than looking for clumps
// Weights of clumps are not lifted: in slower units those that vanish (e^-700) could matter.
constexpr double kMostClumpLift = 300;
// Shares of the time of dense rows; within a step a little more, so that steps are not cut for
// clumps that are worth while only just.
constexpr double kMostClumpCost = 0.7, kMostTrialCost = 1.2;

}  // namespace

AttentionFlow::AttentionFlow(Attention attention, std::size_t tokens, double radius)
    : TokenFlow(tokens),
      attention_(std::move(attention)),
      space_(space_of(attention_)),
      log_unit_(natural_log_unit(attention_)),
      radius_(radius) {}

void AttentionFlow::drift(std::span<const double> state, double log_unit,
                          std::span<double> out) const {
  output(state, log_unit, true, out);
}

void AttentionFlow::increment(std::span<const double> state, double log_unit,
                              std::span<double> out) const {
  output(state, log_unit, false, out);
}

void AttentionFlow::output(std::span<const double> state, double log_unit, bool tangent,
                           std::span<double> out) const {
  assert(state.size() == groups_.count() * attention_.dim);
  clump_error_ = 0;
  const bool clumped = partition_.count() > 0 && log_unit - log_unit_ <= kMostClumpLift;
  by_clumps_ = clumped && sum_clumps(state, out);
  refused_ = trial_ && clumped && !by_clumps_;
  if (refused_) {  // far from where the step began: rows of all pairs for a step that is too long
    std::fill(out.begin(), out.end(), kNan);
    return;
  }
  if (!trial_ && std::exchange(untried_, false) && !by_clumps_) partition_ = {};
  if (!by_clumps_)
    attend(attention_, state, groups_.masses(),
           {.pull_place = out, .lift = log_unit - log_unit_, .precision = precision_}, sums_);
  attention_output(attended(state, out), log_unit, tangent, out);
}

// Sums as attend() leaves them.
bool AttentionFlow::sum_clumps(std::span<const double> state, std::span<double> pull) const {
  const std::size_t n = groups_.count();
  if (partition_.count() == 0 || partition_.order.size() != n) return false;
  for (std::vector<double>* column : {&sums_.weight, &sums_.peak, &sums_.own})
    column->assign(n, 0.0);
  sums_.offset = attention_.beta;
  sums_.values.clear();
  const ClumpOutcome outcome =
      clump_sums({.task = {attention_.dim, attention_.beta, clump_accuracy_},
                  .points = state,
                  .masses = groups_.masses(),
                  .softmax = attention_.rule == Rule::softmax,
                  .most_of_dense = trial_ ? kMostTrialCost : kMostClumpCost},
                 partition_, pull, sums_.weight);
  if (outcome.taken) clump_error_ = outcome.absolute;
  if (trial_) for_trial_only_ = outcome.taken && outcome.cost > kMostClumpCost;
  return outcome.taken;
}

bool AttentionFlow::regroup(std::span<const double> state) {
  if (clump_accuracy_ == 0) return false;
  ClumpPartition found;
  if (groups_.count() >= kFewestClumped)
    found = find_clumps({attention_.dim, attention_.beta, clump_accuracy_}, state);
  if (found == partition_ && !for_trial_only_) return false;
  partition_ = std::move(found);
  for_trial_only_ = false;
  untried_ = true;
  return true;
}

void AttentionFlow::enter(const flow::Time& /*now*/, std::vector<double>& state) {
  regroup(state);
  untried_ = true;
}

double AttentionFlow::fitting_log_unit(std::span<const double> state, double present) const {
  const std::size_t dim = attention_.dim, n = groups_.count();
  if (n < 2 || refused_) return present;
  if (attention_.by_distance()) {  // the nearest pair moves fastest
    std::vector<double> nearest(n, kInfinity);
    parallel_for(n, 64, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i)
        for (std::size_t j = 0; j < i; ++j)
          nearest[i] = std::min(nearest[i], squared_distance(state.subspan(i * dim, dim),
                                                             state.subspan(j * dim, dim)));
    });
    const double closest = *std::min_element(nearest.begin() + 1, nearest.end());
    return log_unit_ + 0.5 * attention_.beta * closest;
  }
  attend(attention_, state, groups_.masses(), {}, sums_);
  const double fastest = log_fastest(attended(state, sums_.pull));
  return std::isfinite(fastest) ? -fastest : present;
}

bool AttentionFlow::simplify(const flow::Time& now, std::vector<double>& state) {
  const bool coalesced = coalesce(now, state);
  return regroup(state) || coalesced;
}

bool AttentionFlow::coalesce(const flow::Time& now, std::vector<double>& state) {
  if (radius_ == 0) return false;
  if (split_growing(state)) return true;
  if (groups_.count() < 2) return false;
  std::vector<Group> groups = coalescing_groups(*this, attention_, state, radius_);
  if (groups.empty()) return false;
  coalesce_counted(*this, attention_, std::move(groups), now, state);
  return true;
}

void AttentionFlow::carry(const flow::Stretch& stretch, double theta) {
  if (groups_.has_offsets()) carry_offsets(attention_, stretch, theta, groups_);
}

void AttentionFlow::advance(const flow::Stretch& stretch) {
  if (clump_accuracy_ > 0 && !stretch.after.empty()) {  // a step, not a rest
    if (!by_clumps_) ++clump_history_.steps_by_rows;
    clump_history_.error = std::max(clump_history_.error, clump_error_);
  }
  if (!groups_.has_offsets()) return;
  const bool for_trial_only = for_trial_only_;  // of the step, not of its shadow
  carry_offsets(attention_, stretch, 1, groups_);
  growing_.assign(groups_.count(), false);
  const auto largest = [](const LogVectors& v) {
    return v.log.empty() ? 0 : *std::max_element(v.log.begin(), v.log.end());
  };
  for (std::size_t s = 0; s < groups_.count(); ++s) {
    Offsets& offsets = groups_.below()[s];
    growing_[s] = largest(offsets.now) > largest(offsets.start);
    offsets.start = offsets.now;
  }
  carry_shift(*this, attention_, stretch, shadow_);
  for_trial_only_ = for_trial_only;
}

// Long before linear growth could leave the radius in one step.
bool AttentionFlow::split_growing(std::vector<double>& state) {
  bool any = false;
  for (std::size_t s = std::min(growing_.size(), groups_.count()); s-- > 0;) {
    if (!growing_[s] || groups_.extent(s) <= 0.05 * radius_) continue;
    groups_.split(s, state);
    any = true;
  }
  growing_.clear();
  return any;
}

// ln of the fastest speed changes like the logits, beta |Q^T K| at most. Tokens nearer than the
// width of the kernel contract at rate 1, so only what is far slower than width times rate is a
// wait.
flow::Steepness AttentionFlow::steepness() const {
  const double slope = attention_.logit_bound();
  if (!attention_.on_sphere || radius_ == 0 || precision_ != Precision::f64 || !(slope > 0))
    return {};
  return {.slope = slope, .slow = 0.01 / std::sqrt(1 + slope)};
}

double AttentionFlow::drift_error() const {
  return precision_ == Precision::f64 ? clump_error_ : single_velocity_error(attention_);
}

flow::Balance AttentionFlow::balance(std::span<const double> state, std::span<const double> drift,
                                     double log_unit) const {
  // With clumps it is not known: all pairs for each step would be what clumps are there to spare.
  if (!attention_.on_sphere || groups_.count() < 2 || partition_.count() > 0) return {};
  return balance_of(attention_, state, groups_.masses(), groups_.total(), drift, log_unit);
}

bool AttentionFlow::at_rest(std::span<const double>) const {
  return groups_.count() == 1 && attention_.on_sphere && attention_.value.empty();
}

}  // namespace attractor::depth
