// The solvers of `attractor meanfield` behind one face: a flow, its start, and what to measure on
// its states. Which one it is follows from dimension, symmetry and form:
//
//   circle            spectral: CircleDensity      labels: CircleTokens
//   zonal, any d      spectral: ZonalDensity       labels: ZonalLabels
//   none, d >= 3                                   labels: WeightedTokens (S^2 grid, or tokens)
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "attractor/experiment/meanfield_experiment.hpp"
#include "attractor/flow/flow.hpp"
#include "attractor/meanfield/circle_tokens.hpp"
#include "attractor/meanfield/start_density.hpp"
#include "attractor/meanfield/zonal_density.hpp"

namespace attractor::experiment {

inline constexpr std::size_t kMostDegrees = 256;  // of automatic doubling on spheres

enum class Geometry { circle, zonal, general };

/// What the parameters mean; throws Error on words that do not go together, on those that would be
/// without effect, and on too few labels.
struct MeanfieldKind {
  Geometry geometry = Geometry::circle;
  bool spectral = true;
};
MeanfieldKind kind_of(const MeanfieldParameters& p);

meanfield::CircleLaw circle_law(const MeanfieldParameters& p);
meanfield::ZonalLaw zonal_law(const MeanfieldParameters& p);
meanfield::CircleAttention circle_attention(const MeanfieldParameters& p);
meanfield::ZonalAttention zonal_attention(const MeanfieldParameters& p);

/// NaN where a solver does not know it.
struct MeanfieldMoment {
  double time = 0;
  double order = 0;       // |E x|
  double log_energy = 0;  // energy of theory A1, ln
  double entropy = 0;     // E ln(density relative to uniform)
  double smallest = 0;    // density relative to uniform; NaN where modes do not tell it
  double mass = 0;
  double mode = 0;  // size of the mode that was perturbed
};

struct MeanfieldSystem {
  using State = std::span<const double>;

  std::unique_ptr<flow::Flow> flow{};
  std::vector<double> start{};
  std::vector<double> weights{};  // of labels; empty: spectral
  std::vector<double> angles{};   // where density() is known, ascending; may be empty
  std::function<MeanfieldMoment(State)> measure{};
  std::function<std::vector<double>(State)> density{};  // relative to uniform
  std::function<std::vector<double>(State)> moments{};  // |m_k|; E p_l(t)/p_l(1); or E x
  std::function<double(State)> resolution{};            // spectral: size of the last modes
  std::function<bool(State)> unresolved{};
  std::function<std::size_t()> modes{};
};

/// `size`: modes, or labels (heights of the grid on S^2); 0: the usual number. `stop` is asked
/// within evaluations that may take long.
MeanfieldSystem meanfield_system(const MeanfieldParameters& p, const MeanfieldKind& kind,
                                 std::size_t size, const std::function<bool()>& stop = {});

/// The usual number; of modes, the first try.
std::size_t usual_size(const MeanfieldKind& kind);

}  // namespace attractor::experiment
