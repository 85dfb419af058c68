// All fields of an observation, for those that keep it (lab/pieces.hpp).
#pragma once

#include <tuple>

#include "attractor/observe/observation.hpp"

namespace attractor::observe {

inline auto fields(Observation& value) {
  auto& [time, log10_time, mean_cosine, one_minus_mean_cosine, pair_fraction, pair_fraction_error,
         smallest_cosine, largest_angle, order_parameter, clusters, largest_cluster,
         distinct_tokens, energy, log_energy, energy_ratio, energy_relative_error,
         energy_relative_unseen, dissipation, log_dissipation, dissipation_relative_error,
         dissipation_relative_unseen, attention_entropy, attention_entropy_error,
         attention_entropy_unseen, effective_rank, effective_rank_error, span_dimension, hemisphere,
         hemisphere_depth, mean_norm, layer_cosine, sampled, more] = value;
  return std::tie(
      time, log10_time, mean_cosine, one_minus_mean_cosine, pair_fraction, pair_fraction_error,
      smallest_cosine, largest_angle, order_parameter, clusters, largest_cluster, distinct_tokens,
      energy, log_energy, energy_ratio, energy_relative_error, energy_relative_unseen, dissipation,
      log_dissipation, dissipation_relative_error, dissipation_relative_unseen, attention_entropy,
      attention_entropy_error, attention_entropy_unseen, effective_rank, effective_rank_error,
      span_dimension, hemisphere, hemisphere_depth, mean_norm, layer_cosine, sampled, more);
}

}  // namespace attractor::observe
