#include "attractor/noise/hysteresis.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/mean_field/circle_tokens.hpp"
#include "attractor/noise/bifurcation.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kLongestShare = 0.05;  // of the fastest rate
constexpr std::size_t kBlocks = 8;

void check(const HysteresisPlan& p) {
  if (!(p.beta >= 0 && p.beta <= 100))
    throw Error(fmt::format("beta = {} is not allowed for particles: 0 to 100.", p.beta));
  if (p.tokens < 2) throw Error(fmt::format("tokens = {} is not allowed: at least 2.", p.tokens));
  if (p.ratios.empty() || !std::is_sorted(p.ratios.begin(), p.ratios.end()) || !(p.ratios[0] > 0))
    throw Error("The noise levels of a sweep must be positive and ascending.");
  if (!(p.settle >= 0 && p.average > 0))
    throw Error(
        fmt::format("settle = {} and average = {} are not allowed: times, 0 or more, and "
                    "more than 0.",
                    p.settle, p.average));
}

/// See the header; in units of 1/kappa_#.
double time_step(const HysteresisPlan& p) {
  StationarySolver solver({.rule = p.rule, .dim = 2, .beta = p.beta}, p.stop);
  const double cluster = p.rule == Rule::softmax ? 1 : std::exp(p.beta);
  const double fastest = cluster / std::exp(solver.log_critical_noise());
  const double ratio = std::min(p.ratios.front(), 0.99);
  const auto states = states_at(solver, trace_branch(solver, 0.99 * ratio), ratio);
  if (states.empty()) return kLongestShare / fastest;
  const StationaryState& state = states.back();
  constexpr double kSmall = 1e-3;
  const double fall = solver.log_density(state, 1) - solver.log_density(state, std::cos(kSmall));
  const double rate = std::min(fastest, state.noise_ratio * 2 * fall / (kSmall * kSmall));
  const double allowed = 0.25 / std::sqrt(static_cast<double>(p.tokens));
  return std::min(kLongestShare, 2 * allowed * (1 - state.gain) / (1 - state.order)) / rate;
}

/// Angles close together, as far as an ordered state needs it to be found.
std::vector<double> ordered_start(const HysteresisPlan& p) {
  const Stream stream(p.seed, "hysteresis/start");
  std::vector<double> angles(p.tokens);
  for (std::size_t i = 0; i < p.tokens; ++i) angles[i] = 0.3 * stream.normal(i, 0);
  return angles;
}

double order_of(std::span<const double> angles) {
  double x = 0, y = 0;
  for (const double angle : angles) {
    x += std::cos(angle);
    y += std::sin(angle);
  }
  return std::hypot(x, y) / static_cast<double>(angles.size());
}

SweepLevel average_of(double ratio, const std::vector<double>& orders) {
  std::array<double, kBlocks> blocks{};
  std::array<double, kBlocks> counts{};
  for (std::size_t k = 0; k < orders.size(); ++k) {
    const std::size_t block = k * kBlocks / orders.size();
    blocks[block] += orders[k];
    ++counts[block];
  }
  double sum = 0, squares = 0, used = 0;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    if (counts[b] == 0) continue;
    const double mean = blocks[b] / counts[b];
    sum += mean;
    squares += mean * mean;
    ++used;
  }
  const double mean = sum / used, variance = std::max(0.0, squares / used - mean * mean);
  return {ratio, mean, used > 1 ? std::sqrt(variance / (used - 1)) : 0};
}

}  // namespace

Hysteresis sweep_noise(const HysteresisPlan& p, HysteresisProgress from) {
  check(p);
  const std::size_t done = from.up.size() + from.down.size();
  if (done == 0) from.flow.state = ordered_start(p);
  Hysteresis result{.up = from.up, .down = from.down};
  // Every level is a whole number of steps.
  const double level = p.settle + p.average;
  result.step = level / std::ceil(level / time_step(p));
  const double unit =
      std::exp(log_critical_noise({.rule = p.rule, .dim = 2, .beta = p.beta}));  // kappa_#
  const std::size_t levels = p.ratios.size();
  for (std::size_t k = done; k < 2 * levels; ++k) {
    const bool up = k < levels;
    const double ratio = up ? p.ratios[k] : p.ratios[2 * levels - 1 - k];
    CircleTokens tokens({.rule = p.rule, .beta = p.beta, .noise = ratio * unit}, p.tokens);
    const double begin = static_cast<double>(k) * level;
    std::vector<double> orders;
    std::uint64_t steps = 0;
    flow::Hooks hooks;
    hooks.stop = p.stop;
    hooks.step = [&](const flow::Step& s) {
      // Neighbouring steps tell almost the same: one of four is enough.
      if (++steps % 4 == 0 && s.start.value() * unit >= begin + p.settle)
        orders.push_back(order_of(s.after));
    };
    // Progress goes on from level to level, and with it the numbering of the random draws.
    flow::Plan plan;
    plan.end = flow::Time((begin + level) / unit);
    plan.step = result.step / unit;
    plan.noise.seed = p.seed;
    plan.max_steps = 1'000'000'000;
    result.status = flow::run(tokens, flow::euler_maruyama(), plan, from.flow, hooks);
    if (result.status != flow::Status::complete) return result;
    (up ? result.up : result.down).push_back(average_of(ratio, orders));
    from.up = result.up;
    from.down = result.down;
    if (p.safe_point) p.safe_point(from);
    if (p.report) p.report(static_cast<double>(k + 1) / static_cast<double>(2 * levels));
  }
  return result;
}

}  // namespace attractor::meanfield
