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
using Lanes = Eigen::Array<double, kLanes, 1>;

// Coordinates, those along which the keys spread most first.
std::vector<std::size_t> by_spread(std::span<const double> keys, std::size_t dim) {
  const double count = static_cast<double>(keys.size() / dim);
  std::vector<double> sum(dim, 0.0), spread(dim, 0.0);
  for (std::size_t k = 0; k < keys.size(); ++k) sum[k % dim] += keys[k];
  for (std::size_t k = 0; k < keys.size(); ++k)
    spread[k % dim] += std::pow(keys[k] - sum[k % dim] / count, 2);
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
    : dim_(dim), size_(radius * (1 + 1e-6)), axes_(by_spread(keys, dim)) {
  assert(dim > 0 && radius > 0 && keys.size() % dim == 0);
  const std::size_t count = keys.size() / dim;
  std::vector<Cell> cell(count);
  for (std::size_t j = 0; j < count; ++j) cell[j] = cell_of(keys.subspan(j * dim, dim));
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), 0U);
  std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return cell[a] != cell[b] ? cell[a] < cell[b] : shuffled(a) < shuffled(b);
  });
  for (std::size_t position = 0; position < count; ++position)
    if (position == 0 || cell[order_[position]] != cells_.back()) {
      cells_.push_back(cell[order_[position]]);
      starts_.push_back(position);
    }
  starts_.push_back(count);
  tiles_.assign((count + kLanes - 1) / kLanes * kLanes * dim, 0.0);
  for (std::size_t position = 0; position < count; ++position)
    for (std::size_t a = 0; a < dim; ++a)
      tiles_[(position / kLanes * dim + a) * kLanes + position % kLanes] =
          keys[order_[position] * dim + axes_[a]];
}

CloseSearch::Cell CloseSearch::cell_of(std::span<const double> point) const {
  Cell cell{};
  for (std::size_t a = 0; a < std::min(kAxes, dim_); ++a)
    cell[a] =
        static_cast<std::int64_t>(std::clamp(std::floor(point[axes_[a]] / size_), -9e18, 9e18));
  return cell;
}

// Cells that differ in the last coordinate only follow each other: nine ranges, the own one first.
void CloseSearch::look_around(const Cell& cell, Cursor& cursor) const {
  cursor.cell = cell;
  cursor.ranges.clear();
  const auto position = [&](std::int64_t x, std::int64_t y, std::int64_t z) {
    const auto at =
        std::lower_bound(cells_.begin(), cells_.end(), Cell{cell[0] + x, cell[1] + y, cell[2] + z});
    return starts_[static_cast<std::size_t>(at - cells_.begin())];
  };
  for (const std::int64_t x : {0, -1, 1})
    for (const std::int64_t y : {0, -1, 1})
      cursor.ranges.push_back({position(x, y, -1), position(x, y, 2)});
}

// Squared distances of eight keys; false, and unfinished sums, if all exceed the limit.
bool CloseSearch::scan_tile(const double* query, std::size_t tile, double limit,
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
    if (!(total <= limit).any()) return false;
  }
  return true;
}

CloseScan CloseSearch::find(std::span<const double> query, const CloseLimits& limits,
                            Cursor& cursor, std::vector<CloseKey>& found) const {
  found.clear();
  cursor.query.resize(dim_);
  for (std::size_t a = 0; a < dim_; ++a) cursor.query[a] = query[axes_[a]];
  const Cell cell = cell_of(query);
  if (cursor.ranges.empty() || cell != cursor.cell) look_around(cell, cursor);
  std::size_t compared = 0;
  std::array<double, kLanes> sums{};
  for (const auto& [begin, end] : cursor.ranges)
    for (std::size_t tile = begin / kLanes; tile * kLanes < end; ++tile) {
      const std::size_t done = std::min(end, (tile + 1) * kLanes);
      compared += kLanes;
      if (scan_tile(cursor.query.data(), tile, limits.squared_radius, sums))
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
