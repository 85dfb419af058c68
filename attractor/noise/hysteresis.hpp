// Hysteresis that particles show: n tokens on the circle under noisy attention (Euler-Maruyama),
// noise raised in steps from an ordered start and lowered again, the order |m_1| averaged at each
// level. Above beta_* the ordered state lives on until the fold and the uniform one until kappa_#.
//
// Time is in units of 1/kappa_#. Euler-Maruyama with step h widens a state of curvature c by a
// factor 1 + c h/2, and attention answers with 1/(1 - gain) of that (stationary.hpp): R falls by
// (1 - R)(c h/2)/(1 - gain). The step makes this 0.25/sqrt(n) at the least noise, half of what
// |m_1| itself fluctuates. Cost O(n) for each step.
#pragma once

#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/flow/status.hpp"

namespace attractor::meanfield {

struct SweepLevel {
  double noise_ratio = 0;
  double order = 0;           // time average of |m_1|
  double standard_error = 0;  // from eight blocks of time
};

/// Between two levels.
struct HysteresisProgress {
  flow::Progress flow{};
  std::vector<SweepLevel> up{}, down{};
};
inline auto fields(HysteresisProgress& value) {
  auto& [flow, up, down] = value;
  return std::tie(flow, up, down);
}

struct HysteresisPlan {
  Rule rule = Rule::unnormalised;
  double beta = 4;  // at most 100
  std::size_t tokens = 2000;
  std::uint64_t seed = 1;
  std::vector<double> ratios{};  // kappa / kappa_#, ascending; swept up and then down
  double settle = 10;            // time at each level before averaging
  double average = 20;           // time averaged over
  std::function<bool()> stop{};
  std::function<void(double done)> report{};
  std::function<void(const HysteresisProgress&)> safe_point{};  // after each level
};

struct Hysteresis {
  std::vector<SweepLevel> up, down;  // in the order visited
  double step = 0;                   // in units of 1/kappa_#
  flow::Status status = flow::Status::complete;
};

/// `from`: where a sweep of the same plan was; it ends with the same bits.
Hysteresis sweep_noise(const HysteresisPlan& plan, HysteresisProgress from = {});

}  // namespace attractor::meanfield
