#include "attractor/flow/stepper.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "attractor/base/threads.hpp"

namespace attractor::flow {
namespace {

std::size_t grain(std::size_t dim) { return std::max<std::size_t>(1, 8192 / dim); }

}  // namespace

Stepper::Stepper(Tableau tableau, const Noise& noise)
    : tableau_(std::move(tableau)),
      own_noise_(noise.seed, "noise"),
      common_noise_(noise.seed, "common noise"),
      substeps_(noise.substeps),
      stage_(tableau_.stages()) {}

// out = x + h sum_s weights[s] k_s over the coordinates [begin, end).
void Stepper::combine(const std::vector<double>& weights, std::size_t begin, std::size_t end,
                      double* out) const {
  std::copy(from_.begin() + static_cast<std::ptrdiff_t>(begin),
            from_.begin() + static_cast<std::ptrdiff_t>(end), out);
  for (std::size_t s = 0; s < weights.size(); ++s) {
    if (weights[s] == 0) continue;
    const double factor = h_ * weights[s];
    const double* k = stage_[s].data() + begin;
    for (std::size_t c = 0; c < end - begin; ++c) out[c] += factor * k[c];
  }
}

std::span<const double> Stepper::drift(const Flow& flow, const Time& now,
                                       std::span<const double> state, double log_unit) {
  if (!drift_known_ || stage_[0].size() != state.size()) {
    stage_[0].resize(state.size());
    if (tableau_.layer_map)
      flow.increment_at(now, state, log_unit, stage_[0]);
    else
      flow.drift_at(now, state, log_unit, stage_[0]);
    ++evaluations_;
    drift_known_ = true;
  }
  return stage_[0];
}

std::optional<double> Stepper::attempt(const Flow& flow, const Time& start,
                                       std::span<const double> state, double h, double log_unit,
                                       const std::function<bool()>& stop, std::uint64_t step) {
  drift(flow, start, state, log_unit);
  space_ = &flow.space();
  from_ = state;
  h_ = h;
  next_.resize(state.size());
  const std::size_t dim = space_->dim(), points = state.size() / dim;
  const auto move = [&](const std::vector<double>& weights) {
    parallel_for(points, grain(dim), [&](std::size_t begin, std::size_t end) {
      combine(weights, begin * dim, end * dim, next_.data() + begin * dim);
      for (std::size_t i = begin; i < end; ++i)
        space_->retract(std::span(next_).subspan(i * dim, dim));
    });
  };
  for (std::size_t s = 1; s < stage_.size(); ++s) {
    if (stop && stop()) return std::nullopt;
    stage_[s].resize(state.size());
    move(tableau_.a[s]);
    const std::vector<double>& a = tableau_.a[s];
    const double share = std::accumulate(a.begin(), a.end(), 0.0);
    flow.drift_at(start.after(share * h, log_unit), next_, log_unit, stage_[s]);
    ++evaluations_;
  }
  // With first-same-as-last the final stage already sits at the result.
  if (!tableau_.first_same_as_last) move(tableau_.b);
  if (tableau_.stochastic) add_noise(flow, log_unit, step);
  return error_norm();
}

// The kick is tangent where the drift has led; the order of the two does not matter to order h.
void Stepper::add_noise(const Flow& flow, double log_unit, std::uint64_t step) {
  const std::size_t dim = space_->dim(), points = next_.size() / dim;
  const double time = h_ * std::exp(log_unit) / static_cast<double>(substeps_);
  const double own = std::sqrt(2 * flow.noise() * time);
  const double common = std::sqrt(2 * flow.common_noise() * time);
  if (own == 0 && common == 0) return;
  const auto draw = [&](const Stream& stream, std::size_t item, std::size_t c) {
    double sum = 0;
    for (std::uint64_t k = step * substeps_; k < (step + 1) * substeps_; ++k)
      sum += stream.normal(item, k * dim + c);
    return sum;
  };
  std::vector<double> shared(dim, 0.0);
  if (common > 0)
    for (std::size_t c = 0; c < dim; ++c) shared[c] = common * draw(common_noise_, 0, c);
  parallel_for(points, grain(dim), [&](std::size_t begin, std::size_t end) {
    std::vector<double> kick(dim);
    for (std::size_t i = begin; i < end; ++i) {
      const std::span<double> x = std::span(next_).subspan(i * dim, dim);
      for (std::size_t c = 0; c < dim; ++c)
        kick[c] = shared[c] + (own > 0 ? own * draw(own_noise_, i, c) : 0.0);
      space_->project(x, kick);
      for (std::size_t c = 0; c < dim; ++c) x[c] += kick[c];
      space_->retract(x);
    }
  });
}

double Stepper::error_norm() const {
  const std::size_t dim = space_->dim(), points = next_.size() / dim;
  std::vector<double> block_error((points + grain(dim) - 1) / grain(dim), 0.0);
  parallel_for(points, grain(dim), [&](std::size_t begin, std::size_t end) {
    double worst = 0;
    for (std::size_t i = begin; i < end; ++i) {
      double squared = 0;
      for (std::size_t c = i * dim; c < (i + 1) * dim; ++c) {
        double e = 0;
        for (std::size_t s = 0; s < tableau_.error.size(); ++s)
          e += tableau_.error[s] * stage_[s][c];
        // Adds 0 for a finite coordinate and NaN for any other.
        squared += e * e + 0 * next_[c];
      }
      const double error =
          std::abs(h_) * std::sqrt(squared) / space_->scale(std::span(next_).subspan(i * dim, dim));
      worst = error <= worst ? worst : error;  // keeps NaN
      if (std::isnan(worst)) break;
    }
    block_error[begin / grain(dim)] = worst;
  });
  double worst = 0;
  for (double error : block_error) {
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
  }
  return worst;
}

void Stepper::interpolate_point(std::size_t index, double theta, std::span<double> out) const {
  const std::size_t dim = space_->dim();
  combine(tableau_.dense(theta), index * dim, (index + 1) * dim, out.data());
  space_->retract(out);
}

void Stepper::interpolate(double theta, std::span<double> out) const {
  const std::size_t dim = space_->dim(), points = from_.size() / dim;
  const std::vector<double> weights = tableau_.dense(theta);
  parallel_for(points, grain(dim), [&](std::size_t begin, std::size_t end) {
    combine(weights, begin * dim, end * dim, out.data() + begin * dim);
    for (std::size_t i = begin; i < end; ++i) space_->retract(out.subspan(i * dim, dim));
  });
}

void Stepper::accept() {
  drift_known_ = tableau_.first_same_as_last;
  if (drift_known_) std::swap(stage_.front(), stage_.back());
}

}  // namespace attractor::flow
