// Every experiment of the catalogue: one function, defined in the file of the same name.
#pragma once

#include "papers/catalogue.hpp"

namespace attractor::papers {

Entry phase_circle();
Entry phase_sphere();
Entry phase_unnormalised();
Entry phase_weights();
Entry equiangular_curve();
Entry sphere_film();
Entry energy_staircase();
Entry two_cluster_lifetime();
Entry metastable_clusters();
Entry multiscale();
Entry heat_flow();
Entry gradient_flow_energy();
Entry mean_field_limit();
Entry kuramoto();
Entry causal_leaders();
Entry normalisation_rates();
Entry critical_scaling();
Entry noise_transition();
Entry emergence_shapes();
Entry lost_in_the_middle();
Entry feed_forward();
Entry hardmax_cells();
Entry frank_wolfe();
Entry single_input_global();
Entry single_input_local();
Entry multi_input();
Entry attention_probability();
Entry joint_training();
Entry loss_comparison();
Entry regularisation_path();
Entry prompt_weight_equivalence();
Entry descent_rates();
Entry necessity();
Entry feasibility();
Entry nonlinear_head();
Entry weights_or_factors();
Entry rank();
Entry mirror_descent();
Entry multi_token();
Entry graph_svm();
Entry optimality_certificate();

}  // namespace attractor::papers
