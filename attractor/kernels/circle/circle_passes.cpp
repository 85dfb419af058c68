#include "attractor/kernels/circle/circle_passes.hpp"

#include <array>
#include <cmath>
#include <span>

#include "attractor/base/numbers.hpp"
#include "attractor/kernels/circle/circle_series.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/circle/circle_passes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/lanes-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

/// 1/b; no division for each cell.
constexpr auto kInverse = [] {
  std::array<double, kMostCirclePowers + 1> inverse{};
  for (std::size_t b = 1; b < inverse.size(); ++b) inverse[b] = 1 / static_cast<double>(b);
  return inverse;
}();
constexpr std::size_t kVectors = 4;  // taken together: independent chains for the FMA units; the
                                     // rest of a piece goes one by one
constexpr std::size_t kChunk = kVectors * kLanes;

/// sums[b] += the terms w u^b of the first `count` tokens of some vectors, u in half cells; without
/// weights sums[0] is left to the caller. False if one lies outside.
template <bool kWeighted, bool kWhole, std::size_t kTogether>
HWY_INLINE bool add_powers(const double* angles, const double* weights, std::size_t count,
                           double centre, double scale, std::size_t powers, V* sums) {
  const D d;
  V u[kTogether], term[kTogether];
  auto inside = hn::FirstN(d, kLanes);
  for (std::size_t v = 0; v < kTogether; ++v) {
    u[v] = hn::LoadU(d, angles + v * kLanes);
    u[v] = hn::Mul(hn::Sub(u[v], hn::Set(d, centre)), hn::Set(d, scale));
    term[v] = kWeighted ? hn::LoadU(d, weights + v * kLanes) : u[v];
    if constexpr (!kWhole) {
      const auto counts = hn::FirstN(d, count > v * kLanes ? count - v * kLanes : 0);
      u[v] = hn::IfThenElseZero(counts, u[v]);
      term[v] = hn::IfThenElseZero(counts, term[v]);
    }
    inside = hn::And(inside, hn::Le(hn::Abs(u[v]), hn::Set(d, kCircleReach)));
  }
  for (std::size_t b = kWeighted ? 0 : 1; b < powers; ++b) {
    if constexpr (kTogether == kVectors)
      sums[b] = hn::Add(sums[b], hn::Add(hn::Add(term[0], term[1]), hn::Add(term[2], term[3])));
    else
      sums[b] = hn::Add(sums[b], term[0]);
    for (std::size_t v = 0; v < kTogether; ++v) term[v] = hn::Mul(term[v], u[v]);
  }
  return hn::AllTrue(d, inside);
}

/// How many of `most` tokens come before the first beyond the edge, if they are in order.
HWY_INLINE std::size_t before_edge(const double* angles, std::size_t most, double edge) {
  const D d;
  std::size_t count = 0;
  for (std::size_t v = 0; v < kVectors; ++v)
    count += hn::CountTrue(d, hn::Lt(hn::LoadU(d, angles + v * kLanes), hn::Set(d, edge)));
  return std::min(count, most);
}

/// The next piece of a block: the power sums of the tokens from `i` on that share its cell.
template <bool kWeighted>
bool gather_piece(const CircleJob& job, std::size_t& i, std::size_t end, CircleBlock& block) {
  const D d;
  const std::size_t first = i;
  // Mostly the next cell: a guess that the processor need not wait for.
  std::size_t cell = block.pieces.empty() ? job.cells : block.pieces.back().cell + 1;
  if (cell >= job.cells || !(job.angles[i] >= job.edge(cell - 1) && job.angles[i] < job.edge(cell)))
    cell = job.cell(job.angles[i]);
  if (cell == job.cells) return false;
  const double centre = job.centre(cell), edge = job.edge(cell), scale = 2 / job.width;
  V sums[kMostCirclePowers];
  for (std::size_t b = 0; b < job.powers; ++b) sums[b] = hn::Zero(d);
  bool inside = true;
  const double* weights = kWeighted ? job.weights : job.angles;
  for (; i + kChunk <= end && job.angles[i + kChunk - 1] < edge; i += kChunk)
    inside &= add_powers<kWeighted, true, kVectors>(job.angles + i, weights + i, kChunk, centre,
                                                    scale, job.powers, sums);
  if (i < end) {
    double near_end[2][kChunk];  // a chunk must not be read past the last token
    const double *angles = job.angles + i, *masses = weights + i;
    if (i + kChunk > job.tokens) {
      std::fill_n(near_end[0], kChunk, kInfinity);
      std::fill_n(near_end[1], kChunk, 0.0);
      std::copy_n(angles, job.tokens - i, near_end[0]);
      std::copy_n(masses, job.tokens - i, near_end[1]);
      angles = near_end[0], masses = near_end[1];
    }
    std::size_t count = before_edge(angles, std::min(kChunk, end - i), edge);
    if (i == first) count = std::max<std::size_t>(count, 1);  // the edge is known to rounding
    for (std::size_t k = 0; k < count; k += kLanes)
      inside &= add_powers<kWeighted, false, 1>(angles + k, masses + k, count - k, centre, scale,
                                                job.powers, sums);
    i += count;
  }
  block.pieces.push_back({static_cast<std::uint32_t>(cell), static_cast<std::uint32_t>(i - first)});
  const std::size_t needed = block.pieces.size() * job.powers;
  if (block.moments.size() < needed) block.moments.resize(2 * needed);
  double* moments = block.moments.data() + needed - job.powers;
  for (std::size_t b = 0; b < job.powers; ++b) moments[b] = hn::GetLane(hn::SumOfLanes(d, sums[b]));
  if (!kWeighted) moments[0] = static_cast<double>(i - first);
  return inside;
}

void gather(const CircleJob& job, CircleBlock& block) {
  block.pieces.clear();
  block.in_order = true;
  for (std::size_t i = block.begin; i < block.end && block.in_order;)
    block.in_order = job.weights ? gather_piece<true>(job, i, block.end, block)
                                 : gather_piece<false>(job, i, block.end, block);
}

/// The polynomials of one cell in u = -1 .. 1.
struct Local {
  double centre, scale, per_weight;
  std::size_t powers;
  double pull[kMostCirclePowers], partition[kMostCirclePowers + 1];
};

struct Extremes {
  V smallest_partition, largest_mean, largest_pull;
};

/// Where the tokens of a chunk come from and go to; null: equal weights, or not wanted.
struct Chunk {
  const double *angles, *weights;
  double *pull, *partition, *mean;
};

template <bool kPartition, std::size_t kTogether>
HWY_INLINE void evaluate_chunk(const Local& local, const Chunk& chunk, double factor,
                               Extremes& seen) {
  const D d;
  const V one = hn::Set(d, 1.0), tiny = hn::Set(d, 1e-300);
  V u[kTogether], pull[kTogether], partition[kTogether];
  for (std::size_t v = 0; v < kTogether; ++v) {
    u[v] = hn::LoadU(d, chunk.angles + v * kLanes);
    u[v] = hn::Mul(hn::Sub(u[v], hn::Set(d, local.centre)), hn::Set(d, local.scale));
    pull[v] = hn::Set(d, local.pull[local.powers - 1]);
    partition[v] = hn::Set(d, local.partition[local.powers]);
  }
  for (std::size_t b = local.powers - 1; b-- > 0;)
    for (std::size_t v = 0; v < kTogether; ++v) {
      pull[v] = hn::MulAdd(pull[v], u[v], hn::Set(d, local.pull[b]));
      if constexpr (kPartition)
        partition[v] = hn::MulAdd(partition[v], u[v], hn::Set(d, local.partition[b + 1]));
    }
  for (std::size_t v = 0; v < kTogether; ++v) {
    const std::size_t at = v * kLanes;
    seen.largest_pull = hn::Max(seen.largest_pull, hn::Abs(pull[v]));
    if (chunk.pull) hn::StoreU(hn::Mul(pull[v], hn::Set(d, factor)), d, chunk.pull + at);
    if constexpr (kPartition) {
      // A token attends at least to itself, and the mean of sines is at most 1.
      V own = hn::Set(d, local.per_weight);
      if (chunk.weights) own = hn::Max(hn::Mul(own, hn::LoadU(d, chunk.weights + at)), tiny);
      const V z = hn::Max(hn::MulAdd(partition[v], u[v], hn::Set(d, local.partition[0])), own);
      const V mean = hn::Min(hn::Max(hn::Div(pull[v], z), hn::Neg(one)), one);
      seen.smallest_partition = hn::Min(seen.smallest_partition, z);
      seen.largest_mean = hn::Max(seen.largest_mean, hn::Abs(mean));
      if (chunk.partition) hn::StoreU(z, d, chunk.partition + at);
      if (chunk.mean) hn::StoreU(hn::Mul(mean, hn::Set(d, factor)), d, chunk.mean + at);
    }
  }
}

/// Chunks of a piece, then vectors: the last one is moved back to end with it, a short piece
/// padded.
template <bool kPartition>
void evaluate_piece(const CircleJob& job, std::size_t begin, std::size_t count, const Local& local,
                    Extremes& extremes) {
  const CircleFieldOut& out = *job.out;
  const auto at = [](auto* values, std::size_t i) { return values ? values + i : nullptr; };
  Extremes seen = extremes;  // its own copy stays in registers
  const auto chunk = [&](std::size_t i) -> Chunk {
    return {job.angles + i, at(job.weights, i), at(out.pull.data(), i), at(out.partition.data(), i),
            at(out.mean.data(), i)};
  };
  if (count >= kLanes) {
    std::size_t k = 0;
    for (; k + kChunk <= count; k += kChunk)
      evaluate_chunk<kPartition, kVectors>(local, chunk(begin + k), out.scale, seen);
    for (; k < count; k += kLanes)
      evaluate_chunk<kPartition, 1>(local, chunk(begin + std::min(k, count - kLanes)), out.scale,
                                    seen);
  } else {
    double padded[5][kLanes];
    const auto pad = [&](const double* from, double* to) {
      std::fill(std::copy_n(from + begin, count, to), to + kLanes, from[begin]);
    };
    pad(job.angles, padded[0]);
    if (job.weights) pad(job.weights, padded[1]);
    evaluate_chunk<kPartition, 1>(
        local, {padded[0], job.weights ? padded[1] : nullptr, padded[2], padded[3], padded[4]},
        out.scale, seen);
    if (!out.pull.empty()) std::copy_n(padded[2], count, out.pull.data() + begin);
    if (!out.partition.empty()) std::copy_n(padded[3], count, out.partition.data() + begin);
    if (!out.mean.empty()) std::copy_n(padded[4], count, out.mean.data() + begin);
  }
  extremes = seen;
}

/// The polynomials of a cell, without the last powers while those add less than `negligible`: where
/// the field is smooth or weak, few of them matter.
void load_polynomials(const CircleJob& job, std::size_t cell, Local& local) {
  local.centre = job.centre(cell);
  local.partition[0] = job.rows[job.powers * job.stride + cell];
  const double rise = 0.5 * job.width * job.beta;
  for (std::size_t b = 0; b < job.powers; ++b) {
    local.pull[b] = job.rows[b * job.stride + cell];
    local.partition[b + 1] = rise * kInverse[b + 1] * local.pull[b];
  }
  double left_out = 0;
  for (local.powers = job.powers; local.powers > 1; --local.powers) {
    const std::size_t last = local.powers - 1;
    left_out += std::max(std::abs(local.pull[last]), std::abs(local.partition[last + 1]));
    if (left_out > job.negligible) break;
  }
}

void evaluate(const CircleJob& job, CircleBlock& block) {
  const D d;
  const bool partition = !job.out->partition.empty() || !job.out->mean.empty();
  Local local;
  local.scale = 2 / job.width;
  local.per_weight = 1 / job.total;
  Extremes seen{hn::Set(d, 1.0), hn::Zero(d), hn::Zero(d)};
  std::size_t i = block.begin;
  for (const CirclePiece& piece : block.pieces) {
    load_polynomials(job, piece.cell, local);
    partition ? evaluate_piece<true>(job, i, piece.count, local, seen)
              : evaluate_piece<false>(job, i, piece.count, local, seen);
    i += piece.count;
  }
  block.smallest_partition = hn::GetLane(hn::MinOfLanes(d, seen.smallest_partition));
  block.largest_mean = hn::GetLane(hn::MaxOfLanes(d, seen.largest_mean));
  block.largest_pull = hn::GetLane(hn::MaxOfLanes(d, seen.largest_pull));
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(gather);
HWY_EXPORT(evaluate);

void gather_moments(const CircleJob& job, CircleBlock& block) {
  HWY_DYNAMIC_DISPATCH(gather)(job, block);
}

void evaluate_polynomials(const CircleJob& job, CircleBlock& block) {
  HWY_DYNAMIC_DISPATCH(evaluate)(job, block);
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
