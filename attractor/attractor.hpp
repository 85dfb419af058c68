// Attractor, in one include. Public is what this header includes: calls that take arrays and
// numbers and return values, without files or figures; a change of what they mean stands in
// CHANGELOG.md. Other headers are installed because these need some of them; they may change any
// day.
#pragma once

#include "attractor/base/error.hpp"    // what bad input throws
#include "attractor/base/random.hpp"   // draws by seed, name and number
#include "attractor/base/threads.hpp"  // how many
#include "attractor/base/version.hpp"

// A flow of points on a space, one's own too, and the loop that runs it.
#include "attractor/flow/run.hpp"
#include "attractor/space/space.hpp"

// Tokens flow: where they start, attention, its flows, clusters of points at rest.
#include "attractor/attention/attention.hpp"
#include "attractor/attention/attention_layer.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/depth/layer_flow.hpp"
#include "attractor/depth/mean_shift/mean_shift.hpp"
#include "attractor/tokens/generators.hpp"

// Their limits: exact reductions, stability, densities, long contexts.
#include "attractor/long_context/long_context.hpp"
#include "attractor/mean_field/circle_density.hpp"
#include "attractor/reductions/cluster_pair.hpp"
#include "attractor/reductions/equiangular.hpp"
#include "attractor/stability/stability.hpp"

// Attention flows: training, and the margins it ends at, with proofs.
#include "attractor/solve/hard_margin.hpp"
#include "attractor/solve/norms/lp_margin.hpp"
#include "attractor/solve/nuclear/nuclear_margin.hpp"
#include "attractor/training/descent_flow.hpp"
#include "attractor/training/examples.hpp"
#include "attractor/training/margins/max_margin.hpp"

// What is measured on the way.
#include "attractor/observe/pairs.hpp"
#include "attractor/observe/spectrum.hpp"

// Whole runs, as the commands flow and select make them: a setup in, a record out.
#include "attractor/lab/flow/flow_experiment.hpp"
#include "attractor/lab/select/select_experiment.hpp"
