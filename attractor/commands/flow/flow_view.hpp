// How tokens of any dimension are shown: as they are on a circle (d = 2) or a sphere (d = 3, turned
// so that the last state faces the reader), else by their principal components over all snapshots
// (centred covariance, projected without shifting, so that the unit sphere shows as the unit disc).
// Colours are clusters: those of the last snapshot or, if one is left, of the first snapshot with
// few enough to tell apart. The static figures and the interactive viewer are made from this.
// Cost: snapshots * 2000 * d, and min(d, 512)^3 for the components.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "attractor/lab/flow/flow_record.hpp"
#include "attractor/report/figure.hpp"

namespace attractor::lab {

struct FlowView {
  std::string caption;                   // what is seen: "on the sphere"
  bool on_sphere = true;                 // the outline is the unit circle
  bool surface = false;                  // d = 3 on the sphere: a front and a back
  bool turnable = false;                 // the third coordinate has a meaning
  std::vector<std::uint32_t> shown;      // original tokens, evenly thinned to at most 2000
  std::vector<report::Colour> palette;   // of the groups
  std::vector<std::uint8_t> group;       // of every original token
  std::size_t reference = 0;             // the snapshot whose clusters the colours are
  std::vector<std::vector<double>> xyz;  // per snapshot: shown x 3; right, up, towards the reader
  std::vector<double> unit;              // per snapshot: the length drawn as 1
  std::array<double, 9> camera{};        // rows: right, up, towards the reader (d = 3)
};

FlowView flow_view(const FlowRecord& record);

/// Tokens that fall on one spot, drawn as one marker in the colour of most of them.
struct Marker {
  double x, y, z;
  std::uint8_t group;
  std::size_t count;
};
/// From back to front; every `stride`-th of the shown tokens.
std::vector<Marker> markers(const FlowView& view, std::size_t snapshot, std::size_t stride);

/// At most `most` snapshots, first and last among them, spread by how far tokens move in between.
std::vector<std::size_t> telling_snapshots(const FlowView& view, std::size_t most);

/// Number of clusters in a snapshot.
std::size_t clusters_of(const Snapshot& snapshot);

}  // namespace attractor::lab
