// The spectrum of the Gram matrix G_ab = <x_a, x_b> of the N original tokens. Its non-zero
// eigenvalues are those of both
//
//   sum_i m_i x_i x_i^T   (dim x dim)      and      sqrt(m_i m_j) <x_i, x_j>   (n x n),
//
// and the smaller matrix is diagonalised. With p = eigenvalues / their sum,
//
//   effective_rank = exp(-sum_k p_k log p_k)        (Roy, Vetterli 2007)
//   span_dimension = number of eigenvalues > 1e-3 of the largest,
//
// neither of which changes when every token is repeated, or all are made longer. (The scripts of
// arXiv 2312.10794 count eigenvalues above 1e-3 as they are, which grow with n: count_above.)
//
// Beyond min(n, dim) = 1024 it is estimated from 1024 of the original tokens, drawn without
// replacement and weighted by N/1024 each (the second moment is then unbiased, the rank biased
// downwards; both are at most 1024). The error of the rank r is then |r - r of the half of them|,
// and what the part p = 1/1024 of all tokens, unseen once in e times, may change:
// r p (1 - ln p + ln dim). Cost: n dim min(n, dim) + min(n, dim)^3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attractor::observe {

struct Spectrum {
  double effective_rank = 0;        // 0 if every token is zero
  double effective_rank_error = 0;  // 0: exact
  std::size_t span_dimension = 0;
  bool sampled = false;
  std::vector<double> eigenvalues{};  // descending, min(n, dim, 1024) of them; the others are zero
};

/// Tokens: n x dim, row-major, n >= 1; masses: n whole numbers >= 1. `seed` matters only if
/// sampled.
Spectrum spectrum(std::span<const double> tokens, std::size_t dim, std::span<const double> masses,
                  std::uint64_t seed);

/// Eigenvalues above `least`, as they are.
std::size_t count_above(const Spectrum& spectrum, double least);

}  // namespace attractor::observe
