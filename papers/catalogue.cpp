#include "papers/catalogue.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "attractor/base/error.hpp"

namespace attractor::papers {

// Each is defined in the file of its name: folder/name.cpp has name::entry().
// clang-format off

// phases/
namespace phase_circle { Entry entry(); }
namespace phase_sphere { Entry entry(); }
namespace phase_unnormalised { Entry entry(); }
namespace phase_weights { Entry entry(); }
namespace equiangular_curve { Entry entry(); }

// clustering/
namespace sphere_film { Entry entry(); }
namespace gradient_flow_energy { Entry entry(); }
namespace emergence_shapes { Entry entry(); }
namespace hardmax_cells { Entry entry(); }
namespace frank_wolfe { Entry entry(); }
namespace negative_beta { Entry entry(); }
namespace weighted_rearrangement { Entry entry(); }
namespace hemisphere_collapse { Entry entry(); }
namespace one_cluster { Entry entry(); }
namespace every_engine { Entry entry(); }

// layers/
namespace normalisation_rates { Entry entry(); }
namespace feed_forward { Entry entry(); }
namespace exclusive_self_attention { Entry entry(); }
namespace hardmax_without_self { Entry entry(); }
namespace twisted_states { Entry entry(); }
namespace query_key_norm { Entry entry(); }

// metastability/
namespace energy_staircase { Entry entry(); }
namespace two_cluster_lifetime { Entry entry(); }
namespace metastable_clusters { Entry entry(); }
namespace multiscale { Entry entry(); }
namespace heat_flow { Entry entry(); }
namespace pairing { Entry entry(); }
namespace causal_leaders { Entry entry(); }
namespace causal_values { Entry entry(); }
namespace attention_sink { Entry entry(); }
namespace cap_times { Entry entry(); }
namespace slow_manifold { Entry entry(); }

// limits/
namespace mean_field_limit { Entry entry(); }
namespace kuramoto { Entry entry(); }
namespace mode_count { Entry entry(); }
namespace porous_medium { Entry entry(); }
namespace gaussian_tokens { Entry entry(); }
namespace wasserstein_decay { Entry entry(); }
namespace several_clusters { Entry entry(); }
namespace erratum_fokker_planck_sign { Entry entry(); }
namespace erratum_redrawn_weights { Entry entry(); }

// noise/
namespace noise_transition { Entry entry(); }
namespace noise_shapes { Entry entry(); }

// context/
namespace critical_scaling { Entry entry(); }
namespace lost_in_the_middle { Entry entry(); }
namespace iid_keys { Entry entry(); }

// selection/
namespace single_input_global { Entry entry(); }
namespace single_input_local { Entry entry(); }
namespace multi_input { Entry entry(); }
namespace attention_probability { Entry entry(); }
namespace joint_training { Entry entry(); }
namespace loss_comparison { Entry entry(); }
namespace regularisation_path { Entry entry(); }
namespace prompt_weight_equivalence { Entry entry(); }
namespace descent_rates { Entry entry(); }
namespace necessity { Entry entry(); }
namespace feasibility { Entry entry(); }
namespace optimality_certificate { Entry entry(); }
namespace benign_overfitting { Entry entry(); }

// heads/
namespace nonlinear_head { Entry entry(); }
namespace multi_token { Entry entry(); }
namespace several_heads { Entry entry(); }

// margins/
namespace weights_or_factors { Entry entry(); }
namespace rank { Entry entry(); }
namespace mirror_descent { Entry entry(); }
namespace graph_svm { Entry entry(); }
namespace mixtures { Entry entry(); }
namespace optimiser_atlas { Entry entry(); }
namespace diagonal_factors { Entry entry(); }
namespace attention_markov_chain { Entry entry(); }

// models/
namespace trained_cosines { Entry entry(); }
namespace albert_cosines { Entry entry(); }
namespace without_feed_forward { Entry entry(); }
namespace sentence_baselines { Entry entry(); }
namespace planted_beta { Entry entry(); }
namespace trained_map { Entry entry(); }
namespace gloss_selection { Entry entry(); }
// clang-format on

namespace {

/// In the order of the gallery.
constexpr Entry (*kEntries[])() = {
    phase_circle::entry,
    phase_sphere::entry,
    phase_unnormalised::entry,
    phase_weights::entry,
    equiangular_curve::entry,
    every_engine::entry,
    sphere_film::entry,
    energy_staircase::entry,
    two_cluster_lifetime::entry,
    metastable_clusters::entry,
    multiscale::entry,
    heat_flow::entry,
    pairing::entry,
    gradient_flow_energy::entry,
    mean_field_limit::entry,
    kuramoto::entry,
    causal_leaders::entry,
    causal_values::entry,
    normalisation_rates::entry,
    critical_scaling::entry,
    noise_transition::entry,
    noise_shapes::entry,
    emergence_shapes::entry,
    lost_in_the_middle::entry,
    feed_forward::entry,
    hardmax_cells::entry,
    frank_wolfe::entry,
    negative_beta::entry,
    exclusive_self_attention::entry,
    hardmax_without_self::entry,
    attention_sink::entry,
    twisted_states::entry,
    query_key_norm::entry,
    weighted_rearrangement::entry,
    hemisphere_collapse::entry,
    one_cluster::entry,
    cap_times::entry,
    slow_manifold::entry,
    mode_count::entry,
    iid_keys::entry,
    porous_medium::entry,
    gaussian_tokens::entry,
    wasserstein_decay::entry,
    several_clusters::entry,
    erratum_fokker_planck_sign::entry,
    erratum_redrawn_weights::entry,
    single_input_global::entry,
    single_input_local::entry,
    multi_input::entry,
    attention_probability::entry,
    joint_training::entry,
    loss_comparison::entry,
    regularisation_path::entry,
    prompt_weight_equivalence::entry,
    descent_rates::entry,
    necessity::entry,
    feasibility::entry,
    nonlinear_head::entry,
    weights_or_factors::entry,
    rank::entry,
    mirror_descent::entry,
    multi_token::entry,
    mixtures::entry,
    several_heads::entry,
    graph_svm::entry,
    optimiser_atlas::entry,
    diagonal_factors::entry,
    attention_markov_chain::entry,
    optimality_certificate::entry,
    benign_overfitting::entry,
    trained_cosines::entry,
    albert_cosines::entry,
    without_feed_forward::entry,
    sentence_baselines::entry,
    planted_beta::entry,
    trained_map::entry,
    gloss_selection::entry,
};

std::vector<Entry> all_entries() {
  std::vector<Entry> entries;
  for (const auto& entry : kEntries) entries.push_back(entry());
  return entries;
}

}  // namespace

const std::vector<Entry>& catalogue() {
  static const std::vector<Entry> entries = all_entries();
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

Json catalogue_json() {
  Json all = Json::array();
  for (const Entry& e : catalogue())
    all.push_back({{"id", e.id}, {"title", e.title}, {"source", e.source}, {"shows", e.shows}});
  return all;
}

}  // namespace attractor::papers
