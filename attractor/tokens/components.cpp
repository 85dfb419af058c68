#include "attractor/tokens/components.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "attractor/space/space.hpp"

namespace attractor {
namespace {

constexpr std::size_t kSmall = 256;   // below: one cell, every token looks at every other
constexpr std::size_t kCellAxes = 3;  // cells divide at most this many coordinates
using Cell = std::array<std::int64_t, kCellAxes>;

struct CellHash {
  std::size_t operator()(const Cell& cell) const {
    std::uint64_t h = 0;
    for (std::int64_t c : cell) h = (h ^ static_cast<std::uint64_t>(c)) * 0x9e3779b97f4a7c15U;
    return h ^ (h >> 29);
  }
};

// The coordinates along which the tokens spread most.
std::vector<std::size_t> widest_axes(std::span<const double> tokens, std::size_t dim) {
  std::vector<double> spread(dim);
  for (std::size_t a = 0; a < dim; ++a) {
    double sum = 0, squares = 0;
    for (std::size_t i = a; i < tokens.size(); i += dim) {
      sum += tokens[i];
      squares += tokens[i] * tokens[i];
    }
    spread[a] = squares - sum * sum / static_cast<double>(tokens.size() / dim);
  }
  std::vector<std::size_t> axes(dim);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  std::stable_sort(axes.begin(), axes.end(),
                   [&](std::size_t a, std::size_t b) { return spread[a] > spread[b]; });
  axes.resize(std::min(dim, kCellAxes));
  return axes;
}

class Search {
 public:
  Search(std::span<const double> tokens, std::size_t dim, double radius)
      : tokens_(tokens), dim_(dim), radius_(radius), count_(tokens.size() / dim) {
    if (count_ > kSmall) axes_ = widest_axes(tokens, dim);
    for (std::size_t i = 0; i < count_; ++i)
      unvisited_[cell_of(i)].push_back(static_cast<std::uint32_t>(i));
  }

  Components run() {
    constexpr auto kNone = std::numeric_limits<std::uint32_t>::max();
    Components result{std::vector<std::uint32_t>(count_, kNone), 0};
    std::vector<std::uint32_t> queue;
    for (std::uint32_t seed = 0; seed < count_; ++seed) {
      if (result.label[seed] != kNone) continue;
      const auto label = static_cast<std::uint32_t>(result.count++);
      result.label[seed] = label;
      queue.assign(1, seed);
      while (!queue.empty()) {
        const std::uint32_t i = queue.back();
        queue.pop_back();
        take_neighbours(i, label, result.label, queue);
      }
    }
    return result;
  }

 private:
  std::span<const double> token(std::size_t i) const { return tokens_.subspan(i * dim_, dim_); }

  Cell cell_of(std::size_t i) const {
    Cell cell{};
    for (std::size_t a = 0; a < axes_.size(); ++a)
      cell[a] = static_cast<std::int64_t>(
          std::clamp(std::floor(token(i)[axes_[a]] / radius_), -9e18, 9e18));
    return cell;
  }

  // Moves every unvisited token within reach of i to the queue.
  void take_neighbours(std::uint32_t i, std::uint32_t label, std::vector<std::uint32_t>& labels,
                       std::vector<std::uint32_t>& queue) {
    const Cell centre = cell_of(i);
    const int neighbours = axes_.empty() ? 1 : axes_.size() == 2 ? 9 : 27;
    for (int k = 0; k < neighbours; ++k) {
      Cell cell = centre;
      for (std::size_t a = 0, rest = static_cast<std::size_t>(k); a < axes_.size(); ++a, rest /= 3)
        cell[a] += static_cast<std::int64_t>(rest % 3) - 1;
      const auto found = unvisited_.find(cell);
      if (found == unvisited_.end()) continue;
      auto& waiting = found->second;
      std::erase_if(waiting, [&](std::uint32_t j) {
        if (j != i && !near(i, j)) return false;
        if (labels[j] != label) queue.push_back(j);
        labels[j] = label;
        return true;
      });
      if (waiting.empty()) unvisited_.erase(found);
    }
  }

  // Most tokens differ in their first coordinates already.
  bool near(std::size_t i, std::size_t j) const {
    const double limit = radius_ * radius_;
    double sum = 0;
    for (std::size_t begin = 0; begin < dim_; begin += 8) {
      const std::size_t length = std::min<std::size_t>(8, dim_ - begin);
      sum += squared_distance(token(i).subspan(begin, length), token(j).subspan(begin, length));
      if (sum > limit) return false;
    }
    return true;
  }

  std::span<const double> tokens_;
  std::size_t dim_;
  double radius_;
  std::size_t count_;
  std::vector<std::size_t> axes_;
  std::unordered_map<Cell, std::vector<std::uint32_t>, CellHash> unvisited_;
};

}  // namespace

Components components_on_circle(const CircleOrder& order, std::span<const double> tokens,
                                double radius) {
  constexpr auto kNone = std::numeric_limits<std::uint32_t>::max();
  const std::size_t n = order.token.size();
  const auto linked = [&](std::size_t k) {  // with the next one
    const std::size_t i = order.token[k], j = order.token[(k + 1) % n];
    return squared_distance(tokens.subspan(2 * i, 2), tokens.subspan(2 * j, 2)) <= radius * radius;
  };
  std::vector<std::uint32_t> piece(n);  // of each token
  std::uint32_t pieces = 1;
  for (std::size_t k = 0; k < n; ++k) {
    piece[order.token[k]] = pieces - 1;
    if (k + 1 < n && !linked(k)) ++pieces;
  }
  const bool around = pieces > 1 && linked(n - 1);  // the last piece goes on as the first
  Components found{std::vector<std::uint32_t>(n), 0};
  std::vector<std::uint32_t> label(pieces, kNone);
  for (std::size_t i = 0; i < n; ++i) {
    std::uint32_t& own = label[around && piece[i] == pieces - 1 ? 0 : piece[i]];
    if (own == kNone) own = static_cast<std::uint32_t>(found.count++);
    found.label[i] = own;
  }
  return found;
}

Components components(std::span<const double> tokens, std::size_t dim, double radius) {
  assert(radius > 0);
  if (dim == 2 && tokens.size() / 2 > kSmall)
    if (const auto order = circle_order(tokens))
      return components_on_circle(*order, tokens, radius);
  return Search(tokens, dim, radius).run();
}

}  // namespace attractor
