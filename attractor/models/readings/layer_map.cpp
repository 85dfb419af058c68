#include "attractor/models/readings/layer_map.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/base/numbers.hpp"
#include "attractor/long_context/long_context.hpp"
#include "attractor/reductions/equiangular_layers.hpp"

namespace attractor::models {
namespace {

/// Cosines that n equiangular tokens can have and leave again.
bool reachable(double tokens, double cosine) {
  return tokens >= 2 && cosine > -1 / (tokens - 1) && cosine < meanfield::kLargestLevel;
}

}  // namespace

double joint_beta(std::span<const double> betas, double tokens, double cosine) {
  // In logarithms of 1/p - (n - 1) = e^{beta w}: beta of 1000 is as good as one of 1.
  const double gap = 1 - cosine, others = tokens - 1;
  double mean = 0, count = 0, smallest = kInfinity;
  for (const double beta : betas)
    if (!std::isnan(beta)) {
      mean += 1 / (std::exp(beta * gap) + others);
      smallest = std::min(smallest, beta);
      count += 1;
    }
  if (count == 0 || !(gap > 0)) return kNan;
  mean /= count;
  // Where no weight is left in a double, the smallest beta decides, and shares with the rest.
  if (!(mean > 0)) return smallest + std::log(count) / gap;
  return std::log(std::max(1 / mean - others, 1e-300)) / gap;
}

double written_length(const LayerPlace& place) {
  if (!reachable(place.tokens, place.cosine) || std::isnan(place.beta)) return kNan;
  const double beta = std::max(place.beta, 0.0);
  const meanfield::ContextLayer layer{
      .tokens = place.tokens, .rho = place.cosine, .exponent = beta / std::log(place.tokens)};
  return meanfield::context_state(layer).attention_norm;
}

double predicted_cosine(const LayerPlace& place) {
  if (!reachable(place.tokens, place.cosine) || !(place.step >= 1e-9 && place.step <= 1e6))
    return kNan;
  const meanfield::Equiangular e{
      .tokens = place.tokens, .beta = std::clamp(place.beta, 0.0, 1e6), .cosine0 = place.cosine};
  return meanfield::layers(e, place.step, 1).back().cosine;
}

double effective_time(const LayerPlace& from, double cosine_after) {
  if (!reachable(from.tokens, from.cosine) || !reachable(from.tokens, cosine_after)) return kNan;
  const double low = std::min(from.cosine, cosine_after),
               high = std::max(from.cosine, cosine_after);
  if (low == high) return 0;
  const meanfield::EquiangularFlow flow(
      {.tokens = from.tokens, .beta = std::clamp(from.beta, 0.0, 1e6), .cosine0 = low});
  const double time = flow.arrival(high).time();
  return cosine_after >= from.cosine ? time : -time;
}

}  // namespace attractor::models
