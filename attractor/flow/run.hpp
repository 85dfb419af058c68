// The only time loop. It steps a flow from its progress to the end of the plan, hands states out at
// the requested times, and keeps all it needs to go on in `Progress`, so that a run stopped
// anywhere and continued ends with the same bits.
//
//   flow::Progress progress{.state = tokens};
//   Status status = flow::run(my_flow, flow::dormand_prince(), {.end = Time(10)}, progress, hooks);
//
// Steps of fixed-step methods have exactly the length asked for, so a run is the beginning of a
// longer one, bit for bit; only the last one of Euler and RK4 is cut short where the end is no
// whole number of steps away (layers are whole, and pass it).
//
// Adaptive methods keep the error of every point below tolerance * min(1, h) in each step of length
// h (in the flow's natural unit of time, or of displacement where points move faster), so the
// global error is proportional to the tolerance. A drift may have an error of its own above that
// (Flow::drift_error): where shorter steps are seen not to be better ones, the tolerance is
// loosened to what is seen, at most to what that error may make of the method's estimate (a quarter
// of it for Dormand and Prince), and Progress::loosened says so.
//
// Where a flow says that its speed is steep (Flow::steepness) and motion is slow and speeds up,
// steps of adaptive methods are of displacement: dx/ds = v / |v|. The closest of a few clusters,
// whose speed grows by e^{beta(1 - cos)} on its way, then moves evenly and meets at finite s, so
// steps do not depend on beta. A step knows its clock (clock.hpp): theta is a share of its way. A
// position that is off by e shifts ln t by slope e, so in such steps errors are kept below
// tolerance * min(1, 10 sqrt(max(1, ln t) / 2 slope)) per displacement.
//
// A run without an end stops at an equilibrium: when no point moves faster than rounding explains,
// and has not for the time in which a perturbation at the rate of the pulls grows by e^40.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/flow/status.hpp"
#include "attractor/flow/stepper.hpp"

namespace attractor::flow {

inline const Time kForever{kInfinity};

/// How many steps of a fixed-step method lead from time 0 to `end`. `whole`: the last one is a full
/// step too, to within the rounding of both numbers.
struct FixedSteps {
  std::uint64_t count = 0;
  bool whole = true;
};
FixedSteps fixed_steps(const Time& end, double step);

struct Plan {
  Time end = kForever;             // kForever: until the flow is at rest
  std::vector<Time> outputs;       // ascending
  bool output_every_step = false;  // also after each accepted step
  double tolerance = 1e-8;         // adaptive methods
  double step = 0.1;               // fixed-step methods, in time; the last one ends at `end`
  std::uint64_t max_steps = 10'000'000;
  Noise noise{};  // draws of stochastic methods
  /// An adaptive method that takes over after so many steps, rejected ones counted, and a hundred
  /// for each tenfold time: what holds steps of another one for so long is stiff. It has
  /// `stiff_steps` itself.
  std::optional<Tableau> stiff = std::nullopt;
  std::uint64_t patience = 20'000, stiff_steps = 40'000;
};

struct Progress {
  std::vector<double> state;
  Time time;
  bool started = false;
  double log_unit = 0;  // unit of `step` and of the drift; of speed 1 in steps of displacement
  double step = 0;      // next step of an adaptive method
  std::uint64_t steps = 0, rejected = 0, next_output = 0;
  std::uint64_t stalled = 0;  // steps in a row too short to move the time
  double loosened = 0;        // the largest tolerance that had to be used instead of the plan's
  double balanced = 0;        // time in balance, in units of 1 / pull
};

/// An accepted step, before it is committed: from `before` at `start` to `after`, h e^log_unit
/// later. theta is what stepper.interpolate() takes: a share of the time, or of the way in a step
/// of displacement.
struct Step {
  Time start;
  double h, log_unit;
  std::span<const double> before, after;
  const Stepper& stepper;
  const Clock& clock;
  std::optional<Stretch::Way> way = std::nullopt;
  Time at(double theta) const { return start.after(clock.share(theta) * h, log_unit); }
  /// The state at theta; without dense output the end that is not beyond it.
  void state_at(double theta, std::span<double> out) const;
  Stretch stretch() const;
};

struct Hooks {
  std::function<void(const Time&, std::span<const double> state)> output;
  std::function<void(const Step&)> step;
  std::function<void(const Progress&)> safe_point;  // between steps: a checkpoint may be written
  std::function<bool()> stop;                       // asked between stages
};

Status run(Flow& flow, const Tableau& method, const Plan& plan, Progress& progress,
           const Hooks& hooks);

}  // namespace attractor::flow
