#include "attractor/models/rotary.hpp"

#include <cmath>

namespace attractor::models {
namespace {

RotaryWaves waves_of(const Architecture& a, std::size_t tokens) {
  Rotary rotary{.theta = a.theta, .scaling = a.scaling};
  if (!(a.scaling.original_positions > 0))
    rotary.scaling.original_positions = static_cast<double>(a.positions);
  return rotary_waves(rotary, a.head_dim, tokens);
}

}  // namespace

RotaryTables::RotaryTables(const Architecture& a, std::size_t tokens)
    : half_(a.head_dim / 2),
      pairs_(a.position == Positions::rotary_pairs),
      waves_(waves_of(a, tokens)) {
  cosines_.resize(tokens * half_);
  sines_.resize(tokens * half_);
  for (std::size_t i = 0; i < tokens; ++i)
    for (std::size_t k = 0; k < half_; ++k) {
      const double angle = static_cast<double>(i) * waves_.frequencies[k];
      cosines_[i * half_ + k] = static_cast<float>(waves_.scale * std::cos(angle));
      sines_[i * half_ + k] = static_cast<float>(waves_.scale * std::sin(angle));
    }
}

void RotaryTables::turn(float* vectors, std::size_t heads, std::size_t position) const {
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
