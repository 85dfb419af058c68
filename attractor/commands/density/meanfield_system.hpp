// The solvers of `attractor meanfield` behind one face: a flow, its start, and what to measure on
// its states. Which one it is follows from dimension, symmetry and form:
//
//   circle            spectral: CircleDensity      labels: CircleTokens
//   zonal, any d      spectral: ZonalDensity       labels: ZonalLabels
//   none, d >= 3                                   labels: WeightedTokens (S^2 grid, or tokens)
#pragma once

#include <complex>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "attractor/commands/density/meanfield_setup.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/mean_field/circle_tokens.hpp"
#include "attractor/mean_field/start_density.hpp"
#include "attractor/mean_field/truncation.hpp"
#include "attractor/mean_field/zonal_density.hpp"

namespace attractor::lab {

inline constexpr std::size_t kGrid = 512;           // angles of a density
inline constexpr std::size_t kListed = 8;           // moments
inline constexpr std::size_t kGivenDegrees = 1024;  // at most, on spheres

enum class Geometry { circle, zonal, general };

/// What the parameters mean; throws Error on words that do not go together, on those that would be
/// without effect, and on too few labels.
struct MeanfieldKind {
  Geometry geometry = Geometry::circle;
  bool spectral = true;
};
MeanfieldKind kind_of(const MeanfieldSetup& p);

meanfield::CircleLaw circle_law(const MeanfieldSetup& p);
meanfield::ZonalLaw zonal_law(const MeanfieldSetup& p);
meanfield::CircleAttention circle_attention(const MeanfieldSetup& p);
meanfield::ZonalAttention zonal_attention(const MeanfieldSetup& p);

/// NaN where a solver does not know it.
struct MeanfieldMoment {
  double time = 0;
  double order = 0;                  // |E x|
  double log_energy = 0;             // energy of theory A1, ln
  double entropy = 0;                // E ln(density relative to uniform)
  double smallest = 0, largest = 0;  // density relative to uniform; NaN where it is not told
  double mass = 0;
  double mode = 0;  // size of the mode that was perturbed
};

/// How many modes or labels.
struct MeanfieldSize {
  std::size_t count = 0;  // modes, or labels (heights of the grid on S^2); 0: the usual number
  /// Spectral: the twin of a run (truncation.hpp), from `count` modes on, doubled at these times.
  bool twin = false;
  std::vector<flow::Time> doublings{};
};

struct MeanfieldSystem {
  using State = std::span<const double>;

  std::unique_ptr<flow::Flow> flow{};  // empty: no grid so coarse can hold the start
  std::vector<double> start{};
  std::vector<double> weights{};  // of labels; empty: spectral
  std::vector<double> angles{};   // where density() is known, ascending; may be empty
  std::function<MeanfieldMoment(State)> measure{};
  std::function<std::vector<double>(State)> density{};  // relative to uniform
  std::function<std::vector<double>(State)> moments{};  // |m_k|; E p_l(t)/p_l(1); or E x
  const meanfield::Truncation* truncation = nullptr;    // spectral
  /// The part of the start that is lost, relative to its peak.
  double start_lost = 0;
  std::function<std::size_t()> modes{};
};

/// The largest error that is still an answer, relative to a density's peak, an energy or 1.
double most_error(const MeanfieldSetup& p);

/// `stop` is asked within evaluations that may take long.
MeanfieldSystem meanfield_system(const MeanfieldSetup& p, const MeanfieldKind& kind,
                                 const MeanfieldSize& size, const std::function<bool()>& stop = {});
MeanfieldSystem circle_spectral(const MeanfieldSetup& p, const MeanfieldSize& size);
MeanfieldSystem zonal_spectral(const MeanfieldSetup& p, const MeanfieldSize& size);

/// |m_k|, and c_l/p_l(1), of the first few.
std::vector<double> listed(std::span<const std::complex<double>> moments);
std::vector<double> listed(std::size_t dim, std::span<const double> coefficients);

/// The uniform law of the polar angle, per radian.
double uniform_polar(std::size_t dim, double angle);

/// The usual number of labels or heights.
std::size_t usual_size(const MeanfieldKind& kind);

}  // namespace attractor::lab
