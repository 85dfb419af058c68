#include "attractor/flow/stepper.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/flow/lengths.hpp"

namespace attractor::flow {
namespace {

/// The terms factor * k of a weighted sum that are not zero.
struct Terms {
  static constexpr std::size_t kMost = 16;
  std::size_t count = 0;
  double factor[kMost];
  const double* k[kMost];
};

/// out = from + sum of the terms, one pass over memory.
template <std::size_t kCount>
void add_terms(const Terms& terms, const double* from, std::size_t size, double* __restrict out) {
  double factor[kCount + 1];
  const double* k[kCount + 1];
  std::copy_n(terms.factor, kCount, factor);
  std::copy_n(terms.k, kCount, k);
  for (std::size_t c = 0; c < size; ++c) {
    double sum = from[c];
    for (std::size_t s = 0; s < kCount; ++s) sum += factor[s] * k[s][c];
    out[c] = sum;
  }
}

using AddTerms = void (*)(const Terms&, const double*, std::size_t, double*);

template <std::size_t... kCounts>
constexpr std::array<AddTerms, sizeof...(kCounts)> each_count(std::index_sequence<kCounts...>) {
  return {add_terms<kCounts>...};
}

constexpr auto kAddTerms = each_count(std::make_index_sequence<Terms::kMost + 1>());

/// out = from + scale sum_s weights[s] k_s over the coordinates [begin, begin + size).
void weighted_sum(const std::vector<double>& weights, double scale, const Stages& k,
                  const double* from, std::size_t begin, std::size_t size, double* out) {
  Terms terms;
  for (std::size_t s = 0; s < weights.size(); ++s) {
    if (weights[s] == 0) continue;
    assert(terms.count < Terms::kMost);
    terms.factor[terms.count] = scale * weights[s];
    terms.k[terms.count++] = k[s].data() + begin;
  }
  kAddTerms[terms.count](terms, from, size, out);
}

// Spaces are final: asked for their kind once for a block, not called once for a point. The results
// are those of Space::retract, bit for bit.
void retract_points(const Space& space, std::span<double> points) {
  if (dynamic_cast<const Euclidean*>(&space)) return;
  const bool sphere = dynamic_cast<const Sphere*>(&space) != nullptr;
  const std::size_t dim = space.dim();
  in_pieces(0, points.size() / dim, [&](std::size_t first, std::size_t count) {
    const std::span<double> x = points.subspan(first * dim, count * dim);
    double square[kTogether];
    if (sphere) squares_of(x, dim, square);
    for (std::size_t i = 0; i < count; ++i) {
      if (!sphere || !(square[i] > 1e-300 && square[i] < 1e300)) {
        space.retract(x.subspan(i * dim, dim));
        continue;
      }
      const double length = std::sqrt(square[i]);
      for (std::size_t c = i * dim; c < (i + 1) * dim; ++c) x[c] /= length;
    }
  });
}

bool finite(std::span<const double> x) {
  std::size_t others = 0;
  for (const double c : x) others += !(std::abs(c) <= std::numeric_limits<double>::max());
  return others == 0;
}

/// The largest |h sum_s weights[s] k_s| / scale(x) over the points [begin, end) of x; NaN wins.
double largest_error(const Space& space, const std::vector<double>& weights, double h,
                     const Stages& k, std::span<const double> x, std::size_t begin,
                     std::size_t end) {
  const std::size_t dim = space.dim();
  const std::vector<double> zeros(kTogether * dim, 0.0);
  std::vector<double> error(kTogether * dim);
  LargestLength largest(space);
  in_pieces(begin, end, [&](std::size_t first, std::size_t count) {
    weighted_sum(weights, 1, k, zeros.data(), first * dim, count * dim, error.data());
    largest.meet(std::span(error).first(count * dim), x.subspan(first * dim, count * dim));
  });
  return std::abs(h) * largest.value();
}

}  // namespace

double direction(const Flow& flow, std::span<const double> point, double unit,
                 std::span<double> out) {
  constexpr double kSlowest = 1e-60, kFastest = 1e60;  // speeds outside call for another unit
  flow.drift(point, unit, out);
  double speed = norm(out);
  if (!(speed > kSlowest && speed < kFastest)) {
    unit = flow.fitting_log_unit(point, unit);
    flow.drift(point, unit, out);
    speed = norm(out);
  }
  for (double& c : out) c /= speed;
  return unit - std::log(speed);
}

Stepper::Stepper(Tableau tableau, const Noise& noise)
    : tableau_(std::move(tableau)),
      own_noise_(noise.seed, "noise"),
      common_noise_(noise.seed, "common noise"),
      substeps_(noise.substeps),
      stage_(tableau_) {}

Stages::Stages(const Tableau& tableau)
    : place_(tableau.places()), arrays_(*std::max_element(place_.begin(), place_.end()) + 1) {}

// out = x + h sum_s weights[s] k_s over the coordinates [begin, end).
void Stepper::combine(const std::vector<double>& weights, std::size_t begin, std::size_t end,
                      double* out) const {
  if (clock_.empty()) {
    weighted_sum(weights, h_, stage_, from_.data() + begin, begin, end - begin, out);
    return;
  }
  const std::size_t dim = space_->dim();
  for (std::size_t at = begin; at < end; at += dim)
    weighted_sum(weights, clock_[at / dim], stage_, from_.data() + at, at, dim, out + (at - begin));
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
    first_speed_ = 0;
  }
  return stage_[0];
}

// The whole state moved by h sum_s weights[s] k_s, and put back onto the space.
void Stepper::move_by(const std::vector<double>& weights, std::span<double> out) const {
  const std::size_t dim = space_->dim(), points = from_.size() / dim;
  parallel_for(points, grain(dim), [&](std::size_t begin, std::size_t end) {
    combine(weights, begin * dim, end * dim, out.data() + begin * dim);
    retract_points(*space_, out.subspan(begin * dim, (end - begin) * dim));
  });
}

// k_stage at x + h sum_r a_r k_r, which `point` holds afterwards.
void Stepper::evaluate(const Flow& flow, const Time& start, double log_unit, std::size_t stage,
                       const std::vector<double>& a, std::span<double> point) {
  move_by(a, point);
  const double share = std::accumulate(a.begin(), a.end(), 0.0);
  stage_[stage].resize(from_.size());
  if (!log_slowness_.empty()) {
    log_slowness_.push_back(direction(flow, point, log_slowness_.back(), stage_[stage]));
    ++evaluations_;
    return;
  }
  flow.drift_at(start.after(share * h_, log_unit), point, log_unit, stage_[stage]);
  ++evaluations_;
}

std::optional<double> Stepper::attempt(const Flow& flow, const Time& start,
                                       std::span<const double> state, double h, double log_unit,
                                       const std::function<bool()>& stop, std::uint64_t step) {
  drift(flow, start, state, log_unit);
  log_slowness_.clear();
  const NoiseLaw law = flow.noise();
  const bool noisy = tableau_.takes(law), clocked = noisy && law.kind == NoiseKind::multiplicative;
  clock_.clear();
  begin(flow, state, h);
  if (clocked) set_clock(law, log_unit, step);
  if (tableau_.gamma > 0) {
    if (!(longest_step(flow, state, log_unit) > 0)) return kNan;
    matrix_.set(h, tableau_.gamma);
  }
  if (!stages(flow, start, log_unit, stop)) return std::nullopt;
  // With first-same-as-last the final stage already sits at the result.
  if (!tableau_.first_same_as_last) move_by(tableau_.b, next_);
  if (noisy && !clocked) add_noise(law, log_unit, step);
  return error(flow);
}

double Stepper::longest_step(const Flow& flow, std::span<const double> state, double log_unit) {
  return tableau_.gamma > 0 ? matrix_.longest_step(flow, state, log_unit) : kInfinity;
}

std::optional<double> Stepper::attempt_way(const Flow& flow, std::span<const double> state,
                                           double length, double log_unit,
                                           const std::function<bool()>& stop) {
  assert(tableau_.first_same_as_last && tableau_.dense != nullptr && flow.autonomous());
  drift(flow, {}, state, log_unit);
  if (first_speed_ == 0) {
    first_speed_ = norm(stage_[0]);
    for (double& c : stage_[0]) c /= first_speed_;
  }
  log_slowness_.assign(1, log_unit - std::log(first_speed_));
  clock_.clear();
  begin(flow, state, length);
  if (!stages(flow, {}, log_unit, stop)) return std::nullopt;
  const double last = log_slowness_.back();
  return std::isfinite(last) ? error(flow) : kNan;
}

void Stepper::begin(const Flow& flow, std::span<const double> state, double h) {
  space_ = &flow.space();
  from_ = state;
  h_ = h;
  next_.resize(state.size());
}

// False: stopped between two of them.
bool Stepper::stages(const Flow& flow, const Time& start, double log_unit,
                     const std::function<bool()>& stop) {
  flow.try_out(tableau_.adaptive());
  const bool done = try_stages(flow, start, log_unit, stop);
  flow.try_out(false);
  return done;
}

bool Stepper::try_stages(const Flow& flow, const Time& start, double log_unit,
                         const std::function<bool()>& stop) {
  for (std::size_t s = 1; s < tableau_.stages(); ++s) {
    if (stop && stop()) return false;
    if (tableau_.gamma > 0 && s == 1)
      stage_[1] = stage_[0];
    else
      evaluate(flow, start, log_unit, s, tableau_.a[s], next_);
    if (tableau_.gamma > 0) solve_stage(s);
  }
  return true;
}

// From the drift at its point to the stage of a linearly implicit method.
void Stepper::solve_stage(std::size_t stage) {
  std::vector<double>& k = stage_[stage];
  const std::vector<double>& c = tableau_.c[stage];
  for (std::size_t r = 0; r < c.size(); ++r)
    for (std::size_t j = 0; c[r] != 0 && j < k.size(); ++j) k[j] += c[r] * stage_[r][j];
  matrix_.solve(k);
}

Clock Stepper::clock(const Flow& flow, const Time& start, double accuracy) const {
  if (log_slowness_.empty()) return {};
  const std::size_t stages = tableau_.stages();
  const double log_length = std::log(h_), first = log_slowness_.front(),
               last = log_slowness_[stages - 1];
  const double inside =
      *std::max_element(log_slowness_.begin() + 1, log_slowness_.begin() + stages - 1);
  std::vector<double> point(from_.size()), out(from_.size());
  double guess = first;
  const auto phi = [&](double theta) {
    interpolate(theta, point);
    guess = direction(flow, point, guess, out);
    return log_length + guess;
  };
  const double top = std::max(first, last);
  // What is short beside the time that has passed need not be known so well; phi is a large number.
  const double share = std::exp(std::clamp(start.log() - log_length - top, 0.0, 14.0));
  const double rounding = 4 * std::numeric_limits<double>::epsilon() * std::abs(top);
  return {phi, log_length + first, log_length + last, inside <= top + 1,
          std::max(accuracy * share, rounding)};
}

void Stepper::prepare_dense(const Flow& flow, const Time& start, double log_unit) {
  if (tableau_.dense_a.empty()) return;
  std::vector<double> point(from_.size());
  for (std::size_t s = 0; s < tableau_.dense_a.size(); ++s)
    evaluate(flow, start, log_unit, tableau_.stages() + s, tableau_.dense_a[s], point);
}

// The normal numbers of all substeps, one for each.
double Stepper::draw(const Stream& stream, std::size_t item, std::size_t c,
                     std::uint64_t step) const {
  double sum = 0;
  for (std::uint64_t k = step * substeps_; k < (step + 1) * substeps_; ++k)
    sum += stream.normal(item, k * space_->dim() + c);
  return sum;
}

// dt + sqrt(2 kappa) dB of each point, in units e^log_unit.
void Stepper::set_clock(const NoiseLaw& law, double log_unit, std::uint64_t step) {
  const double time = h_ * std::exp(-log_unit) / static_cast<double>(substeps_);
  const double own = std::sqrt(2 * law.own * time), common = std::sqrt(2 * law.common * time);
  const double shared = h_ + (common > 0 ? common * draw(common_noise_, 0, 0, step) : 0.0);
  clock_.assign(from_.size() / space_->dim(), shared);
  if (own == 0) return;
  for (std::size_t i = 0; i < clock_.size(); ++i) clock_[i] += own * draw(own_noise_, i, 0, step);
}

// The order of drift and kick does not matter to order h. Equal axes: the tangent part is the whole
// of the law, and the more exact way.
void Stepper::add_noise(const NoiseLaw& law, double log_unit, std::uint64_t step) {
  const std::size_t dim = space_->dim(), points = next_.size() / dim;
  const double time = h_ * std::exp(log_unit) / static_cast<double>(substeps_);
  const double own = std::sqrt(2 * law.own * time), common = std::sqrt(2 * law.common * time);
  std::vector<double> shared(dim, 0.0);
  if (common > 0)
    for (std::size_t c = 0; c < dim; ++c) shared[c] = common * draw(common_noise_, 0, c, step);
  parallel_for(points, grain(dim), [&](std::size_t begin, std::size_t end) {
    std::vector<double> kick(dim);
    for (std::size_t i = begin; i < end; ++i) {
      const std::span<double> x = std::span(next_).subspan(i * dim, dim);
      for (std::size_t c = 0; c < dim; ++c)
        kick[c] = shared[c] + (own > 0 ? own * draw(own_noise_, i, c, step) : 0.0);
      for (std::size_t c = 0; c < law.axes.size(); ++c) kick[c] *= law.axes[c];
      if (law.axes.empty()) space_->project(x, kick);
      for (std::size_t c = 0; c < dim; ++c) x[c] += kick[c];
      space_->retract(x);
    }
  });
}

double Stepper::error(const Flow& flow) const {
  const double error = flow.largest(error_norm(tableau_.error));
  if (tableau_.error_low.empty() || !(error > 0)) return error;
  return error * error / std::hypot(error, 0.1 * flow.largest(error_norm(tableau_.error_low)));
}

double Stepper::error_norm(const std::vector<double>& weights) const {
  const std::size_t dim = space_->dim(), points = next_.size() / dim;
  std::vector<double> block_error((points + grain(dim) - 1) / grain(dim), 0.0);
  parallel_for(points, grain(dim), [&](std::size_t begin, std::size_t end) {
    if (!finite(std::span(next_).subspan(begin * dim, (end - begin) * dim)))
      block_error[begin / grain(dim)] = kNan;
    else if (!weights.empty())
      block_error[begin / grain(dim)] =
          largest_error(*space_, weights, h_, stage_, next_, begin, end);
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
  move_by(tableau_.dense(theta), out);
}

void Stepper::accept(std::vector<double>& state) {
  std::swap(state, next_);
  matrix_.forget();
  drift_known_ = tableau_.first_same_as_last && log_slowness_.empty();
  first_speed_ = 0;
  if (drift_known_) std::swap(stage_[0], stage_[tableau_.stages() - 1]);
}

}  // namespace attractor::flow
