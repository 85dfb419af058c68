// Models whose truth is known: attention with a given inverse temperature in each head, values v
// times the identity, layers that are the layer map of the theory, x <- N(x + h v Att(x)) or x <- x
// + h v Att(N(x)), on tokens of length sqrt(d).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "attractor/models/model.hpp"
#include "attractor/models/tokenizer.hpp"

namespace attractor::models {

struct Planted {
  std::size_t tokens = 32, dim = 256, layers = 4;
  std::vector<double> betas = {4};  // of the heads
  double step = 0.05, value = 1;
  NormPlace place = NormPlace::post;
  bool causal = false;
  double noise = 0;  // of Q^T K, beside the identity: its entries in units of beta / d
  std::uint64_t seed = 1;
};

/// dim x dim.
std::vector<float> scaled_identity(std::size_t dim, double factor);

/// directions: tokens x dim, of unit length. Token i of the vocabulary is direction i.
Model planted_model(const Planted& p, std::span<const double> directions);

/// Unit vectors sqrt(rho) e_0 + sqrt(1 - rho) v_i, the v_i random and orthogonal to e_0.
std::vector<double> tokens_with_cosine(std::size_t n, std::size_t dim, double rho,
                                       std::uint64_t seed);

/// All tokens of the vocabulary, in order.
Encoded all_tokens(std::size_t n);

}  // namespace attractor::models
