#include "attractor/lab/words.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

namespace attractor::lab {

std::string plain_words(const flow::Time& time) {
  const double log10 = time.log() / std::numbers::ln10;
  if (std::isinf(log10)) return "0";
  if (std::abs(log10) < 5) return fmt::format("{:.6g}", time.value());
  const double exponent = std::floor(log10);
  return fmt::format("{:.4f}e{:+.0f}", std::pow(10, log10 - exponent), exponent);
}

std::string power_text(double log10) {
  if (std::isnan(log10)) return "unknown";
  if (std::isinf(log10)) return log10 < 0 ? "0" : "infinity";
  if (log10 >= -3 && log10 < 4) {
    const double value = std::pow(10, log10);
    return value >= 100 ? fmt::format("{:.0f}", value) : fmt::format("{:.3g}", value);
  }
  double exponent = std::floor(log10);
  std::string mantissa = fmt::format("{:.1f}", std::pow(10, log10 - exponent));
  if (mantissa == "10.0") mantissa = "1.0", exponent += 1;
  return fmt::format("{}10^{{{}{:.0f}}}", mantissa == "1.0" ? "" : mantissa + "·",
                     exponent < 0 ? "−" : "", std::abs(exponent));
}

std::string time_text(const flow::Time& time) {
  return power_text(time.log() / std::numbers::ln10);
}

}  // namespace attractor::lab
