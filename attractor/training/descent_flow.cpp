#include "attractor/training/descent_flow.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "attractor/training/kinks/held_descent.hpp"
#include "attractor/training/kinks/standstill.hpp"

namespace attractor::training {
namespace {

constexpr std::uint64_t kRestSteps = 1000;

// sign(x) |x|^power.
double signed_power(double x, double power) {
  return std::copysign(std::pow(std::abs(x), power), x);
}

std::optional<AveragedGradient> averages_of(const Objective& objective,
                                            const DescentOptions& options) {
  if (!averages_gradients(options.rule)) return std::nullopt;
  const bool adam = options.rule == Update::adam;
  return AveragedGradient(objective, {.rule = options.rule,
                                      .beta1 = adam ? options.beta1 : options.momentum,
                                      .beta2 = options.beta2,
                                      .epsilon = options.epsilon});
}

}  // namespace

DescentFlow::DescentFlow(const Objective& objective, const DescentOptions& options)
    : objective_(objective),
      options_(options),
      averages_(averages_of(objective, options)),
      space_(averages_ ? objective.dim() + averages_->size()
                       : objective.dim() * (options.momentum > 0 ? 2 : 1)),
      sliding_(objective) {}

std::vector<double> DescentFlow::state(std::span<const double> weights) const {
  std::vector<double> state(space_.dim(), 0.0);
  std::copy(weights.begin(), weights.end(), state.begin());
  if (averages_) averages_->start(std::span(state).subspan(objective_.dim()));
  if (options_.mirror != 2)
    for (const Block& b : objective_.blocks())
      for (std::size_t k = b.begin; k < b.begin + b.size && b.name != "v"; ++k)
        state[k] = signed_power(state[k], options_.mirror - 1);
  return state;
}

std::vector<double> DescentFlow::weights(std::span<const double> state) const {
  const auto own = state.first(objective_.dim());
  std::vector<double> weights(own.begin(), own.end());
  if (options_.mirror != 2)
    for (const Block& b : objective_.blocks())
      for (std::size_t k = b.begin; k < b.begin + b.size && b.name != "v"; ++k)
        weights[k] = signed_power(weights[k], 1 / (options_.mirror - 1));
  return weights;
}

void DescentFlow::look(std::span<const double> state) const {
  if (options_.mirror == 2) {
    objective_.evaluate(state.first(objective_.dim()), evaluation_, sliding_.piece());
  } else {
    weights_ = weights(state);
    objective_.evaluate(weights_, evaluation_, sliding_.piece());
  }
}

void DescentFlow::velocity(double log_unit, std::span<double> out) const {
  double polyak = 0;
  if (options_.rule == Update::polyak)
    polyak = objective_.log_excess(evaluation_, objective_.best()) -
             2 * log_gradient(objective_, evaluation_);
  for (std::size_t k = 0; k < objective_.blocks().size(); ++k) {
    const Block& b = objective_.blocks()[k];
    const double length = norm(b.of(evaluation_.descent)), scale = evaluation_.log_scale[k];
    double factor = 0;
    switch (options_.rule) {
      case Update::gradient:
        factor = std::exp(log_unit + scale);
        break;
      case Update::normalised:
        factor = std::exp(log_unit) / length;
        break;
      case Update::published:
        factor =
            std::exp(log_unit + scale) /
            (std::exp(scale) * length + (b.name == "v" ? options_.head_epsilon : options_.epsilon));
        break;
      case Update::polyak:
        factor = std::exp(log_unit + scale + polyak);
        break;
      case Update::adam:
      case Update::sign:
      case Update::muon:
        assert(false);  // average() moves these
    }
    for (std::size_t j = b.begin; j < b.begin + b.size; ++j)
      out[j] = length > 0 ? factor * evaluation_.descent[j] : 0.0;
  }
}

void DescentFlow::drift(std::span<const double> state, double log_unit,
                        std::span<double> out) const {
  look(state);
  if (averages_) return average(state, log_unit, out);
  const std::size_t dim = objective_.dim();
  velocity(log_unit, out.first(dim));
  if (pieces()) slide(state, log_unit, out);
  if (options_.momentum == 0) return;
  for (std::size_t j = 0; j < dim; ++j) {
    const double u = state[dim + j];
    out[j] += options_.momentum * u;
    out[dim + j] = (out[j] - u) / options_.step;
  }
}

// The averages take whole steps: their drift is what one of them changes.
void DescentFlow::average(std::span<const double> state, double log_unit,
                          std::span<double> out) const {
  const std::size_t dim = objective_.dim();
  const auto kept = state.subspan(dim);
  kept_.resize(kept.size());
  averages_->advance(evaluation_, kept, kept_, out.first(dim));
  const double unit = std::exp(log_unit);
  for (std::size_t j = 0; j < dim; ++j) out[j] *= unit;
  for (std::size_t j = 0; j < kept.size(); ++j)
    out[dim + j] = unit * (kept_[j] - kept[j]) / options_.step;
}

void DescentFlow::drift_at(const flow::Time& now, std::span<const double> state, double log_unit,
                           std::span<double> out) const {
  drift(state, log_unit, out);
  if (options_.decay == 0) return;
  const double factor = std::pow(1 + std::round(now.value() / options_.step), -options_.decay);
  for (std::size_t j = 0; j < objective_.dim(); ++j) out[j] *= factor;
}

double DescentFlow::fitting_log_unit(std::span<const double> state, double present) const {
  if (options_.rule != Update::gradient) return present;
  look(state);
  const double size = log_gradient(objective_, evaluation_);
  return std::isfinite(size) ? -size : present;
}

bool DescentFlow::jacobian(std::span<const double> state, double log_unit,
                           std::span<double> out) const {
  if (options_.rule != Update::gradient || options_.momentum > 0 || options_.mirror != 2 ||
      options_.decay > 0)
    return false;
  look(state);
  // Logits change by 1e-5: truncation of 1e-10 of it, rounding of 1e-11.
  const double delta =
      1e-5 / (1 / std::max(1.0, norm(state)) + weight_scale(objective_, evaluation_));
  const std::size_t dim = state.size();
  std::vector<double> moved(state.begin(), state.end()), ahead(dim), behind(dim);
  for (std::size_t b = 0; b < dim; ++b) {
    moved[b] = state[b] + delta;
    drift(moved, log_unit, ahead);
    const double up = moved[b];
    moved[b] = state[b] - delta;
    drift(moved, log_unit, behind);
    for (std::size_t a = 0; a < dim; ++a)
      out[a * dim + b] = (ahead[a] - behind[a]) / (up - moved[b]);
    moved[b] = state[b];
  }
  return true;
}

// dw / dtheta of a mirror, which measures lengths of motions of theta; empty: 1.
std::vector<double> DescentFlow::metric(std::span<const double> w) const {
  if (options_.mirror == 2) return {};
  const double q = options_.mirror;
  std::vector<double> metric(w.size(), 1.0);
  for (const Block& b : objective_.blocks())
    for (std::size_t k = b.begin; k < b.begin + b.size && b.name != "v"; ++k)
      metric[k] = std::clamp(std::pow(std::abs(w[k]), 2 - q) / (q - 1), 1e-100, 1e100);
  return metric;
}

void DescentFlow::slide(std::span<const double> state, double log_unit,
                        std::span<double> out) const {
  const std::vector<double> w = weights(state);
  const SmallestDescent z = sliding_.along(w, evaluation_, log_unit, metric(w), out);
  std::copy(z.descent.begin(), z.descent.end(), out.begin());
}

bool DescentFlow::simplify(const flow::Time& /*now*/, std::vector<double>& state) {
  if (!pieces()) return false;
  std::vector<double> w = weights(state);
  const std::vector<double> before = w;
  const bool changed = sliding_.settle(w, metric(w));
  if (w != before) state = this->state(w);
  return changed;
}

double DescentFlow::share_in_piece(
    const std::function<void(double theta, std::span<double> state)>& along) {
  if (!pieces()) return 1;
  Evaluation e;
  std::vector<double> at(space_.dim());
  return sliding_.share([&](double theta) {
    along(theta, at);
    const std::vector<double> w = weights(at);
    objective_.evaluate(w, e, sliding_.piece());
    return sliding_.room(w, e, metric(w));
  });
}

DescentFlow::Rest DescentFlow::rest() const {
  Rest rest{seen_, steps_since_, {}};
  for (Side side : sliding_.sides()) rest.sides.push_back(static_cast<signed char>(side));
  return rest;
}

bool DescentFlow::set_rest(const Rest& rest) {
  std::vector<Side> sides;
  for (signed char side : rest.sides) {
    if (side < -1 || side > 1) return false;
    sides.push_back(static_cast<Side>(side));
  }
  if (!sliding_.set_sides(std::move(sides))) return false;
  seen_ = rest.seen;
  steps_since_ = rest.steps_since;
  return true;
}

bool DescentFlow::at_minimum(std::span<const double> state) const {
  const std::vector<double> lately = seen_.empty() ? seen_ : weights(seen_);
  return judge(objective_, weights(state), options_.rest_distance, lately) == Standstill::minimum;
}

bool DescentFlow::at_rest(std::span<const double> state) const {
  if (!options_.flows || ++steps_since_ < kRestSteps) return false;
  const double far = options_.rest_distance * std::max(1.0, norm(state));
  const bool slow = seen_.size() == state.size() && squared_distance(seen_, state) < far * far;
  seen_.assign(state.begin(), state.end());
  steps_since_ = 0;
  return slow && judge(objective_, weights(state), options_.rest_distance) != Standstill::moving;
}

}  // namespace attractor::training
