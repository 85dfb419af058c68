#include "attractor/solve/dual_active_set.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "attractor/base/eigen.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/solve/pricing.hpp"

namespace attractor::solve {
namespace {

constexpr double kDependent = 1e-14;  // |rest| / |g| below which g lies in the span of N
constexpr double kResolved = 1e-11;   // above this a violation in doubles needs no second look
constexpr std::size_t kRowBlock = 1 << 15;  // doubles a thread reads together

}  // namespace

DualActiveSet::DualActiveSet(std::size_t dim)
    : dim_(dim), qr_(dim), p_(dim, 0.0), unrounded_(dim, 0.0L) {}

void DualActiveSet::keep_active() {
  std::vector<Row> rows;
  std::vector<double> kept, kept_tails;
  kept.reserve(active_.size() * dim_);
  kept_tails.reserve(active_.size() * dim_);
  for (std::size_t& row : active_) {
    const auto values = entries(row), rest = tail(row);
    kept.insert(kept.end(), values.begin(), values.end());
    kept_tails.insert(kept_tails.end(), rest.begin(), rest.end());
    rows.push_back(rows_[row]);
    row = rows.size() - 1;
  }
  rows_ = std::move(rows);
  entries_ = std::move(kept);
  tails_ = std::move(kept_tails);
  is_active_.assign(rows_.size(), 1);
}

void DualActiveSet::add(std::size_t index, std::span<const double> row,
                        std::span<const double> tail, double norm, double bound) {
  assert(row.size() == dim_ && norm > 0 && (tail.empty() || tail.size() == dim_));
  rows_.push_back({index, norm, bound});
  entries_.insert(entries_.end(), row.begin(), row.end());
  tails_.insert(tails_.end(), tail.begin(), tail.end());
  tails_.resize(entries_.size(), 0.0);
  is_active_.push_back(0);
}

// How far p is on the wrong side of the row's plane, and what of that is rounding.
double DualActiveSet::violation(std::size_t row) const {
  const Row& g = rows_[row];
  return static_cast<double>(g.bound - extended_product(entries(row), p_)) / g.norm;
}

double DualActiveSet::resolution(std::size_t row) const {
  return length(p_) + std::abs(rows_[row].bound) / rows_[row].norm;
}

// Returns rows_.size() if there is none.
std::size_t DualActiveSet::most_violated() {
  products_.resize(rows_.size());
  const VectorMap p(p_.data(), dim_);
  parallel_for(rows_.size(), std::max<std::size_t>(1, kRowBlock / dim_),
               [&](std::size_t begin, std::size_t end) {
                 for (std::size_t j = begin; j < end; ++j)
                   products_[j] = VectorMap(&entries_[j * dim_], dim_).dot(p);
               });
  std::size_t worst = rows_.size();
  double most = 0;
  for (std::size_t j = 0; j < rows_.size(); ++j) {
    if (is_active_[j]) continue;
    const double distance = (rows_[j].bound - products_[j]) / rows_[j].norm;
    if (distance > most) most = distance, worst = j;
  }
  if (worst == rows_.size()) return worst;
  const double unit = resolution(worst);
  if (most <= kResolved * unit && violation(worst) <= kRounding * unit) return rows_.size();
  return worst;
}

ActiveSetOutcome DualActiveSet::solve(std::size_t& iterations, std::size_t limit) {
  // A violation v adds about v^2 to |p|^2, so |p| stops growing at half the digits of p; steps
  // without growth are allowed, but only so many.
  const std::size_t idle_limit = 10 + dim_;
  std::size_t idle = 0;
  for (;;) {
    const std::size_t row = most_violated();
    if (row == rows_.size()) break;
    const double before = length(p_);
    const ActiveSetOutcome outcome = enter(row, iterations, limit);
    settle();
    if (outcome != ActiveSetOutcome::solved) {
      refine();
      return outcome;
    }
    if (!(length(p_) > before) && ++idle > idle_limit) {
      refine();
      return ActiveSetOutcome::stalled;
    }
  }
  refine();
  return ActiveSetOutcome::solved;
}

// Steps along the part of g orthogonal to N until the row holds, dropping what blocks.
ActiveSetOutcome DualActiveSet::enter(std::size_t row, std::size_t& iterations, std::size_t limit) {
  const auto g = entries(row);
  std::vector<double> rest(dim_);
  double entered = 0;
  for (;;) {
    if (iterations == limit) return ActiveSetOutcome::iteration_limit;
    ++iterations;
    std::vector<double> along(qr_.size());
    const double rest_norm = qr_.split(g, along, rest);
    std::vector<double> r = along;
    qr_.solve(r);
    const bool dependent = qr_.size() == dim_ || !(rest_norm > kDependent * rows_[row].norm);
    const double missing = std::max(0.0, violation(row)) * rows_[row].norm;
    const double full = dependent ? kInfinity : missing / rest_norm / rest_norm;
    double partial = kInfinity;
    std::size_t blocking = 0;
    for (std::size_t k = 0; k < r.size(); ++k)
      if (r[k] > 0 && lambda_[k] / r[k] < partial) partial = lambda_[k] / r[k], blocking = k;
    const double step = std::min(full, partial);
    if (step == kInfinity) {
      prove_infeasible(row, std::move(r));
      return ActiveSetOutcome::infeasible;
    }
    entered += step;
    for (std::size_t k = 0; k < r.size(); ++k) lambda_[k] = std::max(0.0, lambda_[k] - step * r[k]);
    if (!dependent)
      for (std::size_t a = 0; a < dim_; ++a) p_[a] += step * rest[a];
    if (full <= partial) {
      qr_.append(along, rest, rest_norm);
      active_.push_back(row);
      lambda_.push_back(entered);
      is_active_[row] = 1;
      return ActiveSetOutcome::solved;
    }
    leave(blocking);
  }
}

void DualActiveSet::leave(std::size_t position) {
  is_active_[active_[position]] = 0;
  active_.erase(active_.begin() + position);
  lambda_.erase(lambda_.begin() + position);
  qr_.erase(position);
}

// p and lambda from the factors, so that the errors of many steps do not add up. A multiplier that
// rounding turned negative leaves: without it the row holds all the more.
void DualActiveSet::settle() {
  for (;;) {
    std::vector<double> y;
    for (const std::size_t row : active_) y.push_back(rows_[row].bound);
    qr_.solve_transposed(y);
    qr_.multiply(y, p_);
    qr_.solve(y);
    lambda_ = std::move(y);
    const auto smallest = std::min_element(lambda_.begin(), lambda_.end());
    if (smallest == lambda_.end() || *smallest >= 0) return;
    leave(smallest - lambda_.begin());
  }
}

// The smallest move of the point after which N^T p = h + amount |g|; residuals in extended
// precision, so that repeated corrections converge beyond doubles.
std::vector<double> DualActiveSet::correction(std::span<const long double> point,
                                              double amount) const {
  std::vector<double> y, move(dim_);
  for (const std::size_t row : active_) {
    const double wanted = amount * rows_[row].norm;
    const long double reached =
        extended_product(entries(row), point) + extended_product(tail(row), point);
    y.push_back(static_cast<double>(rows_[row].bound - reached) + wanted);
  }
  qr_.solve_transposed(y);
  qr_.multiply(y, move);
  return move;
}

// from -= weight (row + tail)
void DualActiveSet::subtract(std::span<long double> from, double weight, std::size_t row) const {
  const auto g = entries(row), rest = tail(row);
  for (std::size_t a = 0; a < dim_; ++a)
    from[a] -= weight * (static_cast<long double>(g[a]) + rest[a]);
}

// Iterative refinement of p and lambda.
void DualActiveSet::refine() {
  unrounded_.assign(p_.begin(), p_.end());
  for (int pass = 0; pass < 2; ++pass) {
    const std::vector<double> move = correction(unrounded_, 0);
    for (std::size_t a = 0; a < dim_; ++a) unrounded_[a] += move[a];
  }
  for (std::size_t a = 0; a < dim_; ++a) p_[a] = static_cast<double>(unrounded_[a]);

  std::vector<long double> residual = unrounded_;
  for (std::size_t k = 0; k < active_.size(); ++k) subtract(residual, lambda_[k], active_[k]);
  std::vector<double> change(residual.begin(), residual.end()), y(active_.size());
  qr_.multiply_transposed(change, y);
  qr_.solve(y);
  for (std::size_t k = 0; k < y.size(); ++k) lambda_[k] = std::max(0.0, lambda_[k] + y[k]);
}

// g - N r = 0, r <= 0, refined once or twice so that only the rounding of r itself remains.
void DualActiveSet::prove_infeasible(std::size_t row, std::vector<double> r) {
  for (int pass = 0; pass < 2; ++pass) {
    std::vector<long double> residual(dim_, 0.0L);
    subtract(residual, -1, row);
    for (std::size_t k = 0; k < r.size(); ++k) subtract(residual, r[k], active_[k]);
    std::vector<double> change(residual.begin(), residual.end()), y(r.size());
    qr_.multiply_transposed(change, y);
    qr_.solve(y);
    for (std::size_t k = 0; k < r.size(); ++k) r[k] += y[k];
  }
  farkas_.clear();
  for (std::size_t k = 0; k < r.size(); ++k)
    if (r[k] < 0) farkas_.push_back({rows_[active_[k]].index, -r[k]});
  farkas_.push_back({rows_[row].index, 1});
}

std::vector<std::size_t> DualActiveSet::active() const {
  std::vector<std::size_t> indices;
  for (const std::size_t row : active_) indices.push_back(rows_[row].index);
  return indices;
}

std::vector<Multiplier> DualActiveSet::multipliers() const {
  std::vector<Multiplier> support;
  for (std::size_t k = 0; k < active_.size(); ++k)
    if (lambda_[k] > 0) support.push_back({rows_[active_[k]].index, lambda_[k]});
  return support;
}

std::vector<long double> DualActiveSet::lifted(double amount) const {
  std::vector<long double> point = unrounded_;
  const std::vector<double> move = correction(point, amount);
  for (std::size_t a = 0; a < dim_; ++a) point[a] += move[a];
  return point;
}

}  // namespace attractor::solve
