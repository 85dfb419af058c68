#include "attractor/tokens/close_search.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "attractor/base/threads.hpp"

namespace attractor {
namespace {

constexpr std::size_t kLanes = 8;  // keys side by side, and coordinates between two looks
constexpr std::size_t kAxes = 3;   // coordinates that cells divide
constexpr int kBits = 21;          // of the place along one of them
constexpr double kMostCells = 1 << 20;
using Lanes = Eigen::Array<double, kLanes, 1>;

// Coordinates, those along which the keys spread most first.
std::vector<std::size_t> by_spread(std::span<const double> keys, std::size_t dim) {
  const double count = static_cast<double>(keys.size() / dim);
  std::vector<double> sum(dim, 0.0), spread(dim, 0.0);
  for (std::size_t k = 0; k < keys.size(); ++k) sum[k % dim] += keys[k];
  for (std::size_t k = 0; k < keys.size(); ++k)
    spread[k % dim] += (keys[k] - sum[k % dim] / count) * (keys[k] - sum[k % dim] / count);
  std::vector<std::size_t> axes(dim);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::stable_sort(axes.begin(), axes.end(),
                   [&](std::size_t a, std::size_t b) { return spread[a] > spread[b]; });
  return axes;
}

// A fixed shuffle: neighbours in memory are no neighbours in the order of a cell.
std::uint32_t shuffled(std::uint32_t index) {
  index = (index ^ (index >> 16)) * 0x7feb352dU;
  index = (index ^ (index >> 15)) * 0x846ca68bU;
  return index ^ (index >> 16);
}

}  // namespace

CloseSearch::CloseSearch(std::span<const double> keys, std::size_t dim, double radius)
    : dim_(dim), axes_(by_spread(keys, dim)), size_(radius * (1 + 1e-6)) {
  assert(dim > 0 && radius > 0 && keys.size() % dim == 0);
  const std::size_t count = keys.size() / dim;
  for (std::size_t a = 0; a < std::min(kAxes, dim); ++a) {
    double low = count > 0 ? keys[axes_[a]] : 0, high = low;
    for (std::size_t k = axes_[a]; k < keys.size(); k += dim) {
      low = std::min(low, keys[k]);
      high = std::max(high, keys[k]);
    }
    low_.push_back(low);
    size_ = std::max(size_, (high - low) / kMostCells);  // wider cells only hold more
  }
  struct Placed {
    std::uint64_t cell;
    std::uint32_t place, key;
    bool operator<(const Placed& other) const {
      return cell != other.cell ? cell < other.cell : place < other.place;
    }
  };
  std::vector<Placed> placed(count);
  for (std::uint32_t j = 0; j < count; ++j)
    placed[j] = {cell_of(keys.subspan(j * dim, dim)), shuffled(j), j};
  std::sort(placed.begin(), placed.end());
  for (std::size_t position = 0; position < count; ++position) {
    order_.push_back(placed[position].key);
    if (position > 0 && placed[position].cell == cells_.back()) continue;
    cells_.push_back(placed[position].cell);
    starts_.push_back(position);
  }
  starts_.push_back(count);
  const std::size_t padded = (count + kLanes - 1) / kLanes * kLanes;
  tiles_ = Scratch<double>(padded * dim);
  std::fill_n(tiles_.get(), padded * dim, 0.0);
  for (std::size_t position = 0; position < count; ++position)
    for (std::size_t a = 0; a < dim; ++a)
      tiles_[(position / kLanes * dim + a) * kLanes + position % kLanes] =
          keys[order_[position] * dim + axes_[a]];
}

// Places along the axes from 1 on, side by side in one number; what lies outside is put at an end.
std::uint64_t CloseSearch::cell_of(std::span<const double> point) const {
  std::uint64_t cell = 0;
  for (std::size_t a = 0; a < low_.size(); ++a) {
    const double place = std::floor((point[axes_[a]] - low_[a]) / size_);
    cell = cell << kBits | static_cast<std::uint64_t>(std::clamp(place, -1.0, kMostCells) + 2);
  }
  return cell;
}

// Cells that differ in the last place only follow each other: nine ranges, the own one first.
void CloseSearch::look_around(std::uint64_t cell, Cursor& cursor) const {
  cursor.cell = cell;
  cursor.ranges.clear();
  const auto position = [&](std::uint64_t at) {
    const auto found = std::lower_bound(cells_.begin(), cells_.end(), at);
    return starts_[static_cast<std::size_t>(found - cells_.begin())];
  };
  const std::uint64_t step = 1, up = step << kBits, wide = up << kBits;
  for (const std::uint64_t x : {std::uint64_t{0}, 0 - wide, wide})
    for (const std::uint64_t y : {std::uint64_t{0}, 0 - up, up}) {
      if ((x != 0 && low_.size() < 3) || (y != 0 && low_.size() < 2)) continue;
      cursor.ranges.push_back({position(cell + x + y - 1), position(cell + x + y + 2)});
    }
}

// Squared distances of eight keys, unfinished if all exceed the limit; returns the coordinates
// seen.
std::size_t CloseSearch::scan_tile(const double* query, std::size_t tile, double limit,
                                   std::span<double, 8> sums) const {
  Eigen::Map<Lanes> total(sums.data());
  const double* key = &tiles_[tile * dim_ * kLanes];
  total = Lanes::Zero();
  for (std::size_t begin = 0; begin < dim_; begin += kLanes) {
    Lanes part = Lanes::Zero();
    const std::size_t end = std::min(dim_, begin + kLanes);
    for (std::size_t a = begin; a < end; ++a)
      part += (query[a] - Eigen::Map<const Lanes>(key + a * kLanes)).square();
    total += part;
    if (!(total <= limit).any()) return end;
  }
  return dim_;
}

CloseScan CloseSearch::find(std::span<const double> query, const CloseLimits& limits,
                            Cursor& cursor, std::vector<CloseKey>& found) const {
  found.clear();
  cursor.query.resize(dim_);
  for (std::size_t a = 0; a < dim_; ++a) cursor.query[a] = query[axes_[a]];
  const std::uint64_t cell = cell_of(query);
  if (cursor.ranges.empty() || cell != cursor.cell) look_around(cell, cursor);
  std::size_t compared = 0;
  std::array<double, kLanes> sums{};
  for (const auto& [begin, end] : cursor.ranges)
    for (std::size_t tile = begin / kLanes; tile * kLanes < end; ++tile) {
      const std::size_t done = std::min(end, (tile + 1) * kLanes);
      const std::size_t seen = scan_tile(cursor.query.data(), tile, limits.squared_radius, sums);
      compared += (seen + kLanes - 1) / kLanes * kLanes;  // eight keys, eight coordinates
      if (seen == dim_)
        for (std::size_t at = std::max(begin, tile * kLanes); at < done; ++at)
          if (sums[at % kLanes] <= limits.squared_radius)
            found.push_back({order_[at], sums[at % kLanes]});
      if (found.size() < limits.found && compared < limits.compared) continue;
      const double share = static_cast<double>(done - begin) / static_cast<double>(end - begin);
      return {found.size() >= limits.found ? ScanEnd::found_enough : ScanEnd::gave_up, share};
    }
  return {};
}

}  // namespace attractor
