#include "attractor/solve/nuclear/nuclear_margin.hpp"

#include <algorithm>

#include "attractor/base/numbers.hpp"
#include "attractor/solve/hard_margin.hpp"
#include "attractor/solve/nuclear/nuclear_path.hpp"
#include "attractor/solve/nuclear/nuclear_problem.hpp"

namespace attractor::solve {
namespace {

using namespace nuclear;

constexpr int kPatience = 6;                      // iterations without progress
constexpr double kSafety = 0.9;                   // of the tolerance, for the rounding of W
constexpr double kSwift = 0.3, kProgress = 0.99;  // a gap that is smaller by this factor
constexpr double kFar = 1e8;  // a lower bound beyond hope, with unit rows and bounds

// The best point of each problem so far.
class Record {
 public:
  explicit Record(const RankOneRows<double>& rows)
      : W(Matrix<double>::Zero(rows.left.cols(), rows.right.cols())),
        lambda(Vector<double>::Zero(rows.size())),
        rows_(rows.as<Exact>()) {}
  void offer_primal(const Matrix<double>& candidate);
  void offer_dual(const Vector<double>& candidate);
  double gap() const { return relative_gap(upper, lower); }

  Matrix<double> W;
  Vector<double> lambda;
  double upper = kInfinity, lower = 0;

 private:
  RankOneRows<Exact> rows_;
};

void Record::offer_primal(const Matrix<double>& candidate) {
  const auto scale = static_cast<double>(feasible_scale(rows_, candidate.cast<Exact>()));
  if (scale == kInfinity) return;
  const double norm = scale * singular_values(candidate).sum();
  if (norm < upper) upper = norm, W = scale * candidate;
}

void Record::offer_dual(const Vector<double>& candidate) {
  const Vector<Exact> values = candidate.cast<Exact>();
  const double size = singular_values<double>(rows_.combine(values).cast<double>())[0];
  const auto sum = static_cast<double>(values.dot(rows_.bounds));
  if (sum > lower * size) lower = sum / size, lambda = candidate / size;
}

enum class Outcome { reached, stalled, iteration_limit, infeasible };

// Leaves the last point before rounding slowed it down.
template <class Real>
Outcome follow(const RankOneRows<double>& rows, Point<double>& point, Record& record,
               const NuclearMarginOptions& options, std::size_t& iterations) {
  InteriorPoint<Real> path(rows.as<Real>(), point.as<Real>());
  double smallest = kInfinity, kept = kInfinity;
  int idle = 0;
  while (true) {
    const Point<double> at = path.point().template as<double>();
    record.offer_primal(at.X.topRightCorner(record.W.rows(), record.W.cols()));
    record.offer_dual(at.lambda);
    const double gap = record.gap();
    if (gap <= kSafety * options.tolerance) return Outcome::reached;
    if (record.upper == kInfinity && record.lower > kFar) return Outcome::stalled;
    if (gap <= kSwift * kept) kept = gap, point = at;
    if (gap == 1 || gap <= kProgress * smallest)  // 1: a bound is still missing
      idle = 0, smallest = gap;
    else if (++idle == kPatience)
      return Outcome::stalled;
    if (iterations == options.max_iterations) return Outcome::iteration_limit;
    ++iterations;
    if (!path.advance()) return Outcome::stalled;
  }
}

// X, Z and all products slack lambda are multiples of the identity; W = 0.
Point<double> first_point(const RankOneRows<double>& rows) {
  const Index size = rows.left.cols() + rows.right.cols();
  const Matrix<double> sum = rows.combine(Vector<double>::Ones(rows.size()));
  const double lambda = 0.5 / std::max(1.0, singular_values(sum)[0]);
  return {.X = 2 * Matrix<double>::Identity(size, size),
          .slack = Vector<double>::Constant(rows.size(), 1 / lambda),
          .lambda = Vector<double>::Constant(rows.size(), lambda)};
}

// Feasibility is the same for every norm. A feasible point goes to the record.
bool infeasible(const Problem& problem, Record& record, NuclearMargin& found) {
  const RankOneRows<double>& rows = problem.rows();
  const HardMargin nearest = hard_margin(Vectorised(rows, problem.left_tail()));
  if (!nearest.farkas.empty()) problem.report_farkas(nearest.farkas, found);
  found.lower = nearest.lower;  // |W|_* >= |W|_F
  if (nearest.status == MarginStatus::infeasible) return true;
  record.offer_primal(problem.reduced(
      Eigen::Map<const Rows<double>>(nearest.p.data(), rows.left.cols(), rows.right.cols())));
  return false;
}

Outcome solve(const Problem& problem, const NuclearMarginOptions& options, Record& record,
              NuclearMargin& found) {
  const RankOneRows<double>& rows = problem.unit_rows();
  Point<double> point;
  Outcome outcome = Outcome::stalled;
  if (!problem.is_contradictory()) {
    point = first_point(rows);
    outcome = follow<double>(rows, point, record, options, found.iterations);
  }
  if (record.upper == kInfinity && infeasible(problem, record, found)) return Outcome::infeasible;
  if (outcome == Outcome::stalled)
    outcome = follow<Exact>(rows, point, record, options, found.iterations);
  return outcome;
}

}  // namespace

NuclearMargin nuclear_margin(const RankOneConstraints& constraints,
                             const NuclearMarginOptions& options) {
  const Problem problem(constraints);
  NuclearMargin found = problem.zero();
  if (problem.asks_nothing()) return found;
  Record record(problem.unit_rows());
  const Outcome outcome = solve(problem, options, record, found);
  if (outcome == Outcome::infeasible) {
    found.status = MarginStatus::infeasible;
    found.upper = kInfinity;
    found.relative_gap = 1;
    return found;
  }
  problem.report(record.W, record.lambda, found);
  found.status = found.relative_gap <= options.tolerance ? MarginStatus::optimal
                 : outcome == Outcome::iteration_limit   ? MarginStatus::iteration_limit
                                                         : MarginStatus::precision_limit;
  if (found.status == MarginStatus::optimal) found.farkas.clear(), found.farkas_residual = 0;
  return found;
}

RankOneDifferences::RankOneDifferences(const TokenDifferences& rows,
                                       std::span<const double> queries, std::size_t query_dim)
    : left_(rows.size() * rows.dim()),
      tail_(left_.size()),
      bounds_(rows.size()),
      query_(rows.size()),
      queries_(queries),
      dim_(rows.dim()),
      query_dim_(query_dim) {
  for (std::size_t j = 0; j < rows.size(); ++j) {
    rows.row(j, std::span(left_).subspan(j * dim_, dim_));
    rows.tail(j, std::span(tail_).subspan(j * dim_, dim_));
    bounds_[j] = rows.bound(j);
    query_[j] = queries.size() == query_dim ? 0 : rows.group(j);
  }
}

RankOneConstraints RankOneDifferences::constraints() const {
  return {.left = left_,
          .right = queries_,
          .left_dim = dim_,
          .right_dim = query_dim_,
          .query = query_,
          .bounds = bounds_,
          .left_tail = tail_};
}

NuclearMargin nuclear_margin(const TokenDifferences& rows, std::span<const double> queries,
                             std::size_t query_dim, const NuclearMarginOptions& options) {
  return nuclear_margin(RankOneDifferences(rows, queries, query_dim).constraints(), options);
}

}  // namespace attractor::solve
