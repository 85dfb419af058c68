// One attention layer in general: heads h with their own Q_h, K_h (rank x dim) and V_h (dim x dim),
// any rule (rule.hpp), any mask (mask.hpp), with or without the own token (self_attention.hpp), and
// an output matrix O. For tokens x_1 .. x_n,
//
//   A_i = O sum_h sum_j P^h_ij V_h x_j,   logits l^h_ij = beta <Q_h x_i, K_h x_j> - slope |i - j|,
//
// queries and keys being normed or turned by their positions first, if asked (query_key.hpp).
// Sums run over differences, pull_i = O sum_h sum_j P^h_ij V_h (x_j - x_i), so that pull_i keeps
// its relative accuracy inside clusters; with V = O = I the velocity on the sphere is its tangent
// part. attention.hpp is the faster special case of one head, full mask, sa or usa.
// Cost O(H n^2 (rank + dim)), times the iterations for sinkhorn; memory O(H n (rank + dim)).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attractor/attention/mask.hpp"
#include "attractor/attention/query_key.hpp"
#include "attractor/attention/rule.hpp"
#include "attractor/attention/self_attention.hpp"
#include "attractor/attention/sinkhorn.hpp"

namespace attractor {

/// Row-major; an empty matrix is the identity.
struct Head {
  std::vector<double> query, key;  // rank x dim
  std::vector<double> value;       // dim x dim

  std::size_t rank(std::size_t dim) const;
};

struct AttentionLayer {
  Rule rule = Rule::softmax;
  double beta = 1;
  std::size_t dim = 0;
  std::vector<Head> heads = {Head{}};
  std::vector<double> output;  // dim x dim
  QueryKey query_key{};        // of every head
  Mask mask;
  SelfAttention self = SelfAttention::include;
  /// The first token counts as so many (a sink): its logits grow by ln of it. Causal sa and usa.
  double sink_mass = 1;
  RadialKernel kernel = RadialKernel::gaussian;
  bool normalised = true;  // radial: divided by the row sum, else by the number of visible tokens
  /// hardmax: tokens within this fraction of beta |Q x_i| max_j |K x_j| of the largest logit tie.
  double tie_tolerance = 1e-12;
  SinkhornLimits sinkhorn;
};

/// Throws Error if a shape does not fit, a number is out of range, or a combination has no meaning
/// (sinkhorn with a causal mask: the only doubly stochastic triangular matrix is the identity).
void validate(const AttentionLayer& layer);

enum class LayerStatus {
  complete,
  sinkhorn_unconverged,  // sinkhorn_error says how far; raise max_iterations or lower beta
  not_finite,            // tokens or logits left the range of double precision
};
std::string_view name(LayerStatus status);

struct LayerRequest {
  bool entropy = false;
  bool chosen = false;
  bool matrix = false;  // at most 2^24 weights in all
};

/// Everything carries the common factor e^{-log_scale}: A_i = e^{log_scale} out_i. It is not 0 only
/// when usa has logits that would leave the range of double precision.
struct LayerOutput {
  std::vector<double> out, pull;      // n x dim
  std::vector<double> row_sum;        // n x heads: sum_j P_ij
  std::vector<double> entropy;        // n x heads, nats, of |P_ij| / sum_j |P_ij|
  std::vector<std::uint32_t> chosen;  // n x heads: the first j with the largest weight
  std::vector<double> matrix;         // heads x n x n
  double log_scale = 0;
  LayerStatus status = LayerStatus::complete;
  std::size_t sinkhorn_iterations = 0;  // most of any head
  double sinkhorn_error = 0;            // worst of any head
};

/// Throws Error if shapes do not fit; validate() is left to the caller, once.
void attend(const AttentionLayer& layer, std::span<const double> tokens,
            const LayerRequest& request, LayerOutput& out);

}  // namespace attractor
