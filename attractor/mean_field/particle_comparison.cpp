#include "attractor/mean_field/particle_comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/mean_field/distances.hpp"
#include "attractor/mean_field/sphere_labels.hpp"

namespace attractor::meanfield {
namespace {

struct Sample {
  double moment = 0, w1 = 0;
  bool complete = false;
};

bool move(flow::Flow& flow, const flow::Time& time, const ComparisonPlan& plan,
          std::vector<double>& state) {
  flow::Progress progress{.state = std::move(state)};
  const flow::Status status =
      run(flow, flow::dormand_prince(), {.end = time, .tolerance = plan.tolerance}, progress,
          {.stop = plan.stop});
  state = std::move(progress.state);
  return flow::delivered(status);
}

ComparisonRow statistics(std::size_t tokens, std::span<const Sample> samples) {
  const auto n = static_cast<double>(samples.size());
  double square = 0, fourth = 0, w1 = 0, w1_square = 0;
  for (const Sample& s : samples) {
    const double moment_square = s.moment * s.moment;
    square += moment_square / n;
    fourth += moment_square * moment_square / n;
    w1 += s.w1 / n;
    w1_square += s.w1 * s.w1 / n;
  }
  const auto error = [&](double mean, double mean_square) {
    return std::sqrt(std::max(0.0, mean_square - mean * mean) / (n - 1));
  };
  const double rms = std::sqrt(square);
  return {.tokens = tokens,
          .rms_moment = rms,
          .rms_error = rms > 0 ? error(square, fourth) / (2 * rms) : 0,
          .mean_w1 = w1,
          .w1_error = error(w1, w1_square)};
}

/// sample(tokens, stream, replicate) -> Sample.
template <class Draw>
Comparison compare(const ComparisonPlan& plan, const Draw& draw) {
  if (plan.replicates < 2)
    throw Error(
        fmt::format("replicates = {} is not allowed; allowed: at least 2", plan.replicates));
  Comparison result;
  for (const std::size_t tokens : plan.tokens) {
    if (tokens < 2) throw Error(fmt::format("{} particles are not allowed; at least 2", tokens));
    if (const auto row = plan.known ? plan.known(tokens) : std::nullopt) {
      result.rows.push_back(*row);
      continue;
    }
    const Stream stream(plan.seed, fmt::format("particles {}", tokens));  // independent sizes
    std::vector<Sample> samples(plan.replicates);
    parallel_for(plan.replicates, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t r = begin; r < end; ++r)
        if (!(plan.stop && plan.stop())) samples[r] = draw(tokens, stream, r);
    });
    for (const Sample& s : samples) result.complete = result.complete && s.complete;
    if (!result.complete) return result;
    result.rows.push_back(statistics(tokens, samples));
    if (plan.finished) plan.finished(result.rows.back());
  }
  std::vector<double> n, rms, rms_error, w1, w1_error;
  for (const ComparisonRow& row : result.rows) {
    n.push_back(static_cast<double>(row.tokens));
    rms.push_back(row.rms_moment);
    rms_error.push_back(row.rms_error);
    w1.push_back(row.mean_w1);
    w1_error.push_back(row.w1_error);
  }
  result.moment_slope = log_slope(n, rms, rms_error);
  result.w1_slope = log_slope(n, w1, w1_error);
  return result;
}

}  // namespace

Slope log_slope(std::span<const double> n, std::span<const double> values,
                std::span<const double> errors) {
  double total = 0, x_mean = 0, y_mean = 0;
  std::vector<double> weights(n.size());
  for (std::size_t i = 0; i < n.size(); ++i) {
    const double relative = errors[i] / values[i];
    weights[i] = 1 / (relative * relative);
    total += weights[i];
    x_mean += weights[i] * std::log(n[i]);
    y_mean += weights[i] * std::log(values[i]);
  }
  x_mean /= total;
  y_mean /= total;
  double xx = 0, xy = 0;
  for (std::size_t i = 0; i < n.size(); ++i) {
    const double x = std::log(n[i]) - x_mean;
    xx += weights[i] * x * x;
    xy += weights[i] * x * (std::log(values[i]) - y_mean);
  }
  const double none = kNan;
  if (!(xx > 0) || !std::isfinite(total)) return {none, none};
  return {xy / xx, 1 / std::sqrt(xx)};
}

Comparison compare_circle(const CircleLaw& law, const CircleAttention& attention,
                          const flow::Time& time, const WeightedPoints& density,
                          const ComparisonPlan& plan) {
  const CircleTokens reference(attention, density.weights);
  const std::complex<double> mean = reference.moments(density.points, 2)[1];
  return compare(plan, [&](std::size_t tokens, const Stream& stream, std::size_t replicate) {
    CircleTokens flow(attention, tokens);
    flow.stop_when(plan.stop);
    std::vector<double> angles = circle_samples(law, tokens, stream, replicate);
    if (!move(flow, time, plan, angles)) return Sample{};
    return Sample{std::abs(flow.moments(angles, 2)[1] - mean),
                  circle_distance({angles, {}}, {density.points, density.weights}), true};
  });
}

Comparison compare_zonal(const ZonalLaw& law, const ZonalAttention& attention,
                         const flow::Time& time, const WeightedPoints& density,
                         const ComparisonPlan& plan) {
  const std::size_t dim = attention.dim;
  const ZonalSampler sampler(law);
  std::vector<double> heights;
  for (double angle : density.points) heights.push_back(std::cos(angle));
  double mean = 0;
  for (std::size_t i = 0; i < heights.size(); ++i) mean += density.weights[i] * heights[i];
  return compare(plan, [&](std::size_t tokens, const Stream& stream, std::size_t replicate) {
    WeightedTokens flow(dim, attention.rule, attention.beta, std::vector<double>(tokens, 1.0));
    std::vector<double> points = sampler.points(tokens, stream, replicate);
    if (!move(flow, time, plan, points)) return Sample{};
    std::vector<double> gap = flow.mean(points), own(tokens);
    gap[0] -= mean;
    for (std::size_t i = 0; i < tokens; ++i) own[i] = points[i * dim];
    return Sample{norm(gap), line_distance({own, {}}, {heights, density.weights}), true};
  });
}

}  // namespace attractor::meanfield
