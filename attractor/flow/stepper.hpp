// One step of a Runge-Kutta method with retraction: every stage point is put back onto the space,
// and the drift there is tangent, so the ambient method keeps its order on the sphere. Memory:
// one state and the stages that are needed at the same time (Tableau::places). Stage updates are
// fused: one pass over memory for each stage.
//
// A step is one of time, dx/dt = v, or one of displacement, dx/ds = v / |v| with |v| the length
// over all coordinates; then clock() tells the time (clock.hpp).
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/flow/clock.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/flow/implicit_matrix.hpp"
#include "attractor/flow/tableau.hpp"

namespace attractor::flow {

/// The draws of a stochastic method. A step of h with r substeps uses the Brownian path that steps
/// of h / r with one each would use.
struct Noise {
  std::uint64_t seed = 0;
  std::uint64_t substeps = 1;
};

/// The drifts of the stages, in as few arrays as the method allows.
class Stages {
 public:
  explicit Stages(const Tableau& tableau);
  std::vector<double>& operator[](std::size_t s) { return arrays_[place_[s]]; }
  const std::vector<double>& operator[](std::size_t s) const { return arrays_[place_[s]]; }

 private:
  std::vector<std::size_t> place_;
  std::vector<std::vector<double>> arrays_;
};

/// A point's direction of motion v / |v|; returns ln dt/ds = -ln |v|. `unit` is a guess of it. NaN
/// where nothing moves.
double direction(const Flow& flow, std::span<const double> point, double unit,
                 std::span<double> out);

class Stepper {
 public:
  explicit Stepper(Tableau tableau, const Noise& noise = {});

  const Tableau& tableau() const { return tableau_; }

  /// Tries a step of h (in units e^log_unit) from `state` at `start`; next() holds the result.
  /// Returns the largest error over points, relative to the point's scale (0 for a fixed-step
  /// method); NaN when the result is not finite; nothing when `stop` said so between two stages.
  /// Noise is keyed by the number of the step and by point.
  std::optional<double> attempt(const Flow& flow, const Time& start, std::span<const double> state,
                                double h, double log_unit, const std::function<bool()>& stop = {},
                                std::uint64_t step = 0);
  /// The same of a step of displacement, for flows that are autonomous and without noise and
  /// methods with dense output whose last stage sits at the result. `log_unit`: where the speed at
  /// the beginning is in range.
  std::optional<double> attempt_way(const Flow& flow, std::span<const double> state, double length,
                                    double log_unit, const std::function<bool()>& stop = {});
  /// Longer steps from this state mean nothing: of linearly implicit methods.
  double longest_step(const Flow& flow, std::span<const double> state, double log_unit);
  std::span<const double> next() const { return next_; }
  /// The clock of the last attempt, after prepare_dense(), that began at `start`: `accuracy` is
  /// that of the logarithm of the time at its end. A step of displacement costs it some drifts.
  Clock clock(const Flow& flow, const Time& start, double accuracy) const;
  /// The unit of time in which the speed at the end of a step of displacement is 1.
  double unit_at_end() const { return log_slowness_[tableau_.stages() - 1]; }
  /// What interpolation needs beyond the stages of the step, where the method has such.
  void prepare_dense(const Flow& flow, const Time& start, double log_unit);

  /// Point `index` (or the whole state) at t + theta h of the last attempt, retracted.
  void interpolate_point(std::size_t index, double theta, std::span<double> out) const;
  void interpolate(double theta, std::span<double> out) const;

  /// The drift at the start of the next step, computed if it is not known yet.
  std::span<const double> drift(const Flow& flow, const Time& now, std::span<const double> state,
                                double log_unit);
  /// The last attempt is taken: its result goes to `state`, and its final drift is reused where the
  /// method allows.
  void accept(std::vector<double>& state);
  /// The state or the unit changed from outside: forget the drift.
  void restart() {
    drift_known_ = false;
    matrix_.forget();
  }

  std::size_t evaluations() const { return evaluations_; }

 private:
  void begin(const Flow& flow, std::span<const double> state, double h);
  bool stages(const Flow& flow, const Time& start, double log_unit,
              const std::function<bool()>& stop);
  bool try_stages(const Flow& flow, const Time& start, double log_unit,
                  const std::function<bool()>& stop);
  void solve_stage(std::size_t stage);
  void combine(const std::vector<double>& weights, std::size_t begin, std::size_t end,
               double* out) const;
  void move_by(const std::vector<double>& weights, std::span<double> out) const;
  double error_norm(const std::vector<double>& weights) const;
  double error(const Flow& flow) const;
  void evaluate(const Flow& flow, const Time& start, double log_unit, std::size_t stage,
                const std::vector<double>& a, std::span<double> point);
  double draw(const Stream& stream, std::size_t item, std::size_t c, std::uint64_t step) const;
  void set_clock(const NoiseLaw& law, double log_unit, std::uint64_t step);
  void add_noise(const NoiseLaw& law, double log_unit, std::uint64_t step);

  Tableau tableau_;
  Stream own_noise_, common_noise_;
  std::uint64_t substeps_;
  Stages stage_;
  ImplicitMatrix matrix_;
  std::vector<double> next_;
  bool drift_known_ = false;
  double first_speed_ = 0;  // what the drift of the first stage was divided by; 0: nothing
  std::size_t evaluations_ = 0;
  // The last attempt.
  const Space* space_ = nullptr;
  std::span<const double> from_;
  double h_ = 0;
  std::vector<double> clock_;  // the step of each point, where noise is multiplicative; else empty
  std::vector<double> log_slowness_;  // ln dt/ds at the stages so far of a step of displacement
};

}  // namespace attractor::flow
