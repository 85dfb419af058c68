// One face for every flow of tokens, whatever moves them: rows of all pairs or of clumps that
// coalesce (attention_flow.hpp), sums in O(n) on the circle, the sphere and by moments
// (circle_flow.hpp, field_flow.hpp), any layer (layer_flow.hpp), tokens shared by ranks
// (distributed_flow.hpp). A state need not be the tokens as they were given: angles, sorted,
// coalesced, with lengths. groups() says which tokens each entry of it stands for, directions()
// where they are.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/depth/coalescence/token_groups.hpp"
#include "attractor/flow/flow.hpp"

namespace attractor::depth {

class TokenFlow : public flow::Flow {
 public:
  explicit TokenFlow(std::size_t tokens) : groups_(tokens) {}

  /// What moves the tokens: dense, circle, sphere, moments, clumps or layers.
  virtual std::string_view engine() const = 0;

  /// The state of these tokens: themselves, their sorted angles, or a rank's own.
  virtual std::vector<double> begin(std::vector<double> tokens) { return tokens; }
  /// Makes the flow what it is from `now` on: at the start, at each change, and after a resume.
  virtual void enter(const flow::Time& /*now*/, std::vector<double>& /*state*/) {}

  const TokenGroups& groups() const { return groups_; }
  TokenGroups& groups() { return groups_; }
  /// Unit vectors of the state's tokens; in R^d the tokens. The state itself where it is them, else
  /// what `storage` holds then.
  virtual std::span<const double> directions(std::span<const double> state,
                                             std::vector<double>& /*storage*/) const {
    return state;
  }
  /// Tokens have lengths beside directions (pre-normalised schemes).
  virtual bool has_lengths() const { return false; }
  /// The state is all tokens themselves, in the order in which they were given but for groups.
  virtual bool state_is_tokens() const { return !has_lengths(); }
  /// increment() is that of vectors.
  virtual bool has_increments() const { return true; }

  /// Where an engine that moves tokens about keeps them, beside groups(); empty: it does not.
  virtual std::span<const std::uint32_t> kept_order() const { return {}; }
  virtual void restore_order(std::vector<std::uint32_t> /*order*/) {}

  /// ln of the energy of all pairs where it costs no more than a velocity; else NaN.
  virtual double log_energy(std::span<const double> /*state*/) const { return kNan; }
  /// Mean entropy of the rows of each head, nats; empty for plain attention.
  virtual std::vector<double> head_entropies(const flow::Time& /*now*/,
                                             std::span<const double> /*state*/) const {
    return {};
  }
  /// hardmax: the token that each token selects, head by head; empty for other rules.
  virtual std::vector<std::uint32_t> selected(const flow::Time& /*now*/,
                                              std::span<const double> /*state*/) const {
    return {};
  }
  /// The worst outcome of any layer so far: sinkhorn that did not converge.
  virtual LayerStatus status() const { return LayerStatus::complete; }
  /// For a resumed run.
  virtual void set_status(LayerStatus /*status*/) {}

 protected:
  /// Token order[k] of those given is number k of the state.
  void keep_order(std::span<const std::uint32_t> order) {
    std::vector<std::uint32_t> owner(order.size());
    for (std::uint32_t k = 0; k < order.size(); ++k) owner[order[k]] = k;
    groups_.restore(std::move(owner), {}, {}, space().dim());
  }

  TokenGroups groups_;
};

}  // namespace attractor::depth
