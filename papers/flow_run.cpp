#include "papers/flow_run.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

namespace attractor::papers {

FlowRecord flow_of(const FlowSetup& parameters, const Effort& effort) {
  FlowRecord record = lab::run_flow(parameters, {.stop = effort.context.stop});
  if (record.series.empty()) record.series.emplace_back();
  if (record.snapshots.empty()) record.snapshots.emplace_back();
  return record;
}

FlowSetup at_angles(std::span<const double> angles) {
  FlowSetup p;
  p.init = Arrangement::angles;
  p.angles = std::vector<double>(angles.begin(), angles.end());
  p.dim = 2;
  return p;
}

std::vector<double> column(const FlowRecord& record, double observe::Observation::*value) {
  std::vector<double> result;
  for (const observe::Observation& o : record.series) result.push_back(o.*value);
  return result;
}

double largest_fall(std::span<const double> values) {
  double fall = 0;
  for (std::size_t k = 1; k < values.size(); ++k) {
    const double step = values[k - 1] - values[k];
    if (!(step <= fall)) fall = step;
    if (std::isnan(step)) break;
  }
  return fall;
}

}  // namespace attractor::papers
