#include "attractor/long_context/long_context.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::meanfield {
namespace {

/// A cosine and its distance from 1, each with all its digits.
struct Cosine {
  double value, gap;
  double root;  // of the gap, which may be too small for a double itself
};

double angle(const Cosine& c) { return 2 * std::atan2(c.root, std::sqrt(1 + c.value)); }

void require(const char* what, double value, bool good, const std::string& allowed) {
  if (!good) throw Error(fmt::format("{} = {} is not allowed; allowed: {}", what, value, allowed));
}

void validate(const ContextLayer& l) {
  require("tokens", l.tokens, l.tokens >= 2 && l.tokens <= 1e300, "2 to 1e300");
  const double least = -1 / (l.tokens - 1);
  require("rho", l.rho, l.rho >= least * (1 + 1e-12) && l.rho < 1,
          fmt::format("{} = -1/(tokens - 1) to below 1", least));
  require("exponent", l.exponent, l.exponent >= 0 && l.exponent <= 1e6, "0 to 1e6");
  require("residual", l.residual, l.residual >= 0 && l.residual <= 1e6, "0 to 1e6");
  require("attention", l.attention, l.attention >= 1e-6 && l.attention <= 1e6, "1e-6 to 1e6");
}

struct Weights {
  double log_odds;   // ln(p0 / (1 - p0))
  double p0, q0, p;  // own, all others together, each other
  double e;          // p0 - p
};

Weights weights(const ContextLayer& l, double gap) {
  const double n = l.tokens;
  // Written relative to criticality, where the two large logarithms would cancel.
  const double x = std::fma(l.exponent, gap, -1.0) * std::log(n) - std::log1p(-1 / n);
  const double p0 = 1 / (1 + std::exp(-x)), q0 = 1 / (1 + std::exp(x));
  const double e = -p0 * std::expm1(-l.exponent * gap * std::log(n));
  return {.log_odds = x, .p0 = p0, .q0 = q0, .p = q0 / (n - 1), .e = e};
}

/// a x_i + Att_i = c1 x_i + p sum_j x_j: attention with the residual a, in units of b.
struct Output {
  double c1;      // a + e
  double s;       // |sum_j x_j|^2 / n
  double common;  // sqrt(M): what all outputs share
  double norm;

  Output(const ContextLayer& l, const Weights& w, double cosine, double a)
      : c1(a + w.e), s(std::max(0.0, std::fma(l.tokens - 1, cosine, 1.0))) {
    // Root by root: the product may be too small for a double.
    common = std::sqrt(w.p) * std::sqrt(s) * std::sqrt(2 * c1 + l.tokens * w.p);
    norm = std::hypot(c1, common);
  }
  /// Squared: what 1 - cos is multiplied by.
  double contraction() const { return norm > 0 ? c1 / norm : 0; }
};

Output whole_output(const ContextLayer& l, const Weights& w, double cosine) {
  return Output(l, w, cosine, l.residual / l.attention);
}

Cosine output_cosine(const Output& out, const Cosine& in) {
  const double kept = out.contraction(), common = out.common / out.norm;
  return {kept * kept * in.value + common * common, kept * kept * in.gap, kept * in.root};
}

double row_entropy(const Weights& w, double tokens) {
  const double x = w.log_odds, small = std::log1p(std::exp(-std::abs(x)));
  const double own = std::max(0.0, -x) + small, others = std::max(0.0, x) + small;
  return w.p0 * own + w.q0 * (others + std::log(tokens - 1));
}

/// R = M / c1^2 has the derivative (n-1) k (2 + n k) + 2 s k' (1 + n k) with k = p / c1 and
/// k' = beta p0 p (1 + a) / c1^2; multiplied out so that c1 may vanish.
double slope(const ContextLayer& l, const Weights& w, const Output& out, const Cosine& in) {
  const double n = l.tokens, beta = l.exponent * std::log(n), c = out.contraction();
  const double others = n * w.p / out.norm;
  const double by_sum = (n - 1) / n * others * c * c * (2 * c + others);
  const double pull = beta * w.p0 * (1 + l.residual / l.attention) / out.norm;
  const double by_weight = 2 * (out.s * w.p / out.norm) * pull * c * (c + others);
  return c * c + in.gap * (by_sum + by_weight);
}

Cosine input(const ContextLayer& l) { return {l.rho, 1 - l.rho, std::sqrt(1 - l.rho)}; }

ContextPhase phase_of(double share) {
  if (share < 0.1) return ContextPhase::collapse;
  return share > 0.9 ? ContextPhase::identity : ContextPhase::critical;
}

double limit_weight(ContextPhase phase) {
  if (phase == ContextPhase::critical) return 0.5;
  return phase == ContextPhase::identity ? 1 : 0;
}

}  // namespace

std::string_view name(ContextPhase phase) {
  if (phase == ContextPhase::collapse) return "collapse";
  return phase == ContextPhase::critical ? "critical" : "identity";
}

ContextState context_state(const ContextLayer& layer) {
  validate(layer);
  const Cosine in = input(layer);
  const Weights w = weights(layer, in.gap);
  const Output attention(layer, w, in.value, 0);
  const Output out = whole_output(layer, w, in.value);
  if (attention.norm == 0)
    throw Error(
        fmt::format("rho = {} with exponent = 0 makes attention exactly zero; allowed: a "
                    "larger rho or exponent",
                    layer.rho));
  const Cosine cosine = output_cosine(out, in);
  const double entropy = row_entropy(w, layer.tokens), log_n = std::log(layer.tokens);
  return {.beta = layer.exponent * log_n,
          .self_weight = w.p0,
          .others_weight = w.q0,
          .other_weight = w.p,
          .entropy = entropy,
          .entropy_ratio = entropy / log_n,
          .output_cosine = cosine.value,
          .gap = cosine.gap,
          .angle_ratio = angle(cosine) / angle(in),
          .output_norm = layer.attention * out.norm,
          .attention_norm = attention.norm,
          .value_gain = w.e,
          .normalised_gain = attention.contraction(),
          .slope = slope(layer, w, out, in)};
}

// The Jacobian of Att_i with respect to x_i is (p0 + beta C) P_i, C the covariance of the attended
// tokens, and with respect to x_j it is p (1 + beta u x_i^T) P_j, u = x_j - Att_i; P: projections.
double backward_norm(const ContextLayer& layer, double dim, double squared_norm) {
  validate(layer);
  const double n = layer.tokens, rho = layer.rho, gap = 1 - rho;
  const double least = std::max(2.0, std::fma(n - 1, rho, 1.0) < 1e-9 ? n - 1 : n);
  require("dim", dim, dim >= least && dim <= 1e300, fmt::format("{} to 1e300", least));
  require("squared norm", squared_norm, squared_norm > 0 && squared_norm <= 1e12,
          "above 0 to 1e12");
  const Weights w = weights(layer, gap);
  const double beta = layer.exponent * std::log(n), b = beta * gap, p0 = w.p0, q0 = w.q0, p = w.p;
  const double m = n - 2, rest = m * p;  // rest: the weight of all but two tokens
  // tr(C P) and |C P|_F^2, each divided by the power of gap that b supplies.
  const double spread = q0 * (1 - p + p0 * rho);
  const double own_column = p0 * p0 * q0 * (q0 + p);
  const double square =
      q0 * p * ((1 - p) * (1 - p) + p0 * p0) + q0 * q0 * p * p * (m / (n - 1)) + rho * own_column;
  const double own = p0 * p0 * (dim - 1) + 2 * p0 * b * spread + b * b * square;
  // In the plane of P_j x_i and u; d - 2 directions see the value path only.
  const double along = 1 - b * (p0 * (1 + rho) + rest * rho);
  const double across =
      gap * (1 + rho) * p0 * (p0 + 2 * rest) + rest * rest * (1 + rho * gap) + (1 + rho) * rest * p;
  const double other = q0 * p * ((dim - 2) + along * along + b * b * across);
  const double trace = p0 * (dim - 1) + b * spread;
  const double alpha = layer.residual / std::sqrt(squared_norm), v = layer.attention;
  return v * v * ((own + other) / dim) / squared_norm +
         2 * alpha * v * (trace / dim) / std::sqrt(squared_norm) + alpha * alpha;
}

ContextTransition context_transition(const ContextLayer& layer) {
  validate(layer);
  const Cosine in = input(layer);
  const double n = layer.tokens, scale = in.gap * std::log(n);
  const Weights w = weights(layer, in.gap);
  const Output alone(layer, w, in.value, 0);
  ContextTransition t{
      .critical_exponent = 1 / in.gap,
      .half_exponent = std::log(n - 1) / scale,
      .width = 2 * std::log(9.0) / scale,
      // e^{beta gap} = 1 + e/p solves M = e^2, a quadratic equation in p/e.
      .cosine_exponent = std::log1p(alone.s + std::sqrt(alone.s) * std::sqrt(alone.s + n)) / scale,
      .weight = phase_of(w.p0)};
  const double kept = alone.contraction() * alone.contraction();
  t.phase = n * layer.rho <= 1 ? phase_of(kept) : t.weight;
  return t;
}

ContextLimit context_limit(const ContextLayer& layer, ContextPhase weight, ContextPhase phase) {
  const double rho = std::max(0.0, layer.rho), a = layer.residual, b = layer.attention;
  const double p0 = limit_weight(weight), q0 = 1 - p0, c1 = a + b * p0;
  ContextLimit limit{.self_weight = p0, .backward_norm = (b * p0 + a) * (b * p0 + a)};
  if (rho == 0) {
    const double kept = limit_weight(phase);  // at g = 1/2 half of the gap is left
    limit.output_cosine = a > 0 ? 0 : 1 - kept;
    limit.normalised_gain = std::sqrt(kept);
    limit.slope = kNan;
    return limit;
  }
  const double common = rho * b * q0 * (2 * c1 + b * q0), squared = c1 * c1 + common;
  limit.output_cosine = (c1 * c1 * rho + common) / squared;
  limit.normalised_gain = p0 / std::sqrt(p0 * p0 + rho * q0 * (1 + p0));
  limit.slope = weight == ContextPhase::critical
                    ? kInfinity
                    : c1 * c1 / squared * (1 + (1 - rho) * b * q0 * (2 * c1 + b * q0) / squared);
  return limit;
}

double scaling_gap(double rho, double z) {
  require("rho", rho, rho > 0 && rho < 1, "above 0, below 1");
  const double p0 = 1 / (1 + std::exp(-z)), u = p0 * p0;
  return u * (1 - rho) / (rho + u * (1 - rho));
}

ContextDepth context_depth(const ContextLayer& layer, std::size_t layers) {
  context_state(layer);  // refuses what has no output
  ContextDepth depth;
  Cosine in = input(layer);
  for (std::size_t k = 1; k <= layers; ++k) {
    const Weights w = weights(layer, in.gap);
    const Output out = whole_output(layer, w, in.value);
    const double alone = Output(layer, w, in.value, 0).contraction();
    const double share = layer.tokens * in.value <= 1 ? alone * alone : w.p0;
    if (!depth.runaway && phase_of(share) == ContextPhase::collapse) depth.runaway = k;
    const Cosine next = output_cosine(out, in);
    depth.layers.push_back({1 / in.gap, w.p0, next.value, next.gap});
    if (!depth.collapse && next.gap < 1e-3) depth.collapse = k;
    in = next;
  }
  return depth;
}

}  // namespace attractor::meanfield
