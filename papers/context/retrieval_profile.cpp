#include "papers/context/retrieval_profile.hpp"

#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/random.hpp"
#include "papers/sample.hpp"
#include "papers/token_walk.hpp"

namespace attractor::papers {

using std::numbers::pi;

double last_angle(const std::vector<double>& angles, double time, double step,
                  const Effort& effort) {
  Walk walk{.times = {time}, .stepper = flow::Method::rk4, .step = step};
  walk.architecture.layer.dim = 2;
  walk.architecture.layer.mask = {.causal = true, .slope = kBias / kSequence};
  for (const double a : angles) walk.tokens.insert(walk.tokens.end(), {std::cos(a), std::sin(a)});
  const std::vector<double> end = states_of(walk, effort).back();
  return std::atan2(end[end.size() - 1], end[end.size() - 2]);
}

std::vector<double> walk_profile(double time) {
  std::vector<double> chance(kSequence, 0.0), profile(kSequence, 0.0);
  chance.back() = 1;
  double term = std::exp(-time);
  for (int k = 0; k < 120; ++k) {
    for (std::size_t j = 0; j < kSequence; ++j) profile[j] += term * chance[j];
    std::vector<double> next(kSequence, 0.0);
    for (std::size_t i = 0; i < kSequence; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j <= i; ++j)
        sum += std::exp(-kBias / kSequence * static_cast<double>(i - j));
      for (std::size_t j = 0; j <= i; ++j)
        next[j] += chance[i] * std::exp(-kBias / kSequence * static_cast<double>(i - j)) / sum;
    }
    chance = std::move(next);
    term *= time / (k + 1);
  }
  return profile;
}

std::vector<double> consensus_profile(double time, double step, const Effort& effort) {
  std::vector<double> profile;
  for (std::size_t j = 0; j < kSequence && !effort.context.stopped(); ++j) {
    std::vector<double> angles(kSequence, 0.0);
    angles[j] = kNudge;
    profile.push_back(last_angle(angles, time, step, effort) / kNudge);
  }
  return profile;
}

double limit_profile(double position, double time) {
  const double a = time * std::cyl_bessel_i(1, 1.0) / std::cyl_bessel_i(0, 1.0);
  const double l = std::log(std::expm1(kBias) / std::expm1(kBias * position));
  return kBias * std::exp(kBias * position) / std::expm1(kBias) * std::sqrt(a / l) *
         std::cyl_bessel_i(1, 2 * std::sqrt(a * l)) / kSequence;
}

// E cos(x_n(T) - x_j(0)) = E[(d x_n(T)/d x_j(0)) cos(x_n(T) - x_j(0))], integrating by parts in
// x_j(0): the right-hand side has a thousand times less variance.
Uniform uniform_profile(double time, int replicates, const Effort& effort) {
  constexpr std::size_t kGroups = 9, kSize = 7;
  std::vector<std::vector<double>> groups(kGroups);
  for (int r = 0; r < replicates && !effort.context.stopped(); ++r) {
    const Stream stream(static_cast<std::uint64_t>(r), "lost_in_the_middle");
    std::vector<double> angles;
    for (std::size_t i = 0; i < kSequence; ++i) angles.push_back(2 * pi * stream.uniform(i, 0));
    const double last = last_angle(angles, time, 0.1, effort);
    for (std::size_t g = 0; g < kGroups; ++g) {
      double sum = 0;
      for (std::size_t j = g * kSize; j < (g + 1) * kSize; ++j) {
        std::vector<double> moved = angles;
        moved[j] += kNudge;
        const double turn = std::remainder(last_angle(moved, time, 0.1, effort) - last, 2 * pi);
        sum += turn / kNudge * std::cos(last - angles[j]) / kSize;
      }
      groups[g].push_back(sum);
    }
    effort.context.tell(static_cast<double>(r + 1) / replicates, "uniform tokens");
  }
  Uniform u;
  for (const std::vector<double>& g : groups) {
    u.mean.push_back(papers::mean(g));
    u.error.push_back(standard_error(g));
  }
  return u;
}

}  // namespace attractor::papers
