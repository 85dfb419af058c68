// The flow that moves tokens of a given architecture: rows of all pairs, fused and coalescing,
// where attention is plain (is_plain()); engines in O(n) for very many of them (engines.hpp
// chooses); layers of any kind otherwise; or tokens shared by ranks.
#pragma once

#include <cstddef>
#include <memory>

#include "attractor/depth/engines.hpp"
#include "attractor/depth/layer_flow.hpp"
#include "attractor/depth/token_flow.hpp"

namespace attractor::depth {

struct TokenFlowSetup {
  Architecture architecture{};
  std::size_t tokens = 0;
  std::optional<Engine> engine{};        // as choose() says; none: layers
  double accuracy = 1e-11;               // of the engines in O(n) and of clumps
  Precision precision = Precision::f64;  // of dense rows
  double merge_radius = 0;               // of dense rows; 0: tokens are never coalesced
  bool adaptive = true;                  // by a method with dense output
  bool shared = false;                   // by all ranks, dense rows
};

/// One head of full rank, full mask, sa or usa, post-normalised or plain R^d, no noise: the fused
/// kernels do it.
bool is_plain(const Architecture& architecture);
/// Of a plain architecture.
Attention plain_attention(const Architecture& architecture);

/// Throws Error on an architecture that has no meaning.
std::unique_ptr<TokenFlow> make_token_flow(TokenFlowSetup setup);

}  // namespace attractor::depth
