// The bridge between the two halves: training sharpens attention, and sharper attention moves
// tokens differently through depth.
//
// Training. Logits are <p, k> = |p| <p / |p|, k>: the norm of what is trained is an inverse
// temperature, beta_eff = |p|. By the max-margin theory (arXiv 2306.13596) the direction freezes at
// p^mm / |p^mm| and, for gradient flow, d|p| / d ln t -> |p^mm| = 1 / margin: attention cools
// logarithmically. If the selected token leads the T - 1 others by at least |p| m,
//
//   its softmax weight >= 1 / (1 + (T - 1) e^{-|p| m}),
//
// m the margin of the present direction, at most 1 / |p^mm|. The logistic of the largest margin
// passes one half at |p| = |p^mm| ln(T - 1): mixing before, selection after.
//
// Depth. At checkpoints evenly spaced in ln t the attention reached moves the same initial tokens
// on the sphere by softmax attention (arXiv 2512.01868), logits beta <Q x_i, K x_j>:
//
//   train p: Q = K = I, beta = |p|            any number of dimensions
//   train W: Q = W / |W|, K = I, beta = |W|   x_j^T W x_i, each token asks for itself; dimension d
//
// V = I in both. Cost: one training run, and for each checkpoint a flow of n tokens, O(n^2 d) a
// step. Memory O(moments * weights + checkpoints * n d). The same bits on any number of threads.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/lab/context.hpp"
#include "attractor/lab/select/select_record.hpp"
#include "attractor/observe/observation.hpp"
#include "attractor/tokens/generators.hpp"

namespace attractor::lab {

enum class TokensFrom { random, problem };  // uniform, or the tokens of the first input
std::span<const std::string_view> names(TokensFrom);

struct BridgeSetup {
  ProblemInput data;
  training::Train train = training::Train::p;  // or W
  training::Loss loss = training::Loss::logistic;
  double log10_time = 30, train_tolerance = 1e-10;
  std::uint64_t checkpoints = 12;
  TokensFrom tokens_from = TokensFrom::random;
  std::uint64_t tokens = 64, dim = 0;  // dim 0: 3 for p, the problem's for W
  std::uint64_t seed = 0;
  double time = 20, tolerance = 1e-8;  // of the flow of tokens
};

ParameterList list(BridgeSetup& p);
/// The parameters that make the same run again, as a command line.
std::string command(const BridgeSetup& p);

/// Training at one moment.
struct BridgeMoment {
  double log_time = 0;     // ln t
  double norm = 0;         // |p| or |W|: beta_eff
  double margin = 0;       // least lead of a token selected in the end, for weights of length one
  double softmax_min = 0;  // least softmax weight of a token selected in the end
  double bound = 0;        // 1 / (1 + (T - 1) e^{-norm margin}), never above softmax_min
};

/// A flow of the tokens with the attention of one moment.
struct BridgeCheckpoint {
  BridgeMoment training{};
  std::vector<double> weights{};  // p or W
  flow::Status status = flow::Status::complete;
  std::uint64_t steps = 0;
  double cluster_cosine = 0;              // neighbours in a cluster have at least this cosine
  observe::Observation start{}, end{};    // of the tokens
  std::optional<double> first_merge{};    // when two clusters first joined, if they did
  std::vector<double> positions{};        // at the end: tokens x dim
  std::vector<std::uint32_t> clusters{};  // at the end: label of each token
};

/// The numbers that theory predicts; NaN where the run does not show them, -infinity for ln t where
/// it does from the start.
struct BridgeTheory {
  double norm = kNan;                 // |p^mm|
  double slope = kNan;                // of |p| against ln t, between the last two checkpoints
  double transition_norm = kNan;      // |p^mm| ln(T - 1)
  double transition_log_time = kNan;  // ln t when |p| gets there
  double half_log_time = kNan;        // ln t when every selected weight has reached one half
};

struct BridgeRecord {
  BridgeSetup setup{};
  SelectRecord training{};
  flow::Status status = flow::Status::complete;  // the first that was not delivered, if any
  TokenSet start{};                              // on the sphere
  std::vector<BridgeMoment> moments{};           // ascending in time; the first at t = 0
  std::vector<BridgeCheckpoint> checkpoints{};
  BridgeTheory theory{};
};

/// A bridge that has been checked: its tokens are made.
class BridgeRun {
 public:
  /// All that can be refused is refused here.
  explicit BridgeRun(const BridgeSetup& setup);
  /// Once.
  BridgeRecord run(const Context& context) &&;

 private:
  BridgeRecord record_;
  training::Problem problem_;
};

BridgeRecord run_bridge(const BridgeSetup& setup, const Context& context);

/// 1 / (1 + (tokens - 1) e^{-lead}).
double logistic_weight(std::size_t tokens, double lead);

}  // namespace attractor::lab
