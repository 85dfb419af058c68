#include "attractor/observe/pairs.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>
#include <numeric>
#include <optional>
#include <vector>

#include "attractor/base/threads.hpp"
#include "attractor/kernels/pairs/pair_rows.hpp"
#include "attractor/observe/circle_pairs.hpp"
#include "attractor/observe/close_weights.hpp"
#include "attractor/observe/row_sample.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/close_counts.hpp"

namespace attractor::observe {
namespace {

constexpr std::size_t kBlock = 1024;  // tokens a thread takes together in O(n) passes
constexpr std::size_t kRowBlock = kernels::kMostPairRows;  // that a thread takes together
constexpr std::size_t kFarthestSteps = 64;
constexpr double kUnit = 1e-12;  // | |x|^2 - 1 | below this is a unit vector, left bit for bit

struct View {
  std::span<const double> tokens;
  std::size_t dim;
  std::span<const double> masses;

  std::size_t size() const { return masses.size(); }
  std::span<const double> row(std::size_t i) const { return tokens.subspan(i * dim, dim); }
  double total() const { return std::accumulate(masses.begin(), masses.end(), 0.0); }
};

bool is_unit(std::span<const double> x) { return std::abs(dot(x, x) - 1) <= kUnit; }

// out[a * stride] = x_a / |x|. False, and zeros, for the zero vector.
bool direction(std::span<const double> x, double* out, std::size_t stride = 1) {
  for (std::size_t a = 0; a < x.size(); ++a) out[a * stride] = x[a];
  if (is_unit(x)) return true;
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

using kernels::FarthestPair;

void keep_farther(FarthestPair& best, const FarthestPair& other) {
  if (other.gap > best.gap) best = other;
}

using Bins = std::array<double, kCosineBins>;
static_assert(kCosineBins == kernels::kGapBins);

// What a block of rows found, besides its numbers of close pairs.
struct Tally {
  Bins bins{};
  double pairs = 0;  // of the bins
  FarthestPair farthest;

  void add(const Bins& merged, const Bins& others, double times, double weight) {
    double all = 0;
    for (std::size_t b = 0; b < kCosineBins; ++b) {
      const double seen = merged[b] + times * others[b];
      bins[b] += weight * seen;
      all += seen;
    }
    pairs += weight * all;
  }
};

// Which rows of the matrix of pairs are read, and how often each counts. `upper`: only j > i, each
// pair counted twice, which makes all rows together the whole matrix. Otherwise all of a row.
struct Scan {
  const View& view;
  const kernels::PairColumns& columns;
  double threshold_gap;  // 1 - threshold
  std::span<const std::uint32_t> rows;
  std::span<const double> weights;
  bool upper, histogram;
};

// The m_i - 1 originals merged with one of token i.
kernels::PairRow merged_with(const Scan& scan, std::size_t i, FarthestPair& farthest) {
  kernels::PairRow row;
  const double mass = scan.view.masses[i] - 1, gap = scan.columns.has_direction(i) ? 0 : 1;
  if (mass < 1) return row;
  if (gap <= scan.threshold_gap) row.near = mass;
  row.bins[kernels::gap_bin(gap)] = mass;
  keep_farther(farthest, {gap, i, i});
  return row;
}

// Rows [begin, end) of the scan against every column. Numbers of originals are whole, so that sums
// over a row are exact.
void scan_rows(const Scan& scan, std::size_t begin, std::size_t end, std::span<double> close,
               Tally& tally) {
  const auto rows = scan.rows.subspan(begin, end - begin);
  std::array<kernels::PairRow, kRowBlock> merged{}, others{};
  for (std::size_t k = 0; k < rows.size(); ++k)
    merged[k] = merged_with(scan, rows[k], tally.farthest);
  kernels::pair_rows(scan.columns, {rows, scan.threshold_gap, scan.upper, scan.histogram},
                     std::span(others).first(rows.size()), tally.farthest);
  const double times = scan.upper ? 2 : 1;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    close[begin + k] += merged[k].near + times * others[k].near;
    if (scan.histogram) tally.add(merged[k].bins, others[k].bins, times, scan.weights[begin + k]);
  }
}

// All rows of the scan; `close` gets the close originals of one of each row, the tallies are merged
// in order.
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

FarthestPair farthest_from(const View& view, std::size_t i) {
  std::vector<double> u(view.dim);
  const bool zero = !direction(view.row(i), u.data());
  std::vector<FarthestPair> found((view.size() + kBlock - 1) / kBlock);
  parallel_for(view.size(), kBlock, [&](std::size_t begin, std::size_t end) {
    std::vector<double> v(view.dim);
    for (std::size_t j = begin; j < end; ++j) {
      if (j == i) continue;
      const bool none = !direction(view.row(j), v.data()) || zero;
      keep_farther(found[begin / kBlock], {none ? 1 : squared_distance(u, v) / 2, i, j});
    }
  });
  FarthestPair best;
  for (const FarthestPair& pair : found) keep_farther(best, pair);
  return best;
}

// From the far end of a pair to whatever is farthest from there, while the angle grows.
FarthestPair farthest_point_iteration(const View& view, FarthestPair best) {
  for (std::size_t step = 0; step < kFarthestSteps; ++step) {
    const FarthestPair next = farthest_from(view, best.j);
    if (!(next.gap > best.gap)) break;
    best = next;
  }
  return best;
}

// By both chords (Kahan): accurate at 0 and at pi.
double angle(const View& view, const FarthestPair& pair) {
  std::vector<double> u(view.dim), v(view.dim);
  if (!direction(view.row(pair.i), u.data()) || !direction(view.row(pair.j), v.data()))
    return pair.gap == 0 ? 0 : std::numbers::pi / 2;
  const double chord = std::sqrt(squared_distance(u, v));
  for (double& value : v) value = -value;
  return 2 * std::atan2(chord, std::sqrt(squared_distance(u, v)));
}

void finish(const View& view, const Tally& tally, bool histogram, PairStatistics& result) {
  for (std::size_t b = 0; b < kCosineBins && histogram; ++b)
    result.histogram[b] = tally.bins[b] / tally.pairs;
  result.smallest_cosine = std::max(-1.0, 1 - tally.farthest.gap);
  result.largest_angle = angle(view, tally.farthest);
}

// The tokens themselves if all are unit vectors, else their directions, in `storage`.
std::span<const double> directions(const View& view, std::vector<double>& storage) {
  bool unit = true;
  for (std::size_t i = 0; i < view.size() && unit; ++i) unit = is_unit(view.row(i));
  if (unit) return view.tokens;
  storage.resize(view.tokens.size());
  for (std::size_t i = 0; i < view.size(); ++i) direction(view.row(i), &storage[i * view.dim]);
  return storage;
}

PairStatistics exact_statistics(const View& view, double threshold_gap, bool histogram) {
  std::vector<std::uint32_t> rows(view.size());
  std::iota(rows.begin(), rows.end(), 0U);
  std::vector<double> storage, close(rows.size(), 0.0);
  const kernels::PairColumns columns(directions(view, storage), view.dim, view.masses);
  const Tally tally =
      run_scan({view, columns, threshold_gap, rows, view.masses, true, histogram}, close);
  PairStatistics result;
  double sum = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) sum += view.masses[i] * close[i];
  result.fraction = sum / (view.total() * (view.total() - 1));
  finish(view, tally, histogram, result);
  return result;
}

// Fewer where a row is long: a measurement reads 2^27 pairs at most, or 128 rows.
std::size_t sampled_rows(std::size_t tokens) {
  return std::clamp<std::size_t>((std::size_t{1} << 26) / tokens, 64, 512);
}

// Close originals that are other tokens: of all where balls tell, else where a search does.
CloseWeights close_others(const View& view, double gap) {
  constexpr double kMostReads = 1 << 26;
  if (gap >= 0 && gap < 1) {
    std::vector<double> storage;
    const std::span<const double> all = directions(view, storage);
    bool zero = false;
    for (std::size_t i = 0; i < view.size() && !zero; ++i) zero = norm(view.row(i)) == 0;
    const auto counts =
        zero ? std::nullopt : close_counts(all, view.dim, view.masses, gap, kMostReads);
    if (!counts) return close_masses(all, view.dim, view.masses, gap);
    CloseWeights known = nothing_close(view.size());
    known.weight = known.known = *counts;
    return known;
  }
  // More than half of all directions, and zero tokens too: rows see them.
  CloseWeights unknown = nothing_close(view.size());
  unknown.complete.assign(view.size(), 0);
  if (gap < 2) unknown.ceiling.assign(view.size(), 1.0);
  return unknown;
}

struct Sums {
  double exact = 0, sampled = 0, variance = 0, hidden = 0;
};

// Let c_i be the other originals close to one of token i: wanted is sum_i m_i c_i / N (N - 1). It
// is a sum of whole numbers where the search has counted; a stratum of crowds is estimated from its
// rows, with the error of row_sample.hpp.
Sums sum_close(const View& view, const RowSample& sample, const CloseWeights& close,
               std::span<const double> rows) {
  Sums sums;
  for (std::size_t i = 0; i < view.size(); ++i) {
    if (close.complete[i] == 0) continue;
    const bool zero = norm(view.row(i)) == 0;  // its merged originals are not close
    sums.exact += view.masses[i] * (close.known[i] + (zero ? 0 : view.masses[i] - 1));
  }
  RowSample crowds{.rows = sample.rows, .strata = {}, .sampled = true};
  double mass = 0;
  for (const Stratum& stratum : sample.strata) {
    if (stratum.complete) continue;
    crowds.strata.push_back(stratum);
    mass += stratum.mass;
    sums.hidden += std::pow(stratum.unseen(), 2) * stratum.ceiling + stratum.unlike_rest;
  }
  if (crowds.strata.empty()) return sums;
  const Estimate mean = mean_over_originals(crowds, view.masses, rows);
  sums.sampled = mass * mean.value;
  sums.variance = std::pow(mass * mean.error, 2);
  return sums;
}

// Reads the rows of a sample; `close` gets the close originals of one of each. Without a histogram
// those of strata where the search has counted all are left out, and the farthest pair is looked
// for from a few of them.
Tally read_sample(const View& view, double threshold_gap, const RowSample& sample, bool histogram,
                  std::span<double> close) {
  constexpr std::size_t kStarts = 8;
  std::vector<std::size_t> place;
  std::vector<std::uint32_t> rows;
  std::vector<double> weights;
  for (const Stratum& stratum : sample.strata) {
    if (stratum.complete && !histogram) continue;
    double mass = 0;
    for (std::size_t k = stratum.begin; k < stratum.end; ++k) mass += view.masses[sample.rows[k]];
    for (std::size_t k = stratum.begin; k < stratum.end; ++k) {
      place.push_back(k);
      rows.push_back(sample.rows[k]);
      weights.push_back(view.masses[sample.rows[k]] * stratum.mass / mass);
    }
  }
  std::vector<double> found(rows.size(), 0.0);
  std::vector<double> storage;
  const kernels::PairColumns columns(directions(view, storage), view.dim, view.masses);
  Tally tally = run_scan({view, columns, threshold_gap, rows, weights, false, histogram}, found);
  for (std::size_t k = 0; k < place.size(); ++k) close[place[k]] = found[k];
  for (std::size_t q = 0; q < kStarts && !histogram; ++q)
    keep_farther(tally.farthest,
                 farthest_from(view, sample.rows[q * sample.rows.size() / kStarts]));
  tally.farthest = farthest_point_iteration(view, tally.farthest);
  return tally;
}

PairStatistics sampled_statistics(const View& view, double threshold_gap, std::uint64_t seed,
                                  bool histogram) {
  const CloseWeights near = close_others(view, threshold_gap);
  const RowSample sample =
      sample_rows(view.masses, near, sampled_rows(view.size()), seed, "observe.pairs");
  std::vector<double> close(sample.rows.size(), 0.0);
  const Tally tally = read_sample(view, threshold_gap, sample, histogram, close);
  PairStatistics result{.sampled = true, .smallest_is_bound = true};
  const Sums sums = sum_close(view, sample, near, close);
  const double total = view.total(), pairs = total * (total - 1);
  result.fraction = (sums.exact + sums.sampled) / pairs;
  result.fraction_error = std::hypot(std::sqrt(sums.variance), sums.hidden) / pairs;
  finish(view, tally, histogram, result);
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
                               std::size_t exact_limit, bool histogram) {
  assert(dim > 0 && !masses.empty() && tokens.size() == masses.size() * dim);
  const View view{tokens, dim, masses};
  if (view.total() < 2) return {};
  if (view.size() <= std::max(exact_limit, sampled_rows(view.size())))
    return exact_statistics(view, 1 - threshold, histogram);
  if (dim == 2)
    if (const auto order = circle_order(tokens))
      return circle_pair_statistics(*order, tokens, masses, threshold, histogram);
  return sampled_statistics(view, 1 - threshold, seed, histogram);
}

}  // namespace attractor::observe
