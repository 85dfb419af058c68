#include "attractor/solve/hard_margin.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/solve/dual_active_set.hpp"

namespace attractor::solve {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();
constexpr auto kExtendedEpsilon = static_cast<double>(std::numeric_limits<long double>::epsilon());
constexpr double kRounding = 4 * kEpsilon;  // a violation below this, relative, is none
constexpr double kFarkas = 5 * kEpsilon;    // residual that the rounding of lambda explains
constexpr double kFarkasExcess = 1e-12;     // sum lambda h against its terms
constexpr double kSmallGap = 1e-14;         // not worth a better upper bound
constexpr double kRepairable = 1e-12;       // a violation that rounding may have caused
constexpr std::size_t kBlock = 1 << 15;     // doubles a thread reads together
constexpr std::size_t kOffer = 2, kSmallestOffer = 64;  // rows priced in at once, over dim
constexpr std::size_t kHeld = 4;                        // rows kept for the next round, over dim

double length(std::span<const double> x) {
  return Eigen::Map<const Eigen::VectorXd>(x.data(), x.size()).stableNorm();
}

long double extended_length(std::span<const long double> x) {
  long double square = 0;
  for (const long double value : x) square += value * value;
  return std::sqrt(square);
}

std::vector<double> row_norms(const Constraints& constraints) {
  std::vector<double> norms(constraints.size());
  const std::size_t dim = constraints.dim();
  parallel_for(norms.size(), std::max<std::size_t>(1, kBlock / dim),
               [&](std::size_t begin, std::size_t end) {
                 Eigen::VectorXd row(dim);
                 for (std::size_t j = begin; j < end; ++j) {
                   constraints.row(j, {row.data(), dim});
                   norms[j] = row.norm();
                   if (!(norms[j] > 1e-140 && norms[j] < 1e140)) norms[j] = row.stableNorm();
                 }
               });
  for (std::size_t j = 0; j < norms.size(); ++j)
    if (!std::isfinite(norms[j]) || !std::isfinite(constraints.bound(j)))
      throw Error(fmt::format("constraint {} has norm {} and bound {}; both must be finite", j,
                              norms[j], constraints.bound(j)));
  return norms;
}

class Problem {
 public:
  explicit Problem(const Constraints& constraints)
      : constraints_(constraints), norms_(row_norms(constraints)), products_(constraints.size()) {}

  // The worst violated row of every group, the worst groups first, without the active rows.
  std::vector<std::size_t> price(std::span<const double> p, std::span<const std::size_t> active,
                                 std::size_t count);
  void hand_over(std::span<const std::size_t> rows, DualActiveSet& set) const;

  // A row 0 >= h > 0, or size().
  std::size_t contradiction() const;
  double smallest_slack(std::span<const double> p);
  // The largest distance of p from a half-space it is not in.
  double violation(std::span<const double> p);
  // The norm of s q for the smallest s >= 1 that makes it feasible.
  long double upper_bound(std::span<const long double> q);
  struct Combination {
    long double bounds = 0, terms = 0;  // sum lambda h and sum lambda |h|
    long double norm = 0, lengths = 0;  // |sum lambda g| and sum lambda |g|
  };
  Combination combine(std::span<const Multiplier> lambda) const;

 private:
  // Products with p in products_; returns the rows that p may violate for all doubles can tell.
  std::vector<std::size_t> doubtful(std::span<const double> p);
  long double slack(std::size_t j, std::span<const long double> q) const;
  // Of the double product <g_j, p>, whatever the order of summation and with p itself rounded.
  double product_error(std::size_t j, double norm) const {
    return static_cast<double>(constraints_.dim() + 4) * kEpsilon * norms_[j] * norm;
  }

  const Constraints& constraints_;
  std::vector<double> norms_, products_;
};

std::vector<std::size_t> Problem::price(std::span<const double> p,
                                        std::span<const std::size_t> active, std::size_t count) {
  struct Worst {
    double distance = 0;
    std::size_t row = 0;
  };
  constraints_.products(p, products_);
  for (const std::size_t j : active) products_[j] = kInfinity;
  const double norm = length(p);
  std::vector<Worst> worst(constraints_.groups());
  for (std::size_t j = 0; j < products_.size(); ++j) {
    const double missing = constraints_.bound(j) - products_[j];
    if (!(missing > 0) || norms_[j] == 0) continue;
    const double distance = missing / norms_[j];
    Worst& held = worst[constraints_.group(j)];
    const double rounding = kRounding * (norm + std::abs(constraints_.bound(j)) / norms_[j]);
    if (distance > rounding && distance > held.distance) held = {distance, j};
  }
  std::erase_if(worst, [](const Worst& w) { return w.distance == 0; });
  std::sort(worst.begin(), worst.end(), [](const Worst& a, const Worst& b) {
    return a.distance != b.distance ? a.distance > b.distance : a.row < b.row;
  });
  if (worst.size() > count) worst.resize(count);
  std::vector<std::size_t> rows;
  rows.reserve(worst.size());
  for (const Worst& w : worst) rows.push_back(w.row);
  return rows;
}

void Problem::hand_over(std::span<const std::size_t> rows, DualActiveSet& set) const {
  // Rows that were violated once tend to be so again; their number bounds memory and pricing.
  if (set.held() > kHeld * constraints_.dim()) set.keep_active();
  std::vector<double> row(constraints_.dim());
  for (const std::size_t j : rows) {
    constraints_.row(j, row);
    set.add(j, row, norms_[j], constraints_.bound(j));
  }
}

std::size_t Problem::contradiction() const {
  std::size_t j = 0;
  while (j < norms_.size() && !(norms_[j] == 0 && constraints_.bound(j) > 0)) ++j;
  return j;
}

long double Problem::slack(std::size_t j, std::span<const long double> q) const {
  std::vector<double> row(constraints_.dim());
  constraints_.row(j, row);
  return proved_slack(row, constraints_.bound(j), q);
}

double Problem::smallest_slack(std::span<const double> p) {
  if (products_.empty()) return kInfinity;
  constraints_.products(p, products_);
  const double norm = length(p);
  double smallest = kInfinity;  // no slack is above this
  for (std::size_t j = 0; j < products_.size(); ++j)
    smallest = std::min(smallest, products_[j] - constraints_.bound(j) + product_error(j, norm));
  const std::vector<long double> q(p.begin(), p.end());
  long double found = kInfinity;
  for (std::size_t j = 0; j < products_.size(); ++j)
    if (products_[j] - constraints_.bound(j) - product_error(j, norm) <= smallest)
      found = std::min(found, slack(j, q));
  return static_cast<double>(found);
}

std::vector<std::size_t> Problem::doubtful(std::span<const double> p) {
  constraints_.products(p, products_);
  const double norm = length(p);
  std::vector<std::size_t> rows;
  for (std::size_t j = 0; j < products_.size(); ++j)
    if (!(products_[j] - constraints_.bound(j) > product_error(j, norm))) rows.push_back(j);
  return rows;
}

double Problem::violation(std::span<const double> p) {
  const std::vector<long double> q(p.begin(), p.end());
  long double most = 0;
  for (const std::size_t j : doubtful(p))
    if (norms_[j] > 0) most = std::max(most, -slack(j, q) / norms_[j]);
  return static_cast<double>(most);
}

long double Problem::upper_bound(std::span<const long double> q) {
  const std::vector<double> p(q.begin(), q.end());
  const double norm = length(p);
  long double scale = 1;
  for (const std::size_t j : doubtful(p)) {
    const long double h = constraints_.bound(j), missing = -slack(j, q);
    if (missing <= 0) continue;
    if (!(h > missing)) return kInfinity;  // scaling up does not help
    scale = std::max(scale, h / (h - missing));
  }
  if (scale > 1)  // rows with h <= product < 0 lose by scaling
    for (std::size_t j = 0; j < products_.size(); ++j) {
      const double lowest = products_[j] - product_error(j, norm);
      if (lowest < 0 && constraints_.bound(j) < 0 && scale * lowest < constraints_.bound(j))
        return kInfinity;
    }
  return scale * extended_length(q);
}

Problem::Combination Problem::combine(std::span<const Multiplier> lambda) const {
  std::vector<double> row(constraints_.dim());
  std::vector<long double> sum(row.size(), 0);
  Combination total;
  for (const auto& [j, value] : lambda) {
    constraints_.row(j, row);
    const long double weight = value;
    for (std::size_t a = 0; a < row.size(); ++a) sum[a] += weight * row[a];
    total.bounds += weight * constraints_.bound(j);
    total.terms += weight * std::abs(constraints_.bound(j));
    total.lengths += weight * norms_[j];
  }
  total.norm = extended_length(sum);
  return total;
}

bool infeasible(HardMargin& found, const DualActiveSet& set, const Problem& problem) {
  found.farkas = set.farkas();
  const Problem::Combination sum = problem.combine(found.farkas);
  found.farkas_residual = sum.lengths > 0 ? static_cast<double>(sum.norm / sum.lengths) : 0;
  return sum.norm <= kFarkas * sum.lengths && sum.bounds > kFarkasExcess * sum.terms;
}

// From scratch: only the point and the multipliers are taken from the solver.
void bound(HardMargin& found, const DualActiveSet& set, Problem& problem, double tolerance) {
  const Problem::Combination sum = problem.combine(found.support);
  const long double lower = sum.norm > 0 ? sum.bounds / sum.norm : 0;
  long double upper = problem.upper_bound(set.lifted(0));
  const auto gap = [&] {
    if (upper == kInfinity) return 1.0;
    return upper > 0 ? std::max(0.0, static_cast<double>((upper - lower) / upper)) : 0.0;
  };
  const double violation = gap() > kSmallGap ? problem.violation(found.p) : 0;
  if (violation <= kRepairable * found.norm)
    // Rows with h = 0, or far longer than others, hold after a small lift, not by scaling.
    for (double roundings = 4; gap() > kSmallGap && roundings <= 16384; roundings *= 16) {
      const double lift = roundings * kExtendedEpsilon * found.norm;
      upper = std::min(upper, problem.upper_bound(set.lifted(lift)));
    }
  // Without interior (equalities, as pairs of rows) no feasible point need have double coordinates.
  if (gap() > tolerance && violation <= kRounding * found.norm) {
    found.upper_is_proved = false;
    upper = found.norm + sum.lengths * violation / found.norm;
  }
  found.relative_gap = gap();
}

}  // namespace

HardMargin hard_margin(const Constraints& constraints, const HardMarginOptions& options) {
  const std::size_t dim = constraints.dim();
  const std::size_t limit = options.max_iterations > 0 ? options.max_iterations : 10000 + 200 * dim;
  const std::size_t offer = std::max(kSmallestOffer, kOffer * dim);
  Problem problem(constraints);
  HardMargin found;
  if (const std::size_t j = problem.contradiction(); j < constraints.size()) {
    found.status = MarginStatus::infeasible;
    found.p.assign(dim, 0.0);
    found.smallest_slack = -constraints.bound(j);
    found.farkas = {{j, 1.0}};
    return found;
  }

  DualActiveSet set(dim);
  ActiveSetOutcome outcome = ActiveSetOutcome::solved;
  while (outcome == ActiveSetOutcome::solved) {
    const auto candidates = problem.price(set.point(), set.active(), offer);
    if (candidates.empty()) break;
    const std::size_t before = found.iterations;
    problem.hand_over(candidates, set);
    outcome = set.solve(found.iterations, limit);
    ++found.rounds;
    if (found.iterations == before) break;  // what was priced as violated is rounding
  }

  found.p.assign(set.point().begin(), set.point().end());
  found.norm = length(found.p);
  found.smallest_slack = problem.smallest_slack(found.p);
  if (outcome == ActiveSetOutcome::infeasible && infeasible(found, set, problem)) {
    found.status = MarginStatus::infeasible;
    return found;
  }
  found.support = set.multipliers();
  bound(found, set, problem, options.tolerance);
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
