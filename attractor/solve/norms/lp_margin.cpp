#include "attractor/solve/norms/lp_margin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <span>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/solve/dual_active_set.hpp"
#include "attractor/solve/enclosed_sum.hpp"
#include "attractor/solve/pricing.hpp"

namespace attractor::solve {
namespace {

constexpr double kSmallestP = 1.02, kLargestP = 50;
constexpr double kFloor = 1e-12;         // of the metric, relative: what is below costs nothing
constexpr double kSmallDualGap = 1e-14;  // not worth another step
constexpr double kStageGap = 0.05;       // enough before the exponent moves on
constexpr std::size_t kPatience = 10;    // steps without a better gap

double signed_power(double x, double exponent) {
  return std::copysign(std::pow(std::abs(x), exponent), x);
}

double largest(std::span<const double> x) {
  double most = 0;
  for (const double value : x) most = std::max(most, std::abs(value));
  return most;
}

long double extended_norm(std::span<const long double> x, long double p) {
  long double most = 0, sum = 0;
  for (const long double value : x) most = std::max(most, std::abs(value));
  if (most == 0) return 0;
  for (const long double value : x) sum += std::pow(std::abs(value) / most, p);
  return most * std::pow(sum, 1 / p);
}

long double extended_norm(std::span<const double> x, double p) {
  return extended_norm(std::vector<long double>(x.begin(), x.end()), p);
}

// A norm evaluated so, times this, is at least the norm: every power and sum is off by an ulp or
// two, and so is the exponent.
long double rounded_norm(std::size_t dim) {
  return 1 + static_cast<long double>(4 * dim + 64) * kExtendedPowerEpsilon;
}

// Exponents of one stage; conjugate to each other.
struct Exponents {
  double p, q;
  bool in_w() const { return p >= 2; }
};

// From 2 to p: the larger exponent less one doubles.
std::vector<Exponents> stages(double p) {
  const auto conjugate = [](double r) { return r / (r - 1); };
  const double last = std::max(p, conjugate(p));
  std::vector<Exponents> all;
  for (double r = 3; r < last; r = 2 * r - 1)
    all.push_back(p >= 2 ? Exponents{r, conjugate(r)} : Exponents{conjugate(r), r});
  all.push_back({p, conjugate(p)});
  return all;
}

// Where t in [0, 1] takes the growing function slope through zero.
double line_search(const std::function<double(double)>& slope) {
  if (slope(1) <= 0) return 1;
  double low = 0, high = 1;
  for (int halving = 0; halving < 50; ++halving) {
    const double middle = (low + high) / 2;
    (slope(middle) <= 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

// The tangent of the curve: w = centre + root root u, entry by entry.
struct Tangent {
  std::vector<double> centre, root;
};

struct Step {
  ActiveSetOutcome outcome = ActiveSetOutcome::solved;
  std::vector<double> w{};
  std::vector<Multiplier> lambda{};
};

class PowerProblem {
 public:
  explicit PowerProblem(const Constraints& constraints);

  std::size_t dim() const { return constraints_.dim(); }
  // The hard-margin problem of the tangent; every row gains lift |g|. Starts from these rows.
  Step solve(const Tangent& tangent, std::span<const Multiplier> start, double lift);
  // Scales w up; true if it then is feasible as checked row by row.
  bool make_feasible(std::vector<double>& w);

  MarginProof proof;

 private:
  void hand_over(std::size_t j, const Tangent& tangent, double lift, DualActiveSet& set) const;

  const Constraints& constraints_;
  Pricing pricing_;
};

PowerProblem::PowerProblem(const Constraints& constraints)
    : proof(constraints), constraints_(constraints), pricing_(constraints, proof.norms()) {}

void PowerProblem::hand_over(std::size_t j, const Tangent& tangent, double lift,
                             DualActiveSet& set) const {
  std::vector<double> row(dim());
  constraints_.row(j, row);
  const auto bound = static_cast<double>(constraints_.bound(j) + lift * proof.norms()[j] -
                                         extended_product(row, tangent.centre));
  for (std::size_t b = 0; b < row.size(); ++b) row[b] *= tangent.root[b];
  if (const double norm = length(row); norm > 0) set.add(j, row, {}, norm, bound);
}

Step PowerProblem::solve(const Tangent& tangent, std::span<const Multiplier> start, double lift) {
  const std::size_t limit = 10000 + 200 * dim();
  DualActiveSet set(dim());
  for (const Multiplier& row : start) hand_over(row.index, tangent, lift, set);
  Step step;
  std::size_t iterations = 0;
  for (;;) {
    const std::size_t before = iterations;
    step.outcome = set.solve(iterations, limit);
    const std::vector<long double> y = set.lifted(0);
    step.w.resize(dim());
    for (std::size_t b = 0; b < dim(); ++b)
      step.w[b] = static_cast<double>(tangent.centre[b] + tangent.root[b] * y[b]);
    if (step.outcome != ActiveSetOutcome::solved) break;
    const std::vector<std::size_t> rows = pricing_.worst(step.w, set.active(), lift);
    if (rows.empty() || (iterations == before && before > 0)) break;
    if (set.held() > kHeld * dim()) set.keep_active();
    for (const std::size_t j : rows) hand_over(j, tangent, lift, set);
  }
  step.lambda = set.multipliers();
  return step;
}

bool PowerProblem::make_feasible(std::vector<double>& w) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const long double scale = proof.feasible_scale(std::vector<long double>(w.begin(), w.end()));
    if (scale == kInfinity) return false;
    if (scale == 1) return true;
    for (double& value : w) value = static_cast<double>(value * (1 + 2 * (scale - 1)));
  }
  return false;
}

long double dual_norm(const Combination& sum, double p) {
  return extended_norm(sum.rows, p / (static_cast<long double>(p) - 1));
}

// The Newton iteration: w is feasible, lambda >= 0.
class Newton {
 public:
  Newton(PowerProblem& problem, const HardMargin& start)
      : problem_(&problem), w_(start.p), lambda_(start.support), support_(start.support) {}

  // False: the hard-margin problem of the tangent was not solved.
  bool step(const Exponents& e) { return e.in_w() ? step_in_w(e.p) : step_in_u(e.q); }
  double gap(const Exponents& e) const;  // w may be outside by roundings, hence the modulus
  // The nearest point to w, in the metric of the tangent, where every row holds with lift |g| to
  // spare: y is as small as the violations, and so are its roundings.
  std::vector<double> projected(const Exponents& e, double lift) const;
  const std::vector<double>& w() const { return w_; }
  const std::vector<Multiplier>& lambda() const { return lambda_; }

 private:
  bool step_in_w(double p);
  bool step_in_u(double q);
  void mix(std::span<const Multiplier> target, double t);

  PowerProblem* problem_;
  std::vector<double> w_;
  std::vector<Multiplier> lambda_, support_;
};

double Newton::gap(const Exponents& e) const {
  const long double upper = extended_norm(w_, e.p);
  const Combination sum = problem_->proof.combine(lambda_);
  return std::abs(static_cast<double>((upper - sum.bounds / dual_norm(sum, e.p)) / upper));
}

Tangent tangent_in_w(std::span<const double> w, double p) {
  Tangent tangent;
  const double most = largest(w);
  for (const double value : w) {
    const double x = value / most, slope = std::max(std::pow(std::abs(x), p - 2), kFloor);
    tangent.centre.push_back(value - most * signed_power(x, p - 1) / ((p - 1) * slope));
    tangent.root.push_back(1 / std::sqrt(slope));
  }
  return tangent;
}

bool Newton::step_in_w(double p) {
  const Step step = problem_->solve(tangent_in_w(w_, p), support_, 0);
  if (step.outcome != ActiveSetOutcome::solved) return false;
  support_ = lambda_ = step.lambda;
  const double unit = std::max(largest(w_), largest(step.w));
  const double t = line_search([&](double s) {
    double slope = 0;
    for (std::size_t b = 0; b < w_.size(); ++b) {
      const double change = step.w[b] - w_[b];
      slope += signed_power((w_[b] + s * change) / unit, p - 1) * change;
    }
    return slope;
  });
  for (std::size_t b = 0; b < w_.size(); ++b)
    w_[b] = t == 1 ? step.w[b] : w_[b] + t * (step.w[b] - w_[b]);
  return true;
}

// u / largest(u), and the factor that makes w = scale sign(u) |u|^(q-1) as long as it should be:
// h lambda is largest for its |u|_q when <w, u> = h lambda.
struct Dual {
  std::vector<double> u{};
  double unit = 0, scale = 0;
};

Dual normalised(const Combination& sum, double q) {
  Dual dual{.u = {sum.rows.begin(), sum.rows.end()}};
  dual.unit = largest(dual.u);
  double power = 0;
  for (double& value : dual.u) value /= dual.unit, power += std::pow(std::abs(value), q);
  dual.scale = static_cast<double>(sum.bounds) / dual.unit / power;
  return dual;
}

Tangent tangent_in_u(const Dual& dual, double q) {
  Tangent tangent;
  for (const double u : dual.u) {
    const double slope = std::max(std::pow(std::abs(u), q - 2), kFloor);
    tangent.centre.push_back(dual.scale * (signed_power(u, q - 1) - (q - 1) * slope * u));
    tangent.root.push_back(std::sqrt(slope));
  }
  return tangent;
}

bool Newton::step_in_u(double q) {
  const Combination sum = problem_->proof.combine(lambda_);
  const Dual dual = normalised(sum, q);
  Step step = problem_->solve(tangent_in_u(dual, q), support_, 0);
  if (step.outcome != ActiveSetOutcome::solved) return false;
  w_ = step.w;
  support_ = step.lambda;
  for (Multiplier& row : step.lambda) row.value *= dual.unit / (dual.scale * (q - 1));
  const Combination target = problem_->proof.combine(step.lambda);
  const auto gain = static_cast<double>((target.bounds - sum.bounds) / dual.unit) / dual.scale;
  const double t = line_search([&](double s) {
    double slope = -gain;
    for (std::size_t b = 0; b < dual.u.size(); ++b) {
      const double change = static_cast<double>(target.rows[b]) / dual.unit - dual.u[b];
      slope += signed_power(dual.u[b] + s * change, q - 1) * change;
    }
    return slope;
  });
  mix(step.lambda, t);
  return true;
}

std::vector<double> Newton::projected(const Exponents& e, double lift) const {
  Tangent tangent = e.in_w() ? tangent_in_w(w_, e.p)
                             : tangent_in_u(normalised(problem_->proof.combine(lambda_), e.q), e.q);
  tangent.centre = w_;
  return problem_->solve(tangent, support_, lift).w;
}

// lambda + t (target - lambda)
void Newton::mix(std::span<const Multiplier> target, double t) {
  std::vector<Multiplier> all;
  for (const auto& [j, value] : lambda_) all.push_back({j, (1 - t) * value});
  for (const auto& [j, value] : target) all.push_back({j, t * value});
  std::stable_sort(all.begin(), all.end(),
                   [](const Multiplier& a, const Multiplier& b) { return a.index < b.index; });
  lambda_.clear();
  for (const auto& [j, value] : all) {
    if (!(value > 0)) continue;
    if (!lambda_.empty() && lambda_.back().index == j)
      lambda_.back().value += value;
    else
      lambda_.push_back({j, value});
  }
}

// From scratch: only the point and the multipliers are taken from the iteration.
void certify(LpMargin& found, const Newton& newton, PowerProblem& problem, const Exponents& e,
             double tolerance) {
  const Combination sum = problem.proof.combine(newton.lambda());
  const long double dual = dual_norm(sum, e.p) * rounded_norm(sum.rows.size());
  found.lower = sum.lower_bound(dual);
  found.upper = kInfinity;
  const auto gap = [&] {
    return found.upper == kInfinity ? 1.0 : (found.upper - found.lower) / found.upper;
  };
  const double size = length(newton.w());
  std::vector<double> w = newton.w();
  for (double roundings = 0; roundings <= 16384; roundings = std::max(4.0, 16 * roundings)) {
    if (roundings > 0) w = newton.projected(e, roundings * kEpsilon * size);
    if (!problem.make_feasible(w)) continue;
    const double norm = rounded_up(extended_norm(w, e.p) * rounded_norm(w.size()));
    if (norm < found.upper) found.upper = norm, found.w = w;
    if (gap() <= tolerance / 10) break;
  }
  if (found.upper == kInfinity) {  // equalities, as pairs of rows: no point with double coordinates
    found.w = newton.w();
    found.upper_is_proved = false;
    const long double violation = problem.proof.violation(found.w);
    if (violation <= kRounding * size)
      found.upper =
          static_cast<double>(extended_norm(found.w, e.p) + sum.lengths * violation / dual);
  }
  found.support = newton.lambda();
  found.norm = std::max(static_cast<double>(extended_norm(found.w, e.p)), found.lower);
  found.relative_gap = gap();
  found.smallest_slack = problem.proof.smallest_slack(found.w);
}

}  // namespace

LpMarginStart start_from(const HardMargin& euclidean, const Constraints& constraints,
                         double tolerance,
                         const std::function<long double(const Combination&)>& dual_norm) {
  LpMargin found{.w = euclidean.p, .smallest_slack = euclidean.smallest_slack};
  if (euclidean.status == MarginStatus::infeasible) {
    const Combination sum = MarginProof(constraints).combine(euclidean.farkas);
    found.status = MarginStatus::infeasible;
    found.lower = sum.lower_bound(dual_norm(sum));
    found.upper = kInfinity;
    found.farkas = euclidean.farkas;
    found.farkas_residual = euclidean.farkas_residual;
    return {std::move(found), true};
  }
  if (!euclidean.support.empty()) return {std::move(found), false};
  found.relative_gap = euclidean.relative_gap;
  found.lower = euclidean.lower, found.upper = euclidean.upper;
  if (!(found.relative_gap <= tolerance)) found.status = MarginStatus::precision_limit;
  return {std::move(found), true};
}

void judge(LpMargin& found, double tolerance, std::size_t max_iterations) {
  if (found.relative_gap <= tolerance)
    found.status = MarginStatus::optimal;
  else
    found.status = found.iterations >= max_iterations ? MarginStatus::iteration_limit
                                                      : MarginStatus::precision_limit;
}

LpMargin lp_margin(const Constraints& constraints, const LpMarginOptions& options) {
  if (!(options.p >= kSmallestP && options.p <= kLargestP))
    throw Error(fmt::format("the exponent p of a margin is {}; it must lie between {} and {}",
                            options.p, kSmallestP, kLargestP));
  const HardMargin start = hard_margin(constraints);
  auto [found, answered] = start_from(start, constraints, options.tolerance, [&](const auto& sum) {
    return dual_norm(sum, options.p) * rounded_norm(sum.rows.size());
  });
  if (found.status == MarginStatus::infeasible)
    found.norm = static_cast<double>(extended_norm(found.w, options.p));
  if (answered) return found;

  PowerProblem problem(constraints);
  Newton newton(problem, start);
  Newton best = newton;
  double gap = kInfinity;
  const std::vector<Exponents> path = stages(options.p);
  bool running = true;
  for (const Exponents& e : path) {
    const bool last = &e == &path.back();
    const double enough = last ? std::max(kSmallDualGap, options.tolerance / 100) : kStageGap;
    gap = kInfinity;
    for (std::size_t idle = 0; running && gap > enough && idle < kPatience;) {
      running = found.iterations < options.max_iterations && newton.step(e);
      if (!running) break;
      ++found.iterations;
      const double reached = newton.gap(e);
      idle = reached < 0.99 * gap ? 0 : idle + 1;
      if (reached < gap) gap = reached, best = newton;
    }
  }
  certify(found, best, problem, path.back(), options.tolerance);
  judge(found, options.tolerance, options.max_iterations);
  return found;
}

}  // namespace attractor::solve
