#include "attractor/training/loss.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::training {
namespace {

double log1p_exp(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

}  // namespace

std::span<const std::string_view> names(Loss) {
  static constexpr std::string_view kNames[] = {"linear", "correlation", "logistic", "exponential",
                                                "squared"};
  return kNames;
}

double value(Loss loss, double f, double y) {
  switch (loss) {
    case Loss::linear:
    case Loss::correlation:
      return -y * f;
    case Loss::logistic:
      return log1p_exp(-y * f);
    case Loss::exponential:
      return std::exp(-y * f);
    case Loss::squared:
      return (f - y) * (f - y) / 2;
  }
  return 0;
}

double log_value(Loss loss, double f, double y) {
  if (loss == Loss::exponential) return -y * f;
  if (loss == Loss::logistic && y * f > 30) return -y * f;  // ln(ln(1 + x)) = ln x to 1e-13
  return std::log(value(loss, f, y));
}

Pull pull(Loss loss, double f, double y) {
  const double side = y < 0 ? -1 : 1, size = std::log(std::abs(y));
  switch (loss) {
    case Loss::linear:
    case Loss::correlation:
      return {side, size};
    case Loss::logistic:
      return {side, size - log1p_exp(y * f)};
    case Loss::exponential:
      return {side, size - y * f};
    case Loss::squared:
      return {f > y ? -1.0 : 1.0, std::log(std::abs(f - y))};
  }
  return {1, -kInfinity};
}

double log_rise(Loss loss, double f, double y, double log_deficit) {
  const double drop = std::exp(log_deficit) * std::abs(y);  // of y f
  if (drop < 1e-17) return pull(loss, f, y).log_size + log_deficit;
  switch (loss) {
    case Loss::logistic: {
      // ln(1 + x) with x = (e^drop - 1) / (1 + e^{yf}), which may be out of range either way.
      const double log_x = (drop < 500 ? std::log(std::expm1(drop)) : drop) - log1p_exp(y * f);
      return log_x < -40 ? log_x : std::log(log1p_exp(log_x));
    }
    case Loss::exponential:
      return drop < 500 ? std::log(std::expm1(drop)) - y * f : drop - y * f;
    default:
      return std::log(drop);
  }
}

}  // namespace attractor::training
