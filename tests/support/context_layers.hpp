// What tests of long contexts say about a layer.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "attractor/long_context/long_context.hpp"

namespace attractor::meanfield {

inline void expect_close(double value, double truth, double relative, const std::string& what) {
  EXPECT_LE(std::abs(value - truth), relative * std::abs(truth))
      << what << ": " << value << " instead of " << truth;
}

inline std::string label(const ContextLayer& l) {
  return "n " + std::to_string(l.tokens) + " rho " + std::to_string(l.rho) + " g " +
         std::to_string(l.exponent) + " a " + std::to_string(l.residual);
}

}  // namespace attractor::meanfield
