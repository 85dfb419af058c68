// A kernel density estimate of points at rest, and the step towards its modes:
//
//   w_j(x) = exp(-beta |x - x_j|^2 / 2)     K(x) = (1/n) sum_j w_j     m(x) = sum_j w_j x_j / sum_j
//   w_j
//
//   m(x) - x = (1/beta) grad log K(x)                                     (theory A2)
//
// Heights are K, between 0 and 1: the density of R^d is K (beta / 2 pi)^{d/2}. On the sphere
// w_j = e^{beta(<x,x_j> - 1)}, the kernel of von Mises and Fisher.
// Points beyond the reach r of a query, n e^{-beta r^2 / 2} = e^{-40}, are left out: where K >=
// 1/n, as at every point of the data and above, that changes a step by less than 1e-16 bandwidths.
// Cost: about 4 dim + 25 operations for each query and point within reach; memory 2 n dim.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace attractor::depth {

/// Points ordered into cells of near ones, so that far cells are skipped as a whole.
struct Cells {
  struct Cell {
    std::size_t begin, end;  // in `order`
    std::vector<double> centre;
    double radius;  // of a ball that holds all its points
  };
  std::vector<std::uint32_t> order;
  std::vector<Cell> cells;
};

/// K and the step m(x) - x, for many x at once.
class KernelDensity {
 public:
  /// points: n x dim, entries at most 1e150 in size; 1e-200 <= beta <= 1e200.
  KernelDensity(std::span<const double> points, std::size_t dim, double beta);

  /// queries, shift: count x dim; height: count values of K. Where K underflows (no point within
  /// reach) both are 0. The result does not depend on the number of threads. False: `stop`, asked
  /// on the way if it is given, wanted an end, and there is no result.
  bool evaluate(std::span<const double> queries, std::span<double> shift, std::span<double> height,
                const std::function<bool()>& stop = {}) const;

 private:
  struct Group;
  void evaluate_group(const Group& group) const;

  std::size_t dim_;
  double beta_, reach_;
  Cells cells_;
  std::vector<double> points_;  // in the order of the cells
};

}  // namespace attractor::depth
