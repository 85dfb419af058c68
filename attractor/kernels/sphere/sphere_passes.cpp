#include "attractor/kernels/sphere/sphere_passes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/sphere/sphere_passes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/lanes-inl.hpp"
#include "hwy/cache_control.h"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {
namespace {

constexpr std::size_t kTokens = 64;  // of a piece at a time: their tables stay in the first cache

/// Up to kTokens tokens of a piece, padded to whole vectors by the last of them with no weight.
struct Chunk {
  std::size_t count, vectors;
  HWY_ALIGN double x[kTokens], y[kTokens], z[kTokens], weight[kTokens];

  HWY_INLINE void load(const SphereJob& job, std::size_t begin, const std::uint32_t* order,
                       std::size_t tokens) {
    count = tokens;
    vectors = (tokens + kLanes - 1) / kLanes;
    const double* points = job.points + 3 * begin;
    for (std::size_t k = 0; k < tokens; ++k) {
      const double* point = points + 3 * static_cast<std::size_t>(order[k]);
      x[k] = point[0];
      y[k] = point[1];
      z[k] = point[2];
    }
    if (job.weights)
      for (std::size_t k = 0; k < tokens; ++k) weight[k] = job.weights[begin + order[k]];
    else
      std::fill_n(weight, tokens, 1.0);
    for (std::size_t k = tokens; k < vectors * kLanes; ++k) {
      x[k] = x[tokens - 1];
      y[k] = y[tokens - 1];
      z[k] = z[tokens - 1];
      weight[k] = 0;
    }
  }
  /// <x, e> for one direction of a frame.
  HWY_INLINE V along(const double* e, std::size_t k) const {
    const D d;
    const V first = hn::Mul(hn::Load(d, x + k), hn::Set(d, e[0]));
    const V second = hn::MulAdd(hn::Load(d, y + k), hn::Set(d, e[1]), first);
    return hn::MulAdd(hn::Load(d, z + k), hn::Set(d, e[2]), second);
  }
};

/// T_a(u) and w T_b(v) of a chunk.
struct Tables {
  HWY_ALIGN double u[kMostSphereDegree + 1][kTokens];
  HWY_ALIGN double v[kMostSphereDegree + 1][kTokens];

  HWY_INLINE void fill(const Chunk& chunk, const double* frame, std::size_t degree) {
    const D d;
    for (std::size_t k = 0; k < chunk.vectors * kLanes; k += kLanes) {
      const V one = hn::Set(d, 1.0), w = hn::Load(d, chunk.weight + k);
      recur(chunk.along(frame, k), one, degree, &u[0][k]);
      recur(chunk.along(frame + 3, k), w, degree, &v[0][k]);
    }
  }
  static HWY_INLINE void recur(V x, V first, std::size_t degree, double* out) {
    const D d;
    const V twice = hn::Add(x, x);
    V before = first, now = hn::Mul(first, x);
    hn::Store(before, d, out);
    for (std::size_t a = 1; a <= degree; ++a) {
      hn::Store(now, d, out + a * kTokens);
      const V next = hn::MulSub(twice, now, before);
      before = now;
      now = next;
    }
  }
};

/// Adds T_a(u) w T_b(v), a = first .. first + kTerms - 1, of a chunk to `sums`, and those of b + 1
/// to `next_sums` if it is not null; they stay in registers for the whole chunk. The first chunk of
/// a piece finds no sums there.
template <std::size_t kTerms>
void add_terms(const Tables& t, std::size_t vectors, bool first_chunk, std::size_t first,
               std::size_t b, double* sums, double* next_sums) {
  const D d;
  V sum[kTerms], next[kTerms];
  for (std::size_t a = 0; a < kTerms; ++a) {
    sum[a] = first_chunk ? hn::Zero(d) : hn::Load(d, sums + a * kLanes);
    next[a] = first_chunk || !next_sums ? hn::Zero(d) : hn::Load(d, next_sums + a * kLanes);
  }
  const double *row = t.u[first], *v0 = t.v[b], *v1 = t.v[next_sums ? b + 1 : b];
  for (std::size_t k = 0; k < vectors * kLanes; k += kLanes) {
    const V x = hn::Load(d, v0 + k), y = hn::Load(d, v1 + k);
    for (std::size_t a = 0; a < kTerms; ++a) {
      const V u = hn::Load(d, row + a * kTokens + k);
      sum[a] = hn::MulAdd(u, x, sum[a]);
      next[a] = hn::MulAdd(u, y, next[a]);
    }
  }
  for (std::size_t a = 0; a < kTerms; ++a) {
    hn::Store(sum[a], d, sums + a * kLanes);
    if (next_sums) hn::Store(next[a], d, next_sums + a * kLanes);
  }
}

constexpr std::size_t kMostTerms = kLanes >= 8 ? 12 : 6;  // twice that many registers

using AddTerms = void (*)(const Tables&, std::size_t, bool, std::size_t, std::size_t, double*,
                          double*);
template <std::size_t... k>
constexpr std::array<AddTerms, sizeof...(k)> term_table(std::index_sequence<k...>) {
  return {add_terms<k + 1>...};
}

/// Sums of a piece while it is gathered, a vector for each coefficient.
struct Sums {
  HWY_ALIGN double of[(kMostSphereDegree + 1) * (kMostSphereDegree + 2) / 2 * kLanes];

  /// Rows b and b + 1 have degree - b + 1 and degree - b terms.
  HWY_INLINE void add(const Tables& t, std::size_t vectors, bool first_chunk, std::size_t degree) {
    static constexpr auto kAdd = term_table(std::make_index_sequence<kMostTerms>());
    double* row = of;
    for (std::size_t b = 0; b <= degree; b += 2) {
      const std::size_t terms = degree - b + 1;
      double* next = b < degree ? row + terms * kLanes : nullptr;
      for (std::size_t a = 0; a + 1 < terms;) {
        const std::size_t some = std::min(terms - 1 - a, kMostTerms);
        kAdd[some - 1](t, vectors, first_chunk, a, b, row + a * kLanes, next + a * kLanes);
        a += some;
      }
      kAdd[0](t, vectors, first_chunk, terms - 1, b, row + (terms - 1) * kLanes, nullptr);
      row += (2 * terms - 1) * kLanes;
    }
  }
};

/// Asks for the rows of the next chunk, while there is work to do.
HWY_INLINE void fetch(const double* rows, const std::uint32_t* order, const std::uint32_t* end) {
  const std::uint32_t* last = std::min(order + 2 * kTokens, end);
  for (order += kTokens; order < last; ++order) {
    const double* row = rows + 3 * static_cast<std::size_t>(*order);
    hwy::Prefetch(row);
    hwy::Prefetch(row + 2);
  }
}

void gather_block(const SphereJob& job, const SphereBlock& block, double* moments) {
  const D d;
  const SphereCells& cells = *job.cells;
  const std::size_t degree = cells.degree;
  Chunk chunk;
  Tables tables;
  Sums sums;
  const std::uint32_t *order = job.order + block.begin, *end = job.order + block.end;
  const bool ahead = !block.in_order();
  for (const SpherePiece& piece : block.pieces) {
    for (std::size_t k = 0; k < piece.count; k += kTokens) {
      chunk.load(job, block.begin, order + k, std::min<std::size_t>(kTokens, piece.count - k));
      if (ahead) fetch(job.points + 3 * block.begin, order + k, end);
      tables.fill(chunk, cells.frames.data() + 6 * piece.cell, degree);
      sums.add(tables, chunk.vectors, k == 0, degree);
    }
    order += piece.count;
    double* to = moments + piece.cell * cells.stride;
    for (std::size_t c = 0; c < cells.coefficients; ++c)
      to[c] += hn::GetLane(hn::SumOfLanes(d, hn::Load(d, sums.of + c * kLanes)));
  }
}

constexpr std::size_t kMostVectors = kLanes >= 8 ? 4 : 2;  // taken together: independent chains

struct Extremes {
  V smallest_partition, largest_mean, largest_pull;  // the largest ones squared
};

/// A polynomial and its two derivatives at kVectors vectors of tokens.
template <std::size_t kVectors>
struct Local {
  V value[kVectors], by_u[kVectors], by_v[kVectors];

  template <bool kDerivatives>
  HWY_INLINE void evaluate(const double* c, std::size_t degree, const V* u, const V* v) {
    const D d;
    for (std::size_t k = 0; k < kVectors; ++k) value[k] = by_u[k] = by_v[k] = hn::Zero(d);
    c += (degree + 1) * (degree + 2) / 2;
    for (std::size_t b = degree + 1; b-- > 0;) {
      const std::size_t terms = degree + 1 - b;
      c -= terms;
      V p[kVectors], slope[kVectors];
      for (std::size_t k = 0; k < kVectors; ++k) {
        p[k] = hn::Set(d, c[terms - 1]);
        slope[k] = hn::Zero(d);
      }
      for (std::size_t a = terms - 1; a-- > 0;) {
        const V next = hn::Set(d, c[a]);
        for (std::size_t k = 0; k < kVectors; ++k) {
          if constexpr (kDerivatives) slope[k] = hn::MulAdd(slope[k], u[k], p[k]);
          p[k] = hn::MulAdd(p[k], u[k], next);
        }
      }
      for (std::size_t k = 0; k < kVectors; ++k) {
        if constexpr (kDerivatives) {
          by_v[k] = hn::MulAdd(by_v[k], v[k], value[k]);
          by_u[k] = hn::MulAdd(by_u[k], v[k], slope[k]);
        }
        value[k] = hn::MulAdd(value[k], v[k], p[k]);
      }
    }
  }
};

/// What a chunk gives.
struct Field {
  HWY_ALIGN double pull[3][kTokens];
  HWY_ALIGN double mean[3][kTokens];
  HWY_ALIGN double partition[kTokens];
  HWY_ALIGN double along[kTokens];
};

/// pull = P (G_u e1 + G_v e2), Z = mean kernel + beta G; a token attends at least to itself, and a
/// mean of unit vectors has length at most 1.
HWY_INLINE void finish(const SphereJob& job, const Chunk& chunk, const double* frame, V g, V by_u,
                       V by_v, std::size_t k, Field& field, Extremes& seen) {
  const D d;
  const V one = hn::Set(d, 1.0);
  const V x[3] = {hn::Load(d, chunk.x + k), hn::Load(d, chunk.y + k), hn::Load(d, chunk.z + k)};
  V pull[3], radial = hn::Zero(d), square = radial;
  for (std::size_t c = 0; c < 3; ++c) {
    pull[c] = hn::MulAdd(by_u, hn::Set(d, frame[c]), hn::Mul(by_v, hn::Set(d, frame[3 + c])));
    radial = hn::MulAdd(pull[c], x[c], radial);
  }
  const V scale = hn::Set(d, job.out->scale);
  for (std::size_t c = 0; c < 3; ++c) {
    pull[c] = hn::NegMulAdd(radial, x[c], pull[c]);
    square = hn::MulAdd(pull[c], pull[c], square);
    hn::Store(hn::Mul(pull[c], scale), d, field.pull[c] + k);
  }
  const V own = hn::Mul(hn::Load(d, chunk.weight + k), hn::Set(d, 1 / job.total));
  const V least = hn::Max(own, hn::Set(d, 1e-300));
  const V z = hn::Max(hn::MulAdd(hn::Set(d, job.beta), g, hn::Set(d, job.mean_kernel)), least);
  const V per = hn::Div(one, z);
  V mean_square = hn::Mul(square, hn::Mul(per, per));
  V factor = hn::Mul(per, scale);
  if (!hn::AllTrue(d, hn::Le(mean_square, one))) {
    const V long_ones = hn::Max(mean_square, one);
    factor = hn::Div(factor, hn::Sqrt(long_ones));
    mean_square = hn::Min(mean_square, one);
  }
  for (std::size_t c = 0; c < 3; ++c) hn::Store(hn::Mul(pull[c], factor), d, field.mean[c] + k);
  hn::Store(z, d, field.partition + k);
  const auto real = hn::FirstN(d, chunk.count > k ? chunk.count - k : 0);
  seen.smallest_partition =
      hn::Min(seen.smallest_partition, hn::IfThenElse(real, z, seen.smallest_partition));
  seen.largest_mean = hn::Max(seen.largest_mean, mean_square);
  seen.largest_pull = hn::Max(seen.largest_pull, square);
}

void store_rows(const double (*from)[kTokens], std::size_t count, const std::uint32_t* order,
                double* out) {
  for (std::size_t k = 0; k < count; ++k) {
    double* row = out + 3 * static_cast<std::size_t>(order[k]);
    row[0] = from[0][k];
    row[1] = from[1][k];
    row[2] = from[2][k];
  }
}

void store(const Field& field, std::size_t count, const std::uint32_t* order, std::size_t begin,
           const SphereFieldOut& out) {
  if (!out.pull.empty()) store_rows(field.pull, count, order, out.pull.data() + 3 * begin);
  if (!out.mean.empty()) store_rows(field.mean, count, order, out.mean.data() + 3 * begin);
  for (std::size_t k = 0; k < count && !out.partition.empty(); ++k)
    out.partition[begin + order[k]] = field.partition[k];
  for (std::size_t k = 0; k < count && !out.along.empty(); ++k)
    out.along[begin + order[k]] = field.along[k];
}

/// Vectors [first, first + kVectors) of a chunk; those past its end repeat the last one.
template <std::size_t kVectors>
HWY_INLINE void evaluate_vectors(const SphereJob& job, std::uint32_t cell, const Chunk& chunk,
                                 std::size_t first, Field& field, Extremes& seen) {
  const SphereCells& cells = *job.cells;
  const double* frame = cells.frames.data() + 6 * cell;
  const auto at = [&](std::size_t i) { return std::min(first + i, chunk.vectors - 1) * kLanes; };
  V u[kVectors], v[kVectors];
  for (std::size_t i = 0; i < kVectors; ++i) {
    u[i] = chunk.along(frame, at(i));
    v[i] = chunk.along(frame + 3, at(i));
  }
  Local<kVectors> local;
  local.template evaluate<true>(job.slope + cell * cells.stride, cells.degree, u, v);
  for (std::size_t i = 0; i < kVectors && first + i < chunk.vectors; ++i)
    finish(job, chunk, frame, local.value[i], local.by_u[i], local.by_v[i], at(i), field, seen);
  if (!job.along) return;
  local.template evaluate<false>(job.along + cell * cells.stride, cells.degree, u, v);
  for (std::size_t i = 0; i < kVectors; ++i) hn::Store(local.value[i], D(), field.along + at(i));
}

HWY_INLINE void evaluate_chunk(const SphereJob& job, std::uint32_t cell, const Chunk& chunk,
                               Field& field, Extremes& seen) {
  for (std::size_t k = 0; k < chunk.vectors;) {
    const bool many = chunk.vectors - k > kMostVectors / 2;
    many ? evaluate_vectors<kMostVectors>(job, cell, chunk, k, field, seen)
         : evaluate_vectors<kMostVectors / 2>(job, cell, chunk, k, field, seen);
    k += many ? kMostVectors : kMostVectors / 2;
  }
}

/// Reads ahead what a block will take in the order of its cells: memory likes to be read in its
/// own.
void read_ahead(std::span<const double> values) {
  const D d;
  V seen = hn::Zero(d);
  for (std::size_t k = 0; k + kLanes <= values.size(); k += 8)
    seen = hn::Max(seen, hn::LoadU(d, values.data() + k));
  [[maybe_unused]] volatile double kept = hn::GetLane(hn::MaxOfLanes(d, seen));
}

void read_ahead(const SphereJob& job, const SphereBlock& block) {
  const std::size_t begin = 3 * block.begin, count = 3 * block.end - begin;
  if (block.in_order()) return;
  read_ahead({job.points + begin, count});
  for (const auto& rows : {job.out->pull, job.out->mean})
    if (!rows.empty()) read_ahead(rows.subspan(begin, count));
}

void evaluate_block(const SphereJob& job, SphereBlock& block) {
  const D d;
  read_ahead(job, block);
  Chunk chunk;
  Field field;
  Extremes seen{hn::Set(d, 1.0), hn::Zero(d), hn::Zero(d)};
  const std::uint32_t *order = job.order + block.begin, *end = job.order + block.end;
  const bool ahead = !block.in_order();
  for (const SpherePiece& piece : block.pieces) {
    for (std::size_t k = 0; k < piece.count; k += kTokens) {
      chunk.load(job, block.begin, order + k, std::min<std::size_t>(kTokens, piece.count - k));
      if (ahead) {
        fetch(job.points + 3 * block.begin, order + k, end);
        for (const auto& rows : {job.out->pull, job.out->mean})
          if (!rows.empty()) fetch(rows.data() + 3 * block.begin, order + k, end);
      }
      evaluate_chunk(job, piece.cell, chunk, field, seen);
      store(field, chunk.count, order + k, block.begin, *job.out);
    }
    order += piece.count;
  }
  block.smallest_partition = hn::GetLane(hn::MinOfLanes(d, seen.smallest_partition));
  block.largest_mean = std::sqrt(hn::GetLane(hn::MaxOfLanes(d, seen.largest_mean)));
  block.largest_pull = std::sqrt(hn::GetLane(hn::MaxOfLanes(d, seen.largest_pull)));
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(gather_block);
HWY_EXPORT(evaluate_block);

void gather_moments(const SphereJob& job, const SphereBlock& block, double* moments) {
  HWY_DYNAMIC_DISPATCH(gather_block)(job, block, moments);
}
void evaluate_polynomials(const SphereJob& job, SphereBlock& block) {
  HWY_DYNAMIC_DISPATCH(evaluate_block)(job, block);
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
