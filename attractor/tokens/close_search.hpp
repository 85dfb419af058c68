// Keys close to a query: all k_j with |q - k_j| <= radius (chord length), without looking at every
// key where they spread over more than a few radii. Keys lie in cells of that size along the three
// coordinates of largest spread, in random order within a cell; distances are summed coordinate by
// coordinate, widest first, and given up once they exceed the radius. A scan ends early when enough
// keys are found, or too many were compared: it then says what share of the keys it has seen.
// Cost: n log n + n dim to build; a scan, 8 to dim operations a key in the 27 cells around it.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "attractor/base/scratch.hpp"

namespace attractor {

struct CloseKey {
  std::uint32_t key;
  double squared_distance;  // rounded: recompute where the last bit decides
};

struct CloseLimits {
  double squared_radius = 0;  // at most the square of the radius of the search
  std::size_t found = 0;      // stop at so many
  std::size_t compared = 0;   // stop after about so many; up to 8 coordinates each
};

enum class ScanEnd { complete, found_enough, gave_up };

struct CloseScan {
  ScanEnd end = ScanEnd::complete;
  double share = 1;  // of the keys in the column of cells where the scan ended; 1 if complete
};

class CloseSearch {
 public:
  /// Keys: n x dim, row-major; radius > 0.
  CloseSearch(std::span<const double> keys, std::size_t dim, double radius);

  /// Remembers the cells around the last query: queries of one cell in a row share them.
  struct Cursor {
    std::uint64_t cell = 0;
    std::vector<std::array<std::size_t, 2>> ranges;  // positions; empty at first
    std::vector<double> query;
  };

  /// Replaces `found`. `cursor` belongs to one thread.
  CloseScan find(std::span<const double> query, const CloseLimits& limits, Cursor& cursor,
                 std::vector<CloseKey>& found) const;

  /// The keys cell by cell: a good order of queries where these are the keys.
  std::span<const std::uint32_t> order() const { return order_; }

 private:
  std::uint64_t cell_of(std::span<const double> point) const;
  void look_around(std::uint64_t cell, Cursor& cursor) const;
  std::size_t scan_tile(const double* query, std::size_t tile, double limit,
                        std::span<double, 8> sums) const;

  std::size_t dim_;
  std::vector<std::size_t> axes_;  // all coordinates, widest first; cells divide the first three
  std::vector<double> low_;        // smallest values of those
  double size_;                    // of a cell
  std::vector<std::uint32_t> order_;
  std::vector<std::uint64_t> cells_;  // ascending, those that hold a key
  std::vector<std::size_t> starts_;   // cells_.size() + 1 positions
  Scratch<double> tiles_;             // eight keys side by side: dim x 8 each
};

}  // namespace attractor
