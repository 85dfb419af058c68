// Weight matrices Q, K, V of random or special form, d = dim. Each has entries of variance about
// 1/d, so that |M x| is of order |x| (spectra as d grows):
//
//   identity    an empty vector
//   gaussian    N(0, 1/d) entries, rows x d; the only other one with fewer rows is orthogonal
//   goe         symmetric, N(0, 1/d) off the diagonal, N(0, 2/d) on it: semicircle on [-2, 2]
//   wigner      symmetric, entries +-1/sqrt(d) with equal odds: semicircle on [-2, 2]
//   orthogonal  Haar: the first rows of a uniformly distributed orthogonal matrix
//   psd         G G^T / d with N(0, 1) entries of G: Marchenko-Pastur on [0, 4]
//   qk, minus-qk  for V only: +-Q^T K
//
// The phase diagrams of arXiv 2312.10794 take B = Q^T K with entries of variance 1 and V = +-B /
// sqrt(d): ours at beta sqrt(d) with V = qk (goe there: V = +-B / sqrt(d + 1)).
// A draw depends on its key alone: seed, matrix name, period of redrawing, head.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "attractor/base/array.hpp"
#include "attractor/base/named.hpp"

namespace attractor {

enum class WeightKind { identity, gaussian, goe, wigner, orthogonal, psd, qk, minus_qk };
std::span<const std::string_view> names(WeightKind);

struct WeightKey {
  std::uint64_t seed = 0;
  std::string_view matrix;  // "query", "key", "value", "output", ...
  std::uint64_t period = 0, head = 0;
};

/// rows x dim, row-major. Throws Error for qk and minus-qk and for rows that the kind cannot have.
std::vector<double> draw_weights(WeightKind kind, std::size_t rows, std::size_t dim,
                                 const WeightKey& key);

/// sign Q^T K (dim x dim) of matrices rank x dim, empty ones being the identity.
std::vector<double> query_key_product(std::span<const double> query, std::span<const double> key,
                                      std::size_t dim, double sign);

/// Matrices of all heads as one array each: query and key (heads, rank, dim), value (heads, dim,
/// dim). One head may leave the first axis out; what is not given is the identity.
struct GivenHeads {
  std::optional<Array> query{}, key{}, value{};
};
/// At least one. Throws Error on shapes that do not fit each other.
std::vector<Head> heads_of(GivenHeads given, std::size_t dim);

/// How the weights of every head are made.
struct HeadPlan {
  WeightKind query = WeightKind::identity, key = WeightKind::identity;
  WeightKind value = WeightKind::identity;
  std::size_t rank = 0;  // of query and key; 0: dim
};

Head draw_head(const HeadPlan& plan, std::size_t dim, std::uint64_t seed, std::uint64_t period,
               std::uint64_t head);

}  // namespace attractor
