#include "attractor/solve/hard_margin.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/solve/dual_active_set.hpp"
#include "attractor/solve/enclosed_sum.hpp"
#include "attractor/solve/margin_proof.hpp"
#include "attractor/solve/pricing.hpp"

namespace attractor::solve {
namespace {

constexpr double kFarkas = 5 * kEpsilon;  // residual that the rounding of lambda explains
constexpr double kFarkasExcess = 1e-12;   // sum lambda h against its terms
constexpr double kSmallGap = 1e-14;       // not worth a better upper bound
constexpr double kRepairable = 1e-12;     // a violation that rounding may have caused

class Problem {
 public:
  explicit Problem(const Constraints& constraints)
      : proof(constraints), pricing(constraints, proof.norms()), constraints_(constraints) {}

  void hand_over(std::span<const std::size_t> rows, DualActiveSet& set) const;
  // A row 0 >= h > 0, or size().
  std::size_t contradiction() const;

  MarginProof proof;
  Pricing pricing;

 private:
  const Constraints& constraints_;
};

void Problem::hand_over(std::span<const std::size_t> rows, DualActiveSet& set) const {
  if (set.held() > kHeld * constraints_.dim()) set.keep_active();
  std::vector<double> row(constraints_.dim()), tail(constraints_.dim());
  for (const std::size_t j : rows) {
    constraints_.row(j, row);
    constraints_.tail(j, tail);
    set.add(j, row, tail, proof.norms()[j], constraints_.bound(j));
  }
}

std::size_t Problem::contradiction() const {
  std::size_t j = 0;
  const std::span<const double> norms = proof.norms();
  while (j < norms.size() && !(norms[j] == 0 && constraints_.bound(j) > 0)) ++j;
  return j;
}

double lower_bound(const MarginProof& proof, std::span<const Multiplier> lambda) {
  const Combination sum = proof.combine(lambda);
  return sum.lower_bound(length_above(sum.rows));
}

bool infeasible(HardMargin& found, const DualActiveSet& set, const MarginProof& proof) {
  found.farkas = set.farkas();
  const Combination sum = proof.combine(found.farkas);
  const long double norm = length_above(sum.rows) + sum.error;
  found.farkas_residual = sum.lengths > 0 ? rounded_up(norm / sum.lengths) : 0;
  return norm <= kFarkas * sum.lengths && sum.least > kFarkasExcess * sum.terms;
}

// (upper - lower) / upper, and not less for its own roundings.
double gap_between(double lower, double upper) {
  if (upper == kInfinity) return 1;
  return upper > 0 ? (upper - lower) / upper : 0;
}

// A feasible point beside p, and its norm, from scratch: only the points are taken from the solver.
struct Feasible {
  double norm = kInfinity;
  std::vector<long double> point{};
  void offer(std::vector<long double> q, MarginProof& proof) {
    const long double scale = proof.feasible_scale(q);
    if (scale == kInfinity) return;
    const double size = rounded_up(scale * length_above(q) * (1 + 2 * kExtendedEpsilon));
    if (size < norm) norm = size, point = std::move(q);
  }
};

void bound(HardMargin& found, const DualActiveSet& set, MarginProof& proof) {
  const Combination sum = proof.combine(found.support);
  found.lower = std::max(sum.lower_bound(length_above(sum.rows)), lower_bound(proof, found.farkas));
  const std::vector<long double> unrounded = set.lifted(0);
  Feasible best{.point = unrounded};
  best.offer(unrounded, proof);
  const auto gap = [&] { return gap_between(found.lower, best.norm); };
  const double violation = gap() > kSmallGap ? proof.violation(found.p) : 0;
  // Rows with h = 0, or far longer than others, hold after a small lift, not by scaling.
  if (violation <= kRepairable * found.norm)
    for (double roundings = 4; gap() > kSmallGap && roundings <= 16384; roundings *= 16) {
      const double lift = roundings * static_cast<double>(kExtendedEpsilon) * found.norm;
      best.offer(set.lifted(lift), proof);
    }
  // Without interior (equalities, as pairs of rows) no feasible point need have double coordinates.
  if (best.norm == kInfinity && violation <= kRounding * found.norm) {
    found.upper_is_proved = false;
    best = {.norm = static_cast<double>(found.norm + sum.lengths * violation / found.norm),
            .point = unrounded};
  }
  found.upper = best.norm;
  found.relative_gap = gap();
  for (std::size_t a = 0; a < found.p.size(); ++a)
    found.p_tail.push_back(static_cast<double>(best.point[a] - found.p[a]));
  found.norm = std::min(std::max(found.norm, found.lower), found.upper);
}

}  // namespace

HardMargin hard_margin(const Constraints& constraints, const HardMarginOptions& options) {
  const std::size_t dim = constraints.dim();
  const std::size_t limit = options.max_iterations > 0 ? options.max_iterations : 10000 + 200 * dim;
  Problem problem(constraints);
  HardMargin found;
  if (const std::size_t j = problem.contradiction(); j < constraints.size()) {
    found.status = MarginStatus::infeasible;
    found.p.assign(dim, 0.0);
    found.smallest_slack = -constraints.bound(j);
    found.farkas = {{j, 1.0}};
    found.lower = lower_bound(problem.proof, found.farkas);
    found.upper = kInfinity;
    return found;
  }

  DualActiveSet set(dim);
  ActiveSetOutcome outcome = ActiveSetOutcome::solved;
  while (outcome == ActiveSetOutcome::solved) {
    const auto candidates = problem.pricing.worst(set.point(), set.active());
    if (candidates.empty()) break;
    const std::size_t before = found.iterations;
    problem.hand_over(candidates, set);
    outcome = set.solve(found.iterations, limit);
    ++found.rounds;
    if (found.iterations == before) break;  // what was priced as violated is rounding
  }

  found.p.assign(set.point().begin(), set.point().end());
  found.norm = length(found.p);
  found.smallest_slack = problem.proof.smallest_slack(found.p);
  if (outcome == ActiveSetOutcome::infeasible && infeasible(found, set, problem.proof)) {
    found.status = MarginStatus::infeasible;
    found.lower = lower_bound(problem.proof, found.farkas);
    found.upper = kInfinity;
    return found;
  }
  found.support = set.multipliers();
  bound(found, set, problem.proof);
  if (found.relative_gap <= options.tolerance) {
    found.status = MarginStatus::optimal;
    found.farkas.clear();
    found.farkas_residual = 0;
  } else {
    found.status = outcome == ActiveSetOutcome::iteration_limit ? MarginStatus::iteration_limit
                                                                : MarginStatus::precision_limit;
  }
  return found;
}

}  // namespace attractor::solve
