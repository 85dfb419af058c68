// What theory says beside a live flow: how many clusters the fastest mode of the uniform state
// makes, when the two closest clusters merge by the exact law of a pair, and the cosine that
// equiangular tokens would have.
#pragma once

#include <span>

#include "web/core/live_flow.hpp"

namespace attractor::web {

/// predicted_clusters, growth_time of the fastest mode; equiangular: [log10 t, cosine] of as many
/// tokens that start orthogonal. null where a law does not cover the setup (other rules, masks,
/// noise, lengths).
lab::Json theory(const LiveFlow& flow);

/// The pair of clusters that merges first if every pair were alone: masses, cosine, and log10 of
/// the time that takes from now on; null with fewer than two clusters or more than 400.
lab::Json next_merge(const LiveFlow& flow);

}  // namespace attractor::web
