#include "attractor/tokens/close_counts.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>

#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/halves.hpp"

namespace attractor {
namespace {

constexpr std::size_t kProbedLeaves = 8, kLeavesTogether = 64;
constexpr double kReadsOfALeaf = 1 << 14;  // that every leaf may have
constexpr double kBallSurely = 1e-9;       // of distances; far more than they round

struct Ball : Half {
  double radius = 0, mass = 0;
};

class BallTree {
 public:
  BallTree(std::span<const double> points, std::size_t dim, std::span<const double> masses)
      : dim_(dim), tree_(points, dim), masses_(masses.size()) {
    for (std::size_t k = 0; k < masses.size(); ++k) masses_[k] = masses[tree_.order()[k]];
    for (const Half& half : tree_.nodes()) balls_.push_back({half});
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
    std::vector<double> found(masses_.size(), 0.0);
    std::atomic<bool> too_many = false;
    const std::size_t groups = (leaves_.size() + kLeavesTogether - 1) / kLeavesTogether;
    parallel_for(groups, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t group = begin; group < end && !too_many; ++group) {
        const std::size_t first = group * kLeavesTogether;
        const std::size_t last = std::min(leaves_.size(), first + kLeavesTogether);
        double left = 8 * share * kLeavesTogether + kReadsOfALeaf;
        for (std::size_t k = first; k < last; ++k) visit(leaves_[k], 0, found, left);
        if (left < 0) too_many = true;
      }
    });
    if (too_many) return {};
    std::vector<double> result(masses_.size());
    for (std::size_t k = 0; k < masses_.size(); ++k) result[tree_.order()[k]] = found[k];
    return result;
  }

 private:
  enum class Met { none, all, some };

  std::span<const double> point(std::uint32_t k) const { return tree_.point(k); }
  std::span<const double> centre(std::size_t ball) const { return {&centres_[ball * dim_], dim_}; }

  void enclose(std::size_t k) {
    Ball& ball = balls_[k];
    double* mean = &centres_[k * dim_];
    std::fill_n(mean, dim_, 0.0);
    for (std::uint32_t i = ball.begin; i < ball.end; ++i) {
      for (std::size_t a = 0; a < dim_; ++a) mean[a] += point(i)[a];
      ball.mass += masses_[i];
    }
    for (std::size_t a = 0; a < dim_; ++a) mean[a] /= ball.end - ball.begin;
    double farthest = 0;
    for (std::uint32_t i = ball.begin; i < ball.end; ++i)
      farthest = std::max(farthest, away(mean, point(i).data()));
    ball.radius = std::sqrt(farthest);
  }

  double away(const double* x, const double* y) const {  // squared
    return sum_of_squares(dim_, [=](std::size_t a) { return x[a] - y[a]; });
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
  Halves tree_;
  std::vector<double> masses_;  // in the order of the tree
  std::vector<Ball> balls_;
  std::vector<double> centres_;
  std::vector<std::uint32_t> leaves_;
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
