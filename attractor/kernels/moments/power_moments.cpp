#include "attractor/kernels/moments/power_moments.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <mutex>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/moments/power_levels.hpp"
#include "attractor/kernels/moments/power_passes.hpp"
#include "attractor/kernels/moments/power_series.hpp"

namespace attractor::kernels {
namespace {

constexpr std::size_t kMostParts = 64;
constexpr double kMostBytes = 5e8;  // two degrees may be held at a time

double feature_count(std::size_t dim, std::size_t degree) {
  return binomial(degree + dim - 1, dim - 1) + binomial(degree + dim - 2, dim - 1);
}

double level_count(std::size_t dim, std::size_t degree) { return binomial(degree + dim, dim); }

/// Ranges of tokens with sums of their own, whatever the threads: enough for many of them to share.
std::size_t part_count(std::size_t tokens, double features) {
  const double fit = std::clamp(3e7 / features, 4.0, static_cast<double>(kMostParts));
  return std::clamp<std::size_t>(tokens / 1024, 1, static_cast<std::size_t>(fit));
}

/// Sums of parts, all levels and those being raised, two packings, monomials of eight threads. Not
/// of as many as there are: the highest degree would depend on them.
double bytes_of(const PowerMomentsSettings& s, std::size_t degree) {
  const double features = feature_count(s.dim, degree);
  const double monomials = binomial(degree + s.dim / 2, s.dim / 2) +
                           binomial(degree + s.dim - s.dim / 2, s.dim - s.dim / 2);
  return 8 * (features * (static_cast<double>(part_count(s.tokens, features)) + 6) +
              level_count(s.dim, degree) + 8 * 128 * monomials);
}

std::size_t highest_degree(const PowerMomentsSettings& s) {
  std::size_t degree = 1;
  while (degree < kMostPowers && bytes_of(s, degree + 1) <= kMostBytes) ++degree;
  return degree;
}

/// Of Z and P D. Tokens are seldom spread more thinly than half as much as evenly.
double first_error(const PowerMomentsSettings& s) {
  return s.means ? 0.25 * s.accuracy * even_partition(s.beta, s.dim) : s.accuracy;
}

}  // namespace

PowerMomentsCost power_moments_cost(const PowerMomentsSettings& s) {
  if (s.dim < 3 || s.dim > 8 || !(s.beta >= 0 && s.beta <= kMostPowerBeta)) return {};
  const PowerErrors errors = power_errors(s.beta, s.dim);
  const double even = even_partition(s.beta, s.dim);
  PowerMomentsCost cost;
  cost.degree = errors.degree(first_error(s), even, highest_degree(s));
  cost.possible = errors.at(cost.degree, even) <= first_error(s);
  cost.features = feature_count(s.dim, cost.degree);
  cost.token_ns = 40 + 0.18 * cost.features;
  cost.fixed_ns = 3 * static_cast<double>(s.dim) * level_count(s.dim, cost.degree);
  return cost;
}

namespace {

// ---- One degree.

struct Extremes {
  bool on_sphere = true;
  double smallest_partition = 1, largest_pull = 0, largest_mean = 0;  // the latter two squared
};

struct Job {
  const double *points, *weights;  // weights: null for equal ones
  const SphereFieldOut* out;
  std::size_t tokens;
  double beta, weight;  // weight: one over the sum of all
};

class Plan {
 public:
  Plan(const PowerMomentsSettings& s, std::size_t degree)
      : shape(s.dim, degree), series(power_series(s.beta, degree)), levels(shape) {
    const std::size_t chunks = (s.tokens + shape.tokens - 1) / shape.tokens;
    const std::size_t parts =
        std::min(chunks, part_count(s.tokens, static_cast<double>(shape.features)));
    for (std::size_t k = 0; k <= parts; ++k)
      begins_.push_back(std::min(s.tokens, k * chunks / parts * shape.tokens));
    sums_.assign(parts, std::vector<double>(shape.features));
  }

  /// False: a token is not on the sphere.
  bool gather(const Job& job);
  void prepare(bool along);
  Extremes evaluate(const Job& job);

  PowerShape shape;
  PowerSeries series;
  PowerLevels levels;

 private:
  bool load(const Job& job, std::size_t begin, std::size_t end, PowerScratch& chunk) const;
  void finish(const Job& job, std::size_t begin, PowerScratch& chunk, Extremes& found) const;
  /// Calls body(part, scratch) for all parts.
  template <class Body>
  void for_parts(const Body& body);

  std::vector<std::size_t> begins_;
  std::vector<std::vector<double>> sums_;
  PowerCoefficients phi_, psi_;
  bool along_ = false;
  std::mutex mutex_;
  std::vector<std::unique_ptr<PowerScratch>> idle_;
};

template <class Body>
void Plan::for_parts(const Body& body) {
  parallel_for(sums_.size(), 1, [&](std::size_t begin, std::size_t end) {
    std::unique_ptr<PowerScratch> scratch;
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        scratch = std::move(idle_.back());
        idle_.pop_back();
      }
    }
    if (!scratch) scratch = std::make_unique<PowerScratch>(shape);
    for (std::size_t part = begin; part < end; ++part) body(part, *scratch);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(scratch));
  });
}

// Lengths are made 1 to rounding: lower moments rely on it.
bool Plan::load(const Job& job, std::size_t begin, std::size_t end, PowerScratch& chunk) const {
  const std::size_t dim = shape.dim, stride = chunk.stride;
  chunk.count = end - begin;
  const std::size_t padded = (chunk.count + 15) / 16 * 16;
  for (std::size_t c = 0; c <= dim; ++c) {
    double* row = c < dim ? chunk.x.get() + c * stride : chunk.weight.get();
    std::fill(row + chunk.count, row + padded, 0.0);
  }
  bool good = true;
  for (std::size_t k = 0; k < chunk.count; ++k) {
    const double* x = job.points + (begin + k) * dim;
    double square = 0;
    for (std::size_t c = 0; c < dim; ++c) square += x[c] * x[c];
    good = good && std::abs(square - 1) <= 2e-6;
    const double scale = 1 / std::sqrt(square);
    for (std::size_t c = 0; c < dim; ++c) chunk.x[c * stride + k] = scale * x[c];
    chunk.weight[k] = job.weights ? job.weights[begin + k] : 1;
  }
  return good;
}

bool Plan::gather(const Job& job) {
  std::vector<char> good(sums_.size(), 1);
  for_parts([&](std::size_t part, PowerScratch& chunk) {
    std::fill(sums_[part].begin(), sums_[part].end(), 0.0);
    chunk.stride = shape.stride;
    for (std::size_t i = begins_[part]; i < begins_[part + 1] && good[part]; i += shape.tokens) {
      good[part] = load(job, i, std::min(begins_[part + 1], i + shape.tokens), chunk);
      if (good[part]) add_power_moments(shape, chunk, sums_[part].data());
    }
  });
  if (std::find(good.begin(), good.end(), 0) != good.end()) return false;
  parallel_for(shape.features, 4096, [&](std::size_t begin, std::size_t end) {
    for (std::size_t part = 1; part < sums_.size(); ++part)
      for (std::size_t k = begin; k < end; ++k) sums_[0][k] += sums_[part][k];
  });
  levels.fill(sums_[0], job.weight);
  return true;
}

void Plan::prepare(bool along) {
  phi_ = levels.coefficients(series.phi);
  along_ = along;
  if (along) psi_ = levels.coefficients(series.psi);
}

Extremes Plan::evaluate(const Job& job) {
  std::vector<Extremes> found(sums_.size());
  for_parts([&](std::size_t part, PowerScratch& chunk) {
    chunk.stride = shape.few_stride;
    for (std::size_t i = begins_[part]; i < begins_[part + 1]; i += shape.few) {
      load(job, i, std::min(begins_[part + 1], i + shape.few), chunk);
      fill_power_monomials(shape, chunk);
      if (along_) {
        evaluate_powers(shape, psi_, false, chunk);
        std::copy_n(chunk.value.get(), chunk.count, job.out->along.data() + i);
      }
      evaluate_powers(shape, phi_, true, chunk);
      finish(job, i, chunk, found[part]);
    }
  });
  Extremes all;
  for (const Extremes& part : found) {
    all.smallest_partition = std::min(all.smallest_partition, part.smallest_partition);
    all.largest_pull = std::max(all.largest_pull, part.largest_pull);
    all.largest_mean = std::max(all.largest_mean, part.largest_mean);
  }
  return all;
}

// Z is at least the weight of the token itself, whatever its error.
void Plan::finish(const Job& job, std::size_t begin, PowerScratch& chunk, Extremes& found) const {
  const std::size_t dim = shape.dim, stride = chunk.stride;
  const SphereFieldOut& out = *job.out;
  const double floor = std::exp(-job.beta);
  for (std::size_t k = 0; k < chunk.count; ++k) {
    const double* x = chunk.x.get() + k;
    const double* g = chunk.gradient.get() + k;
    double radial = 0, square = 0, pull[2 * kPowerMostVars];
    for (std::size_t c = 0; c < dim; ++c) radial += g[c * stride] * x[c * stride];
    for (std::size_t c = 0; c < dim; ++c) {
      pull[c] = g[c * stride] - radial * x[c * stride];
      square += pull[c] * pull[c];
    }
    const double own = job.weight * chunk.weight[k];
    const double z = std::max(floor + job.beta * chunk.value[k], own), inverse = 1 / z;
    found.smallest_partition = std::min(found.smallest_partition, z);
    found.largest_pull = std::max(found.largest_pull, square);
    found.largest_mean = std::max(found.largest_mean, square * inverse * inverse);
    if (!out.partition.empty()) out.partition[begin + k] = z;
    for (std::size_t c = 0; c < dim && !out.pull.empty(); ++c)
      out.pull[(begin + k) * dim + c] = out.scale * pull[c];
    for (std::size_t c = 0; c < dim && !out.mean.empty(); ++c)
      out.mean[(begin + k) * dim + c] = out.scale * inverse * pull[c];
  }
}

}  // namespace

// ---- All degrees.

struct PowerMoments::Engine {
  PowerMomentsSettings settings;
  PowerErrors errors;
  std::size_t highest, base, last;
  std::unique_ptr<Plan> plan, higher;  // of the degree `base`, and of the last one above it

  explicit Engine(const PowerMomentsSettings& s)
      : settings(s), errors(power_errors(s.beta, s.dim)), highest(highest_degree(s)) {
    base = last = errors.degree(first_error(s), even_partition(s.beta, s.dim), highest);
    plan = std::make_unique<Plan>(s, base);
  }

  Plan& of(std::size_t degree) {
    if (degree == base) return *plan;
    if (!higher || higher->shape.degree != degree) {
      higher.reset();
      higher = std::make_unique<Plan>(settings, degree);
    }
    return *higher;
  }

  SphereFieldSummary at(std::size_t degree, const Job& job);
};

SphereFieldSummary PowerMoments::Engine::at(std::size_t degree, const Job& job) {
  last = degree;
  Plan& p = of(degree);
  SphereFieldSummary summary;
  summary.error = settings.accuracy;
  summary.on_sphere = p.gather(job);
  if (!summary.on_sphere) return summary;
  const double pairs = p.levels.pair_sum(p.series.phi);
  summary.energy = std::exp(-settings.beta) + settings.beta * pairs;
  summary.error = errors.at(degree, summary.energy);
  summary.order = p.levels.mean_length();
  const SphereFieldOut& out = *job.out;
  if (out.along.empty() && out.pull.empty() && out.mean.empty() && out.partition.empty())
    return summary;
  p.prepare(!out.along.empty());
  const Extremes found = p.evaluate(job);
  summary.smallest_partition = found.smallest_partition;
  summary.largest_pull = std::sqrt(found.largest_pull);
  summary.largest_mean = std::sqrt(found.largest_mean);
  return summary;
}

PowerMoments::PowerMoments(const PowerMomentsSettings& s) {
  if (s.dim < 3 || s.dim > 8)
    throw Error(fmt::format("dim = {} is not allowed; allowed for moments: 3 .. 8", s.dim));
  if (!(s.beta >= 0 && s.beta <= kMostPowerBeta))
    throw Error(fmt::format("beta = {} is not allowed; allowed for moments: 0 .. {}", s.beta,
                            kMostPowerBeta));
  if (!(s.accuracy >= 1e-11 && s.accuracy <= 1e-4))
    throw Error(fmt::format("accuracy = {} is not allowed; allowed: 1e-11 .. 1e-4", s.accuracy));
  if (s.tokens == 0) throw Error("0 tokens are not allowed; allowed: at least 1");
  if (!power_moments_cost(s).possible)
    throw Error(
        fmt::format("beta = {} in dimension {} with accuracy = {} is beyond moments, which take at "
                    "most 1 GB; allowed: a smaller beta or less accuracy",
                    s.beta, s.dim, s.accuracy));
  engine_ = std::make_unique<Engine>(s);
}
PowerMoments::~PowerMoments() = default;
PowerMoments::PowerMoments(PowerMoments&&) noexcept = default;
PowerMoments& PowerMoments::operator=(PowerMoments&&) noexcept = default;

std::size_t PowerMoments::degree() const { return engine_->last; }
std::size_t PowerMoments::features() const {
  return static_cast<std::size_t>(feature_count(engine_->settings.dim, engine_->last));
}

SphereFieldSummary PowerMoments::evaluate(std::span<const double> points,
                                          std::span<const double> weights,
                                          const SphereFieldOut& out) {
  Engine& e = *engine_;
  const PowerMomentsSettings& s = e.settings;
  assert(points.size() == s.dim * s.tokens && (weights.empty() || weights.size() == s.tokens));
  double total = static_cast<double>(s.tokens);
  if (!weights.empty()) total = parallel_sum(s.tokens, [&](std::size_t i) { return weights[i]; });
  const Job job{.points = points.data(),
                .weights = weights.empty() ? nullptr : weights.data(),
                .out = &out,
                .tokens = s.tokens,
                .beta = s.beta,
                .weight = 1 / total};
  SphereFieldSummary summary = e.at(e.base, job);
  // A Z below its error says little: a second look may ask for a third.
  while (summary.on_sphere && s.means &&
         2 * summary.error > s.accuracy * summary.smallest_partition) {
    const double found = summary.smallest_partition;
    const double z = std::max(found - summary.error, 0.1 * found);
    const std::size_t next = e.errors.degree(0.5 * s.accuracy * z, summary.energy, e.highest);
    if (e.errors.at(next, summary.energy) >= summary.error) break;
    summary = e.at(next, job);
  }
  return summary;
}

}  // namespace attractor::kernels
