#include "attractor/depth/mean_shift/mean_shift.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/mean_shift/kernel_density.hpp"
#include "attractor/depth/points.hpp"
#include "attractor/kernels/dense/token_rows.hpp"
#include "attractor/tokens/components.hpp"

namespace attractor::depth {
namespace {

constexpr double kNear = 1e-3;  // of the bandwidth: seeds followed as one, push
constexpr std::size_t kBandwidthSample = 500;

// ---- The ascent.

/// Paths that climb together with the density at rest.
class Ascent {
 public:
  Ascent(const KernelDensity& density, std::size_t dim, const MeanShiftOptions& options,
         std::vector<double> starts, double largest)
      : density_(density),
        options_(options),
        dim_(dim),
        bandwidth_(1 / std::sqrt(options.beta)),
        rounding_(8 * std::numeric_limits<double>::epsilon() * largest),
        at_(std::move(starts)),
        before_(at_),
        direction_(dim),
        step_(at_.size() / dim, kInfinity),
        leader_(step_.size()) {
    std::iota(leader_.begin(), leader_.end(), 0u);
    climbing_ = leading_ = leader_;
    Stream(options.seed, "mean shift sweep").normals(0, direction_);
    const double length = norm(direction_);
    for (double& c : direction_) c /= length;
  }

  /// False: stopped by the watch.
  bool run(std::size_t& iterations) {
    while (!climbing_.empty() && iterations < options_.iterations) {
      const auto stop = [&] { return !options_.watch(iterations, climbing_.size()); };
      if (options_.watch && stop()) return false;
      if (!step(options_.watch ? std::function<bool()>(stop) : nullptr)) return false;
      ++iterations;
      fold();
    }
    return true;
  }

  std::size_t climbing() const { return climbing_.size(); }
  /// Of every path, the place of the one it follows.
  std::uint32_t leader(std::size_t path) const {
    auto i = static_cast<std::uint32_t>(path);
    while (leader_[i] != i) i = leader_[i];
    return i;
  }
  std::span<const std::uint32_t> leading() const { return leading_; }
  Points end(std::uint32_t path) const { return row(Points(at_), dim_, path); }

 private:
  /// False: stopped, and nothing has moved.
  bool step(const std::function<bool()>& stop) {
    std::vector<double> shift(climbing_.size() * dim_), height(climbing_.size());
    if (!density_.evaluate(gathered(at_, dim_, climbing_), shift, height, stop)) return false;
    before_ = at_;
    std::vector<std::uint32_t> still;
    for (std::size_t k = 0; k < climbing_.size(); ++k)
      if (!arrives(climbing_[k], row(Points(shift), dim_, k))) still.push_back(climbing_[k]);
    climbing_ = std::move(still);
    return true;
  }

  /// Steps shrink like a geometric series; what is left of it is the distance to the limit.
  bool arrives(std::uint32_t path, Points shift) {
    const std::span<double> x = row(std::span(at_), dim_, path);
    move(x, shift);
    const double length = distance(x, row(Points(before_), dim_, path));
    const double ratio = length / std::exchange(step_[path], length);
    const double left = ratio < 0.5 ? length : ratio < 1 ? length * ratio / (1 - ratio) : INFINITY;
    return left <= options_.tolerance * bandwidth_ || length <= rounding_;
  }

  void move(std::span<double> x, Points shift) const {
    std::vector<double> mean(x.begin(), x.end());
    for (std::size_t a = 0; a < dim_; ++a) mean[a] += shift[a];
    if (options_.on_sphere) {
      const double length = norm(mean);
      if (length == 0) return;  // m(x) = 0: x is a critical point
      for (double& c : mean) c /= length;
    }
    std::copy(mean.begin(), mean.end(), x.begin());
  }

  /// A path that has come near to another follows it from now on. Sweeps along a random direction,
  /// in which few points that differ agree.
  void fold() {
    std::vector<double> along(leader_.size());
    kernels::row_products(at_, direction_, along);
    std::vector<std::uint32_t> order(leading_), kept;
    std::sort(order.begin(), order.end(), [&](std::uint32_t i, std::uint32_t j) {
      return std::pair(along[i], i) < std::pair(along[j], j);
    });
    for (const std::uint32_t i : order) {
      for (std::size_t k = kept.size(); k-- > 0 && leader_[i] == i;) {
        if (along[i] - along[kept[k]] > kNear * bandwidth_ + rounding_) break;
        if (together(i, kept[k])) leader_[i] = kept[k];
      }
      if (leader_[i] == i) kept.push_back(i);
    }
    leading_ = std::move(kept);
    std::erase_if(climbing_, [&](std::uint32_t i) { return leader_[i] != i; });
  }

  bool together(std::uint32_t i, std::uint32_t j) const {
    const double now = distance(end(i), end(j));
    return now <= kNear * bandwidth_ &&
           now <= distance(row(Points(before_), dim_, i), row(Points(before_), dim_, j));
  }

  const KernelDensity& density_;
  const MeanShiftOptions& options_;
  std::size_t dim_;
  double bandwidth_, rounding_;
  std::vector<double> at_, before_, direction_, step_;
  std::vector<std::uint32_t> leader_, climbing_, leading_;
};

std::vector<std::uint32_t> draw_seeds(std::size_t count, std::size_t most, std::uint64_t seed) {
  std::vector<std::uint32_t> chosen(count);
  std::iota(chosen.begin(), chosen.end(), 0u);
  if (count <= most) return chosen;
  const Stream stream(seed, "mean shift seeds");
  std::vector<double> key(count);
  for (std::size_t i = 0; i < count; ++i) key[i] = stream.uniform(i, 0);
  std::nth_element(chosen.begin(), chosen.begin() + static_cast<std::ptrdiff_t>(most), chosen.end(),
                   [&](std::uint32_t i, std::uint32_t j) { return key[i] < key[j]; });
  chosen.resize(most);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

/// The ends of an ascent, each moved by `push` in a direction of its own.
std::vector<double> ends_of(const Ascent& ascent, std::size_t dim, const MeanShiftOptions& options,
                            double push) {
  const Stream stream(options.seed, "mean shift push");
  std::vector<double> result, direction(dim);
  for (const std::uint32_t i : ascent.leading()) {
    stream.normals(i, direction);
    const double scale = push / norm(direction);
    std::vector<double> x(ascent.end(i).begin(), ascent.end(i).end());
    for (std::size_t a = 0; a < dim; ++a) x[a] += scale * direction[a];
    if (options.on_sphere && push > 0) Sphere(dim).retract(x);
    result.insert(result.end(), x.begin(), x.end());
  }
  return result;
}

double largest_norm(Points points, std::size_t dim) {
  double largest = 0;
  for (std::size_t i = 0; i < points.size() / dim; ++i)
    largest = std::max(largest, norm(row(points, dim, i)));
  return largest;
}

// ---- From ends to clusters.

/// Ends within the merge distance become one mode, the highest of them; label[i] is the mode of
/// end i.
void find_modes(const KernelDensity& density, const std::vector<double>& ends, std::size_t dim,
                double merge, MeanShift& result, std::vector<std::uint32_t>& label) {
  std::vector<double> shift(ends.size()), height(ends.size() / dim, kNan);
  if (!result.stopped) density.evaluate(ends, shift, height);  // nobody waits for more then
  Components found = components(ends, dim, merge);
  label = std::move(found.label);
  std::vector<std::size_t> best(found.count, height.size());
  for (std::size_t i = 0; i < height.size(); ++i)
    if (std::size_t& b = best[label[i]]; b == height.size() || height[i] > height[b]) b = i;
  for (const std::size_t i : best) {
    const Points mode = row(Points(ends), dim, i);
    result.modes.insert(result.modes.end(), mode.begin(), mode.end());
    result.heights.push_back(height[i]);
  }
}

/// Largest cluster first; among equals the highest, then the first in the order of coordinates.
void sort_clusters(MeanShift& result, std::size_t dim) {
  const std::size_t count = result.heights.size();
  result.sizes.assign(count, 0);
  for (const std::uint32_t label : result.labels) ++result.sizes[label];
  std::vector<std::uint32_t> order(count), rank(count);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t i, std::uint32_t j) {
    if (result.sizes[i] != result.sizes[j]) return result.sizes[i] > result.sizes[j];
    if (result.heights[i] != result.heights[j]) return result.heights[i] > result.heights[j];
    return std::ranges::lexicographical_compare(row(Points(result.modes), dim, i),
                                                row(Points(result.modes), dim, j));
  });
  MeanShift sorted = result;
  sorted.modes = gathered(result.modes, dim, order);
  for (std::uint32_t k = 0; k < count; ++k) {
    rank[order[k]] = k;
    sorted.heights[k] = result.heights[order[k]];
    sorted.sizes[k] = result.sizes[order[k]];
  }
  for (std::uint32_t& label : sorted.labels) label = rank[label];
  result = std::move(sorted);
}

}  // namespace

/// label[i] = argmin_m |x_i - m| = argmax <x_i - c, m - c> - |m - c|^2 / 2, c the first mode.
std::vector<std::uint32_t> nearest_modes(Points points, std::size_t dim, Points modes) {
  const std::size_t count = modes.size() / dim;
  std::vector<std::uint32_t> label(points.size() / dim);
  std::vector<double> offset(modes.begin(), modes.end()), half(count);
  for (std::size_t k = 0; k < offset.size(); ++k) offset[k] -= modes[k % dim];
  for (std::size_t m = 0; m < count; ++m)
    half[m] = dot(row(Points(offset), dim, m), row(Points(offset), dim, m)) / 2;
  parallel_for(label.size(), 64, [&](std::size_t begin, std::size_t end) {
    std::vector<double> x(dim), score(count);
    for (std::size_t i = begin; i < end; ++i) {
      for (std::size_t a = 0; a < dim; ++a) x[a] = points[i * dim + a] - modes[a];
      kernels::row_products(offset, x, score);
      for (std::size_t m = 0; m < count; ++m) score[m] -= half[m];
      label[i] = static_cast<std::uint32_t>(std::ranges::max_element(score) - score.begin());
    }
  });
  return label;
}

MeanShift mean_shift(Points points, std::size_t dim, const MeanShiftOptions& options) {
  assert(dim > 0 && !points.empty() && options.seeds > 0);
  const KernelDensity density(points, dim, options.beta);
  const std::size_t count = points.size() / dim;
  const double largest = largest_norm(points, dim);
  MeanShift result{.seeds = draw_seeds(count, options.seeds, options.seed)};
  Ascent first(density, dim, options, gathered(points, dim, result.seeds), largest);
  result.stopped = !first.run(result.iterations);
  const bool arrived = !result.stopped && first.climbing() == 0;
  const double push = arrived ? kNear / std::sqrt(options.beta) : 0;
  Ascent second(density, dim, options, ends_of(first, dim, options, push), largest);
  if (arrived) result.stopped = !second.run(result.iterations);
  result.climbing = arrived ? second.climbing() : first.climbing();

  std::vector<std::uint32_t> place(result.seeds.size());  // of a leading path among the ends
  std::vector<double> ends;
  for (std::uint32_t k = 0; k < first.leading().size(); ++k) {
    place[first.leading()[k]] = k;
    const Points end = second.end(second.leader(k));
    ends.insert(ends.end(), end.begin(), end.end());
  }
  std::vector<std::uint32_t> mode_of_end;
  find_modes(density, ends, dim, options.merge / std::sqrt(options.beta), result, mode_of_end);
  if (result.seeds.size() < count)
    result.labels = nearest_modes(points, dim, result.modes);
  else
    result.labels.resize(count);
  for (std::size_t k = 0; k < result.seeds.size(); ++k)
    result.labels[result.seeds[k]] = mode_of_end[place[first.leader(k)]];
  sort_clusters(result, dim);
  return result;
}

// ---- A bandwidth to begin with.

namespace {

/// Three quarters of the sample feel all others, of which there are `scale` for each one in the
/// sample, as much as themselves.
bool crowded(const std::vector<double>& squared, std::size_t size, double scale, double bandwidth) {
  std::size_t satisfied = 0;
  for (std::size_t i = 0; i < size; ++i) {
    double felt = 0;
    for (std::size_t j = 0; j < size; ++j)
      if (j != i) felt += std::exp(-squared[i * size + j] / (2 * bandwidth * bandwidth));
    if (scale * felt >= 1) ++satisfied;
  }
  return 4 * satisfied >= 3 * size;
}

}  // namespace

double reference_bandwidth(Points points, std::size_t dim, bool on_sphere, std::uint64_t seed) {
  const std::size_t count = points.size() / dim;
  const auto chosen = draw_seeds(count, kBandwidthSample, seed);
  const std::size_t size = chosen.size();
  const std::vector<double> sample = gathered(points, dim, chosen);
  std::vector<double> squared(size * size);
  double sum = 0;
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      squared[i * size + j] =
          squared_distance(row(Points(sample), dim, i), row(Points(sample), dim, j));
      sum += squared[i * size + j];
    }
  if (sum == 0 || !std::isfinite(sum)) return std::sqrt(sum);
  const double d = static_cast<double>(dim) - (on_sphere ? 1 : 0), n = static_cast<double>(count);
  const double m = static_cast<double>(size);
  const double deviation = std::sqrt(sum / (2 * m * (m - 1) * d));
  const double normal = deviation * std::pow(4 / ((d + 4) * n), 1 / (d + 6));
  const double scale = (n - 1) / (m - 1);
  double low = normal, high = normal;
  const double widest = 4 * deviation;  // a few points never feel each other that much
  while (high < widest && !crowded(squared, size, scale, high))
    low = std::exchange(high, std::min(widest, 1.5 * high));
  while (high > 1.001 * low)
    (crowded(squared, size, scale, std::sqrt(low * high)) ? high : low) = std::sqrt(low * high);
  return high;
}

}  // namespace attractor::depth
