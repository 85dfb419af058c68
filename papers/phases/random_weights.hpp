// Attention with random weights as in the phase diagrams of arXiv 2312.10794: B = Q^T K, of
// Gaussian matrices, Wigner or GOE, entries of variance 1; V = I or +-B / sqrt(d) (GOE: sqrt(d +
// 1)), drawn once or anew after every period; steps x_i <- normalise(x_i + 0.1 sum_j softmax V
// x_j).
//
// Our matrices have variance 1/d, so beta is ours over sqrt(d) and GOE takes shorter steps. The
// authors' script differs from that (`script`): it multiplies rows by V from the right, which is
// V^T x_j, another system if B is Gaussian; and its Wigner matrices are normal with variance 1 on
// the diagonal as well, where ours have random signs.
#pragma once

#include <string>

#include "papers/flow_run.hpp"
#include "papers/sample.hpp"

namespace attractor::papers {

struct RandomWeights {
  WeightKind kind;                          // of B: gaussian, wigner or goe
  WeightKind value = WeightKind::identity;  // V: identity, qk or minus_qk
  double redraw = 0;                        // period; 0: never
  bool script = false;                      // V = +-B^T instead of +-B; normal Wigner
  std::string words() const;
};

inline constexpr std::size_t kWeightsDim = 32;  // and as many tokens

/// The published scheme up to a time of the paper, with one output.
FlowSetup flow_setup(const RandomWeights& weights, double beta, double time, std::uint64_t seed);

/// Span dimension as the scripts have it: Gram eigenvalues above 1e-3, as they are.
double script_span(std::span<const double> tokens);

/// Share of close pairs and that span dimension at the end, over systems with weights and starts of
/// their own. converged: adaptive steps instead of the published ones.
struct Ends {
  Sampled share, span;
};
Ends ends_of(const RandomWeights& weights, double beta, double time, std::uint64_t systems,
             bool converged, const Effort& effort);

/// Twelve layers of the program, so that weights are drawn anew once if they are, against plain
/// arithmetic: largest distance of a token.
double textbook_error(const RandomWeights& weights, double beta, const Effort& effort);

}  // namespace attractor::papers
