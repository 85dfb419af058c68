#include "attractor/training/loss.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attractor/base/error.hpp"

namespace attractor::training {
namespace {

double log1p_exp(double x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

}  // namespace

Loss loss_named(std::string_view text) {
  for (Loss loss : {Loss::linear, Loss::logistic, Loss::exponential})
    if (name(loss) == text) return loss;
  throw Error(fmt::format("loss '{}' is unknown; allowed: linear, logistic, exponential", text));
}

std::string_view name(Loss loss) {
  switch (loss) {
    case Loss::linear:
      return "linear";
    case Loss::logistic:
      return "logistic";
    case Loss::exponential:
      return "exponential";
  }
  return "unknown";
}

double value(Loss loss, double f) {
  switch (loss) {
    case Loss::linear:
      return -f;
    case Loss::logistic:
      return log1p_exp(-f);
    case Loss::exponential:
      return std::exp(-f);
  }
  return 0;
}

double log_slope(Loss loss, double f) {
  switch (loss) {
    case Loss::linear:
      return 0;
    case Loss::logistic:
      return -log1p_exp(f);
    case Loss::exponential:
      return -f;
  }
  return 0;
}

}  // namespace attractor::training
