#include "attractor/flow/clock.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cmath>
#include <numbers>
#include <utility>

namespace attractor::flow {
namespace {

using Gauss = boost::math::quadrature::gauss<double, 10>;

constexpr double kDepth = 40;        // e-folds below the maximum that count
constexpr double kPieceRange = 2.5;  // of phi in one formula of Gauss: it is exact to rounding
constexpr std::size_t kFewest = 4, kMost = 16;
constexpr int kHalvings = 10;

/// Coefficients of the polynomial through values at cos(pi k / p), k = 0 ... p.
std::vector<double> chebyshev(std::span<const double> values) {
  const std::size_t p = values.size() - 1;
  std::vector<double> c(p + 1, 0.0);
  for (std::size_t j = 0; j <= p; ++j) {
    for (std::size_t k = 0; k <= p; ++k) {
      const double end = k == 0 || k == p ? 0.5 : 1;
      c[j] += end * values[k] *
              std::cos(std::numbers::pi * static_cast<double>(j * k) / static_cast<double>(p));
    }
    c[j] *= (j == 0 || j == p ? 1.0 : 2.0) / static_cast<double>(p);
  }
  return c;
}

/// Where phi, largest at one end and steep, has fallen by about kDepth.
struct Fall {
  double theta, phi;
};
Fall find_fall(const Clock::LogRate& phi, double first, double last) {
  const bool from_start = first > last;
  const double high = std::max(first, last);
  double near = 0, near_drop = 0, far = 1, far_drop = std::abs(first - last), at = 1;
  for (int k = 0; k < 40 && far_drop > 2 * kDepth; ++k) {
    at = near + (far - near) * (1.5 * kDepth - near_drop) / (far_drop - near_drop);
    at = std::clamp(at, near + 1e-3 * (far - near), far - 0.5 * (far - near));
    const double drop = high - phi(from_start ? at : 1 - at);
    if (drop >= kDepth && drop <= far_drop) {
      far = at, far_drop = drop;
    } else if (drop < kDepth && drop >= near_drop) {
      near = at, near_drop = drop;
    } else {
      break;  // not monotone, or not finite
    }
  }
  return {from_start ? far : 1 - far, high - far_drop};
}

}  // namespace

double Clock::Panel::at(double theta) const {
  const double x = std::clamp((2 * theta - from - to) / (to - from), -1.0, 1.0);
  double one = 0, two = 0;
  for (std::size_t j = coefficients.size(); j-- > 1;)
    two = std::exchange(one, 2 * x * one - two + coefficients[j]);
  return x * one - two + coefficients[0];
}

Clock::Clock(const LogRate& phi, double first, double last, bool one_sided, double accuracy) {
  double from = 0, to = 1;
  if (one_sided && std::abs(first - last) > 2 * kDepth) {
    const Fall fall = find_fall(phi, first, last);
    (first > last ? to : from) = fall.theta;
    (first > last ? last : first) = fall.phi;
  }
  top_ = std::max(first, last);
  interpolate(phi, {.from = from, .to = to, .coefficients = {}}, first, last, accuracy, 0);
  for (const Panel& panel : panels_)
    for (std::size_t k = 1; k < 8; ++k)
      top_ = std::max(top_,
                      panel.at(panel.from + (panel.to - panel.from) * static_cast<double>(k) / 8));
  for (std::size_t k = 0; k < panels_.size(); ++k) integrate(panels_[k], k);
}

void Clock::interpolate(const LogRate& phi, Panel panel, double first, double last, double accuracy,
                        int halvings) {
  const double middle = 0.5 * (panel.from + panel.to), half = 0.5 * (panel.to - panel.from);
  std::vector<double> values = {last, first};  // from right to left
  double error = 0;
  for (std::size_t p = kFewest; p <= kMost; p *= 2) {
    std::vector<double> finer(p + 1);
    const std::size_t known = p / (values.size() - 1);
    for (std::size_t k = 0; k <= p; ++k)
      finer[k] = k % known == 0
                     ? values[k / known]
                     : phi(middle + half * std::cos(std::numbers::pi * static_cast<double>(k) /
                                                    static_cast<double>(p)));
    values = std::move(finer);
    panel.coefficients = chebyshev(values);
    error = std::max(std::abs(panel.coefficients[p]), 0.1 * std::abs(panel.coefficients[p - 1]));
    if (error <= accuracy) break;
  }
  const double highest = *std::max_element(values.begin(), values.end());
  if (!(error > accuracy) || halvings == kHalvings || highest < top_ - kDepth) {
    if (highest >= top_ - kDepth) error_ = std::max(error_, error);
    panels_.push_back(std::move(panel));
    return;
  }
  const double between = values[values.size() / 2];
  interpolate(phi, {panel.from, middle, {}}, first, between, accuracy, halvings + 1);
  interpolate(phi, {middle, panel.to, {}}, between, last, accuracy, halvings + 1);
}

double Clock::time_between(const Panel& panel, double from, double to) const {
  if (!(to > from)) return 0;
  return Gauss::integrate([&](double theta) { return std::exp(panel.at(theta) - top_); }, from, to);
}

void Clock::integrate(const Panel& panel, std::size_t index) {
  double range = 0;
  for (std::size_t j = 1; j < panel.coefficients.size(); ++j)
    range += 2 * static_cast<double>(j * j) * std::abs(panel.coefficients[j]);  // of the slope
  const double pieces = std::clamp(std::ceil(range / kPieceRange), 1.0, 1e4);
  double until = pieces_.empty() ? 0 : pieces_.back().until;
  const double step = (panel.to - panel.from) / pieces;
  for (double k = 0; k < pieces; ++k) {
    const double from = panel.from + k * step, to = from + step;
    until += time_between(panel, from, to);
    pieces_.push_back({index, from, to, until});
  }
}

double Clock::share(double theta) const {
  if (pieces_.empty() || theta <= 0 || theta >= 1) return theta;
  const auto piece =
      std::find_if(pieces_.begin(), pieces_.end(), [&](const Piece& p) { return theta < p.to; });
  if (piece == pieces_.end()) return 1;
  const double passed = piece == pieces_.begin() ? 0 : std::prev(piece)->until;
  return std::min(1.0, (passed + time_between(panels_[piece->panel], piece->from, theta)) / time());
}

double Clock::theta(double share) const {
  if (pieces_.empty() || share <= 0 || share >= 1) return share;
  const double wanted = share * time();
  const auto piece = std::find_if(pieces_.begin(), pieces_.end(),
                                  [&](const Piece& p) { return wanted < p.until; });
  if (piece == pieces_.end()) return 1;
  const Panel& panel = panels_[piece->panel];
  const double passed = piece == pieces_.begin() ? 0 : std::prev(piece)->until;
  double low = piece->from, high = piece->to;
  double at = low + (high - low) * (wanted - passed) / (piece->until - passed);
  for (int k = 0; k < 60; ++k) {  // Newton, kept within the bracket
    const double excess = passed + time_between(panel, piece->from, at) - wanted;
    (excess > 0 ? high : low) = at;
    const double next = at - excess / std::exp(panel.at(at) - top_);
    if (std::abs(next - at) <= 1e-16 * std::max(std::abs(at), 1e-300) || high - low <= 0) break;
    at = next > low && next < high ? next : 0.5 * (low + high);
  }
  return at;
}

}  // namespace attractor::flow
