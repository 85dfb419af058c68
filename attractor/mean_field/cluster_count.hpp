// How many clusters tokens that start independent and uniform on the circle make, to be held
// against the fastest mode of linear theory (stability.hpp).
//
// Clusters are counted as the maxima of the kernel density sum_j e^{beta cos(theta - theta_j)},
// which every token climbs: a straggler between two clusters is no maximum. The density is summed
// over its Fourier modes, so that in gaps where it falls below 1e-16 of its mean only rounding is
// left of it; but its second derivative, sum_j (beta s_j^2 - c_j) beta e^{beta c_j} with c_j + i
// s_j = e^{i(theta - theta_j)}, is negative only where some token has c_j > beta s_j^2, about a
// kernel width 1/sqrt(beta) away: what has no token so near is no maximum.
//
// Out of the uniform state, at amplitude n^{-1/2}, modes grow for about ln sqrt(n) e-foldings of
// the fastest one. That takes least_tokens(beta): fewer stand alone from the start, clusters of
// their own without any formation.
// Clusters have *formed* when all but 5% of the tokens are within half a kernel width, 1/(2 sqrt
// beta), of a maximum; this is their number in the metastable phase. Irregular neighbours merge
// later, some of them soon, so it is not the number at a later time, and less than the fastest mode
// where two maxima merge before all have formed. Cost O(n sqrt(beta)) an evaluation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "attractor/flow/status.hpp"
#include "attractor/flow/time.hpp"
#include "attractor/mean_field/circle_tokens.hpp"

namespace attractor::meanfield {

/// Angles in [0, 2 pi), ascending, of the maxima of the kernel density.
std::vector<double> density_maxima(const CircleTokens& tokens, double beta,
                                   std::span<const double> angles);

/// The fewest tokens whose kernel density fluctuates by at most half of its mean (rms) while they
/// are independent and uniform: 4 (I_0(2 beta)/I_0(beta)^2 - 1), about 4 sqrt(pi beta).
std::size_t least_tokens(double beta);

struct ClusterRun {
  Rule rule = Rule::softmax;
  double beta = 1;
  std::size_t tokens = 20'000;  // at least least_tokens(beta)
  std::uint64_t seed = 0, replicate = 0;
  flow::Time end{};         // see e_foldings()
  double tolerance = 1e-4;  // of an angle, as in flow::Plan
  std::function<bool()> stop{};
};

struct ClusterMoment {
  double e_foldings;  // time in units of 1/growth of the fastest mode
  std::size_t maxima;
  double loose;  // share of tokens beyond half a kernel width from every maximum
  bool formed() const { return loose < 0.05; }
};

struct ClusterHistory {
  flow::Status status = flow::Status::complete;
  std::vector<ClusterMoment> moments;  // every quarter of an e-folding, and the end
  /// The first moment with formed clusters; null if there is none.
  const ClusterMoment* formation() const;
};

/// The time in which the fastest mode grows by e^count.
flow::Time e_foldings(Rule rule, double beta, double count);

/// Independent uniform angles of this seed and replicate.
std::vector<double> uniform_angles(std::size_t tokens, std::uint64_t seed, std::uint64_t replicate);

ClusterHistory watch_clusters(const ClusterRun& run);

}  // namespace attractor::meanfield
