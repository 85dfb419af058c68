// A training problem for one attention head: n inputs of T tokens in R^d, labels Y_i and
//
//   f(X_i) = <X_i v, softmax(X_i W p)>,   keys k_it = W^T x_it,   scores gamma_it = Y_i <x_it, v>
//
// (Tarzanagh, Li, Zhang, Oymak, arXiv 2306.13596). All arrays are row-major.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace attractor::training {

struct Problem {
  std::size_t inputs = 0, tokens = 0, dim = 0;  // n, T, d
  std::vector<double> x;                        // n x T x d
  std::vector<double> labels;                   // n
  std::vector<double> head;                     // v: d
  std::vector<double> weights;                  // W: d x d; empty: identity
  std::vector<double> start;                    // p at the start: d
};

/// Shapes fit, T >= 2, all numbers finite (keys and scores too), labels not zero. Throws Error
/// naming what is wrong.
void check(const Problem& problem);

/// {"X": [n][T][d], "Y": [n], "v": [d], "W": [d][d] (identity), "p0": [d] (zero)}; checked.
Problem read_problem(const std::string& file);
Problem parse_problem(const std::string& json, const std::string& name);

/// k_it = W^T x_it: n x T x d.
std::vector<double> keys(const Problem& problem);
/// gamma_it = Y_i <x_it, v>: n x T.
std::vector<double> scores(const Problem& problem);

/// Two tokens of one input with the same key can never be told apart: throws Error naming them.
void require_distinct_keys(const Problem& problem, std::span<const double> keys);

}  // namespace attractor::training
