#include "attractor/attention/logit_scale.hpp"

#include <array>
#include <cmath>

namespace attractor {

std::span<const std::string_view> names(QueryNorm) {
  static constexpr std::array<std::string_view, 3> kAll = {"none", "l2", "rms"};
  return kAll;
}

double beta_of(const LogitScale& s) {
  switch (s.norm) {
    case QueryNorm::l2:
      return s.query_gain * s.key_gain / s.temperature;
    case QueryNorm::rms:
      return s.query_gain * s.key_gain * std::sqrt(s.head_dim) / s.temperature;
    default:
      return s.query_length * s.key_length / (std::sqrt(s.head_dim) * s.temperature);
  }
}

double gain_for(double beta, const LogitScale& s) {
  const double product = beta * s.temperature;
  if (s.norm == QueryNorm::l2) return product;
  if (s.norm == QueryNorm::rms) return std::sqrt(product / std::sqrt(s.head_dim));
  return product * std::sqrt(s.head_dim);  // |q| |k|
}

}  // namespace attractor
