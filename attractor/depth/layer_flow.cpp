#include "attractor/depth/layer_flow.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "attractor/attention/attention.hpp"
#include "attractor/attention/weights.hpp"
#include "attractor/base/eigen.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/matrix_exponential.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::depth {
namespace {

std::vector<double> product(const std::vector<double>& left, const RowMajor& right) {
  if (left.empty()) return {right.data(), right.data() + right.size()};
  const Eigen::Index d = right.rows(), rows = static_cast<Eigen::Index>(left.size()) / d;
  std::vector<double> result(left.size());
  Eigen::Map<RowMajor>(result.data(), rows, d).noalias() =
      Eigen::Map<const RowMajor>(left.data(), rows, d) * right;
  return result;
}

/// The same layer, with logits of e^{tV} z where it is given z.
AttentionLayer rescaled_layer(AttentionLayer layer, double time) {
  const auto d = static_cast<Eigen::Index>(layer.dim);
  Head& head = layer.heads.front();
  RowMajor growth = RowMajor::Identity(d, d);
  // Beyond e^{230} softmax is hardmax to the last digit, and logits would leave the range.
  const bool saturates = layer.rule == Rule::softmax || layer.rule == Rule::hardmax;
  if (head.value.empty())
    growth *= std::exp(saturates ? std::min(time, 230.0) : time);
  else
    growth = matrix_exponential(time * Eigen::Map<const RowMajor>(head.value.data(), d, d));
  head.query = product(head.query, growth);
  head.key = product(head.key, growth);
  return layer;
}

/// |beta| |Q^T K|, the largest of any head: usa is that much faster than sa.
double logit_bound(const AttentionLayer& layer) {
  double bound = 0;
  for (const Head& head : layer.heads) {
    const double factor = layer.query_key.bound(head.rank(layer.dim));
    if (layer.query_key.norm != QueryKeyNorm::none) {
      bound = std::max(bound, std::abs(layer.beta) * factor);
      continue;
    }
    if (head.query.empty() && head.key.empty()) {
      bound = std::max(bound, factor * std::abs(layer.beta));
      continue;
    }
    const std::vector<double> qk = query_key_product(head.query, head.key, layer.dim, 1);
    bound = std::max(
        bound,
        factor *
            Attention{.beta = layer.beta, .dim = layer.dim, .query = {}, .key = qk}.logit_bound());
  }
  return bound;
}

double squared_gain(const std::vector<double>& gain) {
  double largest = gain.empty() ? 1 : 0;
  for (const double g : gain) largest = std::max(largest, g * g);
  return largest;
}

bool identity_values(const Architecture& a) {
  return a.layer.output.empty() && a.gain.empty() && !a.feed_forward.present() &&
         std::all_of(a.layer.heads.begin(), a.layer.heads.end(),
                     [](const Head& head) { return head.value.empty(); });
}

void refuse(bool wrong, const std::string& sentence) {
  if (wrong) throw Error(sentence);
}

void validate_noise(const Architecture& a) {
  const bool additive = a.noise_kind == flow::NoiseKind::additive;
  refuse(additive && a.noise > 0 && scheme(a.norm).grows,
         fmt::format("noise on the sphere needs tokens of length 1, not norm {}",
                     attractor::name(a.norm)));
  refuse(additive && a.common_noise > 0 && scheme(a.norm).grows,
         fmt::format("common noise on the sphere needs tokens of length 1, not norm {}",
                     attractor::name(a.norm)));
  if (a.noise_axes.empty()) return;
  refuse(!additive, "noise-axes need noise-kind additive: a clock has no axes");
  refuse(a.noise_axes.size() != a.layer.dim,
         fmt::format("noise-axes has {} numbers; dim = {} are needed", a.noise_axes.size(),
                     a.layer.dim));
  for (const double axis : a.noise_axes)
    refuse(!(axis >= 0 && std::isfinite(axis)),
           fmt::format("noise-axes holds {}; finite numbers from 0 on are needed", axis));
}

}  // namespace

std::span<const std::string_view> names(Geometry) {
  static constexpr std::string_view kNames[] = {"sphere", "euclidean", "attracted", "rescaled"};
  return kNames;
}

void validate(const Architecture& a) {
  attractor::validate(a.layer);
  const bool sphere = a.geometry == Geometry::sphere;
  refuse(!sphere && a.norm != Normalisation::post,
         fmt::format("norm {} needs space sphere: in R^d nothing is normalised",
                     attractor::name(a.norm)));
  refuse(!sphere && !a.gain.empty(), "a gain needs space sphere: in R^d nothing is normalised");
  refuse(!a.gain.empty() && a.gain.size() != a.layer.dim,
         fmt::format("gain has {} numbers; dim = {} are needed", a.gain.size(), a.layer.dim));
  refuse(a.geometry == Geometry::rescaled && a.layer.heads.size() != 1,
         fmt::format("space rescaled needs one head, not {}", a.layer.heads.size()));
  refuse(a.geometry == Geometry::rescaled && a.feed_forward.present(),
         "space rescaled takes no feed-forward block");
  refuse(a.geometry == Geometry::attracted && a.feed_forward.present(),
         "space attracted takes no feed-forward block");
  refuse((a.geometry == Geometry::attracted || a.geometry == Geometry::rescaled) &&
             a.layer.self == SelfAttention::remove_own_value,
         fmt::format("self remove-own-value needs space sphere or euclidean, not {}: differences "
                     "x_j - x_i have no own value",
                     attractor::name(a.geometry)));
  refuse(a.first_fixed && (!a.layer.mask.causal || a.noise > 0 || a.common_noise > 0),
         "a fixed first token needs a causal mask and no noise");
  validate_noise(a);
}

LayerFlow::LayerFlow(Architecture architecture, std::size_t tokens)
    : TokenFlow(tokens),
      architecture_(std::move(architecture)),
      sphere_(std::make_unique<Sphere>(architecture_.layer.dim)),
      plane_(std::make_unique<Euclidean>(architecture_.layer.dim)) {
  validate(architecture_);
  if (architecture_.layer.rule == Rule::unnormalised && !scheme(architecture_.norm).unit &&
      architecture_.geometry == Geometry::sphere)
    log_unit_ =
        -logit_bound(architecture_.layer) *
        (architecture_.layer.query_key.norm == QueryKeyNorm::none ? squared_gain(architecture_.gain)
                                                                  : 1);
}

const Scheme& LayerFlow::present() const {
  const Scheme& asked = scheme(architecture_.norm);
  if (!asked.switches) return asked;
  return scheme(switched_ ? Normalisation::pre : Normalisation::post);
}

const Space& LayerFlow::space() const {
  const bool free = architecture_.geometry != Geometry::sphere || present().grows;
  return free ? *plane_ : *sphere_;
}

bool LayerFlow::autonomous() const {
  if (architecture_.geometry == Geometry::rescaled) return false;
  const Pace pace = present().pace;
  return pace != Pace::damped && !(pace == Pace::alpha && architecture_.alpha_power != 0);
}

bool LayerFlow::simplify(const flow::Time& now, std::vector<double>&) {
  if (!scheme(architecture_.norm).switches || switched_) return false;
  switched_ = now.value() >= architecture_.switch_time * (1 - 1e-12);
  return switched_;
}

void LayerFlow::set_weights(std::vector<Head> heads, std::vector<double> output,
                            FeedForward feed_forward) {
  architecture_.layer.heads = std::move(heads);
  architecture_.layer.output = std::move(output);
  architecture_.feed_forward = std::move(feed_forward);
}

/// What the step in depth is multiplied with.
double LayerFlow::clock(double time) const {
  switch (present().pace) {
    case Pace::damped:
      return 1 / std::sqrt(1 + time);
    case Pace::alpha:
      return architecture_.alpha * std::pow(1 + time, -architecture_.alpha_power);
    case Pace::scaled:
      return 1 / architecture_.deepnorm_scale;
    case Pace::steady:
      break;
  }
  return 1;
}

std::span<const double> LayerFlow::block_input(std::span<const double> state) const {
  if (architecture_.geometry != Geometry::sphere) return state;
  const bool normalises = present().grows && !present().sees_length;
  if (!normalises && architecture_.gain.empty()) return state;
  const std::size_t dim = architecture_.layer.dim;
  input_.assign(state.begin(), state.end());
  for (std::size_t i = 0; i < input_.size(); i += dim) {
    if (normalises) sphere_->retract(std::span(input_).subspan(i, dim));
    if (architecture_.gain.empty()) continue;
    for (std::size_t a = 0; a < dim; ++a) input_[i + a] *= architecture_.gain[a];
  }
  return input_;
}

void LayerFlow::attend(const flow::Time& now, std::span<const double> state,
                       const LayerRequest& request, LayerOutput& out) const {
  if (architecture_.geometry == Geometry::rescaled)
    attractor::attend(rescaled_layer(architecture_.layer, now.value()), state, request, out);
  else
    attractor::attend(architecture_.layer, block_input(state), request, out);
  // A drift that is no number ends the run by itself, and one of a rejected step is none of its
  // business.
  if (out.status == LayerStatus::sinkhorn_unconverged) status_ = out.status;
}

std::span<const double> LayerFlow::directions(std::span<const double> state,
                                              std::vector<double>& storage) const {
  if (!has_lengths()) return state;
  storage.assign(state.begin(), state.end());
  const std::size_t dim = architecture_.layer.dim;
  for (std::size_t i = 0; i < storage.size(); i += dim)
    sphere_->retract(std::span(storage).subspan(i, dim));
  return storage;
}

std::vector<double> LayerFlow::head_entropies(const flow::Time& now,
                                              std::span<const double> state) const {
  LayerOutput out;
  attend(now, state, {.entropy = true}, out);
  const std::size_t heads = architecture_.layer.heads.size(), n = out.entropy.size() / heads;
  const bool known = out.status != LayerStatus::not_finite;
  std::vector<double> mean(heads, known ? 0 : std::numeric_limits<double>::quiet_NaN());
  for (std::size_t k = 0; k < out.entropy.size(); ++k)
    mean[k % heads] += out.entropy[k] / static_cast<double>(n);
  return mean;
}

std::vector<std::uint32_t> LayerFlow::selected(const flow::Time& now,
                                               std::span<const double> state) const {
  if (architecture_.layer.rule != Rule::hardmax) return {};
  LayerOutput out;
  attend(now, state, {.chosen = true}, out);
  return out.chosen;
}

void LayerFlow::write(const flow::Time& now, std::span<const double> state, double log_unit,
                      bool tangent, std::span<double> out) const {
  const std::size_t dim = architecture_.layer.dim;
  attend(now, state, {}, output_);
  if (output_.status == LayerStatus::not_finite) {
    std::ranges::fill(out, std::numeric_limits<double>::quiet_NaN());
    return;
  }
  const Geometry geometry = architecture_.geometry;
  const bool pulled = geometry == Geometry::attracted || geometry == Geometry::rescaled;
  const bool kept = geometry == Geometry::sphere && !present().grows;
  // With identity values the own token adds nothing tangent; leaving it out keeps every digit.
  const bool exact = kept && tangent && identity_values(architecture_);
  const std::vector<double>& from = pulled || exact ? output_.pull : output_.out;
  const bool unit = present().unit;
  const double attention = unit ? 1 : std::exp(log_unit + output_.log_scale);
  for (std::size_t k = 0; k < out.size(); ++k) out[k] = from[k] == 0 ? 0 : attention * from[k];
  if (architecture_.feed_forward.present())
    architecture_.feed_forward.add(block_input(state),
                                   unit ? std::exp(-output_.log_scale) : std::exp(log_unit), out);
  const double rate = clock(now.value()) * (unit ? std::exp(log_unit) : 1);
  const bool towards = kept && unit && !tangent;  // N(A) - x
  parallel_for(state.size() / dim, std::max<std::size_t>(1, 4096 / dim),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t i = begin; i < end; ++i) {
                   const auto row = out.subspan(i * dim, dim);
                   const auto x = state.subspan(i * dim, dim);
                   const auto whole = exact ? std::span(output_.out).subspan(i * dim, dim) : row;
                   const double length = unit ? attractor::norm(whole) : 1;
                   const double factor = unit && length == 0 ? 0 : rate / length;
                   for (std::size_t a = 0; a < dim; ++a)
                     row[a] = factor * row[a] - (towards ? rate * x[a] : 0);
                   if (kept && tangent) sphere_->project(x, row);
                 }
               });
  if (architecture_.first_fixed) std::fill_n(out.begin(), dim, 0.0);
}

void LayerFlow::drift(std::span<const double> state, double log_unit, std::span<double> out) const {
  drift_at(flow::Time(0), state, log_unit, out);
}

void LayerFlow::drift_at(const flow::Time& now, std::span<const double> state, double log_unit,
                         std::span<double> out) const {
  write(now, state, log_unit, true, out);
}

void LayerFlow::increment_at(const flow::Time& now, std::span<const double> state, double log_unit,
                             std::span<double> out) const {
  write(now, state, log_unit, false, out);
}

}  // namespace attractor::depth
