#include "attractor/kernels/dense/symmetric_rows.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "attractor/base/scratch.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/dense/symmetric_job.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/dense/symmetric_rows.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/dense/symmetric_fused-inl.hpp"
#include "attractor/kernels/dense/symmetric_wide-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

constexpr std::size_t kRowsMost = 256;  // terms of a sum in T

template <bool kPlain, class T>
void few(const SymmetricJob<T>& job, Range rows, Range columns, const Columns<T>& out) {
  switch (job.dim) {
    case 1:
      return fused_tile<T, 1, kPlain>(job, rows, columns, out);
    case 2:
      return fused_tile<T, 2, kPlain>(job, rows, columns, out);
    case 3:
      return fused_tile<T, 3, kPlain>(job, rows, columns, out);
    default:
      static_assert(kLargestFusedDim == 4);
      return fused_tile<T, 4, kPlain>(job, rows, columns, out);
  }
}

// Doubles are summed in place.
template <bool kPlain>
void fused_columns(const SymmetricJob<double>& job, Range rows, Range columns) {
  few<kPlain>(job, rows, columns, {0, job.padded, job.pull, job.weight, job.moment});
}

template <bool kPlain>
void fused_columns(const SymmetricJob<float>& job, Range rows, Range columns) {
  const std::size_t count = columns.end - columns.begin;
  HWY_ALIGN float sums[kLargestFusedDim + 2][kFusedBlock];
  const Columns<float> out{columns.begin, kFusedBlock, sums[2], sums[0], sums[1]};
  for (std::size_t i = rows.begin; i < rows.end; i += kRowsMost) {
    std::fill_n(sums[0], (job.dim + 2) * kFusedBlock, 0.0F);
    few<kPlain>(job, {i, std::min(rows.end, i + kRowsMost)}, columns, out);
    const auto flush = [&](const float* from, double* to) HWY_ATTR {
      for (std::size_t k = 0; k < count; ++k) to[k] += static_cast<double>(from[k]);
    };
    flush(out.weight, job.weight + columns.begin);
    if (!kPlain) flush(out.moment, job.moment + columns.begin);
    for (std::size_t a = 0; a < job.dim; ++a)
      flush(sums[2 + a], job.pull + a * job.padded + columns.begin);
  }
}

// pull_j += sums_j - column_j x_j; for double the sums are in the pulls already.
template <class T>
void settle(const SymmetricJob<T>& job, Range columns, const T* column, const T* sums) {
  const Tag<T> d;
  for (std::size_t j = columns.begin; j < columns.end; ++j) {
    const Vector<T> far = hn::Set(d, column[j - columns.begin]);
    for (std::size_t panel = 0; panel < job.panels; ++panel)
      for (std::size_t a = 0; a < kParts<T>; a += hn::Lanes(d)) {
        const Vector<T> x = hn::Load(d, job.points + job.at(j, panel) + a);
        const Vector<T> sum =
            sums ? hn::Load(d, sums + job.at(j - columns.begin, panel) + a) : hn::Zero(d);
        add_to(job.pull + job.at(j, panel) + a, hn::NegMulAdd(far, x, sum));
      }
  }
}

template <bool kPlain>
void wide_columns(const SymmetricJob<double>& job, Range rows, Range columns,
                  WideRows<double>& block, double*) {
  wide_tile<kPlain>(job, rows, columns, {0, job.padded, job.pull, job.weight, job.moment}, block);
  if (job.wants_pull) settle<double>(job, columns, block.column, nullptr);
}

template <bool kPlain>
void wide_columns(const SymmetricJob<float>& job, Range rows, Range columns, WideRows<float>& block,
                  float* sums) {
  HWY_ALIGN float weight[kColumnsMost] = {}, moment[kColumnsMost] = {};
  const std::size_t count = columns.end - columns.begin;
  std::fill_n(sums, job.at(count, 0), 0.0F);
  wide_tile<kPlain>(job, rows, columns, {columns.begin, count, sums, weight, moment}, block);
  for (std::size_t k = 0; k < count; ++k) {
    job.weight[columns.begin + k] += static_cast<double>(weight[k]);
    if (!kPlain) job.moment[columns.begin + k] += static_cast<double>(moment[k]);
  }
  if (job.wants_pull) settle<float>(job, columns, block.column, sums);
}

template <bool kPlain, class T>
void tile(const SymmetricJob<T>& job, Range rows, Range columns) {
  if (job.dim <= kLargestFusedDim) return fused_columns<kPlain>(job, rows, columns);
  // The columns' strips, points and pulls stay in the second cache while rows pass by.
  const std::size_t most =
      std::clamp<std::size_t>(4096 * kParts<T> / job.dim / kStrip<T> * kStrip<T>, 32, kColumnsMost);
  static_assert(kColumnsMost <= kRowsMost);
  const Scratch<T> sums(sizeof(T) == 4 ? job.at(most, 0) : 1);
  const Scratch<T> scaled(8 * job.dim);
  WideRows<T> block;
  block.rows = scaled.get();
  for (std::size_t j = columns.begin; j < columns.end; j += most)
    wide_columns<kPlain>(job, rows, {j, std::min(columns.end, j + most)}, block, sums.get());
}

void symmetric_tile(const SymmetricJob<double>& job, Range rows, Range columns) {
  job.plain ? tile<true>(job, rows, columns) : tile<false>(job, rows, columns);
}
void single_tile(const SymmetricJob<float>& job, Range rows, Range columns) {
  job.plain ? tile<true>(job, rows, columns) : tile<false>(job, rows, columns);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(symmetric_tile);
HWY_EXPORT(single_tile);

namespace {

void run_tile(const SymmetricJob<double>& job, Range rows, Range columns) {
  HWY_DYNAMIC_DISPATCH(symmetric_tile)(job, rows, columns);
}
void run_tile(const SymmetricJob<float>& job, Range rows, Range columns) {
  HWY_DYNAMIC_DISPATCH(single_tile)(job, rows, columns);
}

template <class T>
bool fused(const SymmetricJob<T>& job) {
  return job.dim <= kLargestFusedDim;
}

constexpr std::size_t kPage = 4096;

// Storage of a job; a block of tokens is zeroed by the thread that packs it.
template <class T>
struct Storage {
  Scratch<T> masses, lengths, points, strips;
  Scratch<double> pull, weight, moment;

  explicit Storage(SymmetricJob<T>& job) {
    const std::size_t flat = job.dim * job.padded;
    const std::size_t size = fused(job) ? flat : job.at(job.padded, 0);
    job.masses = (masses = Scratch<T>(job.padded)).get();
    job.lengths = (lengths = Scratch<T>(job.padded)).get();
    job.points = (points = Scratch<T>(size)).get();
    if (!fused(job)) job.strips = (strips = Scratch<T>(flat)).get();
    pull = Scratch<double>(size + kPage / sizeof(double));
    job.pull = pull.get() + half_a_page_from(job.points, pull.get());
    job.weight = (weight = Scratch<double>(job.padded)).get();
    job.moment = (moment = Scratch<double>(job.padded)).get();
  }

  // A load is held up by a store before it that has the same last twelve bits of its address;
  // points are loaded while the pulls of the columns before them are stored.
  static std::size_t half_a_page_from(const T* points, const double* pull) {
    const auto place = [](const void* at) { return reinterpret_cast<std::uintptr_t>(at) % kPage; };
    return (place(points) + kPage / 2 + kPage - place(pull)) % kPage / sizeof(double);
  }

  void clear(const SymmetricJob<T>& job, Range block) {
    const auto fill = [](auto* array, std::size_t begin, std::size_t end) {
      std::fill(array + begin, array + end, 0);
    };
    const auto zero = [&](auto& array, std::size_t begin, std::size_t end) {
      fill(array.get(), begin, end);
    };
    zero(masses, block.begin, block.end);
    zero(lengths, block.begin, block.end);
    zero(weight, block.begin, block.end);
    zero(moment, block.begin, block.end);
    if (fused(job)) {
      for (std::size_t a = 0; a < job.dim; ++a) {
        zero(points, a * job.padded + block.begin, a * job.padded + block.end);
        fill(job.pull, a * job.padded + block.begin, a * job.padded + block.end);
      }
    } else {
      zero(points, job.at(block.begin, 0), job.at(block.end, 0));
      fill(job.pull, job.at(block.begin, 0), job.at(block.end, 0));
      zero(strips, block.begin * job.dim, block.end * job.dim);
    }
  }
};

// Differences do not feel a common origin; floats do, where all tokens are near each other.
std::vector<double> origin(const DistanceSources& in, double) {
  return std::vector<double>(in.dim, 0.0);
}
std::vector<double> origin(const DistanceSources& in, float) {
  constexpr std::size_t kSome = 64;
  const std::size_t n = in.masses.size();
  std::vector<double> centre(in.dim, 0.0);
  for (std::size_t k = 0; k < kSome; ++k)
    for (std::size_t a = 0; a < in.dim; ++a)
      centre[a] += in.points[k * n / kSome * in.dim + a] / kSome;
  return centre;
}

// One evaluation. First every block of tokens with itself, then the rounds of a tournament, in
// which a pair of blocks waits for nothing but their own pairs of the round before.
template <class T>
class Tournament {
 public:
  Tournament(const DistanceSources& in, const RowSums& out, SymmetricJob<T>& job)
      : in_(in), out_(out), job_(job), storage_(job), origin_(origin(in, T())) {
    const auto [least, most] = std::minmax_element(in.masses.begin(), in.masses.end());
    unit_ = *least;
    even_ = *least == *most;
    const std::size_t parts = fused(job) && sizeof(T) == 4 ? 8 : 16;
    const std::size_t largest = fused(job) ? kFusedBlock : kColumnsMost;
    size_ = std::clamp<std::size_t>(job.n / parts / kStrip<T> * kStrip<T>, 128, largest);
    blocks_ = (job.padded + size_ - 1) / size_;
    players_ = blocks_ + blocks_ % 2;
    longest_.resize(blocks_);
    steps_ = std::make_unique<std::atomic<std::size_t>[]>(blocks_);
  }

  void play() {
    const std::size_t pairs = (players_ - 1) * (players_ / 2);
    const std::size_t tasks = blocks_ + blocks_ + pairs + blocks_;
    // A task should take a few microseconds, all of them enough to wake another thread for.
    const double task_ns = static_cast<double>(size_ * size_ * sizeof(T)) *
                           (0.06 + 0.015 * static_cast<double>(job_.dim));
    const bool alone = task_ns * static_cast<double>(pairs + blocks_) < 20e3;
    parallel_for(tasks, alone ? tasks : 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t task = begin; task < end; ++task) run(task);
    });
  }

 private:
  Range range(std::size_t b) const { return {b * size_, std::min(job_.padded, (b + 1) * size_)}; }

  void run(std::size_t task) {
    if (task < blocks_) return pack(task);
    task -= blocks_;
    if (task < blocks_) {
      wait_until([&] { return packed_ == blocks_; });
      return meet(task, task, 0);
    }
    task -= blocks_;
    if (task < (players_ - 1) * (players_ / 2)) {
      const std::size_t round = task / (players_ / 2);
      const auto [rows, columns] = match(round, task % (players_ / 2));
      return meet(rows, columns, round + 1);
    }
    unpack(task - (players_ - 1) * (players_ / 2));
  }

  // Pair t of a round: players in a ring which turns, but for the last one.
  std::pair<std::size_t, std::size_t> match(std::size_t round, std::size_t t) const {
    const std::size_t ring = players_ - 1;
    if (t == 0) return {round, ring};
    return std::minmax({(round + t) % ring, (round + ring - t) % ring});
  }

  void meet(std::size_t rows, std::size_t columns, std::size_t step) {
    wait_until(
        [&] { return steps_[rows] == step && (columns == blocks_ || steps_[columns] == step); });
    if (columns < blocks_) {
      SymmetricJob<T> job = job_;
      const double longest = *std::max_element(longest_.begin(), longest_.end());
      job.plain = even_ && out_.moment.empty() && 4 * longest < static_cast<double>(job.limit);
      run_tile(job, range(rows), range(columns));
    }
    steps_[rows] = step + 1;
    if (columns != rows && columns < blocks_) steps_[columns] = step + 1;
  }

  void pack(std::size_t b) {
    storage_.clear(job_, range(b));
    const Range tokens{range(b).begin, std::min(range(b).end, job_.n)};
    for (std::size_t i = tokens.begin; i < tokens.end; ++i) {
      storage_.masses[i] = static_cast<T>(in_.masses[i] / unit_);
      double length = 0;
      for (std::size_t a = 0; a < job_.dim; ++a) {
        const auto x = static_cast<T>(in_.points[i * job_.dim + a] - origin_[a]);
        length += static_cast<double>(x) * static_cast<double>(x);
        if (fused(job_)) {
          storage_.points[a * job_.padded + i] = x;
        } else {
          storage_.points[job_.at(i, a / kParts<T>) + a % kParts<T>] = x;
          storage_.strips[(i / kStrip<T> * job_.dim + a) * kStrip<T> + i % kStrip<T>] = x;
        }
      }
      longest_[b] = std::max(longest_[b], length);
      storage_.lengths[i] = static_cast<T>(static_cast<double>(job_.factor) * length);
    }
    ++packed_;
  }

  void unpack(std::size_t b) {
    wait_until([&] { return steps_[b] == players_; });
    // The loops sum w times a squared distance or an exponent: in logits.
    const double logit = fused(job_) ? -0.5 * in_.beta : 1 / kLogitSteps<T>;
    for (std::size_t i = range(b).begin; i < std::min(range(b).end, job_.n); ++i) {
      const double scale = unit_ / static_cast<double>(job_.masses[i]);
      out_.weight[i] = job_.weight[i] * scale;
      if (!out_.moment.empty()) out_.moment[i] = logit * job_.moment[i] * scale;
      if (out_.pull.empty()) continue;
      for (std::size_t a = 0; a < job_.dim; ++a)
        out_.pull[i * job_.dim + a] =
            scale * job_.pull[fused(job_) ? a * job_.padded + i
                                          : job_.at(i, a / kParts<T>) + a % kParts<T>];
    }
  }

  const DistanceSources& in_;
  const RowSums& out_;
  SymmetricJob<T>& job_;
  Storage<T> storage_;
  std::vector<double> origin_;
  double unit_ = 1;
  bool even_ = false;
  std::size_t size_ = 0, blocks_ = 0, players_ = 0;
  std::vector<double> longest_;                        // squared length in each block
  std::atomic<std::size_t> packed_ = 0;                // blocks
  std::unique_ptr<std::atomic<std::size_t>[]> steps_;  // tiles done with each block
};

template <class T>
void evaluate(const DistanceSources& in, const RowSums& out) {
  const std::size_t n = in.masses.size(), dim = in.dim;
  assert(in.points.size() == n * dim && out.weight.size() == n);
  constexpr bool kDouble = sizeof(T) == 8;
  constexpr double kLongest = static_cast<double>(kSteps<T>) * (kDouble ? 1022 : 126);  // exponent
  // Beyond the least beta here every weight but that of equal tokens is 0.
  const double beta = std::min(in.beta, kDouble ? 1e300 : 1e30);
  const double factor = -0.5 * kLogitSteps<T> * beta;
  SymmetricJob<T> job{
      .dim = dim,
      .n = n,
      .padded = (n + kStrip<T> - 1) / kStrip<T> * kStrip<T>,
      .panels = (dim + kParts<T> - 1) / kParts<T>,
      .factor = static_cast<T>(factor),
      .limit = static_cast<T>(factor < 0 ? std::min(kLongest / -factor, 1e30) : HUGE_VAL),
      .lowest = static_cast<T>(-kLongest),
      .wants_pull = !out.pull.empty()};
  Tournament<T>(in, out, job).play();
}

}  // namespace

bool symmetric_rows_apply(const DistanceSources& in) {
  const std::size_t fewest = in.dim <= kLargestFusedDim ? 64 : 128;
  if (!in.values.empty() || in.shift != 0 || in.masses.size() < fewest) return false;
  const auto [least, most] = std::minmax_element(in.masses.begin(), in.masses.end());
  return *least > 0 && *most / *least < 1e100;
}

void symmetric_rows(const DistanceSources& in, const RowSums& out, Precision precision) {
  assert(symmetric_rows_apply(in));
  const auto [least, most] = std::minmax_element(in.masses.begin(), in.masses.end());
  const bool single = precision == Precision::f32 && *most / *least < 1e6;
  single ? evaluate<float>(in, out) : evaluate<double>(in, out);
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
