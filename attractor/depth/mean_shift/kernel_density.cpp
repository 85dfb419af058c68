#include "attractor/depth/mean_shift/kernel_density.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/points.hpp"
#include "attractor/kernels/dense/attention_rows.hpp"

namespace attractor::depth {
namespace {

constexpr std::size_t kCell = 128;    // most points of a cell
constexpr std::size_t kChunk = 2048;  // points gathered at once: they stay in the cache
constexpr double kLeftOut = 40;       // -ln of all that is left out, beside one point's 1

void require_sizes(Points points, std::size_t dim) {
  const auto bad = std::ranges::find_if_not(points, [](double x) { return std::abs(x) <= 1e150; });
  if (bad != points.end())
    throw Error(fmt::format(
        "point {} (counted from 0) has the entry {}; allowed are numbers of at most 1e150 in size",
        static_cast<std::size_t>(bad - points.begin()) / dim, *bad));
}

// ---- Cells.

std::size_t widest_axis(Points points, std::size_t dim, std::span<const std::uint32_t> members) {
  std::vector<double> low(dim, kInfinity), high(dim, -low[0]);
  for (const std::uint32_t i : members)
    for (std::size_t a = 0; a < dim; ++a) {
      low[a] = std::min(low[a], points[i * dim + a]);
      high[a] = std::max(high[a], points[i * dim + a]);
    }
  std::size_t best = 0;
  for (std::size_t a = 1; a < dim; ++a)
    if (high[a] - low[a] > high[best] - low[best]) best = a;
  return best;
}

Cells::Cell ball(Points points, std::size_t dim, const Cells& cells, std::size_t begin,
                 std::size_t end) {
  Cells::Cell cell{begin, end, std::vector<double>(dim, 0.0), 0};
  for (std::size_t k = begin; k < end; ++k)
    for (std::size_t a = 0; a < dim; ++a)
      cell.centre[a] += points[cells.order[k] * dim + a] / static_cast<double>(end - begin);
  for (std::size_t k = begin; k < end; ++k)
    cell.radius = std::max(cell.radius, distance(row(points, dim, cells.order[k]), cell.centre));
  return cell;
}

/// Halves along the widest axis until no cell has more than `most` points.
Cells divide(Points points, std::size_t dim, std::size_t most) {
  Cells result;
  result.order.resize(points.size() / dim);
  std::iota(result.order.begin(), result.order.end(), 0u);
  std::vector<std::pair<std::size_t, std::size_t>> waiting = {{0, result.order.size()}};
  while (!waiting.empty()) {
    const auto [begin, end] = waiting.back();
    waiting.pop_back();
    if (end - begin <= most) {
      result.cells.push_back(ball(points, dim, result, begin, end));
      continue;
    }
    const auto members = std::span(result.order).subspan(begin, end - begin);
    const std::size_t axis = widest_axis(points, dim, members);
    const std::size_t half = members.size() / 2;
    std::nth_element(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(half),
                     members.end(), [&](std::uint32_t i, std::uint32_t j) {
                       return points[i * dim + axis] < points[j * dim + axis];
                     });
    waiting.emplace_back(begin + half, end);
    waiting.emplace_back(begin, begin + half);
  }
  return result;
}

}  // namespace

// ---- The density.

/// Near queries, which share the cells that they look at.
struct KernelDensity::Group {
  const Cells::Cell& cell;
  std::span<const std::uint32_t> members;
  Points queries;
  std::span<double> shift, height;
};

KernelDensity::KernelDensity(Points points, std::size_t dim, double beta) : dim_(dim), beta_(beta) {
  require_sizes(points, dim);
  if (!(beta >= 1e-200 && beta <= 1e200))
    throw Error(fmt::format("beta is {}; allowed is 1e-200 to 1e200", beta));
  cells_ = divide(points, dim, kCell);
  points_ = gathered(points, dim, cells_.order);
  const double n = static_cast<double>(cells_.order.size());
  reach_ = std::sqrt(2 * (std::log(n) + kLeftOut) / beta);
}

bool KernelDensity::evaluate(Points queries, std::span<double> shift, std::span<double> height,
                             const std::function<bool()>& stop) const {
  const std::size_t count = height.size();
  // Enough groups for all threads, of a size that does not depend on their number.
  const Cells groups = divide(queries, dim_, std::clamp<std::size_t>(count / 32, 8, 64));
  const auto some = [&](std::size_t first, std::size_t begin, std::size_t end) {
    for (std::size_t g = first + begin; g < first + end; ++g) {
      const Cells::Cell& cell = groups.cells[g];
      evaluate_group({.cell = cell,
                      .members = std::span(groups.order).subspan(cell.begin, cell.end - cell.begin),
                      .queries = queries,
                      .shift = shift,
                      .height = height});
    }
  };
  const std::size_t all = groups.cells.size(), together = stop ? 4 * threads() : all;
  for (std::size_t first = 0; first < all; first += together) {
    if (stop && first > 0 && stop()) return false;
    parallel_for(std::min(together, all - first), 1,
                 [&](std::size_t begin, std::size_t end) { some(first, begin, end); });
  }
  return true;
}

/// The queries stand behind the gathered points, with mass zero: rows of attention as they are.
void KernelDensity::evaluate_group(const Group& group) const {
  const std::size_t size = group.members.size(), n = cells_.order.size();
  const std::size_t room = std::min(kChunk, n);
  const std::vector<double> queries = gathered(group.queries, dim_, group.members);
  std::vector<double> sources, masses(room + size, 1.0);
  std::fill(masses.end() - static_cast<std::ptrdiff_t>(size), masses.end(), 0.0);
  std::vector<double> pull(size * dim_), weight(size), pulls(size * dim_, 0.0), sum(size, 0.0);
  std::vector<std::uint32_t> rows(size);
  sources.reserve((room + size) * dim_);
  const auto add_sources = [&] {
    const std::size_t count = sources.size() / dim_;
    if (count == 0) return;
    sources.insert(sources.end(), queries.begin(), queries.end());
    std::iota(rows.begin(), rows.end(), static_cast<std::uint32_t>(count));
    kernels::distance_rows({.dim = dim_,
                            .points = sources,
                            .values = {},
                            .masses = std::span(masses).last(count + size),
                            .beta = beta_},
                           rows, {.pull = pull, .weight = weight, .moment = {}, .peak = {}});
    for (std::size_t k = 0; k < pull.size(); ++k) pulls[k] += pull[k];
    for (std::size_t k = 0; k < size; ++k) sum[k] += weight[k];
    sources.clear();
  };
  for (const Cells::Cell& cell : cells_.cells) {
    const double within = reach_ + (cell.radius + group.cell.radius) * (1 + 1e-9);
    if (distance(cell.centre, group.cell.centre) > within) continue;
    if (sources.size() / dim_ + cell.end - cell.begin > room) add_sources();
    sources.insert(sources.end(), points_.begin() + static_cast<std::ptrdiff_t>(cell.begin * dim_),
                   points_.begin() + static_cast<std::ptrdiff_t>(cell.end * dim_));
  }
  add_sources();
  for (std::size_t k = 0; k < size; ++k) {
    const std::size_t i = group.members[k];
    group.height[i] = sum[k] / static_cast<double>(n);
    for (std::size_t a = 0; a < dim_; ++a)
      group.shift[i * dim_ + a] = sum[k] > 0 ? pulls[k * dim_ + a] / sum[k] : 0;
  }
}

}  // namespace attractor::depth
