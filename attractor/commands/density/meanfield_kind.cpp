// What the parameters of `attractor meanfield` mean together.
#include <fmt/format.h>

#include <algorithm>

#include "attractor/base/error.hpp"
#include "attractor/commands/density/meanfield_system.hpp"

namespace attractor::lab {

namespace {

constexpr std::size_t kMostModes = 100'000, kMostLabels = 100'000, kMostHeights = 100;

/// Refuses what only another start would use.
void check_effect(const MeanfieldParameters& p) {
  const MeanfieldParameters usual;
  const bool perturbed = p.start == "perturbed", bumps = p.start == "vmf";
  const auto only = [](bool given, const char* name, const char* needed) {
    if (given) throw Error(fmt::format("{} is without effect; it needs --{}", name, needed));
  };
  only(!perturbed && p.mode != usual.mode, "mode", "start perturbed");
  only(!perturbed && p.start != "map" && p.amplitude != usual.amplitude, "amplitude",
       "start perturbed or map");
  only(!bumps && p.concentration != usual.concentration, "concentration", "start vmf");
  only(!bumps && !p.centres.empty(), "centres", "start vmf");
  only(!bumps && !p.weights.empty(), "weights", "start vmf");
  only(p.start != "wrapped-cauchy" && p.order != usual.order, "order", "start wrapped-cauchy");
  only(p.start != "tokens" && !p.tokens_file.empty(), "tokens-file", "start tokens");
  only(p.compare_particles.empty() && p.replicates != usual.replicates, "replicates",
       "compare-particles");
}

void check_modes(const MeanfieldParameters& p, const MeanfieldKind& kind) {
  const std::size_t most = kind.geometry == Geometry::circle ? kMostModes : kGivenDegrees;
  if (kind.spectral && p.modes > 0 && (p.modes < 2 || p.modes > most))
    throw Error(fmt::format("modes = {} is not allowed; allowed: 2 to {}", p.modes, most));
}

/// Labels must see the start.
void check_labels(const MeanfieldParameters& p, const MeanfieldKind& kind) {
  if (kind.spectral || p.start == "tokens") return;
  const std::size_t size = p.modes > 0 ? p.modes : usual_size(kind);
  const bool grid = kind.geometry == Geometry::general;
  const std::size_t wave = p.start == "perturbed" ? p.mode : 0;
  const std::size_t least =
      grid ? std::max<std::size_t>(8, wave + 1) : std::max<std::size_t>(16, 4 * wave);
  const std::size_t most = grid ? kMostHeights : kMostLabels;
  if (size < least || size > most)
    throw Error(fmt::format("modes = {} {} are not allowed with this start; allowed: {} to {}",
                            size, grid ? "heights" : "labels", least, most));
}

}  // namespace

MeanfieldKind kind_of(const MeanfieldParameters& p) {
  const bool tokens = p.start == "tokens", planar = p.start == "wrapped-cauchy" || p.start == "map";
  const bool centred = p.start == "vmf" && !p.centres.empty();
  MeanfieldKind kind;
  if (p.symmetry == "zonal" || (p.symmetry == "auto" && p.dim > 2 && !tokens && !centred))
    kind.geometry = Geometry::zonal;
  else
    kind.geometry = p.dim == 2 ? Geometry::circle : Geometry::general;
  const char* why = nullptr;
  if (planar && kind.geometry != Geometry::circle)
    why = "is a law on the circle; it needs dim = 2 without --symmetry zonal";
  if (kind.geometry == Geometry::zonal && (tokens || centred))
    why = "with centres or tokens has no axis; leave out --symmetry zonal";
  if (why) throw Error(fmt::format("start {} {}", p.start, why));
  if (kind.geometry == Geometry::general && p.dim > 3 && !tokens)
    throw Error(fmt::format(
        "dim = {} without symmetry has no grid; use --symmetry zonal or --start tokens", p.dim));
  const bool only_labels = tokens || kind.geometry == Geometry::general;
  if (only_labels && p.form == "spectral")
    throw Error("form spectral needs a density on the circle or with an axis; use --form labels");
  kind.spectral = p.form == "spectral" || (p.form == "auto" && !only_labels);
  if (!kind.spectral && p.noise > 0)
    throw Error(fmt::format("noise = {} needs --form spectral: labels know no diffusion", p.noise));
  check_effect(p);
  check_modes(p, kind);
  check_labels(p, kind);
  return kind;
}

}  // namespace attractor::lab
