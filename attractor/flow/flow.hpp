// A flow: dx = drift(x) dt for a state of points on a space, and noise if it has any
// (noise_law.hpp).
// Depth moves tokens and freezes attention; training moves attention and freezes tokens; both are
// flows, and run() is their only time loop.
//
// Rates may span hundreds of orders of magnitude, so drift is asked for per unit of time
// e^log_unit: out = e^log_unit * dx/dt, with full relative accuracy whatever the unit.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attractor/flow/noise_law.hpp"
#include "attractor/flow/time.hpp"
#include "attractor/space/space.hpp"

namespace attractor::flow {

/// A stretch of a path: a step that was found, or a rest. From `start` on, h e^log_unit long.
struct Stretch {
  Time start;
  double h, log_unit;
  std::span<const double> before, after;                          // after: empty at rest
  std::function<void(double share, std::span<double> state)> at;  // of its time, 0 <= share <= 1
  /// A step of displacement: this long, with speed 1 at both ends in these units of time.
  struct Way {
    double length, unit_before, unit_after;
  };
  std::optional<Way> way = std::nullopt;
};

/// How much the speed of a state depends on where it is. ln of it changes by at most `slope` per
/// displacement; nothing that is slower than `slow` in the natural unit of time and speeds up is
/// held by anything fast. 0: not known, steps are steps of time.
struct Steepness {
  double slope = 0, slow = 0;
};

/// What holds a state near an equilibrium.
struct Balance {
  double pull = 0;           // largest sum of the sizes of what pulls a point; 0: not known
  bool by_rounding = false;  // no point moves faster than rounding explains
};

class Flow {
 public:
  virtual ~Flow() = default;

  virtual const Space& space() const = 0;
  virtual void drift(std::span<const double> state, double log_unit,
                     std::span<double> out) const = 0;

  /// What one layer adds before normalisation; for a gradient flow it is the drift, and the layer
  /// map is gradient descent.
  virtual void increment(std::span<const double> state, double log_unit,
                         std::span<double> out) const {
    drift(state, log_unit, out);
  }

  /// The same at a time, for a flow that depends on it (a schedule): one that is not autonomous.
  virtual void drift_at(const Time& /*now*/, std::span<const double> state, double log_unit,
                        std::span<double> out) const {
    drift(state, log_unit, out);
  }
  virtual void increment_at(const Time& /*now*/, std::span<const double> state, double log_unit,
                            std::span<double> out) const {
    increment(state, log_unit, out);
  }

  /// d drift_a / d state_b, row by row, per e^log_unit, for linearly implicit methods; false: not
  /// known.
  virtual bool jacobian(std::span<const double> /*state*/, double /*log_unit*/,
                        std::span<double> /*out*/) const {
    return false;
  }

  /// At rest now means at rest for ever.
  virtual bool autonomous() const { return true; }

  /// ln of the natural unit of time (0, or -beta for unnormalised attention).
  virtual double log_unit() const { return 0; }
  /// A unit in which the fastest motion of this state is of order one; asked for only when the
  /// drift in the present unit is zero or out of range.
  virtual double fitting_log_unit(std::span<const double> /*state*/, double present) const {
    return present;
  }

  /// Where motion is slow and speeds up, an adaptive method takes steps of displacement.
  virtual Steepness steepness() const { return {}; }

  /// Between the stages of a step that may be taken shorter. A flow that would need far longer for
  /// drift() there than where the step began may say NaN instead: the step is then too long.
  virtual void try_out(bool /*trial*/) const {}

  /// Bound of the error of the last drift() in the natural unit of time; 0: rounding only.
  virtual double drift_error() const { return 0; }
  /// Asked for in runs without an end, per e^log_unit; `drift` is that of the state.
  virtual Balance balance(std::span<const double> /*state*/, std::span<const double> /*drift*/,
                          double /*log_unit*/) const {
    return {};
  }

  /// Moves points under a method for its kind only (tableau.hpp).
  virtual NoiseLaw noise() const { return {}; }

  /// Called between steps: may shorten the state (coalesced tokens) or lengthen it again.
  /// True if it did.
  virtual bool simplify(const Time& /*now*/, std::vector<double>& /*state*/) { return false; }
  /// What a flow keeps beside its state (offsets of coalesced tokens) goes along: to a share of the
  /// stretch's time, for an output on the way, and to the end when the step is taken.
  virtual void carry(const Stretch& /*stretch*/, double /*share*/) {}
  virtual void advance(const Stretch& /*stretch*/) {}

  /// A drift may be smooth in pieces only. drift() is then that of the piece which the last
  /// simplify() chose, also beyond its end. Asked of every step that an adaptive method would
  /// accept: 1, or the share of it after which the piece ends, where simplify() has to choose
  /// again.
  virtual double share_in_piece(
      const std::function<void(double theta, std::span<double> state)>& /*along*/) {
    return 1;
  }
  /// Nothing will ever move again (one token left).
  virtual bool at_rest(std::span<const double> /*state*/) const { return false; }

  /// The largest over all who share the state, for a flow of which this process holds a part only;
  /// every decision about the whole goes through it. What else a flow says of its state
  /// (fitting_log_unit, simplify, at_rest) must be the same for all of them.
  virtual double largest(double local) const { return local; }
};

}  // namespace attractor::flow
