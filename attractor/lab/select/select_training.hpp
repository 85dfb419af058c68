// The training of one run: a gradient method from one start, its moments on the way, when each
// input took its token for good, and checkpoints from which it goes on with the same bits.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "attractor/flow/run.hpp"
#include "attractor/lab/context.hpp"
#include "attractor/lab/select/select_record.hpp"
#include "attractor/training/descent_flow.hpp"

namespace attractor::lab {

// When did each input take the token it has now?
struct LockIn {
  std::vector<std::uint64_t> chosen;
  std::vector<flow::Time> since;

  void see(const std::vector<std::size_t>& now, const flow::Time& time) {
    chosen.resize(now.size(), UINT64_MAX);
    since.resize(now.size());
    for (std::size_t i = 0; i < now.size(); ++i)
      if (now[i] != chosen[i]) chosen[i] = now[i], since[i] = time;
  }
};

struct Moment {
  flow::Time time;
  std::vector<double> weights;
};

/// Tells one set of data from another: all that a problem file can say.
std::string digest(const training::Problem& problem);

// Training: gradient descent is explicit Euler; the flow is integrated up to 10^log10_time.
class Training {
 public:
  /// Goes on from the context's checkpoint if there is one. Views: all must outlive it.
  Training(const SelectSetup& p, const training::Objective& objective, const Context& context,
           std::span<const double> start);

  void run();
  /// Of a training that had ended, loaded from its checkpoint.
  void set_ended(flow::Status status) { status_ = status; }
  void save(CheckpointStore& to) const;

  flow::Status status() const { return status_; }
  const flow::Progress& progress() const { return progress_; }
  std::vector<double> weights() const { return flow_.weights(progress_.state); }
  /// How the method moves the weights now.
  std::vector<double> move() const;
  const std::vector<Moment>& moments() const { return moments_; }
  const std::vector<flow::Time>& lock_in() const { return lock_in_.since; }
  /// A flow that ended at a minimum of finite norm.
  bool at_minimum() const { return adaptive_ && flow_.at_minimum(progress_.state); }

 private:
  using Clock = std::chrono::steady_clock;

  void see_state();

  void pause();

  void load();
  void check_content(std::size_t numbers) const;

  const SelectSetup& p_;
  const training::Objective& objective_;
  const Context& context_;
  std::string command_;
  bool adaptive_;
  flow::Plan plan_;
  training::DescentFlow flow_;
  flow::Progress progress_;
  LockIn lock_in_;
  training::Evaluation evaluation_;
  std::vector<Moment> moments_;
  flow::Status status_ = flow::Status::complete;
  std::uint64_t pauses_ = 0;
  Clock::time_point next_save_{};
};

}  // namespace attractor::lab
