// Everything that is measured at one time, and the list of it that drives files, JSON and pages.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/flow/time.hpp"
#include "attractor/observe/pair_statistics.hpp"
#include "attractor/tokens/components.hpp"

namespace attractor::observe {

/// NaN marks what was not measured at this time or has no meaning here.
struct Observation {
  double time = 0, log10_time = 0;
  double mean_cosine = 1, one_minus_mean_cosine = 0;
  double pair_fraction = 1, pair_fraction_error = 0;
  double smallest_cosine = 1, largest_angle = 0;
  double order_parameter = 1;
  double clusters = 1, largest_cluster = 1, distinct_tokens = 1;
  double energy = 0, log_energy = 0, energy_ratio = 1, energy_relative_error = 0,
         energy_relative_unseen = 0;
  double dissipation = 0, log_dissipation = 0, dissipation_relative_error = 0,
         dissipation_relative_unseen = 0;
  double attention_entropy = 0, attention_entropy_error = 0, attention_entropy_unseen = 0;
  double effective_rank = 1, effective_rank_error = 0, span_dimension = 1;
  double hemisphere = 1, hemisphere_depth = 0;
  double mean_norm = 1, layer_cosine = 1;
  double sampled = 0;          // 1: statistics with an error above 0 are estimates from random rows
  std::vector<double> more{};  // of the observables of a run (observables.hpp), in their order
};

struct Column {
  std::string_view name, meaning;
  double Observation::*value;
};
/// All fields but `more` in order: the first columns of /series in result.h5.
std::span<const Column> columns();

struct ObserveOptions {
  double pair_threshold = 0.999;
  double cluster_radius = 0.0447;  // chord
  std::uint64_t seed = 0;
  std::size_t exact_limit = 4096;  // beyond, pairs and energy are estimated from rows ...
  std::size_t many = 4096;         // ... or summed in O(n), from so many on where that is possible
};

/// What a snapshot keeps of the same tokens.
struct Details {
  Components components{};
  std::array<double, kCosineBins> histogram{};  // of all pairs (pair_statistics.hpp)
};

/// `thorough`: also what costs more than O(n^2 d) or many passes (spectrum, hemisphere) when the
/// tokens are many; always measured when cheap. `details`, unless null, are filled.
Observation observe(const Attention& attention, double logit_bound, std::span<const double> tokens,
                    std::span<const double> masses, const flow::Time& time,
                    const ObserveOptions& options, bool thorough, Details* details = nullptr);

}  // namespace attractor::observe
