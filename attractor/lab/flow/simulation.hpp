// A flow of tokens that its caller steps: nothing is measured on the way, and nothing kept but, if
// wanted, who joined whom. The state is all there is, so a simulation can be put aside as bytes and
// taken up again; it then goes on to the same bits.
//
//   Simulation simulation({.beta = 9, .tokens = 64});
//   simulation.step(10);               // ten accepted steps, of lengths of their own if adaptive
//   simulation.run_until(5);           // to a time: the last step ends there
//
// Steps of fixed length lead to whole numbers of them only.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "attractor/flow/run.hpp"
#include "attractor/lab/flow/checkpoint.hpp"
#include "attractor/lab/flow/flow_setup.hpp"
#include "attractor/lab/flow/observed_flow.hpp"
#include "attractor/observe/merge_tree.hpp"

namespace attractor::lab {

class Simulation {
 public:
  /// What says how long a flow is and what is measured (time, outputs, snapshots) is not looked at.
  /// Throws Error as flow does.
  explicit Simulation(const FlowSetup& setup);

  /// complete: all of it was done; interrupted: `stop` wanted an end; else why nothing moves any
  /// more or why it cannot go on.
  flow::Status step(std::uint64_t count, const std::function<bool()>& stop = {});
  /// Throws Error if that time has passed, or lies between two steps of fixed length.
  flow::Status run_until(double time, const std::function<bool()>& stop = {});

  std::size_t count() const { return count_; }
  std::size_t dim() const { return dim_; }
  /// Every original token, count x dim; with their lengths where they have such.
  std::vector<double> tokens() const;
  const flow::Time& time() const { return progress_.time; }
  std::uint64_t steps() const { return progress_.steps; }
  std::uint64_t rejected() const { return progress_.rejected; }
  /// The group of each token: those of one group are moved as one.
  std::span<const std::uint32_t> owner() const { return model_.groups().owner(); }
  std::size_t distinct() const { return model_.groups().count(); }
  std::string_view engine() const { return model_.whole().engine(); }

  /// Keeps the merge tree of clusters at the setup's cosine, which begins with the state as it is
  /// now. Does nothing where the state is not the tokens themselves (engine circle, lengths).
  void watch_merges();
  /// Empty without watch_merges().
  std::vector<observe::Linkage> merges() const;
  /// All that a flow measures of the state as it is now.
  observe::Observation observe(bool thorough = true) const;
  /// Cluster of each token, by single linkage at the setup's cosine.
  std::vector<std::uint32_t> clusters() const;

  /// All that restore() needs beside the setup, but not the merge tree.
  std::string bytes() const;
  /// For a simulation of the same setup. Throws Error on bytes that are damaged, of another version
  /// or of another setup.
  void restore(std::string_view bytes);

 private:
  flow::Status advance(const flow::Time& end, std::uint64_t steps,
                       const std::function<bool()>& stop);
  RunShape shape() const;
  double cluster_radius() const;  // a chord

  FlowSetup setup_;
  TokenSet start_;  // empty once they flow
  std::size_t count_, dim_;
  ObservedFlow model_;
  flow::Progress progress_{};
  std::string identity_;  // of the setup and its data
  std::optional<observe::MergeTree> tree_{};
};

}  // namespace attractor::lab
