// One attention layer in long context: n unit tokens with common cosine rho, inverse temperature
// beta = g ln n, output x' = b Att(x) + a x. By symmetry a token gives itself the weight p0 and
// every other one p, and everything follows in closed form for each n:
//
//   p0 = 1/(1 + (n-1) n^{-g(1-rho)}),  e = p0 - p,  c1 = a + b e,  c2 = b p,  s = 1 + (n-1) rho,
//   1 - cos_out = (1-rho) c1^2 / (c1^2 + M),   M = c2 s (2 c1 + n c2).
//
// As n grows, p0 jumps from 0 to 1 at g = 1/(1-rho): below, all outputs coincide (collapse); above,
// attention does nothing (identity) (Chen, Lin, Polyanskiy, Rigollet 2510.05554). At rho = 0 the
// mean of the tokens is as small as their noise: outputs stop coinciding at g = 1/2 already, while
// p0 still waits for g = 1; finite n with n rho <= 1 is like that, and judged like that.
//
// Sums of positive terms throughout (for rho >= 0): a gap of 1e-300 is as accurate as one of 0.5,
// for n from 2 to 1e300. Cost O(1).
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

namespace attractor::meanfield {

struct ContextLayer {
  double tokens = 1e4;   // n, 2 to 1e300
  double rho = 0.5;      // -1/(n-1) <= rho < 1
  double exponent = 2;   // g, 0 to 1e6
  double residual = 0;   // a, 0 to 1e6
  double attention = 1;  // b, 1e-6 to 1e6
};

enum class ContextPhase { collapse, critical, identity };
std::string_view name(ContextPhase phase);

struct ContextState {
  double beta = 0;
  double self_weight = 0, others_weight = 0, other_weight = 0;  // p0, 1 - p0, p
  double entropy = 0, entropy_ratio = 0;  // of a row of attention: nats, and over ln n
  double output_cosine = 0, gap = 0;      // of two outputs; 1 - cosine
  double angle_ratio = 0;                 // angle of two outputs over that of two tokens
  double output_norm = 0;                 // |x'|
  double attention_norm = 0;              // |Att(x)|
  // Backward: what a perturbation orthogonal to all tokens and of mean zero is multiplied by in
  // attention (p0 - p), and in attention followed by normalisation of its output.
  double value_gain = 0, normalised_gain = 0;
  // d cos_out / d rho at fixed beta: perturbations inside the span. Infinite where no double holds
  // it: rho = -1/(n-1) with n beyond 1e150.
  double slope = 0;
};

/// Throws Error on values outside the ranges above, and on the one output without a direction:
/// rho = -1/(n-1) with g = 0, where attention gives 0.
ContextState context_state(const ContextLayer& layer);

/// |dX'/dX|_F^2 / (n d) for tokens of squared norm q in R^d, normalised before attention, through
/// values, softmax and normalisation: X' = b Att(X/|X|) + (a/sqrt q) X. Needs d >= n, as n
/// equiangular tokens do (d = n - 1 for rho = -1/(n-1)), and 0 < q.
double backward_norm(const ContextLayer& layer, double dim, double squared_norm = 1);

struct ContextTransition {
  double critical_exponent = 0;  // 1/(1-rho), where p0 jumps as n -> infinity
  double half_exponent = 0;      // where p0 = 1/2 at this n
  double width = 0;              // in g, from p0 = 0.1 to 0.9
  double cosine_exponent = 0;    // where attention alone halves the gap 1 - cos, at this n
  ContextPhase weight = ContextPhase::critical;  // critical: p0 between 0.1 and 0.9
  // The same, unless n rho <= 1: there critical means gap_out / gap_in between 0.1 and 0.9.
  ContextPhase phase = ContextPhase::critical;
};
ContextTransition context_transition(const ContextLayer& layer);

/// n -> infinity at fixed rho (a negative one, which small n only allow, counts as 0), in the
/// phases given; backward: squared_norm = 1, d = n. The slope diverges at criticality; at rho = 0
/// it is not stated (NaN).
struct ContextLimit {
  double self_weight = 0, output_cosine = 0, normalised_gain = 0, slope = 0, backward_norm = 0;
};
ContextLimit context_limit(const ContextLayer& layer, ContextPhase weight, ContextPhase phase);

/// 1 - cos_out near criticality without residual, as n -> infinity with z = (g - g_c)(1-rho) ln n
/// fixed; rho > 0.
double scaling_gap(double rho, double z);

/// Several layers: outputs are normalised and attended again with the same beta. The cosine grows
/// and with it the critical exponent, so that a stack that starts in the identity phase can run
/// away into collapse.
struct ContextDepth {
  struct Layer {
    double critical_exponent;  // of the tokens that enter
    double self_weight, output_cosine, gap;
  };
  std::vector<Layer> layers;
  std::optional<std::size_t> runaway;   // first layer (from 1) that is entered in collapse
  std::optional<std::size_t> collapse;  // first layer that is left with a cosine above 0.999
};
ContextDepth context_depth(const ContextLayer& layer, std::size_t layers);

}  // namespace attractor::meanfield
