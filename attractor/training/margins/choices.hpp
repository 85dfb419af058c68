// Which token choices can training end with? The locally optimal ones (max_margin.hpp).
//
// Small problems: all of them, by walking through the choices input by input and turning back as
// soon as the inputs so far cannot be separated (a part that is infeasible stays so; infeasible as
// doubles tell it, by weights of norm up to about 1e15 over that of the keys' differences). Large
// problems: a search. It starts from random directions, each of which selects a feasible choice,
// and moves to a better neighbour until none is left. What it returns is locally optimal; that
// nothing else is, it cannot promise.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attractor/training/margins/max_margin.hpp"

namespace attractor::training {

struct LocalChoices {
  std::vector<MaxMargin> found{};  // by increasing norm
  bool complete = false;           // no other choice is locally optimal
  std::uint64_t examined = 0;      // margin problems solved
};

/// Ends early, incomplete, after `limit` margin problems or when stop says so.
/// v: the head's weights; empty: the problem's.
LocalChoices enumerate_local_choices(const Objective& objective, const AttSvm& svm,
                                     std::uint64_t limit, const std::function<bool()>& stop = {},
                                     std::span<const double> v = {});

LocalChoices search_local_choices(const Objective& objective, const AttSvm& svm,
                                  std::uint64_t starts, std::uint64_t seed,
                                  const std::function<bool()>& stop = {},
                                  std::span<const double> v = {});

}  // namespace attractor::training
