#include "attractor/attention/query_key.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/space/space.hpp"

namespace attractor {
namespace {

/// Both factors of the square root of d in rms fall to queries and keys alike.
double normed_length(QueryKeyNorm norm, std::size_t dim) {
  return norm == QueryKeyNorm::rms ? std::pow(static_cast<double>(dim), 0.25) : 1;
}

void treat(const QueryKey& query_key, const std::vector<double>& gain, std::span<double> rows,
           std::size_t dim) {
  if (query_key.norm != QueryKeyNorm::none) {
    const double length = normed_length(query_key.norm, dim);
    for (std::size_t i = 0; i < rows.size(); i += dim) {
      const auto row = rows.subspan(i, dim);
      const double size = norm(row);
      if (size > 0)
        for (double& x : row) x *= length / size;
    }
  }
  if (!gain.empty())
    for (std::size_t i = 0; i < rows.size(); ++i) rows[i] *= gain[i % dim];
  if (query_key.rotary.present()) turn_rows(query_key.rotary, rows, dim);
}

double largest(const std::vector<double>& gain) {
  double most = gain.empty() ? 1 : 0;
  for (const double g : gain) most = std::max(most, std::abs(g));
  return most;
}

void check_gain(const std::vector<double>& gain, std::size_t dim, const char* whose) {
  if (!gain.empty() && gain.size() != dim)
    throw Error(fmt::format("the gain of {} has {} numbers; their dimension {} is needed", whose,
                            gain.size(), dim));
  for (const double g : gain)
    if (!std::isfinite(g))
      throw Error(fmt::format("the gain of {} has {} in it; finite numbers are needed", whose, g));
}

void check_rotary(const Rotary& rotary, std::size_t dim) {
  const auto require = [](const char* what, double value, bool good, const char* allowed) {
    if (!good)
      throw Error(fmt::format("{} = {} is not allowed; allowed: {}", what, value, allowed));
  };
  if (dim % 2 != 0)
    throw Error(fmt::format(
        "rotary positions turn pairs of coordinates: queries and keys of dimension {} have no "
        "whole number of them; allowed: an even one",
        dim));
  require("rope-base", rotary.theta, rotary.theta > 1 && std::isfinite(rotary.theta), "above 1");
  require("rope-frequency", rotary.fastest, std::isfinite(rotary.fastest), "a finite number");
  const RotaryScaling& s = rotary.scaling;
  if (s.kind == RotaryStretch::none) return;
  require("rope-factor", s.factor, s.factor >= 1 && s.factor <= 1e6, "1 to 1e6");
  const bool by_length = s.kind != RotaryStretch::linear && s.kind != RotaryStretch::ntk;
  if (by_length) require("rope-trained", s.original_positions, s.original_positions > 0, "above 0");
}

}  // namespace

double QueryKey::bound(std::size_t dim) const {
  const double length = normed_length(norm, dim);
  const double scale = rotary.present() ? rotary_waves(rotary, dim, 1).scale : 1;
  return length * length * largest(query_gain) * largest(key_gain) * scale * scale;
}

void validate(const QueryKey& query_key, std::size_t dim) {
  check_gain(query_key.query_gain, dim, "queries");
  check_gain(query_key.key_gain, dim, "keys");
  if (query_key.rotary.present()) check_rotary(query_key.rotary, dim);
}

void treat_queries(const QueryKey& query_key, std::span<double> rows, std::size_t dim) {
  treat(query_key, query_key.query_gain, rows, dim);
}

void treat_keys(const QueryKey& query_key, std::span<double> rows, std::size_t dim) {
  treat(query_key, query_key.key_gain, rows, dim);
}

}  // namespace attractor
