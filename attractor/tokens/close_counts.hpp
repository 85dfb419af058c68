// How much mass lies close to each point: c_i = sum of m_j over j != i with |x_i - x_j|^2 / 2 <=
// gap, exact, by a tree of balls. A node halves its points along the coordinate in which they
// spread most, down to leaves of 16. All pairs of two nodes are close, or none is, if the distance
// of their centres and their radii say so; else the larger node is opened, and two leaves are read
// pair by pair. Balls err on the side of reading. Masses are whole numbers, so that sums do not
// depend on the order or the number of threads. Cost: n log n where most points are in clumps or
// have few others about as far as the gap; a few leaves tell beforehand.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace attractor {

/// points: n x dim; 0 <= gap. None if more than `most_reads` pairs would have to be read.
std::optional<std::vector<double>> close_counts(std::span<const double> points, std::size_t dim,
                                                std::span<const double> masses, double gap,
                                                double most_reads);

}  // namespace attractor
