#include "attractor/models/rotary.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attractor::models {
namespace {

std::vector<double> plain_frequencies(double theta, std::size_t head_dim) {
  std::vector<double> w;
  for (std::size_t k = 0; k < head_dim / 2; ++k)
    w.push_back(std::pow(theta, -2.0 * static_cast<double>(k) / static_cast<double>(head_dim)));
  return w;
}

double blended_llama3(double w, const RotaryScaling& s, double trained) {
  const double turns = trained * w / (2 * std::numbers::pi);  // within the trained context
  if (turns < s.low_frequency) return w / s.factor;
  if (turns > s.high_frequency) return w;
  const double share = (turns - s.low_frequency) / (s.high_frequency - s.low_frequency);
  return (1 - share) * w / s.factor + share * w;
}

/// The ramp of YaRN: 0 for dimensions that turn fast, 1 for slow ones.
std::vector<double> yarn_ramp(const Architecture& a, double trained) {
  const auto dim = static_cast<double>(a.head_dim);
  const auto dimension_of = [&](double turns) {
    return dim * std::log(trained / (turns * 2 * std::numbers::pi)) / (2 * std::log(a.theta));
  };
  const double low = std::max(std::floor(dimension_of(a.scaling.fast)), 0.0);
  double high = std::min(std::ceil(dimension_of(a.scaling.slow)), dim - 1);
  if (low == high) high += 0.001;
  std::vector<double> ramp;
  for (std::size_t k = 0; k < a.head_dim / 2; ++k)
    ramp.push_back(std::clamp((static_cast<double>(k) - low) / (high - low), 0.0, 1.0));
  return ramp;
}

}  // namespace

Rotary::Rotary(const Architecture& a, std::size_t tokens)
    : half_(a.head_dim / 2), pairs_(a.position == Positions::rotary_pairs) {
  using Kind = RotaryScaling::Kind;
  const RotaryScaling& s = a.scaling;
  const double trained =
      s.original_positions > 0 ? s.original_positions : static_cast<double>(a.positions);
  double theta = a.theta;
  const auto n = static_cast<double>(tokens), dim = static_cast<double>(a.head_dim);
  if (s.kind == Kind::dynamic && n > trained && a.head_dim > 2)
    theta *= std::pow(s.factor * n / trained - (s.factor - 1), dim / (dim - 2));
  frequencies_ = plain_frequencies(theta, a.head_dim);
  if (s.kind == Kind::linear)
    for (double& w : frequencies_) w /= s.factor;
  if (s.kind == Kind::llama3)
    for (double& w : frequencies_) w = blended_llama3(w, s, trained);
  if (s.kind == Kind::yarn) {
    const std::vector<double> ramp = yarn_ramp(a, trained);
    for (std::size_t k = 0; k < half_; ++k)
      frequencies_[k] = frequencies_[k] / s.factor * ramp[k] + frequencies_[k] * (1 - ramp[k]);
    scale_ = s.attention_factor.value_or(s.factor > 1 ? 0.1 * std::log(s.factor) + 1 : 1);
  }
  cosines_.resize(tokens * half_);
  sines_.resize(tokens * half_);
  for (std::size_t i = 0; i < tokens; ++i)
    for (std::size_t k = 0; k < half_; ++k) {
      const double angle = static_cast<double>(i) * frequencies_[k];
      cosines_[i * half_ + k] = static_cast<float>(scale_ * std::cos(angle));
      sines_[i * half_ + k] = static_cast<float>(scale_ * std::sin(angle));
    }
}

void Rotary::turn(float* vectors, std::size_t heads, std::size_t position) const {
  const float* c = cosines_.data() + position * half_;
  const float* s = sines_.data() + position * half_;
  for (std::size_t h = 0; h < heads; ++h, vectors += 2 * half_)
    for (std::size_t k = 0; k < half_; ++k) {
      float& x = vectors[pairs_ ? 2 * k : k];
      float& y = vectors[pairs_ ? 2 * k + 1 : k + half_];
      const float turned = c[k] * x - s[k] * y;
      y = s[k] * x + c[k] * y;
      x = turned;
    }
}

}  // namespace attractor::models
