#include "attractor/mean_field/inverse_cdf.hpp"

#include <algorithm>
#include <boost/math/quadrature/gauss.hpp>
#include <cassert>
#include <cmath>
#include <utility>

namespace attractor::meanfield {
namespace {

double integral(const std::function<double(double)>& density, double low, double high) {
  return boost::math::quadrature::gauss<double, 10>::integrate(density, low, high);
}

}  // namespace

InverseCdf::InverseCdf(std::function<double(double)> density, double low, double high,
                       std::size_t panels)
    : density_(std::move(density)),
      low_(low),
      width_((high - low) / static_cast<double>(panels)),
      cumulative_(panels + 1, 0.0) {
  assert(high > low && panels > 0);
  for (std::size_t p = 0; p < panels; ++p) {
    const double start = low_ + width_ * static_cast<double>(p);
    cumulative_[p + 1] = cumulative_[p] + integral(density_, start, start + width_);
  }
}

double InverseCdf::operator()(double u) const {
  const double target = u * cumulative_.back();
  const auto above = std::upper_bound(cumulative_.begin() + 1, cumulative_.end() - 1, target);
  const auto panel = static_cast<std::size_t>(above - cumulative_.begin()) - 1;
  const double start = low_ + width_ * static_cast<double>(panel);
  const double wanted = target - cumulative_[panel];
  const double mass = cumulative_[panel + 1] - cumulative_[panel];
  double left = 0, right = width_;
  double x = mass > 0 ? width_ * std::clamp(wanted / mass, 0.0, 1.0) : 0.5 * width_;
  for (int step = 0; step < 60; ++step) {
    const double excess = integral(density_, start, start + x) - wanted;
    (excess > 0 ? right : left) = x;
    double next = x - excess / density_(start + x);
    if (!(next > left && next < right)) next = 0.5 * (left + right);  // also 0/0
    const double change = std::abs(next - x);
    x = next;
    if (change <= 1e-15 * width_) break;
  }
  return start + x;
}

}  // namespace attractor::meanfield
