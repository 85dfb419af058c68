#include "attractor/experiment/words.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace attractor::experiment {

std::string plain_words(const flow::Time& time) {
  const double log10 = time.log() / std::numbers::ln10;
  if (std::isinf(log10)) return "0";
  if (std::abs(log10) < 5) return fmt::format("{:.6g}", time.value());
  const double exponent = std::floor(log10);
  return fmt::format("{:.4f}e{:+.0f}", std::pow(10, log10 - exponent), exponent);
}

}  // namespace attractor::experiment
