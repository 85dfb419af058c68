#include "attractor/commands/select/margin_words.hpp"

#include <fmt/format.h>

#include <cmath>

namespace attractor::lab {

using training::MaxMargin;

std::string infeasible_words(const MaxMargin& svm) {
  if (svm.proved_infeasible())
    return "no weights make this choice: nonnegative multipliers cancel its constraints exactly";
  return fmt::format(
      "no weights of norm below {:.3g} make this choice (Farkas residual {:.2g}); doubles cannot "
      "exclude longer ones",
      svm.lower, svm.farkas_residual);
}

std::string bounds_words(const MaxMargin& svm) {
  if (!std::isfinite(svm.upper)) return fmt::format("at least {:.17g}", svm.lower);
  return fmt::format("{:.17g} to {:.17g}{}", svm.lower, svm.upper,
                     svm.upper_is_proved ? "" : " (the upper end to first order only)");
}

std::string reach_words(const MaxMargin& svm) {
  if (!svm.feasible() || svm.in_reach()) return "";
  return fmt::format(
      "the solution found has rank {}, K and Q have {} column{}: no K Q^T points there, its cosine "
      "to the solution is at most {:.6g}",
      svm.rank, svm.factor_rank, svm.factor_rank == 1 ? "" : "s", svm.reach);
}

std::string slack_words(const MaxMargin& svm) {
  constexpr double kSeen = 1e-9;
  if (!svm.feasible() || !(svm.smallest_slack < -kSeen)) return "";
  return fmt::format(
      "the solution as doubles misses a constraint by {:.2g}: they cannot hold more digits",
      -svm.smallest_slack);
}

}  // namespace attractor::lab
