// Observables beyond the fields of an Observation: a list, of which each is a name, what it means,
// and a function of the tokens. A run measures those listed here and those its caller adds; files,
// JSON, checkpoints and sweeps take them from the list. A new one is one row of observables.cpp.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace attractor::observe {

/// Tokens at one time: `dim` numbers each (directions where they have lengths), and how many
/// original tokens each stands for.
struct TokenView {
  std::span<const double> tokens;
  std::size_t dim;
  std::span<const double> masses;
  bool thorough = true;  // false: only what is cheap is wanted, else NaN
  /// Every original token, coalesced or not: total mass x dim; none where nobody can tell.
  std::function<std::vector<double>()> originals{};
};

struct Observable {
  std::string name, meaning;
  std::function<double(const TokenView&)> value;  // NaN: not measured now, or without meaning
};

/// What every run measures beside the columns of an Observation.
const std::vector<Observable>& observables();

}  // namespace attractor::observe
