// What rows of attention are made of and where their sums go; the sums themselves are defined in
// attention_rows.hpp.
#pragma once

#include <cstddef>
#include <span>

namespace attractor::kernels {

struct DistanceSources {
  std::size_t dim = 0;
  std::span<const double> points;  // n x dim
  std::span<const double> values;  // n x dim; empty: the points themselves
  std::span<const double> masses;  // n
  double beta = 0;
  double shift = 0;
};

struct LogitSources {
  std::size_t dim = 0;
  std::span<const double> queries, keys, values;  // n x dim each
  std::span<const double> masses;                 // n
  double beta = 0;
};

/// Where the sums go; an empty span is not computed (`weight` and, for logit rows, `peak` always
/// are).
struct RowSums {
  std::span<double> pull;    // rows x dim
  std::span<double> weight;  // rows
  std::span<double> moment;  // rows
  std::span<double> peak;    // rows
};

}  // namespace attractor::kernels
