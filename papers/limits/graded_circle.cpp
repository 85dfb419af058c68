#include "papers/limits/graded_circle.hpp"

#include <cmath>
#include <numbers>

#include "attractor/flow/run.hpp"
#include "attractor/mean_field/circle_tokens.hpp"

namespace attractor::papers {

GradedCircle graded_circle(const std::function<double(double)>& density, std::size_t count,
                           double nearest) {
  // theta = 4 atan(e^s) - pi, s from far left (theta near -pi) to far right: d theta = 2 sech s ds
  // decays at both ends, so that the trapezoidal rule converges faster than any power.
  const double far = std::log(4 / nearest), step = 2 * far / static_cast<double>(2 * count - 1);
  GradedCircle result;
  double sum = 0;
  for (std::size_t k = 0; k < 2 * count; ++k) {
    const double s = -far + step * static_cast<double>(k);
    // The smaller part is computed, so that pi - |theta| keeps its digits as long as it can.
    const double left = 4 * std::atan(std::exp(-std::abs(s)));  // pi - |theta|
    result.angles.push_back(std::copysign(std::numbers::pi - left, s));
    result.weights.push_back(density(result.angles.back()) / std::cosh(s));
    sum += result.weights.back();
  }
  for (double& w : result.weights) w /= sum;
  return result;
}

std::vector<double> angles_on_circle(std::span<const double> positions) {
  std::vector<double> angles;
  for (std::size_t k = 0; k + 1 < positions.size(); k += 2)
    angles.push_back(std::atan2(positions[k + 1], positions[k]));
  return angles;
}

double spread_about_zero(std::span<const double> angles, std::span<const double> weights) {
  double sum = 0;
  for (std::size_t k = 0; k < angles.size(); ++k) {
    const double a = std::remainder(angles[k], 2 * std::numbers::pi);
    sum += weights[k] * a * a;
  }
  return std::sqrt(sum);
}

std::vector<std::vector<double>> circle_walk(Rule rule, double beta, const GradedCircle& start,
                                             const std::vector<double>& times, const Effort& effort,
                                             double tolerance) {
  meanfield::CircleTokens tokens({.rule = rule, .beta = beta}, start.weights);
  flow::Progress progress{.state = start.angles};
  flow::Plan plan{.end = flow::Time(times.back()), .tolerance = tolerance};
  for (const double t : times) plan.outputs.emplace_back(t);
  std::vector<std::vector<double>> states;
  flow::Hooks hooks{.stop = effort.context.stop};
  hooks.output = [&](const flow::Time&, std::span<const double> state) {
    states.emplace_back(state.begin(), state.end());
  };
  flow::run(tokens, flow::dormand_prince(), plan, progress, hooks);
  states.resize(times.size(), progress.state);
  return states;
}

}  // namespace attractor::papers
