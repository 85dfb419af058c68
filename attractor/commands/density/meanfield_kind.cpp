// What the parameters of `attractor meanfield` mean together.
#include <fmt/format.h>

#include <algorithm>

#include "attractor/base/error.hpp"
#include "attractor/commands/density/meanfield_system.hpp"

namespace attractor::lab {

namespace {

constexpr std::size_t kMostGivenModes = 100'000, kMostLabels = 100'000, kMostHeights = 100;

void check_modes(const MeanfieldSetup& p, const MeanfieldKind& kind) {
  const std::size_t most = kind.geometry == Geometry::circle ? kMostGivenModes : kGivenDegrees;
  if (kind.spectral && p.modes > 0 && (p.modes < 2 || p.modes > most))
    throw Error(fmt::format("modes = {} is not allowed; allowed: 2 to {}", p.modes, most));
}

/// Labels must see the start.
void check_labels(const MeanfieldSetup& p, const MeanfieldKind& kind) {
  if (kind.spectral || p.start == StartLaw::tokens) return;
  const std::size_t size = p.modes > 0 ? p.modes : usual_size(kind);
  const bool grid = kind.geometry == Geometry::general;
  const std::size_t wave = p.start == StartLaw::perturbed ? p.mode : 0;
  const std::size_t least =
      grid ? std::max<std::size_t>(8, wave + 1) : std::max<std::size_t>(16, 4 * wave);
  const std::size_t most = grid ? kMostHeights : kMostLabels;
  if (size < least || size > most)
    throw Error(fmt::format("modes = {} {} are not allowed with this start; allowed: {} to {}",
                            size, grid ? "heights" : "labels", least, most));
}

}  // namespace

MeanfieldKind kind_of(const MeanfieldSetup& p) {
  check_setup(p);
  const bool tokens = p.start == StartLaw::tokens,
             planar = p.start == StartLaw::wrapped_cauchy || p.start == StartLaw::map;
  const bool centred = p.start == StartLaw::vmf && !p.centres.empty();
  MeanfieldKind kind;
  if (p.symmetry == Symmetry::zonal || (!p.symmetry && p.dim > 2 && !tokens && !centred))
    kind.geometry = Geometry::zonal;
  else
    kind.geometry = p.dim == 2 ? Geometry::circle : Geometry::general;
  const char* why = nullptr;
  if (planar && kind.geometry != Geometry::circle)
    why = "is a law on the circle; it needs dim = 2 without symmetry zonal";
  if (kind.geometry == Geometry::zonal && (tokens || centred))
    why = "with centres or tokens has no axis; leave out symmetry zonal";
  if (why) throw Error(fmt::format("start {} {}", name(p.start), why));
  if (kind.geometry == Geometry::general && p.dim > 3 && !tokens)
    throw Error(fmt::format(
        "dim = {} without symmetry has no grid; use symmetry zonal or start tokens", p.dim));
  const bool only_labels = tokens || kind.geometry == Geometry::general;
  if (only_labels && p.form == DensityForm::spectral)
    throw Error("form spectral needs a density on the circle or with an axis; use form labels");
  kind.spectral = p.form == DensityForm::spectral || (!p.form && !only_labels);
  if (!kind.spectral && p.noise > 0)
    throw Error(fmt::format("noise = {} needs form spectral: labels know no diffusion", p.noise));
  check_modes(p, kind);
  check_labels(p, kind);
  return kind;
}

}  // namespace attractor::lab
