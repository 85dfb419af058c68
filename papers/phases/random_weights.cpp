#include "papers/phases/random_weights.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/attention/weights.hpp"
#include "attractor/observe/spectrum.hpp"
#include "attractor/space/space.hpp"
#include "papers/points.hpp"
#include "papers/textbook_layer.hpp"
#include "papers/token_walk.hpp"

namespace attractor::papers {
namespace {

constexpr std::size_t kDim = kWeightsDim;
constexpr double kStep = 0.1;

/// Symmetric, N(0, 1/d) everywhere: the script's Wigner matrices.
std::vector<double> normal_wigner(std::uint64_t seed, std::uint64_t period) {
  std::vector<double> b = draw_weights(WeightKind::goe, kDim, kDim, {seed, "query", period, 0});
  for (std::size_t i = 0; i < kDim; ++i) b[i * kDim + i] /= std::numbers::sqrt2;
  return b;
}

/// Q, K and V of a period. A script's V = +-B^T = +-K^T Q.
Head head_of(const RandomWeights& w, std::uint64_t seed, std::uint64_t period) {
  const FlowSetup p = flow_setup(w, 1, 1, seed);
  Head head = draw_head({p.query.drawn(), p.key.drawn(), p.value.drawn()}, kDim, seed, period, 0);
  if (w.script && w.kind == WeightKind::wigner) head.query = normal_wigner(seed, period);
  if (w.script)
    head.value = query_key_product(head.key, head.query, kDim, w.value == WeightKind::qk ? 1 : -1);
  return head;
}

/// Tokens at the end, layers of the library with the weights of each period in turn.
std::vector<double> script_end(const RandomWeights& w, double beta, double time, std::uint64_t seed,
                               const Effort& effort) {
  const FlowSetup p = flow_setup(w, beta, kStep, seed);
  Walk walk{.tokens = flow_of(p, effort).snapshots.front().positions,
            .stepper = flow::Method::layers};
  walk.architecture.layer.dim = kDim;
  walk.architecture.layer.beta = p.beta;
  const double period = w.redraw > 0 ? w.redraw : time;
  std::uint64_t number = 0;
  for (double left = time; left > kStep / 2 && !effort.context.stopped(); left -= period) {
    walk.architecture.layer.heads = {head_of(w, seed, number++)};
    walk.times = {std::min(period, left)};
    walk.tokens = states_of(walk, effort).back();
  }
  return walk.tokens;
}

double close_pairs(std::span<const double> tokens) {
  const std::size_t n = tokens.size() / kDim;
  double close = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (dot(row(tokens, kDim, i), row(tokens, kDim, j)) >= 0.999) close += 1;
  return 2 * close / static_cast<double>(n * (n - 1));
}

}  // namespace

double script_span(std::span<const double> tokens) {
  if (tokens.empty()) return 0;  // interrupted
  const std::vector<double> masses(tokens.size() / kDim, 1);
  return static_cast<double>(
      observe::count_above(observe::spectrum(tokens, kDim, masses, 0), 1e-3));
}

std::string RandomWeights::words() const {
  const std::string wigner = script ? "normal Wigner" : "Wigner";
  const std::string b = kind == WeightKind::goe      ? "GOE"
                        : kind == WeightKind::wigner ? wigner
                                                     : "Gaussian";
  const std::string v = value == WeightKind::identity ? "I" : value == WeightKind::qk ? "B" : "−B";
  return fmt::format("{} B, V = {}{}{}", b, v, script && kind == WeightKind::gaussian ? "ᵀ" : "",
                     redraw > 0 ? ", redrawn" : "");
}

FlowSetup flow_setup(const RandomWeights& w, double beta, double time, std::uint64_t seed) {
  const double dim = static_cast<double>(kDim);
  const double scale =
      w.kind == WeightKind::goe && w.value != WeightKind::identity ? std::sqrt(dim / (dim + 1)) : 1;
  FlowSetup p;
  p.tokens = kDim;
  p.dim = kDim;
  p.beta = beta * std::sqrt(dim);
  p.query = w.kind;
  if (w.kind == WeightKind::gaussian) p.key = w.kind;
  p.value = w.value;
  p.redraw = w.redraw * scale;
  p.seed = seed;
  p.time = time * scale;
  p.step = kStep * scale;
  p.stepper = flow::Method::layers;
  p.outputs = 1;
  p.output_spacing = lab::Spacing::linear;
  p.snapshots = 2;
  return p;
}

Ends ends_of(const RandomWeights& w, double beta, double time, std::uint64_t systems,
             bool converged, const Effort& effort) {
  std::vector<double> shares, spans;
  for (std::uint64_t seed = 0; seed < systems; ++seed) {
    if (w.script) {
      const std::vector<double> end = script_end(w, beta, time, seed, effort);
      shares.push_back(close_pairs(end));
      spans.push_back(script_span(end));
    } else {
      FlowSetup p = flow_setup(w, beta, time, seed);
      if (converged) p.stepper = flow::Method::adaptive, p.tolerance = 1e-4;
      const FlowRecord record = flow_of(p, effort);
      shares.push_back(record.series.back().pair_fraction);
      spans.push_back(script_span(record.snapshots.back().positions));
    }
    if (effort.context.stopped()) break;
  }
  return {sampled(shares), sampled(spans)};
}

double textbook_error(const RandomWeights& w, double beta, const Effort& effort) {
  const std::size_t layers = 12;
  const FlowSetup p = flow_setup(w, beta, kStep * static_cast<double>(layers), 0);
  const FlowRecord record = flow_of(p, effort);
  std::vector<double> tokens = record.snapshots.front().positions;
  for (std::size_t k = 0; k < layers; ++k) {
    const double period =
        w.redraw > 0 ? std::floor(kStep * (static_cast<double>(k) + 0.5) / w.redraw) : 0;
    const Head head = head_of(w, 0, static_cast<std::uint64_t>(period));
    tokens = textbook_layer(tokens, {kDim, p.beta, p.step,
                                     query_key_product(head.query, head.key, kDim, 1), head.value});
  }
  const std::vector<double> ours =
      w.script ? script_end(w, beta, p.time, 0, effort) : record.snapshots.back().positions;
  return largest_distance(tokens, ours, kDim);
}

}  // namespace attractor::papers
