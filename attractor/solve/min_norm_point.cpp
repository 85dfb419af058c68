#include "attractor/solve/min_norm_point.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "attractor/base/eigen.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/solve/active_qr.hpp"
#include "attractor/solve/enclosed_sum.hpp"

namespace attractor::solve {
namespace {

using Points = Eigen::Map<const RowMajor>;

constexpr std::size_t kPointsTogether = 256;  // points a thread takes together
constexpr double kNoDirection = 1e-13;        // below this a column adds no direction
constexpr double kHomogeneous = 0x1p-26;      // tau / scale, see Corral

// The active points with their weights. The min-norm point of their affine hull solves
//   (tau^2 e e^T + X X^T) v = e,   l = v / sum v,   z = X^T l
// for any tau > 0. With A = [tau e^T; X^T] = Q R, kept up to date as columns come and go, it reads
//   u = R^{-T} e,   v = R^{-1} u,   (tau sum v; X^T v) = Q u,
// so the Gram matrix and its squared condition number never appear. Wolfe takes tau ~ |x|; then z
// is the small part of Q u and keeps only eps scale / |z| of relative accuracy. A small tau makes z
// accurate down to |z| ~ eps scale, while A stays regular when 0 is in the affine hull.
class Corral {
 public:
  Corral(const Points& points, double scale)
      : points_(points),
        tau_(kHomogeneous * (scale > 0 ? scale : 1)),
        capacity_(std::min(points.rows(), points.cols() + 1)),
        qr_(points.cols() + 1) {}

  Eigen::Index size() const { return static_cast<Eigen::Index>(members_.size()); }
  const std::vector<HullCoefficient>& members() const { return members_; }

  // Appends a point with weight zero; false if it lies in the affine hull already.
  bool insert(Eigen::Index index) {
    if (size() == capacity_) return false;
    Eigen::VectorXd column(qr_.rows());
    column << tau_, points_.row(index).transpose();
    if (!qr_.insert({column.data(), qr_.rows()}, kNoDirection)) return false;
    members_.push_back({static_cast<std::size_t>(index), size() == 0 ? 1.0 : 0.0});
    return true;
  }

  // Moves the weights to the min-norm point of the affine hull; on the way every point whose weight
  // would become negative leaves. The one that just entered does so by rounding only: then false.
  bool descend(Eigen::Index entered) {
    for (;;) {
      const Eigen::VectorXd target = affine_weights();
      if ((target.array() > 0).all()) {
        for (Eigen::Index k = 0; k < size(); ++k) members_[k].weight = target[k];
        return true;
      }
      if (size() == 1) return false;
      step_to_boundary(target);
      if (members_.back().index != static_cast<std::size_t>(entered)) return false;
    }
  }

  Eigen::VectorXd point() const {
    Eigen::VectorXd image(qr_.rows());
    qr_.multiply(solve_transposed(), {image.data(), qr_.rows()});
    return image.tail(points_.cols()) * (tau_ / image[0]);
  }

 private:
  std::vector<double> solve_transposed() const {
    std::vector<double> u(members_.size(), 1.0);
    qr_.solve_transposed(u);
    return u;
  }

  Eigen::VectorXd affine_weights() const {
    std::vector<double> v = solve_transposed();
    qr_.solve(v);
    const Eigen::Map<const Eigen::VectorXd> weights(v.data(), size());
    return weights / weights.sum();
  }

  void step_to_boundary(const Eigen::VectorXd& target) {
    double step = 1;
    Eigen::Index blocking = 0;
    for (Eigen::Index k = 0; k < size(); ++k) {
      const double weight = members_[k].weight;
      if (target[k] > 0) continue;
      const double reach = weight > target[k] ? weight / (weight - target[k]) : 0;
      if (reach <= step) step = reach, blocking = k;
    }
    for (Eigen::Index k = 0; k < size(); ++k)
      members_[k].weight += step * (target[k] - members_[k].weight);
    members_[blocking].weight = 0;
    for (Eigen::Index k = size(); k-- > 0 && size() > 1;)
      if (members_[k].weight <= 0) erase(k);
  }

  void erase(Eigen::Index k) {
    members_.erase(members_.begin() + k);
    qr_.erase(static_cast<std::size_t>(k));
  }

  const Points& points_;
  double tau_;
  Eigen::Index capacity_;
  ActiveQr qr_;
  std::vector<HullCoefficient> members_;
};

// products = X z, in blocks of points.
void multiply(const Points& x, const Eigen::VectorXd& z, Eigen::VectorXd& products) {
  parallel_for(x.rows(), kPointsTogether, [&](std::size_t begin, std::size_t end) {
    products.segment(begin, end - begin).noalias() = x.middleRows(begin, end - begin) * z;
  });
}

Eigen::VectorXd row_norms(const Points& x) {
  Eigen::VectorXd norms(x.rows());
  parallel_for(x.rows(), kPointsTogether, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) norms[i] = x.row(i).norm();
  });
  return norms;
}

EnclosedSum product(const double* a, const double* b, Eigen::Index dim) {
  EnclosedSum sum;
  for (Eigen::Index k = 0; k < dim; ++k) sum.add(a[k], b[k]);
  return sum;
}

// The smallest product from below: enclosed for all points that may have it.
long double smallest_product(const Points& x, const double* z, const Eigen::VectorXd& products,
                             double error) {
  long double smallest = std::numeric_limits<long double>::infinity();
  const double most = products.minCoeff() + 2 * error;
  for (Eigen::Index i = 0; i < x.rows(); ++i) {
    if (products[i] > most) continue;
    const EnclosedSum sum = product(x.row(i).data(), z, x.cols());
    smallest = std::min(smallest, sum.value() - sum.error());
  }
  return smallest;
}

// At least |z - y| for a point y of the hull: sum_i l_i x_i, with the l_i scaled to a sum of one.
long double distance_to_hull(const MinNormPoint& found, const Points& x) {
  long double square = 0;
  for (Eigen::Index a = 0; a < x.cols(); ++a) {
    EnclosedSum off;
    off.add(found.point[static_cast<std::size_t>(a)]);
    for (const HullCoefficient& c : found.coefficients)
      off.add(-c.weight, x(static_cast<Eigen::Index>(c.index), a));
    const long double most = std::abs(off.value()) + off.error();
    square += most * most;
  }
  EnclosedSum weights;
  weights.add(-1);
  for (const HullCoefficient& c : found.coefficients) weights.add(c.weight);
  return 1.0001L *
         (std::sqrt(square) + (std::abs(weights.value()) + weights.error()) * found.scale);
}

// The gap and the smallest product as they can be stated: rounded outwards, and with what z misses
// the hull by. |z*|^2 <= <z*, y> for y of the hull, so for z it is <z*, z> + |z*| |z - y|.
MinNormPoint stated(MinNormPoint found, const Points& x, Eigen::VectorXd& products) {
  const Eigen::Map<const Eigen::VectorXd> z(found.point.data(), x.cols());
  multiply(x, z, products);
  const long double smallest =
      smallest_product(x, z.data(), products,
                       static_cast<double>(x.cols() + 8) * kEpsilon * found.scale * found.norm);
  const EnclosedSum square = product(z.data(), z.data(), x.cols());
  const long double outside = distance_to_hull(found, x);
  found.smallest_product = rounded_down(smallest);
  found.gap = rounded_up(square.value() + square.error() - smallest +
                         1.0001L * outside * (found.norm + outside));
  return found;
}

}  // namespace

MinNormPoint min_norm_point(std::span<const double> points, std::size_t dim,
                            const MinNormOptions& options) {
  assert(dim > 0 && !points.empty() && points.size() % dim == 0);
  const Points x(points.data(), points.size() / dim, dim);
  const std::size_t limit = options.max_iterations > 0 ? options.max_iterations : 1000 + 50 * dim;
  // The norm is stationary in directions of the hull, so |z| stops falling at half the digits of z;
  // steps without descent are allowed, but only so many.
  const std::size_t idle_limit = 10 + dim;
  Eigen::Index entering = 0;
  Eigen::VectorXd products = row_norms(x);
  MinNormPoint now{.scale = products.maxCoeff()}, best;
  const double resolution = options.tolerance * now.scale;
  products.minCoeff(&entering);
  Corral corral(x, now.scale);
  corral.insert(entering);
  Eigen::VectorXd z = x.row(entering).transpose();

  for (std::size_t idle = 0;; ++now.iterations) {
    multiply(x, z, products);
    now.norm = z.norm();
    now.smallest_product = products.minCoeff(&entering);
    now.gap = now.norm * now.norm - now.smallest_product;
    const bool optimal = now.norm <= resolution || now.gap <= resolution * now.norm;
    if (optimal || now.iterations == 0 || now.gap < best.gap) {
      now.point.assign(z.begin(), z.end());
      now.coefficients = corral.members();
      best = now;
    }
    best.iterations = now.iterations;
    best.status = optimal ? MinNormStatus::optimal : MinNormStatus::iteration_limit;
    if (optimal || now.iterations == limit) return stated(best, x, products);

    const bool moved = corral.insert(entering) && corral.descend(entering);
    if (moved) z = corral.point();
    if (!(z.norm() < now.norm)) ++idle;
    if (!moved || idle > idle_limit) {
      best.status = MinNormStatus::precision_limit;
      return stated(best, x, products);
    }
  }
}

}  // namespace attractor::solve
