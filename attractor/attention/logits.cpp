#include "attractor/attention/logits.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <utility>

#include "attractor/base/eigen.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor {
namespace {

std::size_t rows_per_tile(std::size_t count) {
  constexpr std::size_t kTileSize = 1U << 17U;  // doubles: 1 MB
  return std::clamp<std::size_t>(kTileSize / count, 4, 64);
}

void inner_products(const Logits& logits, LogitTile& tile) {
  const auto rows = static_cast<Eigen::Index>(tile.end - tile.begin);
  const auto columns = static_cast<Eigen::Index>(tile.columns.count());
  const auto rank = static_cast<Eigen::Index>(logits.rank);
  const Eigen::Map<const RowMajor> queries(&logits.queries[tile.begin * logits.rank], rows, rank);
  const Eigen::Map<const RowMajor> keys(&logits.keys[tile.columns.first * logits.rank], columns,
                                        rank);
  Eigen::Map<RowMajor> values(tile.values.data(), rows, columns);
  values.noalias() = queries * keys.transpose();
  values *= logits.beta;
}

void kernel_logarithms(const Logits& logits, LogitTile& tile) {
  for (std::size_t i = tile.begin; i < tile.end; ++i) {
    const auto visible = logits.mask.visible(i, logits.count);
    const auto row = tile.row(i, visible);
    const auto query = logits.queries.subspan(i * logits.rank, logits.rank);
    for (std::size_t j = visible.first; j < visible.last; ++j)
      row[j - visible.first] =
          log_kernel(*logits.kernel, logits.beta,
                     squared_distance(query, logits.keys.subspan(j * logits.rank, logits.rank)));
  }
}

void charge_distance(const Logits& logits, LogitTile& tile) {
  for (std::size_t i = tile.begin; i < tile.end; ++i) {
    const auto visible = logits.mask.visible(i, logits.count);
    const auto row = tile.row(i, visible);
    for (std::size_t j = visible.first; j < visible.last; ++j)
      row[j - visible.first] -= logits.mask.slope * static_cast<double>(j < i ? i - j : j - i);
  }
}

}  // namespace

Logits Logits::transposed() const {
  Logits other = *this;
  std::swap(other.queries, other.keys);
  return other;
}

void for_each_tile(const Logits& logits, const std::function<void(LogitTile&)>& body) {
  const std::size_t n = logits.count;
  parallel_for(n, rows_per_tile(n), [&](std::size_t begin, std::size_t end) {
    LogitTile tile{
        .begin = begin,
        .end = end,
        .columns = {logits.mask.visible(begin, n).first, logits.mask.visible(end - 1, n).last},
        .values = {}};
    tile.values.resize((end - begin) * tile.columns.count());
    if (logits.kernel)
      kernel_logarithms(logits, tile);
    else
      inner_products(logits, tile);
    if (logits.mask.slope > 0) charge_distance(logits, tile);
    body(tile);
  });
}

double largest_logit(const Logits& logits) {
  std::vector<double> largest(logits.count);
  for_each_tile(logits, [&](LogitTile& tile) {
    for (std::size_t i = tile.begin; i < tile.end; ++i)
      largest[i] = std::ranges::max(tile.row(i, logits.mask.visible(i, logits.count)));
  });
  return std::ranges::max(largest);
}

}  // namespace attractor
