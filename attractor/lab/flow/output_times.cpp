#include "attractor/lab/flow/output_times.hpp"

#include <algorithm>
#include <cmath>

#include "attractor/flow/run.hpp"

namespace attractor::lab {

std::vector<flow::Time> log_times(const flow::Time& end, std::uint64_t count, double log_unit) {
  const double last = end.log();
  const double first = std::min(last - std::log(1e3), log_unit + std::log(1e-2));
  std::vector<flow::Time> times{flow::Time(0)};
  for (std::uint64_t k = 0; k < count; ++k) {
    const double share = count > 1 ? static_cast<double>(k) / static_cast<double>(count - 1) : 1;
    const double log = first + share * (last - first);
    if (std::abs(log - log_unit) < 600)
      times.emplace_back(std::exp(log - log_unit), log_unit);
    else
      times.emplace_back(1, log);
  }
  times.back() = end;
  return times;
}

std::vector<flow::Time> linear_times(const flow::Time& end, std::uint64_t count) {
  std::vector<flow::Time> times;
  for (std::uint64_t k = 0; k <= count; ++k)
    times.emplace_back(end.mantissa() * (static_cast<double>(k) / static_cast<double>(count)),
                       end.exponent());
  return times;
}

std::vector<flow::Time> at_layers(const std::vector<flow::Time>& times, double step) {
  std::vector<flow::Time> layers;
  double last = -1;
  for (const flow::Time& time : times) {
    const auto layer = static_cast<double>(flow::fixed_steps(time, step).count);
    if (layer > last) layers.emplace_back(layer * step);
    last = std::max(last, layer);
  }
  return layers;
}

}  // namespace attractor::lab
