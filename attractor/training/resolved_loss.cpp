#include "attractor/training/resolved_loss.hpp"

#include <cmath>

#include "attractor/base/numbers.hpp"

namespace attractor::training {
namespace {}  // namespace

void ResolvedLoss::rebase(std::span<const double> w) {
  objective_.evaluate(w, e_);
  base_ = e_.chosen;
  base_loss_ = objective_.loss(e_);
  logarithmic_ = std::isfinite(log_value());
}

double ResolvedLoss::value(std::span<const double> w, std::span<double> gradient) {
  objective_.evaluate(w, e_);
  const double here = logarithmic_ ? log_value() : objective_.loss(e_);
  const double scale = e_.log_scale[0] - (logarithmic_ ? here : 0);
  for (std::size_t k = 0; k < gradient.size(); ++k) gradient[k] = -std::exp(scale) * e_.descent[k];
  if (!std::isnan(here)) return here;
  return objective_.loss(e_) < base_loss_ ? -kInfinity : kInfinity;  // below the base, or lost
}

double ResolvedLoss::log_value() const {
  if (!is_margin_loss(objective_.loss())) return kNan;
  if (!objective_.trained().head) return objective_.log_excess(e_, base_);
  return needs_signs(objective_.loss()) ? objective_.log_loss(e_) : kNan;
}

solve::BallMinimum smooth_minimum(const Objective& objective, std::span<const double> start,
                                  double radius, const solve::BallOptions& options) {
  ResolvedLoss function(objective);
  return solve::ball_minimum(
      {.f = [&](std::span<const double> w,
                std::span<double> gradient) { return function.value(w, gradient); },
       .rebase = [&](std::span<const double> w) { function.rebase(w); }},
      start, radius, options);
}

bool lower(const Objective& objective, std::span<const double> a, std::span<const double> b) {
  Evaluation ea, eb;
  objective.evaluate(a, ea);
  objective.evaluate(b, eb);
  const double la = objective.loss(ea), lb = objective.loss(eb);
  const bool apart = std::abs(la - lb) > 1e-9 * (std::abs(la) + std::abs(lb));
  if (apart || !is_margin_loss(objective.loss())) return la < lb;
  if (objective.trained().head) return objective.log_loss(ea) < objective.log_loss(eb);
  const std::span<const std::size_t> base =
      ea.chosen == eb.chosen ? std::span<const std::size_t>(ea.chosen) : objective.best();
  const double xa = objective.log_excess(ea, base), xb = objective.log_excess(eb, base);
  if (std::isnan(xa) != std::isnan(xb)) return std::isnan(xa);  // it lies below those tokens
  return std::isnan(xa) ? la < lb : xa < xb;
}

}  // namespace attractor::training
