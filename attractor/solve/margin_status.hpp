// How a max-margin solver ended; the same words for every norm.
#pragma once

#include <string_view>

namespace attractor::solve {

enum class MarginStatus {
  optimal,          // relative_gap <= tolerance
  infeasible,       // farkas cancels to rounding: no feasible point is shorter than `lower`
  precision_limit,  // rounding allows no further step; relative_gap and farkas still hold
  iteration_limit,  // raise max_iterations
};

constexpr std::string_view name(MarginStatus status) {
  switch (status) {
    case MarginStatus::optimal:
      return "optimal";
    case MarginStatus::infeasible:
      return "infeasible";
    case MarginStatus::precision_limit:
      return "precision_limit";
    case MarginStatus::iteration_limit:
      return "iteration_limit";
  }
  return "unknown";
}

}  // namespace attractor::solve
