#include "attractor/tokens/close_counts.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <utility>

#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor {
namespace {

constexpr std::size_t kBallLeaf = 16, kSpreadSample = 32, kProbedLeaves = 8;
constexpr double kBallSurely = 1e-9;  // of distances; far more than they round

struct Ball {
  std::uint32_t begin, end;
  std::uint32_t left = 0, right = 0;  // 0: a leaf
  double radius = 0, mass = 0;
  bool leaf() const { return left == 0; }
};

class BallTree {
 public:
  BallTree(std::span<const double> points, std::size_t dim, std::span<const double> masses)
      : dim_(dim), order_(masses.size()), masses_(masses.size()), points_(points.size()) {
    std::iota(order_.begin(), order_.end(), 0U);
    divide(points, 0, static_cast<std::uint32_t>(order_.size()));
    for (std::size_t k = 0; k < order_.size(); ++k) {
      std::copy_n(&points[order_[k] * dim_], dim_, &points_[k * dim_]);
      masses_[k] = masses[order_[k]];
    }
    centres_.resize(dim_ * balls_.size());
    parallel_for(balls_.size(), 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t k = begin; k < end; ++k) enclose(k);
    });
    for (std::uint32_t k = 0; k < balls_.size(); ++k)
      if (balls_[k].leaf()) leaves_.push_back(k);
  }

  std::optional<std::vector<double>> count(double gap, double most_reads) {
    gap_ = gap;
    radius_ = std::sqrt(2 * gap);
    const double share = most_reads / static_cast<double>(leaves_.size());
    double probed = 0;
    const std::size_t stride = std::max<std::size_t>(1, leaves_.size() / kProbedLeaves);
    std::size_t probes = 0;
    for (std::size_t k = 0; k < leaves_.size(); k += stride, ++probes)
      probed += reads(leaves_[k], 0);
    if (probed > share * static_cast<double>(probes)) return {};
    // Leaves that were not probed may cost more; not all of them.
    std::vector<double> found(order_.size(), 0.0);
    std::atomic<bool> too_many = false;
    parallel_for(leaves_.size(), kLeavesTogether, [&](std::size_t begin, std::size_t end) {
      double left = 8 * share * kLeavesTogether + 64 * kBallLeaf * kBallLeaf;
      for (std::size_t k = begin; k < end && !too_many; ++k) {
        visit(leaves_[k], 0, found, left);
        if (left < 0) too_many = true;
      }
    });
    if (too_many) return {};
    std::vector<double> result(order_.size());
    for (std::size_t k = 0; k < order_.size(); ++k) result[order_[k]] = found[k];
    return result;
  }

 private:
  static constexpr std::size_t kLeavesTogether = 64;
  enum class Met { none, all, some };

  std::span<const double> point(std::uint32_t k) const { return {&points_[k * dim_], dim_}; }
  std::span<const double> centre(std::size_t ball) const { return {&centres_[ball * dim_], dim_}; }

  std::size_t widest_axis(std::span<const double> points, std::uint32_t begin,
                          std::uint32_t end) const {
    const std::size_t count = std::min<std::size_t>(kSpreadSample, end - begin);
    std::size_t widest = 0;
    double width = -1;
    for (std::size_t a = 0; a < dim_; ++a) {
      double least = points[order_[begin] * dim_ + a], most = least;
      for (std::size_t k = 1; k < count; ++k) {
        const double x = points[order_[begin + k * (end - begin) / count] * dim_ + a];
        least = std::min(least, x);
        most = std::max(most, x);
      }
      if (most - least > width) width = most - least, widest = a;
    }
    return widest;
  }

  std::uint32_t divide(std::span<const double> points, std::uint32_t begin, std::uint32_t end) {
    const auto ball = static_cast<std::uint32_t>(balls_.size());
    balls_.push_back({begin, end});
    if (end - begin <= kBallLeaf) return ball;
    const std::size_t axis = widest_axis(points, begin, end);
    keys_.resize(end - begin);
    for (std::uint32_t k = begin; k < end; ++k)
      keys_[k - begin] = {points[order_[k] * dim_ + axis], order_[k]};
    const std::uint32_t half = (end - begin) / 2;
    std::nth_element(keys_.begin(), keys_.begin() + half, keys_.end());
    for (std::uint32_t k = begin; k < end; ++k) order_[k] = keys_[k - begin].second;
    const std::uint32_t left = divide(points, begin, begin + half);
    const std::uint32_t right = divide(points, begin + half, end);
    balls_[ball].left = left;
    balls_[ball].right = right;
    return ball;
  }

  void enclose(std::size_t k) {
    Ball& ball = balls_[k];
    double* mean = &centres_[k * dim_];
    std::fill_n(mean, dim_, 0.0);
    for (std::uint32_t i = ball.begin; i < ball.end; ++i) {
      for (std::size_t a = 0; a < dim_; ++a) mean[a] += points_[i * dim_ + a];
      ball.mass += masses_[i];
    }
    for (std::size_t a = 0; a < dim_; ++a) mean[a] /= ball.end - ball.begin;
    double farthest = 0;
    for (std::uint32_t i = ball.begin; i < ball.end; ++i)
      farthest = std::max(farthest, away(mean, point(i).data()));
    ball.radius = std::sqrt(farthest);
  }

  // Squared, in several chains of additions: balls need no order of sums.
  double away(const double* x, const double* y) const {
    constexpr std::size_t kChains = 8;
    double sum[kChains] = {};
    std::size_t a = 0;
    for (; a + kChains <= dim_; a += kChains)
      for (std::size_t c = 0; c < kChains; ++c)
        sum[c] += (x[a + c] - y[a + c]) * (x[a + c] - y[a + c]);
    for (; a < dim_; ++a) sum[0] += (x[a] - y[a]) * (x[a] - y[a]);
    return std::accumulate(sum, sum + kChains, 0.0);
  }

  Met met(std::uint32_t p, std::uint32_t q) const {
    const double apart = std::sqrt(away(centre(p).data(), centre(q).data()));
    const double reach = balls_[p].radius + balls_[q].radius;
    const double rounding = kBallSurely * (apart + reach + radius_);
    if (apart - reach > radius_ + rounding) return Met::none;
    return apart + reach < radius_ - rounding ? Met::all : Met::some;
  }

  // A pair at the very gap counts as it does everywhere: summed in order.
  bool close(std::uint32_t i, std::uint32_t j) const {
    const double squared = away(point(i).data(), point(j).data()), limit = 2 * gap_;
    if (squared > limit * (1 + kBallSurely)) return false;
    return squared < limit * (1 - kBallSurely) || squared_distance(point(i), point(j)) / 2 <= gap_;
  }

  /// Pairs of a leaf that have to be read, and balls met.
  double reads(std::uint32_t leaf, std::uint32_t q) const {
    const Ball &a = balls_[leaf], &b = balls_[q];
    if (met(leaf, q) != Met::some) return 1;
    if (b.leaf()) return 1 + static_cast<double>(a.end - a.begin) * (b.end - b.begin);
    return 1 + reads(leaf, b.left) + reads(leaf, b.right);
  }

  void visit(std::uint32_t leaf, std::uint32_t q, std::vector<double>& found, double& left) const {
    const Ball &a = balls_[leaf], &b = balls_[q];
    const Met how = met(leaf, q);
    left -= 1;
    if (how == Met::none || left < 0) return;
    if (how == Met::all) {  // its own mass is not that of others
      for (std::uint32_t i = a.begin; i < a.end; ++i)
        found[i] += b.mass - (i >= b.begin && i < b.end ? masses_[i] : 0);
      return;
    }
    if (!b.leaf()) {
      visit(leaf, b.left, found, left);
      visit(leaf, b.right, found, left);
      return;
    }
    left -= static_cast<double>(a.end - a.begin) * (b.end - b.begin);
    for (std::uint32_t i = a.begin; i < a.end; ++i)
      for (std::uint32_t j = b.begin; j < b.end; ++j)
        if (i != j && close(i, j)) found[i] += masses_[j];
  }

  std::size_t dim_;
  std::vector<std::uint32_t> order_, leaves_;
  std::vector<double> masses_, points_, centres_;  // in the order of the tree; of each ball
  std::vector<Ball> balls_;
  std::vector<std::pair<double, std::uint32_t>> keys_;
  double gap_ = 0, radius_ = 0;
};

}  // namespace

std::optional<std::vector<double>> close_counts(std::span<const double> points, std::size_t dim,
                                                std::span<const double> masses, double gap,
                                                double most_reads) {
  if (masses.empty()) return std::vector<double>();
  return BallTree(points, dim, masses).count(gap, most_reads);
}

}  // namespace attractor
