#include "attractor/solve/norms/polyhedral_margin.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "attractor/base/numbers.hpp"
#include "attractor/solve/enclosed_sum.hpp"
#include "attractor/solve/hard_margin.hpp"
#include "attractor/solve/margin_proof.hpp"
#include "attractor/solve/norms/polyhedral_path.hpp"

namespace attractor::solve {
namespace polyhedral {
namespace {

constexpr int kIdle = 5;          // iterations without a better gap
constexpr double kEnough = 0.05;  // of the tolerance, for what rounding takes at the end

Real norm_of(const Vector& x, PolyhedralNorm norm) {
  return norm == PolyhedralNorm::largest ? x.cwiseAbs().maxCoeff() : x.cwiseAbs().sum();
}

PolyhedralNorm dual_of(PolyhedralNorm norm) {
  return norm == PolyhedralNorm::largest ? PolyhedralNorm::sum : PolyhedralNorm::largest;
}

// From above.
Real norm_above(std::span<const Real> x, PolyhedralNorm norm) {
  const Eigen::Map<const Vector> v(x.data(), static_cast<Eigen::Index>(x.size()));
  return norm_of(v, norm) *
         (1 + static_cast<Real>(x.size() + 4) * std::numeric_limits<Real>::epsilon());
}

// Rows of length one, in units in which the Euclidean solution has length one.
struct Scaled {
  Program program;
  std::vector<std::size_t> kept;  // rows that are not 0
  std::vector<Real> lengths;
  Real unit = 1;
};

Scaled scaled(const Constraints& constraints, std::span<const double> norms, double unit,
              PolyhedralNorm norm) {
  Scaled all{.unit = unit};
  for (std::size_t j = 0; j < constraints.size(); ++j)
    if (norms[j] > 0) all.kept.push_back(j), all.lengths.push_back(norms[j]);
  const auto m = static_cast<Eigen::Index>(all.kept.size()),
             d = static_cast<Eigen::Index>(constraints.dim());
  all.program = {.G = Rows(m, d), .h = Vector(m), .norm = norm};
  std::vector<double> row(constraints.dim()), tail(constraints.dim());
  for (Eigen::Index k = 0; k < m; ++k) {
    const std::size_t j = all.kept[static_cast<std::size_t>(k)];
    constraints.row(j, row);
    (void)constraints.tail(j, tail);
    for (Eigen::Index a = 0; a < d; ++a) {
      const auto at = static_cast<std::size_t>(a);
      all.program.G(k, a) = (static_cast<Real>(row[at]) + tail[at]) / norms[j];
    }
    all.program.h[k] = constraints.bound(j) / (static_cast<Real>(norms[j]) * unit);
  }
  return all;
}

// The best point of each problem so far, as far as plain sums can tell.
struct Record {
  Vector w, lambda;
  Real upper = kInfinity, lower = 0;

  void offer(const Program& program, const Vector& w_now, const Vector& lambda_now) {
    const Vector products = program.G * w_now;
    Real scale = 1;
    for (Eigen::Index j = 0; j < products.size(); ++j)
      if (products[j] < program.h[j])
        scale = products[j] > 0 ? std::max(scale, program.h[j] / products[j]) : Real(kInfinity);
    const Real norm = scale * norm_of(w_now, program.norm);
    if (norm < upper) upper = norm, w = scale * w_now;
    const Real dual = norm_of(program.G.transpose() * lambda_now, dual_of(program.norm));
    const Real bound = lambda_now.dot(program.h) / dual;
    if (bound > lower) lower = bound, lambda = lambda_now;
  }
  Real gap() const { return upper < kInfinity ? (upper - lower) / upper : Real(1); }
};

Record follow(const Program& program, const Vector& start, const PolyhedralMarginOptions& options,
              LpMargin& found) {
  Record record;
  Path path(program, start);
  Real smallest = kInfinity;
  for (int idle = 0; idle < kIdle && found.iterations < options.max_iterations;) {
    record.offer(program, path.at().w, path.at().lambda);
    const Real gap = record.gap();
    if (gap <= kEnough * options.tolerance) break;
    idle = gap < smallest || gap == 1 ? 0 : idle + 1;
    smallest = std::min(smallest, gap);
    ++found.iterations;
    if (!path.advance()) break;
  }
  return record;
}

// Scales w up until its doubles are feasible as checked row by row.
bool make_feasible(MarginProof& proof, std::vector<double>& w) {
  constexpr int kRounds = 8;
  for (int round = 0; round < kRounds; ++round) {
    const std::vector<Real> q(w.begin(), w.end());
    const Real scale = proof.feasible_scale(q);
    if (scale == 1) return true;
    if (!(scale < kInfinity)) return false;
    // products of rounded doubles fall short again
    const Real more = 1 + std::max(2 * (scale - 1), Real(4 + 4 * round) * kEpsilon);
    for (double& x : w) x = static_cast<double>(x * more);
  }
  return false;
}

// From scratch: only the point and the multipliers are taken from the iteration.
void certify(const Record& record, const Scaled& scaled, const Constraints& constraints,
             PolyhedralNorm norm, LpMargin& found) {
  MarginProof proof(constraints);
  for (std::size_t k = 0; k < scaled.kept.size() && record.lambda.size() > 0; ++k) {
    const auto value =
        static_cast<double>(record.lambda[static_cast<Eigen::Index>(k)] / scaled.lengths[k]);
    if (value > 0) found.support.push_back({scaled.kept[k], value});
  }
  const Combination sum = proof.combine(found.support);
  found.lower = sum.lower_bound(norm_above(sum.rows, dual_of(norm)));
  found.upper = kInfinity;
  std::vector<double> w(constraints.dim());
  for (std::size_t a = 0; a < w.size() && record.w.size() > 0; ++a)
    w[a] = static_cast<double>(record.w[static_cast<Eigen::Index>(a)] * scaled.unit);
  found.upper_is_proved = make_feasible(proof, w);
  const std::vector<Real> q(w.begin(), w.end());
  const Real size = norm_above(q, norm);
  if (found.upper_is_proved) {
    found.upper = rounded_up(size);
  } else if (const Real violation = proof.violation(w); violation <= 1e-12L * length(w)) {
    const Real dual = norm_above(sum.rows, dual_of(norm));
    found.upper = static_cast<double>(size + sum.lengths * violation / dual);
  }
  found.w = w;
  found.norm = std::max(static_cast<double>(size), found.lower);
  found.relative_gap = found.upper < kInfinity ? (found.upper - found.lower) / found.upper : 1;
  found.smallest_slack = proof.smallest_slack(w);
}

}  // namespace
}  // namespace polyhedral

LpMargin polyhedral_margin(const Constraints& constraints, const PolyhedralMarginOptions& options) {
  using namespace polyhedral;
  const HardMargin start = hard_margin(constraints);
  auto [found, answered] = start_from(start, constraints, options.tolerance, [&](const auto& sum) {
    return norm_above(sum.rows, dual_of(options.norm));
  });
  if (answered) return found;
  const MarginProof proof(constraints);
  const Scaled problem = scaled(constraints, proof.norms(), start.norm, options.norm);
  Vector first(static_cast<Eigen::Index>(start.p.size()));
  for (Eigen::Index a = 0; a < first.size(); ++a)
    first[a] = 2 * static_cast<Real>(start.p[static_cast<std::size_t>(a)]) / start.norm;
  const Record record = follow(problem.program, first, options, found);
  certify(record, problem, constraints, options.norm, found);
  judge(found, options.tolerance, options.max_iterations);
  return found;
}

}  // namespace attractor::solve
