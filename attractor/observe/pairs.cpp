#include "attractor/observe/pairs.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

constexpr std::size_t kBlock = 1024;   // tokens a thread takes together in O(n) passes
constexpr std::size_t kRowBlock = 32;  // rows a thread takes together in pair scans
constexpr std::size_t kLanes = 8;      // columns side by side: independent sums, one per lane
constexpr std::size_t kSampledRows = 512;
constexpr std::size_t kFarthestSteps = 64;
constexpr double kUnit = 1e-12;  // | |x|^2 - 1 | below this is a unit vector, left bit for bit

using Lanes = Eigen::Array<double, kLanes, 1>;

struct View {
  std::span<const double> tokens;
  std::size_t dim;
  std::span<const double> masses;

  std::size_t size() const { return masses.size(); }
  std::span<const double> row(std::size_t i) const { return tokens.subspan(i * dim, dim); }
  double total() const { return std::accumulate(masses.begin(), masses.end(), 0.0); }
};

// out[a * stride] = x_a / |x|. False, and zeros, for the zero vector.
bool direction(std::span<const double> x, double* out, std::size_t stride = 1) {
  for (std::size_t a = 0; a < x.size(); ++a) out[a * stride] = x[a];
  if (std::abs(dot(x, x) - 1) <= kUnit) return true;
  double peak = 0, square = 0;
  for (const double value : x) peak = std::max(peak, std::abs(value));
  if (peak == 0) return false;
  // Squares of x itself may leave the range of double.
  for (const double value : x) square += (value / peak) * (value / peak);
  for (std::size_t a = 0; a < x.size(); ++a) out[a * stride] = x[a] / peak / std::sqrt(square);
  return true;
}

// sum_i m_i (u_i - base), blocks added in order; `zero_mass` is the mass of zero tokens.
std::vector<double> sum_of_offsets(const View& view, std::span<const double> base,
                                   double& zero_mass) {
  const std::size_t dim = view.dim, blocks = (view.size() + kBlock - 1) / kBlock;
  std::vector<double> partial(blocks * dim, 0.0), zero(blocks, 0.0);
  parallel_for(view.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    const std::size_t block = begin / kBlock;
    std::vector<double> u(dim);
    for (std::size_t i = begin; i < end; ++i) {
      if (!direction(view.row(i), u.data())) zero[block] += view.masses[i];
      for (std::size_t a = 0; a < dim; ++a)
        partial[block * dim + a] += view.masses[i] * (u[a] - base[a]);
    }
  });
  std::vector<double> sum(dim, 0.0);
  for (std::size_t k = 0; k < partial.size(); ++k) sum[k % dim] += partial[k];
  zero_mass = std::accumulate(zero.begin(), zero.end(), 0.0);
  return sum;
}

// sum_i m_i |(u_i - base) - offset|^2
double spread(const View& view, std::span<const double> base, std::span<const double> offset) {
  std::vector<double> partial((view.size() + kBlock - 1) / kBlock, 0.0);
  parallel_for(view.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    std::vector<double> u(view.dim);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      direction(view.row(i), u.data());
      for (std::size_t a = 0; a < view.dim; ++a) u[a] = (u[a] - base[a]) - offset[a];
      sum += view.masses[i] * dot(u, u);
    }
    partial[begin / kBlock] = sum;
  });
  return std::accumulate(partial.begin(), partial.end(), 0.0);
}

// A pair of tokens with 1 - cosine.
struct Pair {
  double gap = 0;
  std::size_t i = 0, j = 0;
};

void keep_farther(Pair& best, const Pair& other) {
  if (other.gap > best.gap) best = other;
}

// What a block of rows found, besides its numbers of close pairs.
struct Tally {
  std::array<double, kCosineBins> bins{};
  Pair farthest;
};

// Which rows of the matrix of pairs are read. `upper`: only j > i, each pair counted twice and the
// row m_i times, which makes all rows together the whole matrix. Otherwise all of a row, once.
struct Scan {
  const View& view;
  double threshold_gap;  // 1 - threshold
  std::span<const std::size_t> rows;
  bool upper;
};

std::size_t bin_of(double gap) {
  const double position = (2 - gap) * (kCosineBins / 2.0) + 1e-9;
  if (!(position > 0)) return 0;
  return std::min(kCosineBins - 1, static_cast<std::size_t>(position));
}

// |u - v_lane|^2 / 2, the columns of `tile` being dim x kLanes.
Lanes lane_gaps(const double* u, const double* tile, std::size_t dim) {
  Lanes sums = Lanes::Zero();
  for (std::size_t a = 0; a < dim; ++a)
    sums += (u[a] - Eigen::Map<const Lanes>(tile + a * kLanes)).square();
  return sums / 2;
}

// The m_i - 1 originals merged with one of token i.
void count_merged(const Scan& scan, std::size_t i, bool zero, double& close, Tally& tally) {
  const double mass = scan.view.masses[i], gap = zero ? 1 : 0;
  if (mass < 2) return;
  const double weight = (scan.upper ? mass : 1) * (mass - 1);
  if (gap <= scan.threshold_gap) close += weight;
  tally.bins[bin_of(gap)] += weight;
  keep_farther(tally.farthest, {gap, i, i});
}

// Rows [begin, end) of the scan against every column, kLanes columns at a time.
void scan_rows(const Scan& scan, std::size_t begin, std::size_t end, std::span<double> close,
               Tally& tally) {
  const View& view = scan.view;
  const std::size_t dim = view.dim, n = view.size();
  std::vector<double> rows((end - begin) * dim), tile(dim * kLanes, 0.0);
  std::vector<char> row_zero(end - begin), lane_zero(kLanes);
  for (std::size_t k = begin; k < end; ++k) {
    row_zero[k - begin] = !direction(view.row(scan.rows[k]), &rows[(k - begin) * dim]);
    count_merged(scan, scan.rows[k], row_zero[k - begin], close[k], tally);
  }
  const std::size_t start = scan.upper ? scan.rows[begin] / kLanes * kLanes : 0;
  for (std::size_t first = start; first < n; first += kLanes) {
    const std::size_t count = std::min(kLanes, n - first);
    for (std::size_t lane = 0; lane < count; ++lane)
      lane_zero[lane] = !direction(view.row(first + lane), &tile[lane], kLanes);
    for (std::size_t k = begin; k < end; ++k) {
      const std::size_t i = scan.rows[k];
      const Lanes gaps = lane_gaps(&rows[(k - begin) * dim], tile.data(), dim);
      const double factor = scan.upper ? 2 * view.masses[i] : 1;
      for (std::size_t lane = 0; lane < count; ++lane) {
        const std::size_t j = first + lane;
        if (j == i || (scan.upper && j < i)) continue;
        const double gap = row_zero[k - begin] || lane_zero[lane] ? 1 : gaps[lane];
        const double weight = factor * view.masses[j];
        if (gap <= scan.threshold_gap) close[k] += weight;
        tally.bins[bin_of(gap)] += weight;
        keep_farther(tally.farthest, {gap, i, j});
      }
    }
  }
}

// All rows of the scan; `close` gets one number per row, the tallies are merged in order.
Tally run_scan(const Scan& scan, std::span<double> close) {
  std::vector<Tally> tallies((scan.rows.size() + kRowBlock - 1) / kRowBlock);
  parallel_for(scan.rows.size(), kRowBlock, [&](std::size_t begin, std::size_t end) {
    scan_rows(scan, begin, end, close, tallies[begin / kRowBlock]);
  });
  Tally sum;
  for (const Tally& tally : tallies) {
    for (std::size_t b = 0; b < kCosineBins; ++b) sum.bins[b] += tally.bins[b];
    keep_farther(sum.farthest, tally.farthest);
  }
  return sum;
}

Pair farthest_from(const View& view, std::size_t i) {
  std::vector<double> u(view.dim);
  const bool zero = !direction(view.row(i), u.data());
  std::vector<Pair> found((view.size() + kBlock - 1) / kBlock);
  parallel_for(view.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    std::vector<double> v(view.dim);
    for (std::size_t j = begin; j < end; ++j) {
      if (j == i) continue;
      const bool none = !direction(view.row(j), v.data()) || zero;
      keep_farther(found[begin / kBlock], {none ? 1 : squared_distance(u, v) / 2, i, j});
    }
  });
  Pair best;
  for (const Pair& pair : found) keep_farther(best, pair);
  return best;
}

// From the far end of a pair to whatever is farthest from there, while the angle grows.
Pair farthest_point_iteration(const View& view, Pair best) {
  for (std::size_t step = 0; step < kFarthestSteps; ++step) {
    const Pair next = farthest_from(view, best.j);
    if (!(next.gap > best.gap)) break;
    best = next;
  }
  return best;
}

// By both chords (Kahan): accurate at 0 and at pi.
double angle(const View& view, const Pair& pair) {
  std::vector<double> u(view.dim), v(view.dim);
  if (!direction(view.row(pair.i), u.data()) || !direction(view.row(pair.j), v.data()))
    return pair.gap == 0 ? 0 : std::numbers::pi / 2;
  const double chord = std::sqrt(squared_distance(u, v));
  for (double& value : v) value = -value;
  return 2 * std::atan2(chord, std::sqrt(squared_distance(u, v)));
}

// Tokens of originals drawn uniformly and independently, i.e. token i with probability m_i / N.
std::vector<std::size_t> draw_rows(const View& view, std::uint64_t seed) {
  std::vector<double> ends(view.size());
  std::partial_sum(view.masses.begin(), view.masses.end(), ends.begin());
  const auto originals = static_cast<std::uint64_t>(ends.back());
  const Stream stream(seed, "observe.pairs");
  std::vector<std::size_t> rows(kSampledRows);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const auto original = static_cast<double>(stream.below(originals, k, 0));
    rows[k] = std::upper_bound(ends.begin(), ends.end(), original) - ends.begin();
  }
  return rows;
}

void finish(const View& view, const Tally& tally, double pairs, PairStatistics& result) {
  for (std::size_t b = 0; b < kCosineBins; ++b) result.histogram[b] = tally.bins[b] / pairs;
  result.smallest_cosine = std::max(-1.0, 1 - tally.farthest.gap);
  result.largest_angle = angle(view, tally.farthest);
}

PairStatistics exact_statistics(const View& view, double threshold_gap) {
  const double pairs = view.total() * (view.total() - 1);
  std::vector<std::size_t> rows(view.size());
  std::iota(rows.begin(), rows.end(), std::size_t{0});
  std::vector<double> close(rows.size(), 0.0);
  const Tally tally = run_scan({view, threshold_gap, rows, true}, close);
  PairStatistics result;
  result.fraction = std::accumulate(close.begin(), close.end(), 0.0) / pairs;
  finish(view, tally, pairs, result);
  return result;
}

// Let F_i = (1/(N-1)) (number of other originals close to an original of token i). The wanted
// fraction is f = sum_i (m_i/N) F_i. A row drawn with probability m_i/N has E[F] = f, so the mean
// of R independent draws is unbiased, and so is s^2/R for its variance; the same for every bin.
PairStatistics sampled_statistics(const View& view, double threshold_gap, std::uint64_t seed) {
  const double others = view.total() - 1, count = kSampledRows;
  const std::vector<std::size_t> rows = draw_rows(view, seed);
  std::vector<double> close(rows.size(), 0.0);
  Tally tally = run_scan({view, threshold_gap, rows, false}, close);
  tally.farthest = farthest_point_iteration(view, tally.farthest);
  PairStatistics result{.sampled = true, .smallest_is_bound = true};
  result.fraction = std::accumulate(close.begin(), close.end(), 0.0) / (count * others);
  double square = 0;
  for (const double row : close) square += std::pow(row / others - result.fraction, 2);
  result.fraction_error = std::sqrt(square / (count * (count - 1)));
  finish(view, tally, count * others, result);
  return result;
}

}  // namespace

MeanCosine mean_cosine(std::span<const double> tokens, std::size_t dim,
                       std::span<const double> masses) {
  assert(dim > 0 && !masses.empty() && tokens.size() == masses.size() * dim);
  const View view{tokens, dim, masses};
  const double total = view.total();
  if (total < 2) return {};
  // Offsets from one token instead of the mean itself: accurate relative to the cloud, not to 1.
  std::vector<double> base(dim);
  direction(view.row(0), base.data());
  double zero_mass = 0;
  std::vector<double> offset = sum_of_offsets(view, base, zero_mass);
  for (double& value : offset) value /= total;
  const double from_one = spread(view, base, offset) / (total - 1) + zero_mass / total;
  for (std::size_t a = 0; a < dim; ++a) base[a] += offset[a];
  const double square = dot(base, base);
  // Near zero the plain formula is the accurate one.
  const double plain = (total * square - (total - zero_mass) / total) / (total - 1);
  return {.mean_cosine = from_one < 0.5 ? 1 - from_one : plain,
          .one_minus_mean_cosine = from_one,
          .order_parameter = std::sqrt(square)};
}

PairStatistics pair_statistics(std::span<const double> tokens, std::size_t dim,
                               std::span<const double> masses, double threshold, std::uint64_t seed,
                               std::size_t exact_limit) {
  assert(dim > 0 && !masses.empty() && tokens.size() == masses.size() * dim);
  const View view{tokens, dim, masses};
  if (view.total() < 2) return {};
  return view.size() <= exact_limit ? exact_statistics(view, 1 - threshold)
                                    : sampled_statistics(view, 1 - threshold, seed);
}

}  // namespace attractor::observe
