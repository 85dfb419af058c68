// k equal clusters of mass 1/k in arrangements that their symmetry keeps.
//
// Polygon: k clusters evenly on the circle rest. A small displacement of Fourier mode j grows at
//   sigma_j = (1/D) sum_{l=1}^{k-1} f'(2 pi l/k) (cos(2 pi j l/k) - 1),  f(x) = e^{beta cos x} sin
//   x,
// D = sum_l e^{beta cos(2 pi l/k)} for SA and k for USA. By Poisson's formula it is also a
// difference of sums of p^2 I_p(beta)/beta over p = j and p = 0 mod k; of both the one that cancels
// less is taken. Cost O(k^2). Below beta = 0 (to -20) the waves alternate, and polygons of odd k
// become stable (docs/theory/clustering.md).
// Simplex: k clusters with all cosines c = -1/(k-1) rest; w = e^{beta c}. Its four growth rates, in
// units of w/D, are derived at simplex_spectrum. Equiangular clusters and rings on a latitude of
// S^2 move in one variable, which a MergeClock (cluster_pair.hpp) describes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/flow/time.hpp"
#include "attractor/reductions/cluster_pair.hpp"

namespace attractor::meanfield {

struct RegularClusters {
  Rule rule = Rule::softmax;
  double beta = 1;          // -20 to 1e6
  std::uint64_t count = 3;  // k, from 2 to 4096
};

/// Growth rates rate[j] e^{log_unit}: at large beta e^{log_unit} is no double.
struct GrowthSpectrum {
  double log_unit = 0;
  std::vector<double> rate;
  std::vector<std::uint64_t> multiplicity;

  double growth(std::size_t mode) const;      // 0 or infinite where it is no double
  double log_growth(std::size_t mode) const;  // ln |growth|
  std::size_t fastest() const;
  double log_efolding() const;  // -ln of the largest rate; infinite if nothing grows
};

/// Modes j = 0 (rotation) to k/2 of the polygon, on the circle.
GrowthSpectrum polygon_spectrum(const RegularClusters& clusters);

/// Modes of the simplex in dimension `dim` >= k - 1, by what they do to the cosines s_ij:
///   neutral   0                                     rotations
///   opening   k                                     all together, out of their space (dim >= k)
///   parting   k/(k-1) (k-2 + beta k/(k-1))          s_ij = r_i + r_j, sum of r is 0
///   pairing   2 beta k/(k-1)                        sum_j s_ij = 0 for all i
/// A multiplicity is 0 where there is no such mode.
enum SimplexMode : std::size_t { kNeutral, kOpening, kParting, kPairing };
GrowthSpectrum simplex_spectrum(const RegularClusters& clusters, std::uint64_t dim);

/// All cosines equal (dimension >= k): the equiangular flow of k tokens.
flow::Time equiangular_time(const RegularClusters& clusters, double from_cosine, double to_cosine);
double equiangular_cosine_after(const RegularClusters& clusters, double from_cosine,
                                const flow::Time& time);

/// A ring at polar angle theta on S^2, longitudes 2 pi l/k, keeps its shape and slides to the
/// nearer pole: with s = sin^2 theta and a_l = 1 - cos(2 pi l/k)
///   theta' = -sin theta cos theta sum_l a_l e^{-beta s a_l} / {sum_l e^{-beta s a_l}, k
///   e^{-beta}}.
/// Angles from 0 to pi/2; the equator rests.
flow::Time ring_time(const RegularClusters& clusters, double from_polar, double to_polar);
double ring_polar_after(const RegularClusters& clusters, double from_polar, const flow::Time& time);
/// ln of the rate at which a ring leaves the equator.
double log_ring_escape_rate(const RegularClusters& clusters);

/// Two neighbours as if alone: for large beta their merger ends the state.
ClusterPair neighbours(const RegularClusters& clusters);
PairAngle polygon_angle(std::uint64_t count);
PairAngle simplex_angle(std::uint64_t count);
PairAngle ring_angle(std::uint64_t count, double polar);

}  // namespace attractor::meanfield
