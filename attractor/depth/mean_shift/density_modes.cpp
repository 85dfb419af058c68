#include "attractor/depth/mean_shift/density_modes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::depth {
namespace {

constexpr int kPerBandwidth = 8;            // nodes
constexpr int kReach = 10 * kPerBandwidth;  // nodes on either side that a point is felt at
constexpr int kMoments = 8;
constexpr std::ptrdiff_t kBlock = 1024;  // nodes that are summed together

using Moments = std::array<double, kMoments>;

/// (-step)^p step^q g^{(p+q)} at so many steps, q = 1 (slope) or 2 (bend), p < kMoments.
struct Response {
  std::vector<Moments> slope, bend;  // of offsets -kReach to kReach
};

/// g, g', g'', ... at u in units of the step: g' = -a s(u) g with s = u or sin.
std::array<double, kMoments + 2> derivatives(double u, double a, double step, Curve curve) {
  std::array<double, kMoments + 2> g{};
  const double half = std::sin(u * step / 2) / step;
  g[0] = std::exp(curve == Curve::line ? -a * u * u / 2 : -2 * a * half * half);
  // Derivatives of s: u, 1, 0, ... or sin, step cos, -step^2 sin, ... over the step.
  std::array<double, kMoments + 2> s{};
  for (int p = 0; p < kMoments + 2; ++p)
    s[p] = curve == Curve::line
               ? (p == 0   ? u
                  : p == 1 ? 1
                           : 0)
               : std::pow(step, p - 1) * std::sin(u * step + p * std::numbers::pi / 2);
  for (int p = 0; p + 1 < kMoments + 2; ++p) {
    double choose = 1, sum = 0;
    for (int i = 0; i <= p; ++i) {
      sum += choose * s[i] * g[p - i];
      choose *= static_cast<double>(p - i) / (i + 1);
    }
    g[p + 1] = -a * sum;
  }
  return g;
}

Response response(double beta, double step, Curve curve) {
  Response r;
  for (int offset = -kReach; offset <= kReach; ++offset) {
    // A node sees a point `offset` nodes to its right at u = -offset.
    const auto g = derivatives(-offset, beta * step * step, step, curve);
    Moments slope, bend;
    for (int p = 0; p < kMoments; ++p) {
      const double sign = p % 2 == 0 ? 1 : -1;
      slope[p] = sign * g[p + 1];
      bend[p] = sign * g[p + 2];
    }
    r.slope.push_back(slope);
    r.bend.push_back(bend);
  }
  return r;
}

struct Sum {
  double slope = 0, bend = 0;
  bool felt = false;  // by any point
};

class Grid {
 public:
  Grid(std::vector<double> sorted, double beta, Curve curve)
      : points_(std::move(sorted)),
        step_(1 / (kPerBandwidth * std::sqrt(beta))),
        origin_(points_.front() - step_),
        response_(response(beta, step_, curve)) {}

  std::ptrdiff_t nodes() const { return node(points_.back()) + 2; }
  double place(double node) const { return origin_ + node * step_; }

  /// Modes between the nodes first and last.
  std::vector<double> modes(std::ptrdiff_t first, std::ptrdiff_t last) const {
    const double left = place(static_cast<double>(first - kReach - 1)),
                 right = place(static_cast<double>(last + kReach + 1));
    const auto from = std::lower_bound(points_.begin(), points_.end(), left),
               to = std::upper_bound(from, points_.end(), right);
    std::vector<double> found;
    if (from == to) return found;
    const auto count = static_cast<std::size_t>(last - first + 1);
    std::vector<Moments> moments(count + 2 * kReach, Moments{});
    std::vector<bool> taken(moments.size());
    for (auto at = from; at != to; ++at) {
      const std::ptrdiff_t cell = node(*at) - first + kReach;
      if (cell < 0 || cell >= static_cast<std::ptrdiff_t>(moments.size())) continue;
      taken[cell] = true;
      double power = 1;
      const double y = (*at - place(static_cast<double>(node(*at)))) / step_;
      for (int p = 0; p < kMoments; power *= y / ++p) moments[cell][p] += power;
    }
    std::vector<Sum> sums(count);
    for (std::size_t cell = 0; cell < moments.size(); ++cell)
      if (taken[cell]) spread(moments[cell], static_cast<std::ptrdiff_t>(cell), sums);
    for (std::size_t k = 0; k + 1 < count; ++k)
      if (sums[k].felt && sums[k + 1].felt)
        add_modes(sums[k], sums[k + 1], static_cast<double>(first) + static_cast<double>(k), found);
    return found;
  }

 private:
  std::ptrdiff_t node(double x) const { return std::llround((x - origin_) / step_); }

  void spread(const Moments& m, std::ptrdiff_t cell, std::vector<Sum>& sums) const {
    const auto count = static_cast<std::ptrdiff_t>(sums.size());
    const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(0, cell - 2 * kReach),
                         end = std::min(count, cell + 1);
    for (std::ptrdiff_t k = begin; k < end; ++k) {
      const Moments &slope = response_.slope[cell - k], &bend = response_.bend[cell - k];
      double s = 0, b = 0;
      for (int p = 0; p < kMoments; ++p) s += m[p] * slope[p], b += m[p] * bend[p];
      sums[k].slope += s;
      sums[k].bend += b;
      sums[k].felt = true;
    }
  }

  /// The cubic with these values and derivatives at 0 and 1 falls through zero at ...
  void add_modes(const Sum& a, const Sum& b, double node, std::vector<double>& found) const {
    const double c2 = 3 * (b.slope - a.slope) - 2 * a.bend - b.bend,
                 c3 = 2 * (a.slope - b.slope) + a.bend + b.bend;
    const auto value = [&](double u) { return a.slope + u * (a.bend + u * (c2 + u * c3)); };
    std::array<double, 4> cuts{0, 1, 1, 1};  // pieces on which it is monotone
    std::size_t pieces = 1;
    if (const double root = c2 * c2 - 3 * c3 * a.bend; root > 0) {
      // Both roots of a + 2 c2 u + 3 c3 u^2 without cancellation.
      const double q = -(c2 + std::copysign(std::sqrt(root), c2));
      std::array<double, 2> turns{a.bend / q, q / (3 * c3)};
      std::sort(turns.begin(), turns.end());
      for (const double turn : turns)
        if (turn > 0 && turn < 1) cuts[pieces++] = turn;
      cuts[pieces] = 1;
    }
    for (std::size_t k = 0; k < pieces; ++k) {
      double low = cuts[k], high = cuts[k + 1];
      const double before = k == 0 ? a.slope : value(low);
      const double after = k + 1 == pieces ? b.slope : value(high);
      if (!(before > 0 && after <= 0)) continue;
      while (high - low > 1e-12) {
        const double middle = (low + high) / 2;
        (value(middle) > 0 ? low : high) = middle;
      }
      found.push_back(place(node + high));
    }
  }

  std::vector<double> points_;
  double step_, origin_;
  Response response_;
};

void require(std::span<const double> points, double beta, Curve curve) {
  const double least = curve == Curve::circle ? 16 : 0;
  if (!(std::isfinite(beta) && beta > 0 && beta >= least))
    throw Error(fmt::format("beta is {}; allowed: {}", beta,
                            least > 0 ? "at least 16 on the circle" : "finite and above 0"));
  for (const double x : points)
    if (!std::isfinite(x)) throw Error(fmt::format("a point is {}; it must be finite", x));
}

/// Sorted in [0, 2 pi), and once more what is within reach beyond both ends.
std::vector<double> around(std::vector<double> points, double beta) {
  constexpr double kWholeTurn = 2 * std::numbers::pi;
  for (double& x : points) {
    x -= kWholeTurn * std::floor(x / kWholeTurn);
    if (x >= kWholeTurn) x = 0;
  }
  std::sort(points.begin(), points.end());
  const double reach = std::min((kReach + 2) / (kPerBandwidth * std::sqrt(beta)), std::numbers::pi);
  std::vector<double> all;
  all.reserve(points.size() + points.size() / 8);
  for (auto at = std::lower_bound(points.begin(), points.end(), kWholeTurn - reach);
       at != points.end(); ++at)
    all.push_back(*at - kWholeTurn);
  all.insert(all.end(), points.begin(), points.end());
  for (const double x : points) {
    if (x > reach) break;
    all.push_back(x + kWholeTurn);
  }
  return all;
}

}  // namespace

std::vector<double> density_modes(std::span<const double> points, double beta, Curve curve) {
  require(points, beta, curve);
  if (points.empty()) return {};
  std::vector<double> sorted(points.begin(), points.end());
  if (curve == Curve::circle)
    sorted = around(std::move(sorted), beta);
  else
    std::sort(sorted.begin(), sorted.end());
  const Grid grid(std::move(sorted), beta, curve);
  const auto blocks = static_cast<std::size_t>((grid.nodes() + kBlock - 1) / kBlock);
  std::vector<std::vector<double>> found(blocks);
  parallel_for(blocks, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t k = begin; k < end; ++k) {
      const auto first = static_cast<std::ptrdiff_t>(k) * kBlock;
      found[k] = grid.modes(first, first + kBlock);
    }
  });
  std::vector<double> modes;
  for (const std::vector<double>& part : found)
    for (const double mode : part)
      if (curve == Curve::line || (mode >= 0 && mode < 2 * std::numbers::pi)) modes.push_back(mode);
  return modes;
}

}  // namespace attractor::depth
