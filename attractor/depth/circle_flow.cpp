#include "attractor/depth/circle_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/depth/field_weights.hpp"

namespace attractor::depth {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

bool finite(std::span<const double> angles) {
  return std::all_of(angles.begin(), angles.end(), [](double a) { return std::isfinite(a); });
}

bool in_order(std::span<const double> angles) {
  return std::is_sorted(angles.begin(), angles.end()) && angles.back() - angles.front() <= kTurn;
}

/// Angles in -pi .. pi, ascending, and where each was; equal ones keep their order.
struct Sorted {
  std::vector<double> angles;
  std::vector<std::uint32_t> from;

  explicit Sorted(std::span<const double> state) {
    std::vector<std::pair<double, std::uint32_t>> items(state.size());
    for (std::size_t i = 0; i < state.size(); ++i) {
      const double turns = std::floor(state[i] / kTurn + 0.5);
      items[i] = {state[i] - kTurn * turns, static_cast<std::uint32_t>(i)};
    }
    std::sort(items.begin(), items.end());
    for (const auto& [angle, index] : items) {
      angles.push_back(angle);
      from.push_back(index);
    }
  }

  template <class T>
  std::vector<T> pick(std::span<const T> values) const {
    std::vector<T> picked;
    for (std::size_t i = 0; i < values.size(); ++i) picked.push_back(values[from[i]]);
    return picked;
  }
  void scatter(std::span<const double> values, std::span<double> out) const {
    for (std::size_t i = 0; i < values.size(); ++i) out[from[i]] = values[i];
  }
};

}  // namespace

CircleFlow::CircleFlow(const CircleFlowSettings& settings, std::size_t tokens)
    : TokenFlow(tokens),
      settings_(settings),
      log_unit_(settings.rule == Rule::unnormalised ? -settings.beta : 0.0),
      order_(tokens),
      field_({.beta = settings.beta, .accuracy = settings.accuracy, .tokens = tokens}) {
  std::iota(order_.begin(), order_.end(), 0U);
}

CircleFlow::CircleFlow(const CircleFlowSettings& settings, std::vector<double> weights)
    : CircleFlow(settings, weights.size()) {
  weights_ = checked_weights(std::move(weights));
}

kernels::CircleFieldSummary CircleFlow::evaluate(std::span<const double> angles,
                                                 const kernels::CircleFieldOut& out) const {
  assert(angles.size() == order_.size());
  kernels::CircleFieldSummary summary = field_.evaluate(angles, weights_, out);
  if (summary.in_order) return summary;
  doubtful_ = true;
  if (!finite(angles)) {
    std::fill(out.mean.begin(), out.mean.end(), kNan);
    std::fill(out.pull.begin(), out.pull.end(), kNan);
    return summary;
  }
  const Sorted sorted(angles);
  std::vector<double> pull(out.pull.size()), mean(out.mean.size());
  summary = field_.evaluate(sorted.angles, sorted.pick<double>(weights_),
                            {.pull = pull, .mean = mean, .scale = out.scale});
  sorted.scatter(pull, out.pull);
  sorted.scatter(mean, out.mean);
  return summary;
}

void CircleFlow::drift(std::span<const double> angles, double log_unit,
                       std::span<double> out) const {
  const double scale = std::exp(std::min(log_unit - log_unit_, 700.0));
  last_ = settings_.rule == Rule::softmax ? evaluate(angles, {.mean = out, .scale = scale})
                                          : evaluate(angles, {.pull = out, .scale = scale});
}

bool CircleFlow::simplify(const flow::Time& /*now*/, std::vector<double>& angles) {
  if (!std::exchange(doubtful_, false) || !finite(angles) || in_order(angles)) return false;
  Sorted sorted(angles);
  order_ = sorted.pick<std::uint32_t>(order_);
  weights_ = sorted.pick<double>(weights_);
  angles = std::move(sorted.angles);
  return true;
}

std::vector<double> CircleFlow::begin(std::vector<double> tokens) {
  std::vector<double> angles, sorted;
  for (std::size_t i = 0; i < tokens.size(); i += 2)
    angles.push_back(std::atan2(tokens[i + 1], tokens[i]));
  std::vector<std::uint32_t> order(angles.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return angles[a] < angles[b]; });
  for (const std::uint32_t i : order) sorted.push_back(angles[i]);
  if (!weights_.empty()) {
    std::vector<double> weights;
    for (const std::uint32_t i : order) weights.push_back(weights_[i]);
    weights_ = std::move(weights);
  }
  keep_order(order);
  return sorted;
}

std::span<const double> CircleFlow::directions(std::span<const double> angles,
                                               std::vector<double>& storage) const {
  storage.clear();
  for (const double angle : expand(angles)) {
    storage.push_back(std::cos(angle));
    storage.push_back(std::sin(angle));
  }
  return storage;
}

std::vector<double> CircleFlow::expand(std::span<const double> angles) const {
  std::vector<double> original(angles.size());
  for (std::size_t i = 0; i < angles.size(); ++i) original[order_[i]] = angles[i];
  return original;
}

double CircleFlow::log_energy(std::span<const double> angles) const {
  const kernels::CircleFieldSummary summary = evaluate(angles, {});
  if (!summary.in_order) return kNan;
  if (settings_.beta == 0) return std::log(0.5 * summary.order * summary.order);
  return settings_.beta + std::log(summary.energy / (2 * settings_.beta));
}

double CircleFlow::largest_speed() const {
  return settings_.rule == Rule::softmax ? last_.largest_mean : last_.largest_pull;
}

double CircleFlow::speed_error() const {
  const bool softmax = settings_.rule == Rule::softmax;
  return settings_.accuracy * (softmax ? 2 / last_.smallest_partition : 1);
}

std::size_t distinct_on_circle(std::span<const double> angles, double radius) {
  if (angles.empty()) return 0;
  std::size_t gaps = angles.front() + kTurn - angles.back() > radius ? 1 : 0;
  for (std::size_t i = 1; i < angles.size(); ++i) gaps += angles[i] - angles[i - 1] > radius;
  return std::max<std::size_t>(gaps, 1);
}

}  // namespace attractor::depth
