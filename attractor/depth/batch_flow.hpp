// Phase diagrams: many independent systems for each of many inverse temperatures beta, n tokens
// drawn uniformly on the unit sphere of R^d, flowing through attention with Q = K = V = I
// (kernels/batch/system_batch.hpp). Measured at every output time t: the fraction of pairs i != j
// with <x_i,x_j> >= threshold, its mean over replicates and the standard error of that mean (arXiv
// 2312.10794).
//
// If d > n the flow runs in R^n: attention never leaves the span of the tokens, and all that
// matters is their Gram matrix. That of n normal vectors is L L^T, L lower triangular with
// independent entries, normal below the diagonal and chi distributed with d - i degrees of freedom
// at (i, i), i = 0, 1, ... (Bartlett): nothing of size d is drawn.
//
// Systems are taken in batches of bounded memory; results depend on neither batches nor threads.
// One core makes about 2 million layers a second of systems with n = 32 at d = 2, 0.35 at d >= 32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/kernels/batch/system_batch.hpp"

namespace attractor::depth {

using BatchMethod = kernels::BatchMethod;

/// Mean and sum of squared deviations, one value at a time (Welford). Values that all agree, or a
/// single one, say nothing of those that they miss once in e times: one in `count`, with a fraction
/// as far off as one can be.
struct FractionMoments {
  double count = 0, mean = 0, squares = 0;
  void add(double value);
  double error() const;
};

/// Where a diagram is: systems before `next` are in the moments, betas x outputs.
struct BatchProgress {
  std::size_t next = 0;
  std::vector<FractionMoments> moments{};
};
inline auto fields(BatchProgress& p) {
  auto& [next, moments] = p;
  return std::tie(next, moments);
}

struct BatchPlan {
  std::size_t replicates = 256;  // systems for each beta
  std::size_t tokens = 32;       // 1 to 512
  std::size_t dim = 2;           // 2 to 1e6
  Rule rule = Rule::softmax;
  std::vector<double> betas;  // each >= 0
  std::vector<double> steps;  // one for each beta, or one for all
  BatchMethod method = BatchMethod::layers;
  std::vector<double>
      outputs;  // rising times >= 0; measured after the first step that reaches them
  double threshold = 0.999;
  std::uint64_t seed = 0;
  std::uint64_t first_system = 0;  // number of the first draw: parts of one diagram share a seed
  std::function<bool()> stop{};    // asked between batches, and within long ones
  std::function<void(double share)> progress{};
  std::function<void(const BatchProgress&)> safe_point{};  // after each batch
};

struct BatchResult {
  std::size_t outputs = 0;
  std::vector<double> mean, error;      // betas x outputs; where all replicates agree, a bound
  std::vector<std::size_t> replicates;  // betas: what was asked, fewer or none where stopped
  bool stopped = false;

  double mean_at(std::size_t beta, std::size_t output) const {
    return mean[beta * outputs + output];
  }
  double error_at(std::size_t beta, std::size_t output) const {
    return error[beta * outputs + output];
  }
};

/// Throws Error on sizes outside the ranges above, on steps that layers cannot take (longer than 1,
/// or e^{-beta} for the unnormalised rule: the sum x + h A might vanish) and beyond 1e9 steps.
BatchResult run_batch(const BatchPlan& plan);
/// Goes on from where a run of the same plan was, and ends with the same bits.
BatchResult run_batch(const BatchPlan& plan, BatchProgress from);

/// The start of one system, n x min(n, d), row-major, in coordinates of the tokens' span if d > n.
std::vector<double> batch_start(const BatchPlan& plan, std::uint64_t system);

/// The step of the published unnormalised diagrams, h / max(1, sqrt(beta) e^{beta - 1/2}): no token
/// moves by more than about h in one.
double unnormalised_step(double h, double beta);

}  // namespace attractor::depth
