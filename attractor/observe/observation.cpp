#include "attractor/observe/observation.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/observe/circle_pairs.hpp"
#include "attractor/observe/energy.hpp"
#include "attractor/observe/field_energy.hpp"
#include "attractor/observe/hemisphere.hpp"
#include "attractor/observe/pairs.hpp"
#include "attractor/observe/spectrum.hpp"

namespace attractor::observe {
namespace {

void observe_clusters(const Components& found, std::span<const double> masses, Observation& o) {
  std::vector<double> size(found.count, 0.0);
  for (std::size_t i = 0; i < masses.size(); ++i) size[found.label[i]] += masses[i];
  o.clusters = static_cast<double>(found.count);
  o.largest_cluster = *std::max_element(size.begin(), size.end());
  o.distinct_tokens = static_cast<double>(masses.size());
}

void observe_energy(const Attention& attention, double logit_bound, const Energy& e,
                    Observation& o) {
  o.log_energy = e.log_energy;
  o.energy = (attention.beta < 0 ? -1 : 1) * std::exp(e.log_energy);
  // Of consensus: the most there is, or for beta below 0 the least |E|.
  const double log_most = attention.beta == 0 ? -std::numbers::ln2
                                              : std::copysign(logit_bound, attention.beta) -
                                                    std::log(2 * std::abs(attention.beta));
  o.energy_ratio = attention.on_sphere ? std::exp(e.log_energy - log_most) : kNan;
  o.energy_relative_error = e.relative_error;
  o.energy_relative_unseen = e.relative_unseen;
  o.log_dissipation = e.log_dissipation;
  o.dissipation = std::exp(e.log_dissipation);
  o.dissipation_relative_error =
      std::isnan(e.log_dissipation) ? kNan : e.dissipation_relative_error;
  o.dissipation_relative_unseen =
      std::isnan(e.log_dissipation) ? kNan : e.dissipation_relative_unseen;
  o.attention_entropy = e.entropy;
  o.attention_entropy_error = e.entropy_error;
  o.attention_entropy_unseen = e.entropy_unseen;
  o.sampled = e.sampled ? 1 : 0;
}

}  // namespace

std::span<const Column> columns() {
  static const Column list[] = {
      {"time", "time t (0 or infinity where a double cannot hold it)", &Observation::time},
      {"log10_time", "log10 of t", &Observation::log10_time},
      {"mean_cosine", "mean of <x_i,x_j> over i != j", &Observation::mean_cosine},
      {"one_minus_mean_cosine", "1 - mean_cosine without cancellation",
       &Observation::one_minus_mean_cosine},
      {"pair_fraction", "fraction of pairs i != j with cosine >= the pair threshold",
       &Observation::pair_fraction},
      {"pair_fraction_error", "its standard error (0: exact)", &Observation::pair_fraction_error},
      {"smallest_cosine", "smallest cosine of a pair", &Observation::smallest_cosine},
      {"largest_angle", "largest angle of a pair, radians", &Observation::largest_angle},
      {"order_parameter", "|sum x_i| / n (Kuramoto)", &Observation::order_parameter},
      {"clusters", "connected components at the cluster angle", &Observation::clusters},
      {"largest_cluster", "tokens in the largest component", &Observation::largest_cluster},
      {"distinct_tokens", "tokens the solver still moves separately",
       &Observation::distinct_tokens},
      {"energy", "E = sum_ij e^{beta <x_i,x_j>} / (2 beta n^2)", &Observation::energy},
      {"log_energy", "ln E", &Observation::log_energy},
      {"energy_ratio", "E / (e^beta / 2 beta), 1 at consensus", &Observation::energy_ratio},
      {"energy_relative_error", "relative standard error of E (0: exact)",
       &Observation::energy_relative_error},
      {"energy_relative_unseen", "what clusters that the rows miss may add to E, relative, at most",
       &Observation::energy_relative_unseen},
      {"dissipation", "dE/dt along the flow", &Observation::dissipation},
      {"log_dissipation", "ln dE/dt", &Observation::log_dissipation},
      {"dissipation_relative_error", "relative standard error of dE/dt (0: exact)",
       &Observation::dissipation_relative_error},
      {"dissipation_relative_unseen", "what clusters that the rows miss may add to it, at most",
       &Observation::dissipation_relative_unseen},
      {"attention_entropy", "mean entropy of the softmax rows, nats",
       &Observation::attention_entropy},
      {"attention_entropy_error", "its standard error (0: exact)",
       &Observation::attention_entropy_error},
      {"attention_entropy_unseen", "by how much clusters that the rows miss may change it, at most",
       &Observation::attention_entropy_unseen},
      {"effective_rank", "exp(entropy of the Gram spectrum)", &Observation::effective_rank},
      {"effective_rank_error", "its error where few of many tokens are taken (0: exact)",
       &Observation::effective_rank_error},
      {"span_dimension", "Gram eigenvalues above 1e-3 of the largest",
       &Observation::span_dimension},
      {"hemisphere", "1: all tokens in one open hemisphere", &Observation::hemisphere},
      {"hemisphere_depth", "largest min_i <x_i,w> over unit w, if positive",
       &Observation::hemisphere_depth},
      {"mean_norm", "mean length |x_i|", &Observation::mean_norm},
      {"layer_cosine", "mean cosine of a token and what one more layer makes of it",
       &Observation::layer_cosine},
      {"sampled", "1: what has an error above 0 comes from random rows", &Observation::sampled},
  };
  return list;
}

Observation observe(const Attention& attention, double logit_bound, std::span<const double> tokens,
                    std::span<const double> masses, const flow::Time& time,
                    const ObserveOptions& options, bool thorough, Details* details) {
  const std::size_t dim = attention.dim, n = masses.size();
  Observation o;
  o.time = time.value();
  o.log10_time = time.log() / std::numbers::ln10;
  const MeanCosine mean = mean_cosine(tokens, dim, masses);
  o.mean_cosine = mean.mean_cosine;
  o.one_minus_mean_cosine = mean.one_minus_mean_cosine;
  o.order_parameter = mean.order_parameter;
  // Many tokens on the circle: what would be estimated elsewhere is exact in their order.
  std::optional<CircleOrder> order;
  const bool many = n > std::max<std::size_t>(std::min(options.exact_limit, options.many), 512);
  if (dim == 2 && many) order = circle_order(tokens);
  const bool histogram = details != nullptr;
  const PairStatistics pairs =
      order ? circle_pair_statistics(*order, tokens, masses, options.pair_threshold, histogram)
            : pair_statistics(tokens, dim, masses, options.pair_threshold, options.seed,
                              options.exact_limit, histogram);
  o.pair_fraction = pairs.fraction;
  o.pair_fraction_error = pairs.fraction_error;
  o.smallest_cosine = pairs.smallest_cosine;
  o.largest_angle = pairs.largest_angle;
  Components found = order ? components_on_circle(*order, tokens, options.cluster_radius)
                           : components(tokens, dim, options.cluster_radius);
  observe_clusters(found, masses, o);
  if (details != nullptr) *details = {std::move(found), pairs.histogram};
  std::optional<Energy> summed;
  if (many) summed = field_energy(attention, tokens, masses, order ? &*order : nullptr);
  if (!summed && n > options.exact_limit) summed = clumped_energy(attention, tokens, masses);
  observe_energy(
      attention, logit_bound,
      summed ? *summed : energy(attention, tokens, masses, options.seed, options.exact_limit), o);
  o.effective_rank = o.effective_rank_error = o.span_dimension = kNan;
  if (thorough || std::min(n, dim) <= 128) {
    const Spectrum s = spectrum(tokens, dim, masses, options.seed);
    o.effective_rank = s.effective_rank;
    o.effective_rank_error = s.effective_rank_error;
    o.span_dimension = static_cast<double>(s.span_dimension);
  }
  o.hemisphere = o.hemisphere_depth = kNan;
  if (thorough || n * dim <= 20'000) {
    const Hemisphere h = hemisphere(tokens, dim);
    o.hemisphere = h.decided ? (h.inside ? 1 : 0) : kNan;
    o.hemisphere_depth = h.depth;
  }
  return o;
}

}  // namespace attractor::observe
