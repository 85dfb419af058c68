#include "attractor/depth/field_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/field_weights.hpp"

namespace attractor::depth {
namespace {

/// Row i becomes row from[i].
template <class T>
std::vector<T> picked(const std::vector<T>& rows, std::size_t width,
                      std::span<const std::uint32_t> from) {
  std::vector<T> result(rows.size());
  for (std::size_t i = 0; i * width < rows.size(); ++i)
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(width * from[i]), width,
                result.begin() + static_cast<std::ptrdiff_t>(width * i));
  return result;
}

double scale_of(double log_unit, double natural) {
  return std::exp(std::min(log_unit - natural, 700.0));
}

template <class Field>
Field make_field(const FieldFlowSettings& s, std::size_t tokens);

template <>
kernels::SphereField make_field(const FieldFlowSettings& s, std::size_t tokens) {
  assert(s.dim == 3);
  return kernels::SphereField({.beta = s.beta, .accuracy = s.accuracy, .tokens = tokens});
}

template <>
kernels::CircleChords make_field(const FieldFlowSettings& s, std::size_t tokens) {
  assert(s.dim == 2);
  return kernels::CircleChords({.beta = s.beta, .accuracy = s.accuracy, .tokens = tokens});
}

template <>
kernels::PowerMoments make_field(const FieldFlowSettings& s, std::size_t tokens) {
  return kernels::PowerMoments({.dim = s.dim,
                                .beta = s.beta,
                                .accuracy = s.accuracy,
                                .means = s.rule == Rule::softmax,
                                .tokens = tokens});
}

}  // namespace

template <class Field>
FieldFlow<Field>::FieldFlow(const FieldFlowSettings& settings, std::size_t tokens)
    : TokenFlow(tokens),
      settings_(settings),
      space_(settings.dim),
      log_unit_(settings.rule == Rule::unnormalised ? -settings.beta : 0.0),
      order_(tokens),
      field_(make_field<Field>(settings, tokens)) {
  std::iota(order_.begin(), order_.end(), 0U);
  last_.error = settings.accuracy;
}

template <class Field>
FieldFlow<Field>::FieldFlow(const FieldFlowSettings& settings, std::vector<double> weights)
    : FieldFlow(settings, weights.size()) {
  weights_ = checked_weights(std::move(weights));
}

/// NaN everywhere if the state is not on the sphere.
template <class Field>
kernels::SphereFieldSummary FieldFlow<Field>::evaluate(std::span<const double> state,
                                                       const kernels::SphereFieldOut& out) const {
  assert(state.size() == settings_.dim * order_.size());
  const kernels::SphereFieldSummary summary = field_.evaluate(state, weights_, out);
  scattered_ |= summary.scattered;
  if (summary.on_sphere) return summary;
  for (const auto& values : {out.pull, out.mean, out.partition, out.along})
    std::fill(values.begin(), values.end(), kNan);
  return summary;
}

template <class Field>
void FieldFlow<Field>::drift(std::span<const double> state, double log_unit,
                             std::span<double> out) const {
  const double scale = scale_of(log_unit, log_unit_);
  if (settings_.rule == Rule::softmax)
    last_ = evaluate(state, {.mean = out, .scale = scale});
  else
    last_ = evaluate(state, {.pull = out, .scale = scale});
}

// The whole of A: the tangent part and <A, x> x.
template <class Field>
void FieldFlow<Field>::increment(std::span<const double> state, double log_unit,
                                 std::span<double> out) const {
  const double scale = scale_of(log_unit, log_unit_);
  const std::size_t dim = settings_.dim;
  const bool softmax = settings_.rule == Rule::softmax;
  std::vector<double> along(order_.size()), partition(softmax ? order_.size() : 0);
  if (!evaluate(state, {.pull = softmax ? std::span<double>() : out,
                        .mean = softmax ? out : std::span<double>(),
                        .partition = partition,
                        .along = along,
                        .scale = scale})
           .on_sphere)
    return;
  parallel_for(along.size(), 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const double mean = softmax ? along[i] / partition[i] : along[i];
      const double normal = scale * std::clamp(mean, -1.0, 1.0);
      for (std::size_t c = dim * i; c < dim * (i + 1); ++c) out[c] += normal * state[c];
    }
  });
}

template <class Field>
bool FieldFlow<Field>::simplify(const flow::Time& /*now*/, std::vector<double>& state) {
  if (order_is_fixed_ || !std::exchange(scattered_, false)) return false;
  const std::vector<std::uint32_t> from = field_.in_cells(state);
  if (from.empty() || std::is_sorted(from.begin(), from.end())) return false;
  order_ = picked(order_, 1, from);
  weights_ = picked(weights_, 1, from);
  state = picked(state, settings_.dim, from);
  return true;
}

template <class Field>
std::string_view FieldFlow<Field>::engine() const {
  if (std::is_same_v<Field, kernels::CircleChords>) return "circle";
  return std::is_same_v<Field, kernels::SphereField> ? "sphere" : "moments";
}

template <class Field>
std::vector<double> FieldFlow<Field>::begin(std::vector<double> tokens) {
  if (!kCells) return tokens;
  simplify(flow::Time(0), tokens);
  keep_order(order_);
  return tokens;
}

template <class Field>
void FieldFlow<Field>::enter(const flow::Time& /*now*/, std::vector<double>& /*state*/) {
  order_is_fixed_ = order_is_fixed_ || kCells;
}

template <class Field>
std::vector<double> FieldFlow<Field>::expand(std::span<const double> state) const {
  const std::size_t dim = settings_.dim;
  std::vector<double> original(state.size());
  for (std::size_t i = 0; i < order_.size(); ++i)
    for (std::size_t c = 0; c < dim; ++c) original[dim * order_[i] + c] = state[dim * i + c];
  return original;
}

template <class Field>
double FieldFlow<Field>::log_energy(std::span<const double> state) const {
  const kernels::SphereFieldSummary summary = field_.evaluate(state, weights_, {});
  if (!summary.on_sphere) return kNan;
  if (settings_.beta == 0) return std::log(0.5 * summary.order * summary.order);
  return settings_.beta + std::log(summary.energy / (2 * settings_.beta));
}

template <class Field>
double FieldFlow<Field>::largest_speed() const {
  return settings_.rule == Rule::softmax ? last_.largest_mean : last_.largest_pull;
}

template <class Field>
double FieldFlow<Field>::speed_error() const {
  const bool softmax = settings_.rule == Rule::softmax;
  return last_.error * (softmax ? 2 / last_.smallest_partition : 1);
}

template class FieldFlow<kernels::CircleChords>;
template class FieldFlow<kernels::SphereField>;
template class FieldFlow<kernels::PowerMoments>;

}  // namespace attractor::depth
