// A proof in exact arithmetic that a hard-margin answer (hard_margin.hpp) is right. Doubles are
// rational numbers, so the problem
//
//   minimise 1/2 |p|^2   subject to   <g_j, p> >= h_j,  j = 0..m-1,   p in R^d
//
// has a rational solution. From the rows S that the answer names, (G_S G_S^T) lambda = h_S is
// solved by fraction-free elimination (Bareiss, Math. Comp. 22, 1968); p = G_S^T lambda is the
// optimum if and only if lambda >= 0 and <g_j, p> >= h_j for every j, both decided exactly. If a
// row is violated, it enters by the dual active-set method (dual_active_set.hpp) in rationals; it
// ends, since |p| grows with every row, with the optimum or with lambda >= 0, sum lambda g = 0,
// sum lambda h > 0, which proves that no p exists.
//
// So the answer is a guess, not a premise: a wrong one costs exchanges and is corrected, and
// `error` says how far off it was. What is proved is about the rows given. Differences of keys that
// TokenDifferences would round, and keys that MappedDifferences would, are formed exactly by the
// second overload.
//
// Cost: k^3 / 6 products of integers of up to about 140 k bits for k = |S|, and m d roundings; rows
// that doubles cannot decide take d exact products. k = 64 takes a quarter of a second.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "attractor/solve/constraints.hpp"
#include "attractor/solve/hard_margin.hpp"

namespace attractor::solve {

struct Rational {
  std::string exact = "0";  // "17/9"
  double value = 0;         // the nearest double, or infinity
  double rest = 0;          // exact - value, rounded; 0 if value is infinite
};

struct ExactMarginOptions {
  std::size_t max_support = 64;     // rows in S
  std::size_t max_exchanges = 256;  // rows that enter or leave S
};

struct ExactMargin {
  bool proved = false;
  std::string why_not{};    // one sentence, unless proved
  bool infeasible = false;  // proved: no p exists, and lambda is the reason
  std::vector<Rational> p{};
  Rational squared_norm{};             // |p|^2
  double lower = 0, upper = 0;         // of |p|: doubles next to each other; infinite if infeasible
  std::vector<std::size_t> support{};  // S
  std::vector<Rational> lambda{};      // > 0, one for each row of S; p = sum lambda g, or 0
  std::vector<std::size_t> tight{};    // all rows with <g_j, p> = h_j
  double error = 0;  // |answer.p - p| / |p|; |answer.p| if p = 0; 1 if there was no answer.p
  std::size_t exchanges = 0;  // rows that entered or left S
};

/// Rows and bounds are finite. An infeasible answer needs no p.
ExactMargin exact_margin(const Constraints& constraints, const HardMargin& answer,
                         const ExactMarginOptions& options = {});

/// The problem of TokenDifferences(tokens, ...), or of MappedDifferences(tokens, map, ...) if map
/// is not empty, without its roundings.
struct ExactTokens {
  std::span<const double> tokens{};  // [n][count][dim]
  std::size_t count = 0, dim = 0;
  std::span<const double> map{};  // dim x dim
};
ExactMargin exact_margin(const ExactTokens& data, const TokenChoice& choice,
                         const HardMargin& answer, const ExactMarginOptions& options = {});

}  // namespace attractor::solve
