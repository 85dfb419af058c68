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
constexpr std::size_t kSampledRows = 512, kSampledColumns = 16384;
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
  double pairs = 0;
  Pair farthest;
};

// An original, and the token that stands for it.
struct Drawn {
  std::size_t token;
  std::uint64_t original;
};

// Which rows of the matrix of pairs are read. `upper`: only j > i, each pair counted twice and the
// row m_i times, which makes all rows together the whole matrix. Otherwise a row counts once: all
// of it, or where `columns` are given, those originals.
struct Scan {
  const View& view;
  double threshold_gap;  // 1 - threshold
  std::span<const Drawn> rows;
  std::span<const Drawn> columns;
  bool upper;

  std::size_t width() const { return columns.empty() ? view.size() : columns.size(); }
  std::size_t token(std::size_t column) const {
    return columns.empty() ? column : columns[column].token;
  }
  // How often the pair counts; 0: it is none, or counted elsewhere.
  double weight(const Drawn& row, std::size_t column) const {
    if (!columns.empty()) return columns[column].original == row.original ? 0 : 1;
    if (column == row.token || (upper && column < row.token)) return 0;
    return (upper ? 2 * view.masses[row.token] : 1) * view.masses[column];
  }
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

void count(const Scan& scan, const Pair& pair, double weight, double& close, Tally& tally) {
  if (pair.gap <= scan.threshold_gap) close += weight;
  tally.bins[bin_of(pair.gap)] += weight;
  tally.pairs += weight;
  keep_farther(tally.farthest, pair);
}

// The m_i - 1 originals merged with one of token i; drawn columns hold them already.
void count_merged(const Scan& scan, std::size_t i, bool zero, double& close, Tally& tally) {
  const double mass = scan.view.masses[i], gap = zero ? 1 : 0;
  if (mass < 2 || !scan.columns.empty()) return;
  count(scan, {gap, i, i}, (scan.upper ? mass : 1) * (mass - 1), close, tally);
}

// Rows [begin, end) of the scan against every column, kLanes columns at a time.
void scan_rows(const Scan& scan, std::size_t begin, std::size_t end, std::span<double> close,
               Tally& tally) {
  const View& view = scan.view;
  const std::size_t dim = view.dim;
  std::vector<double> rows((end - begin) * dim), tile(dim * kLanes, 0.0);
  std::vector<char> row_zero(end - begin), lane_zero(kLanes);
  for (std::size_t k = begin; k < end; ++k) {
    const std::size_t i = scan.rows[k].token;
    row_zero[k - begin] = !direction(view.row(i), &rows[(k - begin) * dim]);
    count_merged(scan, i, row_zero[k - begin], close[k], tally);
  }
  const std::size_t start = scan.upper ? scan.rows[begin].token / kLanes * kLanes : 0;
  for (std::size_t first = start; first < scan.width(); first += kLanes) {
    const std::size_t lanes = std::min(kLanes, scan.width() - first);
    for (std::size_t lane = 0; lane < lanes; ++lane)
      lane_zero[lane] = !direction(view.row(scan.token(first + lane)), &tile[lane], kLanes);
    for (std::size_t k = begin; k < end; ++k) {
      const Lanes gaps = lane_gaps(&rows[(k - begin) * dim], tile.data(), dim);
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        const double weight = scan.weight(scan.rows[k], first + lane);
        if (weight == 0) continue;
        const double gap = row_zero[k - begin] || lane_zero[lane] ? 1 : gaps[lane];
        count(scan, {gap, scan.rows[k].token, scan.token(first + lane)}, weight, close[k], tally);
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
    sum.pairs += tally.pairs;
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

// Originals drawn uniformly and independently: token i with probability m_i / N.
std::vector<Drawn> draw(const View& view, const Stream& stream, std::size_t count) {
  std::vector<double> ends(view.size());
  std::partial_sum(view.masses.begin(), view.masses.end(), ends.begin());
  const auto originals = static_cast<std::uint64_t>(ends.back());
  std::vector<Drawn> drawn(count);
  for (std::size_t k = 0; k < count; ++k) {
    const std::uint64_t original = stream.below(originals, k, 0);
    const auto end =
        std::upper_bound(ends.begin(), ends.end(), static_cast<double>(original)) - ends.begin();
    drawn[k] = {static_cast<std::size_t>(end), original};
  }
  return drawn;
}

void finish(const View& view, const Tally& tally, PairStatistics& result) {
  for (std::size_t b = 0; b < kCosineBins; ++b) result.histogram[b] = tally.bins[b] / tally.pairs;
  result.smallest_cosine = std::max(-1.0, 1 - tally.farthest.gap);
  result.largest_angle = angle(view, tally.farthest);
}

PairStatistics exact_statistics(const View& view, double threshold_gap) {
  std::vector<Drawn> rows(view.size());
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].token = i;
  std::vector<double> close(rows.size(), 0.0);
  const Tally tally = run_scan({view, threshold_gap, rows, {}, true}, close);
  PairStatistics result;
  result.fraction = std::accumulate(close.begin(), close.end(), 0.0) / tally.pairs;
  finish(view, tally, result);
  return result;
}

// Let F_i = (1/(N-1)) (number of other originals close to an original of token i). The wanted
// fraction is f = sum_i (m_i/N) F_i. A row drawn with probability m_i/N has E[F] = f, so the mean
// of R independent draws is unbiased, and so is s^2/R for its variance; the same for every bin.
// With C drawn columns f is a mean over R C pairs: rows and columns play the same part, so the
// variance is at most s^2 (1/R + 1/C) with s^2 that of the rows (which holds a share 1/C of that of
// single pairs).
PairStatistics sampled_statistics(const View& view, double threshold_gap, std::uint64_t seed) {
  const std::vector<Drawn> rows = draw(view, Stream(seed, "observe.pairs"), kSampledRows);
  std::vector<Drawn> columns;
  if (view.size() > kSampledColumns)
    columns = draw(view, Stream(seed, "observe.columns"), kSampledColumns);
  std::vector<double> close(rows.size(), 0.0);
  Tally tally = run_scan({view, threshold_gap, rows, columns, false}, close);
  tally.farthest = farthest_point_iteration(view, tally.farthest);
  PairStatistics result{.sampled = true, .smallest_is_bound = true};
  const double count = kSampledRows, others = tally.pairs / count;
  result.fraction = std::accumulate(close.begin(), close.end(), 0.0) / tally.pairs;
  double square = 0;
  for (const double row : close) square += std::pow(row / others - result.fraction, 2);
  const double draws = 1 / count + (columns.empty() ? 0 : 1.0 / kSampledColumns);
  result.fraction_error = std::sqrt(square / (count - 1) * draws);
  finish(view, tally, result);
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
