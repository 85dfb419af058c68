// Basins of attraction: which token choice does training end with, start by start?
//
// From every start the gradient flow runs until its velocity points along the max-margin solution
// of the tokens it selects, which is then its limit. Theory: that choice is locally optimal.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "attractor/training/margins/choices.hpp"

namespace attractor::training {

struct BasinStart {
  std::vector<double> start{};   // of p or W
  std::vector<double> end{};     // where the run stopped
  std::size_t limit = SIZE_MAX;  // index into Basins::limits; SIZE_MAX: not settled
  bool at_minimum = false;       // it ended at a finite minimum instead: attention mixes tokens
  double velocity_cosine = 0;    // to the limit, when the run ended
  double log10_time = 0;         // when it settled
};

struct Basins {
  std::vector<BasinStart> starts{};
  std::vector<MaxMargin> limits{};  // in order of first appearance
  std::vector<std::size_t> axes{};  // coordinates that the grid spans; empty: a random sample
  std::size_t side = 0;             // starts along each axis of the grid
  double radius = 0;                // half the side of the grid, or length of sampled starts
};

/// The choice that a run ended with.
struct BasinEnd {
  std::vector<std::size_t> chosen{};
  bool settled = false;
};

/// The first `done` starts have been followed.
struct BasinProgress {
  std::size_t done = 0;
  std::vector<BasinStart> starts{};
  std::vector<BasinEnd> ends{};
};

struct BasinOptions {
  std::size_t side = 41;       // grid of side x side starts, centred at the problem's start, where
                               // attention has two effective coordinates; otherwise
  std::size_t samples = 1000;  // random starts of length `radius`
  double radius = 3;
  double log10_time = 300;  // where a run that has not settled ends
  double tolerance = 1e-6;
  std::uint64_t seed = 0;
  std::function<bool()> stop{};
  std::function<void(double)> report{};  // fraction done
};

Basins find_basins(const Objective& objective, const AttSvm& svm, const BasinOptions& options);

/// Goes on from where a run with the same options was, and ends with the same bits. safe_point:
/// after each batch.
Basins find_basins(const Objective& objective, const AttSvm& svm, const BasinOptions& options,
                   BasinProgress from, const std::function<void(const BasinProgress&)>& safe_point);

}  // namespace attractor::training
