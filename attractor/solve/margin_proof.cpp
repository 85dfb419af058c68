#include "attractor/solve/margin_proof.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/solve/enclosed_sum.hpp"

namespace attractor::solve {
namespace {

constexpr std::size_t kProofBlock = 1 << 15;  // doubles a thread reads together

std::vector<double> row_norms(const Constraints& constraints) {
  std::vector<double> norms(constraints.size());
  const std::size_t dim = constraints.dim();
  parallel_for(norms.size(), std::max<std::size_t>(1, kProofBlock / dim),
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

}  // namespace

long double length_above(std::span<const long double> x) {
  long double square = 0;
  for (const long double value : x) square += value * value;
  return std::sqrt(square) * (1 + static_cast<long double>(x.size() + 4) * kExtendedEpsilon);
}

double Combination::lower_bound(long double norm) const {
  if (!(least > 0)) return 0;
  const long double size = norm + error;
  return size == 0 ? kInfinity : rounded_down(least / size * (1 - 4 * kExtendedEpsilon));
}

MarginProof::MarginProof(const Constraints& constraints)
    : constraints_(constraints), norms_(row_norms(constraints)), products_(constraints.size()) {}

double MarginProof::product_error(std::size_t j, double norm) const {
  return (static_cast<double>(constraints_.dim() + 8) * kEpsilon * norms_[j] +
          constraints_.row_error(j)) *
             norm +
         std::numeric_limits<double>::min();
}

Combination MarginProof::combine(std::span<const Multiplier> lambda) const {
  const std::size_t dim = constraints_.dim();
  std::vector<double> row(dim), tail(dim);
  std::vector<EnclosedSum> sums(dim);
  EnclosedSum bounds;
  Combination total{.rows = std::vector<long double>(dim)};
  for (const auto& [j, value] : lambda) {
    constraints_.row(j, row);
    const double missing = constraints_.tail(j, tail);
    for (std::size_t a = 0; a < dim; ++a) {
      sums[a].add(value, row[a]);
      if (tail[a] != 0) sums[a].add(value, tail[a]);
    }
    const long double weight = value;
    bounds.add(value, constraints_.bound(j));
    total.terms += weight * std::abs(constraints_.bound(j));
    total.lengths += weight * norms_[j];
    total.error += weight * missing * std::sqrt(static_cast<long double>(dim));
  }
  for (std::size_t a = 0; a < dim; ++a) {
    total.rows[a] = sums[a].value();
    total.error += sums[a].error();
  }
  total.error *= 1 + static_cast<long double>(dim + lambda.size() + 8) * kExtendedEpsilon;
  total.bounds = bounds.value();
  total.least = total.bounds - bounds.error();
  total.least -= kExtendedEpsilon * std::abs(total.least);
  return total;
}

long double MarginProof::slack(std::size_t j, std::span<const long double> q) const {
  const std::size_t dim = constraints_.dim();
  std::vector<double> row(dim), tail(dim);
  constraints_.row(j, row);
  const double missing = constraints_.tail(j, tail);
  EnclosedSum sum;
  sum.add(-constraints_.bound(j));
  long double left = 0;  // of coordinates, below the range of doubles
  for (std::size_t a = 0; a < dim; ++a) {
    long double rest = q[a];
    for (int part = 0; part < 3 && rest != 0; ++part) {  // 113 bits at most
      const auto x = static_cast<double>(rest);
      for (const double g : {row[a], tail[a]})
        if (g != 0) sum.add(g, x);
      rest -= x;
    }
    left += std::abs(rest) * (std::abs(row[a]) + std::abs(tail[a]));
  }
  long double error = sum.error() + 2 * left;
  if (missing > 0) error += missing * length_above(q);
  return error == 0 ? sum.value()
                    : sum.value() - error - 2 * kExtendedEpsilon * (std::abs(sum.value()) + error);
}

double MarginProof::smallest_slack(std::span<const double> p) {
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
  return rounded_down(found);
}

std::vector<std::size_t> MarginProof::doubtful(std::span<const double> p) {
  constraints_.products(p, products_);
  const double norm = length(p);
  std::vector<std::size_t> rows;
  for (std::size_t j = 0; j < products_.size(); ++j)
    if (!(products_[j] - constraints_.bound(j) > product_error(j, norm))) rows.push_back(j);
  return rows;
}

double MarginProof::violation(std::span<const double> p) {
  const std::vector<long double> q(p.begin(), p.end());
  long double most = 0;
  for (const std::size_t j : doubtful(p))
    if (norms_[j] > 0) most = std::max(most, -slack(j, q) / norms_[j]);
  return rounded_up(most);
}

std::vector<double> MarginProof::margins(std::span<const long double> q, double near) {
  const std::vector<double> p(q.begin(), q.end());
  const double norm = length(p);
  constraints_.products(p, products_);
  std::vector<double> found = products_;
  for (std::size_t j = 0; j < found.size(); ++j) {
    const double h = constraints_.bound(j), error = product_error(j, norm);
    if (error > 1e-3 * near && found[j] <= h + near + error)
      found[j] = static_cast<double>(slack(j, q) + h);
  }
  return found;
}

long double MarginProof::feasible_scale(std::span<const long double> q) {
  const std::vector<double> p(q.begin(), q.end());
  const double norm = length(p);
  long double scale = 1;
  for (const std::size_t j : doubtful(p)) {
    const long double h = constraints_.bound(j), missing = -slack(j, q);
    if (missing <= 0) continue;
    if (!(h > missing)) return kInfinity;  // scaling up does not help
    scale = std::max(scale, (1 + missing / (h - missing)) * (1 + 4 * kExtendedEpsilon));
  }
  if (scale > 1)  // rows with h <= product < 0 lose by scaling
    for (std::size_t j = 0; j < products_.size(); ++j) {
      const double lowest = products_[j] - product_error(j, norm);
      if (lowest < 0 && constraints_.bound(j) < 0 && scale * lowest < constraints_.bound(j))
        return kInfinity;
    }
  return scale;
}

}  // namespace attractor::solve
