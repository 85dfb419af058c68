#include "papers/catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attractor/base/error.hpp"

namespace attractor::papers {

// Each is defined in the file of its name.

// clustering/
Entry phase_circle(), phase_sphere(), phase_unnormalised(), phase_weights(), equiangular_curve(),
    sphere_film(), gradient_flow_energy(), normalisation_rates(), emergence_shapes(),
    feed_forward(), hardmax_cells(), frank_wolfe();

// metastability/
Entry energy_staircase(), two_cluster_lifetime(), metastable_clusters(), multiscale(), heat_flow(),
    pairing(), causal_leaders();

// limits/
Entry mean_field_limit(), kuramoto(), critical_scaling(), noise_transition(), lost_in_the_middle();

// selection/
Entry single_input_global(), single_input_local(), multi_input(), attention_probability(),
    joint_training(), loss_comparison(), regularisation_path(), prompt_weight_equivalence(),
    descent_rates(), necessity(), feasibility(), nonlinear_head(), multi_token(),
    optimality_certificate();

// margins/
Entry weights_or_factors(), rank(), mirror_descent(), graph_svm();

const std::vector<Entry>& catalogue() {
  static const std::vector<Entry> entries = {
      phase_circle(),
      phase_sphere(),
      phase_unnormalised(),
      phase_weights(),
      equiangular_curve(),
      sphere_film(),
      energy_staircase(),
      two_cluster_lifetime(),
      metastable_clusters(),
      multiscale(),
      heat_flow(),
      pairing(),
      gradient_flow_energy(),
      mean_field_limit(),
      kuramoto(),
      causal_leaders(),
      normalisation_rates(),
      critical_scaling(),
      noise_transition(),
      emergence_shapes(),
      lost_in_the_middle(),
      feed_forward(),
      hardmax_cells(),
      frank_wolfe(),
      single_input_global(),
      single_input_local(),
      multi_input(),
      attention_probability(),
      joint_training(),
      loss_comparison(),
      regularisation_path(),
      prompt_weight_equivalence(),
      descent_rates(),
      necessity(),
      feasibility(),
      nonlinear_head(),
      weights_or_factors(),
      rank(),
      mirror_descent(),
      multi_token(),
      graph_svm(),
      optimality_certificate(),
  };
  return entries;
}

const Entry& entry_named(const std::string& id) {
  const std::vector<Entry>& all = catalogue();
  const auto at = std::find_if(all.begin(), all.end(), [&](const Entry& e) { return e.id == id; });
  if (at != all.end()) return *at;
  std::vector<std::string> ids;
  for (const Entry& e : all) ids.push_back(e.id);
  throw Error(
      fmt::format("'{}' is not in the catalogue; allowed: all, {}", id, fmt::join(ids, ", ")));
}

}  // namespace attractor::papers
