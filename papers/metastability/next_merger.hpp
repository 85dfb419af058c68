// Which of several clusters on the circle merge next, and when.
#pragma once

#include <cstddef>
#include <vector>

namespace attractor::papers {

/// Clusters on the circle, ascending in angle; masses are shares.
struct Cluster {
  double angle, mass;
};
/// The pair (number k and the next one) that would merge first if it were alone, by coming to
/// `cosine`, and when. Neighbours pull it apart by at most `disturbance` of its speed, to leading
/// order in e^{-beta}: it merges between wait and wait / (1 - disturbance). closed: the last and
/// the first are neighbours too.
struct Merger {
  std::size_t pair = 0;
  double wait = 0, disturbance = 0;
};
Merger next_merger(const std::vector<Cluster>& clusters, bool closed, double beta, double cosine);

}  // namespace attractor::papers
