// How tokens of any dimension are shown: as they are on a circle (d = 2) or a sphere (d = 3, turned
// so that the last state faces the reader), else by their principal components over all snapshots
// (centred covariance, projected without shifting; on a sphere by angle, report/scene.hpp). Colours
// are clusters: those of the last snapshot or, if one is left, of the first snapshot with few
// enough to tell apart. The static figures, the viewer of the page and films are made from this.
//
// In R^d tokens may spread without bound or fall into a point, so a fixed distance means little:
// groups are connected there at a share of the cloud's size (its root mean square distance from the
// mean) instead.
// Cost: snapshots * 2000 * d, and min(d, 512)^3 for the components.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "attractor/lab/flow/flow_record.hpp"
#include "attractor/report/scene.hpp"

namespace attractor::lab {

/// Of the cloud's size: tokens of R^d so close are in one group. The chord of the cosine 0.999.
inline constexpr double kGroupShare = 0.0447;

struct FlowView {
  std::string caption;               // what is seen: "on the sphere"
  report::TokenScene scene;          // a moment for each snapshot; of the tokens that are shown
  std::vector<std::uint32_t> shown;  // original tokens, evenly thinned to at most 2000
  std::vector<std::uint8_t> group;   // of every original token
  std::size_t reference = 0;         // the snapshot whose clusters the colours are
  std::size_t groups = 0;            // in R^d, at the end

  bool in_space() const { return scene.shape == report::TokenScene::Shape::space; }
  bool empty() const { return scene.xyz.empty(); }
};

FlowView flow_view(const FlowRecord& record);

/// The snapshots that a page plays: at most 100, the telling ones.
std::vector<std::size_t> played(const FlowView& view);
/// The moving picture of so many snapshots; 0: of those that a page plays.
report::Scene flow_scene(const FlowRecord& record, const FlowView& view, std::size_t most = 0);

/// Number of clusters in a snapshot.
std::size_t clusters_of(const Snapshot& snapshot);

}  // namespace attractor::lab
