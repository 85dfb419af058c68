#include "attractor/solve/nuclear/spectral_margin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/dense.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/solve/hard_margin.hpp"
#include "attractor/solve/nuclear/nuclear_margin.hpp"
#include "attractor/solve/nuclear/nuclear_problem.hpp"
#include "attractor/solve/nuclear/spectral_path.hpp"

namespace attractor::solve {
namespace nuclear {
namespace {

constexpr int kSpectralIdle = 5;          // iterations without a better gap
constexpr Exact kSpectralEnough = 0.05L;  // of the tolerance, for what rounding takes at the end

// Descending.
Vector<Exact> extended_singular_values(const Matrix<Exact>& A) {
  const Index a = A.rows(), b = A.cols();
  Matrix<Exact> both = Matrix<Exact>::Zero(a + b, a + b);
  both.bottomLeftCorner(b, a) = A.transpose();
  return extended_eigen(both, Vectors::none)
      .values.tail(std::min(a, b))
      .reverse()
      .cwiseMax(Exact(0));
}

// The best point of each problem so far, as far as plain sums can tell.
struct BestSpectral {
  Matrix<Exact> W;
  Vector<Exact> lambda;
  Exact upper = kInfinity, lower = 0;

  void offer(const RankOneRows<Exact>& rows, const SpectralPath& path) {
    const Exact scale = feasible_scale(rows, path.W());
    const Exact size = scale * extended_singular_values(path.W())[0];
    if (size < upper) upper = size, W = scale * path.W();
    const Exact dual = extended_singular_values(rows.combine(path.lambda())).sum();
    const Exact bound = path.lambda().dot(rows.bounds) / dual;
    if (bound > lower) lower = bound, lambda = path.lambda() / dual;
  }
  Exact gap() const { return upper < kInfinity ? (upper - lower) / upper : Exact(1); }
};

BestSpectral follow_spectral(const RankOneRows<Exact>& rows, const Matrix<Exact>& start,
                             const SpectralMarginOptions& options, std::size_t& iterations) {
  SpectralPath path(rows, start);
  BestSpectral best{.W = start, .lambda = Vector<Exact>::Zero(rows.size())};
  Exact smallest = kInfinity;
  for (int idle = 0; idle < kSpectralIdle && iterations < options.max_iterations;) {
    best.offer(rows, path);
    const Exact gap = best.gap();
    if (gap <= kSpectralEnough * static_cast<Exact>(options.tolerance)) break;
    idle = gap < smallest || gap == 1 ? 0 : idle + 1;
    smallest = std::min(smallest, gap);
    ++iterations;
    if (!path.advance()) break;
  }
  return best;
}

}  // namespace
}  // namespace nuclear

NuclearMargin spectral_margin(const RankOneConstraints& constraints,
                              const SpectralMarginOptions& options) {
  using namespace nuclear;
  const Problem problem(constraints);
  NuclearMargin found = problem.zero();
  if (problem.asks_nothing()) return found;
  const RankOneRows<double>& given = problem.rows();
  const HardMargin nearest = hard_margin(Vectorised(given, problem.left_tail()));
  if (nearest.status == MarginStatus::infeasible) {
    problem.report_farkas(nearest.farkas, found);
    found.status = MarginStatus::infeasible;
    // |W|_op >= |W|_F / sqrt(rank)
    found.lower = nearest.lower /
                  std::sqrt(static_cast<double>(std::min(given.left.cols(), given.right.cols())));
    found.upper = kInfinity;
    found.relative_gap = 1;
    return found;
  }
  const RankOneRows<double>& unit = problem.unit_rows();
  const auto entries = static_cast<std::size_t>(unit.left.cols() * unit.right.cols());
  if (entries > kSpectralEntries)
    throw Error(
        fmt::format("the spectral margin of a {} x {} matrix has {} unknowns; allowed: up "
                    "to {}",
                    unit.left.cols(), unit.right.cols(), entries, kSpectralEntries));
  // Bounds in units in which the Frobenius solution has length one.
  const Matrix<double> euclidean = problem.reduced(
      Eigen::Map<const Rows<double>>(nearest.p.data(), given.left.cols(), given.right.cols()));
  RankOneRows<Exact> rows = unit.as<Exact>();
  const Exact reach = feasible_scale(rows, euclidean.cast<Exact>());
  const Exact size = reach < kInfinity ? reach * euclidean.norm() : Exact(1);
  rows.bounds /= size;
  const Matrix<Exact> start = 2 * euclidean.cast<Exact>() / euclidean.norm();
  const BestSpectral best = follow_spectral(rows, start, options, found.iterations);
  problem.report((best.W * size).cast<double>(), best.lambda.cast<double>(), found,
                 Schatten::spectral);
  found.status = found.relative_gap <= options.tolerance      ? MarginStatus::optimal
                 : found.iterations >= options.max_iterations ? MarginStatus::iteration_limit
                                                              : MarginStatus::precision_limit;
  return found;
}

NuclearMargin spectral_margin(const TokenDifferences& rows, std::span<const double> queries,
                              std::size_t query_dim, const SpectralMarginOptions& options) {
  return spectral_margin(RankOneDifferences(rows, queries, query_dim).constraints(), options);
}

}  // namespace attractor::solve
