// What the problem of nuclear_margin.hpp is about, its rows, and what is known of it in the end: W,
// lambda, and the bounds that both prove.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "attractor/solve/margin_status.hpp"

namespace attractor::solve {

/// Views of row-major arrays. Row j pairs g_j with z_query[j].
struct RankOneConstraints {
  std::span<const double> left{};   // g: m x left_dim
  std::span<const double> right{};  // z: n x right_dim
  std::size_t left_dim = 1, right_dim = 1;
  std::span<const std::size_t> query{};  // q: m entries below n; empty: q(j) = j, so m = n
  std::span<const double> bounds{};      // h: m entries; empty: all 1
  std::span<const double> left_tail{};   // g is left + left_tail; empty: 0
};

struct NuclearMargin {
  MarginStatus status = MarginStatus::optimal;
  std::vector<double> W{};                // left_dim x right_dim
  double norm = 0;                        // |W|_*
  double upper = 0, lower = 0;            // of |W*|_*; upper is infinite if W is not feasible,
                                          // lower is what farkas proves then
  double relative_gap = 1;                // (upper - lower) / upper
  std::vector<double> multipliers{};      // lambda, with |S|_op = 1, or 0
  std::vector<double> singular_values{};  // of W, descending
  std::size_t rank = 0;                   // singular values above 1e-7 of the largest
  std::size_t iterations = 0;
  std::vector<double> farkas{};  // lambda >= 0 with S = 0 and sum lambda h > 0
  double farkas_residual = 0;    // |S|_F / sum lambda |g| |z|
};

}  // namespace attractor::solve
