// A flow that somebody watches and interferes with: tokens flow while beta is turned, one is
// dragged, others are added. Between two changes it is lab::Simulation, bit for bit; a change
// begins a new one where the tokens are. Time goes on over changes (after a long time the clock
// starts again: the flow does not know what time it is), the merge tree begins anew at each. Steps
// are whole, wherever a page stops to look, so what is reached is a function of the settings, the
// changes and the number of steps: a link that names them restores the same bits.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "attractor/lab/flow/simulation.hpp"
#include "attractor/lab/json.hpp"
#include "attractor/lab/parameter.hpp"

namespace attractor::web {

struct Advance {
  double until =
      0;  // total time that the last step reaches or passes; infinity: until nothing moves
  std::uint64_t steps = 0;    // at most; 0: as many as it takes
  double milliseconds = 1e9;  // then it stops, between two steps
};

class LiveFlow {
 public:
  /// Settings by name, as on a command line. Throws Error.
  explicit LiveFlow(const lab::Settings& settings);

  /// What moves them: tokens, dim, engine, cosine of a cluster, the command that repeats it, and
  /// whether that needs tokens.npy.
  lab::Json facts() const;
  /// Time, steps, status; the tokens are then at positions().
  lab::Json advance(const Advance& wanted);
  /// All observables by name; theory beside them: theory.hpp.
  lab::Json observation(bool thorough) const;
  /// Merges since the last change: [left, right, size, log10 of the time].
  lab::Json tree() const;
  /// 3 x dim: the principal axes of the tokens, to look at more than three dimensions.
  lab::Json axes() const;
  /// Time, as it is now.
  lab::Json moment() const;

  std::vector<double> positions() const { return simulation_->tokens(); }
  std::vector<std::uint32_t> clusters() const { return simulation_->clusters(); }

  /// Other parameters from here on. Those of the start have no effect any more and are refused.
  void change(const lab::Settings& settings);
  /// To where the position points; throws Error if there is no such token or the position is zero.
  void move(std::size_t token, std::span<const double> position);
  /// rows x dim; each is put on the sphere.
  void add(std::span<const double> rows);

  /// Every coordinate of every token one unit in its last place larger: what that makes of a run
  /// says how much of it rounding decides.
  void nudge();

  const lab::FlowSetup& setup() const { return setup_; }

 private:
  void restart(lab::FlowSetup setup, std::vector<double> tokens);
  double log10_time() const;
  std::string repeating_command() const;

  lab::FlowSetup setup_;
  std::unique_ptr<lab::Simulation> simulation_;
  flow::Status status_ = flow::Status::complete;
  double before_ = 0;  // time until the last change
  std::uint64_t changes_ = 0, steps_before_ = 0;
};

}  // namespace attractor::web
