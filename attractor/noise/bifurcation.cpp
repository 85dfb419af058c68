#include "attractor/noise/bifurcation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/tools/roots.hpp>
#include <cmath>
#include <cstdint>
#include <functional>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/stability/sphere_spectrum.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kLongestBranchStep = 0.15, kShortestStep = 1e-9;  // of arc
constexpr std::size_t kMostStates = 2000;

double root(const std::function<double(double)>& f, double low, double high, double f_low,
            double f_high) {
  if (f_low == 0) return low;
  if (f_high == 0) return high;
  std::uintmax_t most = 100;
  const auto [a, b] = boost::math::tools::toms748_solve(
      f, low, high, f_low, f_high, boost::math::tools::eps_tolerance<double>(50), most);
  return (a + b) / 2;
}

using Measure = std::function<double(const StationaryState&)>;

/// The state between two neighbours of the branch where the measure, of opposite signs at them, is
/// zero.
std::optional<StationaryState> zero_between(StationarySolver& solver, const StationaryState& from,
                                            const StationaryState& to, const Measure& measure) {
  bool failed = false;
  const double part = root(
      [&](double x) {
        const auto state = solver.between(from, to, x);
        failed = failed || !state;
        return state ? measure(*state) : 0;
      },
      0, 1, measure(from), measure(to));
  return failed ? std::nullopt : solver.between(from, to, part);
}

double noise_tangent(const StationaryState& state) { return state.tangent[0]; }

void find_fold(StationarySolver& solver, Branch& branch) {
  const std::vector<StationaryState>& s = branch.states;
  for (std::size_t k = 0; k + 1 < s.size(); ++k) {
    if (!(noise_tangent(s[k]) > 0 && noise_tangent(s[k + 1]) <= 0)) continue;
    const auto fold = zero_between(solver, s[k], s[k + 1], noise_tangent);
    if (fold && (!branch.fold || fold->noise_ratio > branch.fold->noise_ratio)) branch.fold = fold;
  }
}

void find_transition(StationarySolver& solver, Branch& branch) {
  if (!branch.fold || solver.model().rule != Rule::unnormalised) return;
  const auto energy = [](const StationaryState& state) { return state.excess_energy; };
  const StationaryState* last = &*branch.fold;
  for (const StationaryState& next : branch.states) {
    if (next.order <= branch.fold->order) continue;
    if (last->excess_energy > 0 && next.excess_energy <= 0) {
      branch.transition = zero_between(solver, *last, next, energy);
      return;
    }
    last = &next;
  }
}

/// States down to the noise; true if it was reached.
bool follow(StationarySolver& solver, double least_ratio, std::vector<StationaryState>& states) {
  double length = states.front().order / 2;
  while (states.back().noise_ratio > least_ratio) {
    auto next = solver.step(states.back(), length);
    if (next && next->order > StationarySolver::kMostOrder) return false;
    if (next && next->order > states.back().order) {
      states.push_back(std::move(*next));
      length = std::min(1.4 * length, kLongestBranchStep);
    } else if ((length /= 2) < kShortestStep) {
      return false;
    }
    if (states.size() == kMostStates) return false;
  }
  return true;
}

}  // namespace

double branch_curvature(const NoisyAttention& model) {
  const SphereSpectrum s = sphere_spectrum(model.dim, model.beta, 2 * model.mode + 1);
  const double d = static_cast<double>(model.dim), m = 2 * (d - 1) / (d + 2);
  const double g = s.pull[2 * model.mode] / s.pull[model.mode];
  const double b = model.rule == Rule::softmax ? s.ratio[model.mode] : 0;
  return d * ((1 - b) * (1 - b) * (m / 2) * g / (1 - g) + b * b / 3 * (1 + m) - b / 2 * m +
              (m - 2) / 6);
}

Branch trace_branch(StationarySolver& solver, double least_ratio) {
  if (!(least_ratio > 0 && least_ratio < 1))
    throw Error(fmt::format("least_ratio = {} is not allowed: between 0 and 1.", least_ratio));
  Branch branch;
  auto first = solver.first();
  if (!first) return branch;
  branch.states.push_back(std::move(*first));
  branch.complete = follow(solver, least_ratio, branch.states);
  find_fold(solver, branch);
  find_transition(solver, branch);
  return branch;
}

std::vector<StationaryState> states_at(StationarySolver& solver, const Branch& branch,
                                       double noise_ratio) {
  const auto excess = [noise_ratio](const StationaryState& s) {
    return std::log(s.noise_ratio / noise_ratio);
  };
  std::vector<StationaryState> path = branch.states;
  if (branch.fold)  // two states may lie between the neighbours of the fold
    path.insert(std::find_if(path.begin(), path.end(),
                             [&](const auto& s) { return s.order > branch.fold->order; }),
                *branch.fold);
  std::vector<StationaryState> found;
  for (std::size_t k = 0; k + 1 < path.size(); ++k) {
    if ((excess(path[k]) > 0) == (excess(path[k + 1]) > 0)) continue;
    auto state = zero_between(solver, path[k], path[k + 1], excess);
    if (state) found.push_back(std::move(*state));
  }
  return found;
}

TransitionPoint transition_point(const NoisyAttention& model, std::function<bool()> stop) {
  StationarySolver solver(model, std::move(stop));
  TransitionPoint point{.beta = model.beta, .log_critical_noise = solver.log_critical_noise()};
  Branch branch = trace_branch(solver, 0.9);
  // Far above beta_* the free energies are equal below 0.9 kappa_#, never below e^-20 of it.
  for (double least = 0.3; branch.fold && !branch.transition && branch.complete && least > 1e-9 &&
                           model.rule == Rule::unnormalised;
       least *= least)
    branch = trace_branch(solver, least);
  if (!branch.fold) {
    if (!branch.complete) point.fold_ratio = point.transition_ratio = kNan;
    return point;
  }
  point.fold_ratio = branch.fold->noise_ratio;
  point.fold_order = branch.fold->order;
  point.transition_ratio = branch.transition ? branch.transition->noise_ratio : kNan;
  point.jump = branch.transition ? branch.transition->order : kNan;
  return point;
}

}  // namespace attractor::meanfield
