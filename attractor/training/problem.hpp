// A training problem for one attention head: n inputs of T tokens in R^d, labels Y_i and
//
//   f(X_i) = psi(X_i^T s_i),   s_i = softmax(X_i W q_i)
//
// (Tarzanagh, Li, Zhang, Oymak, arXiv 2306.13596). The query q_i is the prompt p, the same for all
// inputs, or a given z_i (self- and cross-attention); psi is the head (head.hpp), <v, .> in the
// paper; W may be a product K Q^T. Keys are k_it = W^T x_it, scores gamma_it = Y_i psi(x_it): what
// an input gains by selecting token t alone. All arrays are row-major.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attractor/training/head.hpp"
#include "attractor/training/loss.hpp"

namespace attractor::training {

struct Problem {
  std::size_t inputs = 0, tokens = 0, dim = 0;       // n, T, d
  std::vector<double> x{};                           // n x T x d
  std::vector<double> labels{};                      // Y: n
  Head head{};                                       // v at the start, if v is trained
  std::vector<double> weights{};                     // W: d x d; empty: identity
  std::vector<double> queries{};                     // z: n x d; empty: the prompt
  std::vector<double> prompt{};                      // p: d
  std::vector<double> key_factor{}, query_factor{};  // K, Q: d x rank; empty: none given

  std::span<const double> token(std::size_t input, std::size_t t) const {
    return std::span(x).subspan((input * tokens + t) * dim, dim);
  }
  std::size_t rank() const { return dim > 0 ? key_factor.size() / dim : 0; }
};

/// Shapes fit, T >= 2, all numbers finite and small enough to multiply. Throws Error naming what is
/// wrong.
void check(const Problem& problem);
/// +1 or -1 where the loss needs it, not zero for the other margin losses.
void check_labels(const Problem& problem, Loss loss);

/// k_it = W^T x_it: n x T x d.
std::vector<double> keys(const Problem& problem);
/// psi(x_it): n x T.
std::vector<double> token_outputs(const Problem& problem);
/// gamma_it = Y_i psi(x_it): n x T.
std::vector<double> scores(const Problem& problem);

/// Two tokens of one input with the same key can never be told apart: throws Error naming them.
/// `keys`: n x T x d.
void require_distinct_keys(const Problem& problem, std::span<const double> keys);

}  // namespace attractor::training
