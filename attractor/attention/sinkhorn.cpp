#include "attractor/attention/sinkhorn.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "attractor/base/dense.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor {
namespace {

/// ln sum_j e^{l_ij + potential_j} for every row.
std::vector<double> log_row_sums(const Logits& logits, std::span<const double> potential) {
  std::vector<double> sums(logits.count);
  for_each_tile(logits, [&](LogitTile& tile) {
    for (std::size_t i = tile.begin; i < tile.end; ++i) {
      const auto visible = logits.mask.visible(i, logits.count);
      const auto row = tile.row(i, visible);
      for (std::size_t k = 0; k < row.size(); ++k) row[k] += potential[visible.first + k];
      const double peak = std::ranges::max(row);
      double sum = 0;
      for (const double l : row) sum += std::exp(l - peak);
      sums[i] = peak + std::log(sum);
    }
  });
  return sums;
}

/// Largest |e^{f_i + s_i} - 1|.
double largest_error(std::span<const double> potential, std::span<const double> log_sums) {
  double error = 0;
  for (std::size_t i = 0; i < potential.size(); ++i) {
    const double one = std::abs(std::expm1(potential[i] + log_sums[i]));
    error = std::max(error, std::isfinite(one) ? one : kInfinity);
  }
  return error;
}

/// Potentials are as large as logits, and those are known to a few units in the last place.
double reachable(double tolerance, std::span<const double> potential) {
  double size = 0;
  for (const double f : potential) size = std::max(size, std::abs(f));
  return std::max(tolerance, 16 * std::numeric_limits<double>::epsilon() * size);
}

std::vector<double> negated(std::vector<double> values) {
  for (double& v : values) v = -v;
  return values;
}

SinkhornPotentials by_averages(const Logits& logits, const SinkhornLimits& limits) {
  SinkhornPotentials p;
  std::vector<double>& f = p.rows;
  f.assign(logits.count, 0.0);
  for (;; ++p.iterations) {
    const std::vector<double> s = log_row_sums(logits, f);
    p.error = largest_error(f, s);
    p.converged = p.error <= reachable(limits.tolerance, f);
    if (p.converged || p.iterations == limits.max_iterations) break;
    for (std::size_t i = 0; i < f.size(); ++i) f[i] -= 2.0 / 3 * (f[i] + s[i]);
  }
  p.columns = f;
  return p;
}

/// Anderson's acceleration of x <- x + r(x): the next point is the combination of the last ones
/// whose residual would vanish best if r were linear.
class Acceleration {
 public:
  explicit Acceleration(std::size_t size)
      : residuals_(static_cast<Eigen::Index>(size), kDepth), images_(residuals_) {}

  void forget() { seen_ = 0; }

  Eigen::VectorXd next(const Eigen::VectorXd& x, const Eigen::VectorXd& residual) {
    const Eigen::VectorXd image = x + residual;
    if (seen_ > 0) {
      const Eigen::Index slot = (seen_ - 1) % kDepth;
      const double change = (residual - last_residual_).norm();
      const double unit = change > 0 ? 1 / change : 0;
      residuals_.col(slot) = unit * (residual - last_residual_);
      images_.col(slot) = unit * (image - last_image_);
    }
    last_residual_ = residual;
    last_image_ = image;
    const Eigen::Index columns = std::min<Eigen::Index>(seen_++, kDepth);
    if (columns == 0) return image;
    const PivotedQr qr(residuals_.leftCols(columns), 1e-12);
    return image - images_.leftCols(columns) * qr.solve(residual);
  }

 private:
  static constexpr Eigen::Index kDepth = 20;
  Eigen::MatrixXd residuals_, images_;  // differences of consecutive ones
  Eigen::VectorXd last_residual_, last_image_;
  Eigen::Index seen_ = 0;
};

SinkhornPotentials by_turns(const Logits& logits, const SinkhornLimits& limits) {
  const Logits transposed = logits.transposed();
  SinkhornPotentials p;
  p.rows.assign(logits.count, 0.0);
  p.columns = negated(log_row_sums(transposed, p.rows));
  Acceleration acceleration(logits.count);
  for (double previous = HUGE_VAL;; ++p.iterations, previous = p.error) {
    // Rows last: their sums are 1 to rounding, and the error is that of the columns.
    p.rows = negated(log_row_sums(logits, p.columns));
    const std::vector<double> s = log_row_sums(transposed, p.rows);
    p.error = largest_error(p.columns, s);
    p.converged = p.error <= reachable(limits.tolerance, p.columns);
    if (p.converged || p.iterations == limits.max_iterations) break;
    // Plain turns converge from everywhere: they take over where the extrapolation fails.
    if (p.error > 2 * previous) acceleration.forget();
    const auto size = static_cast<Eigen::Index>(s.size());
    Eigen::Map<Eigen::VectorXd> g(p.columns.data(), size);
    g = acceleration.next(g, -g - Eigen::Map<const Eigen::VectorXd>(s.data(), size));
  }
  return p;
}

}  // namespace

SinkhornPotentials sinkhorn(const Logits& logits, bool symmetric, const SinkhornLimits& limits) {
  return symmetric ? by_averages(logits, limits) : by_turns(logits, limits);
}

}  // namespace attractor
