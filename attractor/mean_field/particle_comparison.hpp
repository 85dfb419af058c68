// How n tokens, independent draws of a start law moved by attention, approach the density (the mean
// field): for each n, over independent replicates, the distance of the first moment E x and the
// Wasserstein-1 distance to the density at the same time. On the circle W_1 is along the circle; on
// S^{d-1} with an axisymmetric start it is that of the heights <x, e_1>. The rms moment distance
// falls like n^{-1/2} (propagation of chaos, theory.md A2); the slope of its logarithm is fitted
// with weights 1/error^2. Same numbers for any number of threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "attractor/flow/time.hpp"
#include "attractor/mean_field/circle_tokens.hpp"
#include "attractor/mean_field/start_density.hpp"
#include "attractor/mean_field/zonal_density.hpp"

namespace attractor::meanfield {

struct ComparisonRow {
  std::size_t tokens = 0;
  double rms_moment = 0, rms_error = 0;  // of |E_n x - E x|, and its standard error
  double mean_w1 = 0, w1_error = 0;
};

struct ComparisonPlan {
  std::vector<std::size_t> tokens{};  // each at least 2
  std::size_t replicates = 32;        // at least 2
  std::uint64_t seed = 0;
  double tolerance = 1e-8;
  std::function<bool()> stop{};
  /// Rows of these numbers of tokens that are there already, and those that are made now.
  std::function<std::optional<ComparisonRow>(std::size_t tokens)> known{};
  std::function<void(const ComparisonRow&)> finished{};
};

struct Slope {
  double value = 0, error = 0;
};

struct Comparison {
  std::vector<ComparisonRow> rows{};
  Slope moment_slope, w1_slope;  // in ln n; NaN for a single n
  bool complete = true;          // false: stopped, or a run did not reach its time
};

/// `density`: angles of the mean field at that time, with weights.
Comparison compare_circle(const CircleLaw& law, const CircleAttention& attention,
                          const flow::Time& time, const WeightedPoints& density,
                          const ComparisonPlan& plan);

/// `density`: polar angles of the mean field at that time, with weights. Cost O(n^2 d) a drift.
Comparison compare_zonal(const ZonalLaw& law, const ZonalAttention& attention,
                         const flow::Time& time, const WeightedPoints& density,
                         const ComparisonPlan& plan);

/// The weighted least-squares slope of ln(value) in ln(n); errors are standard errors of values.
Slope log_slope(std::span<const double> n, std::span<const double> values,
                std::span<const double> errors);

}  // namespace attractor::meanfield
