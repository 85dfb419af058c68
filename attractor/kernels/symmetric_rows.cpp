#include "attractor/kernels/symmetric_rows.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <utility>

#include "attractor/base/threads.hpp"
#include "attractor/kernels/symmetric_job.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/symmetric_rows.cpp"
// Arrays of vectors below: scalable vectors (SVE, RVV) cannot be stored in them.
#ifndef HWY_DISABLED_TARGETS
#define HWY_DISABLED_TARGETS (HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
#endif
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/symmetric_fused-inl.hpp"
#include "attractor/kernels/symmetric_wide-inl.hpp"
#include "hwy/aligned_allocator.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

template <bool kPlain>
void tile(const SymmetricJob& job, Range rows, Range columns) {
  switch (job.dim) {
    case 1:
      return fused_tile<1, kPlain>(job, rows, columns);
    case 2:
      return fused_tile<2, kPlain>(job, rows, columns);
    case 3:
      return fused_tile<3, kPlain>(job, rows, columns);
    case 4:
      return fused_tile<4, kPlain>(job, rows, columns);
    default:
      static_assert(kLargestFusedDim == 4);
      // The columns' strips, points and pulls stay in the second cache while rows pass by.
      const std::size_t most =
          std::clamp<std::size_t>(32768 / job.dim / kStrip * kStrip, 32, kColumnsMost);
      for (std::size_t j = columns.begin; j < columns.end; j += most)
        wide_tile<kPlain>(job, rows, {j, std::min(columns.end, j + most)});
  }
}

void symmetric_tile(const SymmetricJob& job, Range rows, Range columns) {
  job.plain ? tile<true>(job, rows, columns) : tile<false>(job, rows, columns);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(symmetric_tile);

namespace {

constexpr double kLog2e = 1.4426950408889634;
constexpr std::size_t kPackGrain = 512;  // tokens, a multiple of kStrip

// Aligned, zeroed storage of a job.
struct Storage {
  hwy::AlignedFreeUniquePtr<double[]> masses, points, strips, lengths, pull, weight, moment;
};

hwy::AlignedFreeUniquePtr<double[]> zeros(std::size_t count) {
  auto array = hwy::AllocateAligned<double>(count);
  std::fill_n(array.get(), count, 0.0);
  return array;
}

bool fused(const SymmetricJob& job) { return job.dim <= kLargestFusedDim; }

void pack(const DistanceSources& in, const SymmetricJob& job, double unit, Storage& storage) {
  parallel_for(job.n, kPackGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      storage.masses[i] = in.masses[i] / unit;
      const double* x = in.points.data() + i * job.dim;
      storage.lengths[i] = std::inner_product(x, x + job.dim, x, 0.0);
      for (std::size_t a = 0; a < job.dim; ++a) {
        if (fused(job)) {
          storage.points[a * job.padded + i] = x[a];
        } else {
          storage.points[job.at(i, a / 8) + a % 8] = x[a];
          storage.strips[(i / kStrip * job.dim + a) * kStrip + i % kStrip] = x[a];
        }
      }
    }
  });
}

void unpack(const SymmetricJob& job, double unit, const RowSums& out) {
  parallel_for(job.n, kPackGrain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const double scale = unit / job.masses[i];
      out.weight[i] = job.weight[i] * scale;
      if (!out.moment.empty()) out.moment[i] = -job.half_beta * job.moment[i] * scale;
      if (out.pull.empty()) continue;
      for (std::size_t a = 0; a < job.dim; ++a)
        out.pull[i * job.dim + a] =
            scale * job.pull[fused(job) ? a * job.padded + i : job.at(i, a / 8) + a % 8];
    }
  });
}

// Block t of a round-robin tournament of `players` (even; the last stays): its pair in this round.
std::pair<std::size_t, std::size_t> match(std::size_t players, std::size_t round, std::size_t t) {
  const std::size_t ring = players - 1;
  if (t == 0) return {round, ring};
  return std::minmax({(round + t) % ring, (round + ring - t) % ring});
}

// First every block with itself, then the rounds of the tournament.
void play(const SymmetricJob& job) {
  const std::size_t size =
      std::clamp<std::size_t>(job.n / 16 / kStrip * kStrip, 64, fused(job) ? 512 : kColumnsMost);
  const std::size_t blocks = (job.padded + size - 1) / size, players = blocks + blocks % 2;
  const auto range = [&](std::size_t b) {
    return Range{b * size, std::min(job.padded, (b + 1) * size)};
  };
  // Blocks a thread takes at once: about 50 microseconds of work.
  const double block_ns =
      static_cast<double>(size * size) * (1 + 0.1 * static_cast<double>(job.dim));
  const auto grain = static_cast<std::size_t>(std::ceil(50e3 / block_ns));
  parallel_for(blocks, 2 * grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b)
      HWY_DYNAMIC_DISPATCH(symmetric_tile)(job, range(b), range(b));
  });
  for (std::size_t round = 0; round + 1 < players; ++round) {
    parallel_for(players / 2, grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t t = begin; t < end; ++t) {
        const auto [rows, columns] = match(players, round, t);
        if (columns < blocks)
          HWY_DYNAMIC_DISPATCH(symmetric_tile)(job, range(rows), range(columns));
      }
    });
  }
}

}  // namespace

bool symmetric_rows_apply(const DistanceSources& in) {
  const std::size_t fewest = in.dim <= kLargestFusedDim ? 64 : 128;
  if (!in.values.empty() || in.shift != 0 || in.masses.size() < fewest) return false;
  const auto [least, most] = std::minmax_element(in.masses.begin(), in.masses.end());
  return *least > 0 && *most / *least < 1e100;
}

void symmetric_rows(const DistanceSources& in, const RowSums& out) {
  const std::size_t n = in.masses.size(), dim = in.dim;
  assert(in.points.size() == n * dim && out.weight.size() == n && symmetric_rows_apply(in));
  const auto [least, most] = std::minmax_element(in.masses.begin(), in.masses.end());
  const double factor = -4 * in.beta * kLog2e;
  SymmetricJob job{.dim = dim,
                   .n = n,
                   .padded = (n + kStrip - 1) / kStrip * kStrip,
                   .panels = (dim + 7) / 8,
                   .factor = factor,
                   .limit = in.beta > 0 ? 8 * 1022 / -factor : HUGE_VAL,
                   .half_beta = 0.5 * in.beta,
                   .wants_pull = !out.pull.empty()};
  const bool few = fused(job);
  const std::size_t wide = job.padded / 8 * job.group(), flat = dim * job.padded;
  Storage storage{zeros(job.padded),        zeros(few ? flat : wide), few ? nullptr : zeros(flat),
                  zeros(job.padded),

                  zeros(few ? flat : wide), zeros(job.padded),        zeros(job.padded)};
  pack(in, job, *least, storage);
  const double longest = *std::max_element(storage.lengths.get(), storage.lengths.get() + n);
  job.plain = *least == *most && out.moment.empty() && 4 * longest < job.limit;
  job.masses = storage.masses.get();
  job.points = storage.points.get();
  job.strips = storage.strips.get();
  job.lengths = storage.lengths.get();
  job.pull = storage.pull.get();
  job.weight = storage.weight.get();
  job.moment = storage.moment.get();
  play(job);
  unpack(job, *least, out);
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
