// Rotary positions (attention/rotary.hpp) in the single precision of trained models, with tables
// of cosines and sines.
#pragma once

#include <cstddef>
#include <vector>

#include "attractor/models/architecture.hpp"

namespace attractor::models {

class RotaryTables {
 public:
  /// Of this many tokens.
  RotaryTables(const Architecture& a, std::size_t tokens);

  /// Turns `heads` vectors of head_dim that lie one after the other, all at this position.
  void turn(float* vectors, std::size_t heads, std::size_t position) const;
  double scale() const { return waves_.scale; }
  const std::vector<double>& frequencies() const { return waves_.frequencies; }

 private:
  std::size_t half_;
  bool pairs_;
  RotaryWaves waves_;
  std::vector<float> cosines_, sines_;  // tokens x half
};

}  // namespace attractor::models
