// One AttentionFlow whose tokens are spread over ranks (ranks/ranks.hpp): x_i' = P_i A_i(x) as in
// attention_flow.hpp, tokens in contiguous blocks of sizes as equal as possible, the state of a
// rank being its own block. Tokens are never coalesced.
//
// The blocks travel round a ring. A rank sums over its own block first, then over the one that has
// come from the previous rank, and so on, while the next one is under way; each is dropped after
// use. The order of every sum is fixed by the number of tokens and of ranks: the same bits from run
// to run and for any number of threads, equal to the bits of one rank up to rounding. Every call of
// a drift, of largest() and of fitting_log_unit() is made by all ranks together.
//
// Cost of a drift on r ranks: O(n^2 d / r) operations; n d numbers sent (2 n d with Q, K or V);
// memory about ten states of n / r tokens.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/depth/attention_output.hpp"
#include "attractor/depth/token_flow.hpp"

namespace attractor::depth {

/// Tokens [begin, end).
struct TokenBlock {
  std::size_t begin, end;
  std::size_t size() const { return end - begin; }
};
TokenBlock block_of(std::size_t tokens, std::size_t rank, std::size_t ranks);

class DistributedFlow final : public TokenFlow {
 public:
  /// `tokens`: of all ranks, at least one for each.
  DistributedFlow(Attention attention, std::size_t tokens);

  const Space& space() const override { return *space_; }
  void drift(std::span<const double> state, double log_unit, std::span<double> out) const override;
  void increment(std::span<const double> state, double log_unit,
                 std::span<double> out) const override;
  double log_unit() const override { return log_unit_; }
  double fitting_log_unit(std::span<const double> state, double present) const override;
  bool at_rest(std::span<const double> state) const override;
  double largest(double local) const override;

  std::string_view engine() const override { return "dense"; }
  /// Those of this rank.
  std::vector<double> begin(std::vector<double> tokens) override;
  bool state_is_tokens() const override { return false; }

  /// The tokens of this rank.
  const TokenBlock& own() const { return own_; }
  const Attention& attention() const { return attention_; }

 private:
  /// What the others need of a block: the points, with V their values behind; keys and values where
  /// the logits are not those of distances.
  struct Packet {
    std::span<const double> first, values;
  };
  std::vector<double> packed(std::span<const double> state) const;
  Packet packet(std::span<const double> numbers) const;
  using Visit = std::function<void(bool own, const Packet&, const std::function<void()>& nudge)>;
  void around(std::span<const double> own_numbers, const Visit& visit) const;

  void sum_over_all(std::span<const double> state, double lift) const;
  void output(std::span<const double> state, double log_unit, bool tangent,
              std::span<double> out) const;
  Attended attended(std::span<const double> state) const {
    return {attention_,
            *space_,
            state,
            std::span(masses_).first(own_.size()),
            sums_,
            sums_.pull,
            static_cast<double>(tokens_)};
  }
  double closest_squared(std::span<const double> state) const;

  Attention attention_;
  std::unique_ptr<Space> space_;
  std::size_t tokens_;
  TokenBlock own_;
  double log_unit_;
  std::vector<double> masses_;         // of as many tokens as the largest block has: ones
  mutable AttentionSums sums_, more_;  // scratch, reused between evaluations
};

}  // namespace attractor::depth
