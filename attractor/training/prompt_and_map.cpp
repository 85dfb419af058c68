#include "attractor/training/prompt_and_map.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attractor/base/error.hpp"

namespace attractor::training {

PromptAndMapFlow::PromptAndMapFlow(const Objective& objective, double c)
    : objective_(objective), c_(c), space_(objective.dim()) {
  if (objective.trained().attention != AttentionPart::prompt || objective.trained().head ||
      !objective.problem().weights.empty())
    throw Error("u = W p is trained in place of a prompt p, without a W of the problem: train p");
  if (!(c > 0))
    throw Error(fmt::format("W W^T starts as {} times the identity; allowed: above 0", c));
}

double PromptAndMapFlow::prompt_square(std::span<const double> u) const {
  const double square = dot(u, u);  // 2 |u|^2 / (c + root): no cancellation at small u
  return 2 * square / (c_ + std::sqrt(c_ * c_ + 4 * square));
}

void PromptAndMapFlow::drift(std::span<const double> u, double log_unit,
                             std::span<double> out) const {
  objective_.evaluate(u, evaluation_);
  const double factor = std::exp(log_unit + evaluation_.log_scale[0]);
  const double square = dot(u, u), r = prompt_square(u);
  const double along = square > 0 ? r * dot(u, evaluation_.descent) / square : 0;
  for (std::size_t a = 0; a < out.size(); ++a)
    out[a] = factor * ((c_ + r) * evaluation_.descent[a] + along * u[a]);
}

}  // namespace attractor::training
