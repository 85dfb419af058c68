#include "attractor/attention/rotary.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace attractor {
namespace {

double blended_llama3(double w, const RotaryScaling& s) {
  const double turns = s.original_positions * w / (2 * std::numbers::pi);
  if (turns < s.low_frequency) return w / s.factor;
  if (turns > s.high_frequency) return w;
  const double share = (turns - s.low_frequency) / (s.high_frequency - s.low_frequency);
  return (1 - share) * w / s.factor + share * w;
}

/// The ramp of YaRN: 0 for planes that turn fast, 1 for slow ones.
std::vector<double> yarn_ramp(const Rotary& rotary, std::size_t planes) {
  const RotaryScaling& s = rotary.scaling;
  const double dim = 2 * static_cast<double>(planes);
  const auto dimension_of = [&](double turns) {
    return dim * std::log(s.original_positions / (turns * 2 * std::numbers::pi)) /
           (2 * std::log(rotary.theta));
  };
  const double low = std::max(std::floor(dimension_of(s.fast)), 0.0);
  double high = std::min(std::ceil(dimension_of(s.slow)), dim - 1);
  if (low == high) high += 0.001;
  std::vector<double> ramp;
  for (std::size_t k = 0; k < planes; ++k)
    ramp.push_back(std::clamp((static_cast<double>(k) - low) / (high - low), 0.0, 1.0));
  return ramp;
}

double stretched_base(const Rotary& rotary, double dim, double tokens) {
  const RotaryScaling& s = rotary.scaling;
  if (dim <= 2) return rotary.theta;
  const double power = dim / (dim - 2);
  if (s.kind == RotaryStretch::ntk) return rotary.theta * std::pow(s.factor, power);
  if (s.kind == RotaryStretch::dynamic && tokens > s.original_positions)
    return rotary.theta *
           std::pow(s.factor * tokens / s.original_positions - (s.factor - 1), power);
  return rotary.theta;
}

}  // namespace

RotaryWaves rotary_waves(const Rotary& rotary, std::size_t dim, std::size_t tokens) {
  const RotaryScaling& s = rotary.scaling;
  const auto d = static_cast<double>(dim);
  const double theta = stretched_base(rotary, d, static_cast<double>(tokens));
  RotaryWaves waves;
  for (std::size_t k = 0; k < dim / 2; ++k)
    waves.frequencies.push_back(rotary.fastest *
                                std::pow(theta, -2.0 * static_cast<double>(k) / d));
  if (s.kind == RotaryStretch::linear)
    for (double& w : waves.frequencies) w /= s.factor;
  if (s.kind == RotaryStretch::llama3)
    for (double& w : waves.frequencies) w = blended_llama3(w, s);
  if (s.kind == RotaryStretch::yarn) {
    const std::vector<double> ramp = yarn_ramp(rotary, dim / 2);
    for (std::size_t k = 0; k < dim / 2; ++k)
      waves.frequencies[k] =
          waves.frequencies[k] / s.factor * ramp[k] + waves.frequencies[k] * (1 - ramp[k]);
    waves.scale = s.attention_factor.value_or(s.factor > 1 ? 0.1 * std::log(s.factor) + 1 : 1);
  }
  return waves;
}

void turn_rows(const Rotary& rotary, std::span<double> rows, std::size_t dim) {
  const std::size_t half = dim / 2, count = rows.size() / dim;
  const bool pairs = rotary.layout == RotaryLayout::pairs;
  const RotaryWaves waves = rotary_waves(rotary, dim, count);
  for (std::size_t i = 0; i < count; ++i)
    for (std::size_t k = 0; k < half; ++k) {
      const double angle = static_cast<double>(i) * waves.frequencies[k];
      const double c = waves.scale * std::cos(angle), s = waves.scale * std::sin(angle);
      double& x = rows[i * dim + (pairs ? 2 * k : k)];
      double& y = rows[i * dim + (pairs ? 2 * k + 1 : k + half)];
      const double turned = c * x - s * y;
      y = s * x + c * y;
      x = turned;
    }
}

}  // namespace attractor
