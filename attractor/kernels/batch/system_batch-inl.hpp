// The sums of attention for a block of systems, one in each SIMD lane (system_batch.hpp):
//
//   gather    sum_j w_ij, and all w_ij (dim > 4) or sum_{j != i} w_ij x_j at once (dim <= 4)
//   combine   out_i = own_i x_i + share_i sum_{j != i} w_ij x_j
//
// Squared distances, not products: w keeps its digits inside clusters, whatever beta. Each pair is
// exponentiated once; every sum runs over j in order.
#if defined(ATTRACTOR_KERNELS_SYSTEM_BATCH_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef ATTRACTOR_KERNELS_SYSTEM_BATCH_INL
#undef ATTRACTOR_KERNELS_SYSTEM_BATCH_INL
#else
#define ATTRACTOR_KERNELS_SYSTEM_BATCH_INL
#endif

#include <algorithm>
#include <cstddef>

#include "attractor/kernels/lanes-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {
namespace {

// A tile of pairs is kRows x kColumns, one of outputs kRows x kWidth; all of it stays in registers.
constexpr bool kManyRegisters = HWY_MAX_BYTES >= 64;
constexpr std::size_t kRows = 4, kColumns = kManyRegisters ? 4 : 2, kWidth = kManyRegisters ? 4 : 3;
constexpr std::size_t kChunk = 64;  // coordinates at a time, so that rows of a tile stay in L1

HWY_INLINE V load(const double* at, std::size_t index) {
  return hn::Load(D(), at + index * hn::Lanes(D()));
}
HWY_INLINE void store(V value, double* at, std::size_t index) {
  hn::Store(value, D(), at + index * hn::Lanes(D()));
}

// One system in each lane; arrays of vectors, all in one piece of scratch.
struct Block {
  std::size_t n, padded, dim;  // padded: tokens, rounded up to whole tiles
  bool softmax;
  double *factor, *step;           // 1: w = 2^{factor |x_i - x_j|^2}; h
  double* x;                       // padded x dim
  double* weight;                  // padded x padded; not for small dim
  double* sum;                     // padded x dim: sum of w_ij x_j over j != i, for small dim
  double* total;                   // padded: sum of w_ij over all j
  double *own, *share;             // padded: coefficients of a combination
  double* slab;                    // padded x kWidth
  double *stage, *slope, *change;  // padded x dim, for Runge-Kutta
};

// 2^t for t <= 0; exactly 0 below -1022.5. Cheaper than exp-inl.hpp: the fraction of t is exact, so
// it takes no reduction, and beta ln(2)^-1 is multiplied once for a system. Polynomial of degree 11
// (interpolated at Chebyshev nodes, relative error 2e-17) in two halves, to shorten the chain.
HWY_INLINE V exp2_nonpositive(V t) {
  const D d;
  const auto constant = [d](double c) HWY_ATTR { return hn::Set(d, c); };
  t = hn::Max(t, constant(-1023.0));
  const V magic = constant(0x1.8p52 + 1023);  // rounds, and leaves k + 1023 in the low bits
  const V biased = hn::Add(t, magic);
  const V r = hn::Sub(t, hn::Sub(biased, magic)), s = hn::Mul(r, r);
  V even = constant(0x1.e6228acd1c6e5p-28), odd = constant(0x1.e9ec1fcb69a7fp-32);
  odd = hn::MulAdd(odd, s, constant(0x1.b524ebd13a55fp-24));
  even = hn::MulAdd(even, s, constant(0x1.62bfc2c86d700p-20));
  odd = hn::MulAdd(odd, s, constant(0x1.ffcbfc6da6ed1p-17));
  even = hn::MulAdd(even, s, constant(0x1.430913112c61bp-13));
  odd = hn::MulAdd(odd, s, constant(0x1.5d87fe78a3f9cp-10));
  even = hn::MulAdd(even, s, constant(0x1.3b2ab6fb9f1a5p-7));
  odd = hn::MulAdd(odd, s, constant(0x1.c6b08d704a0c6p-5));
  even = hn::MulAdd(even, s, constant(0x1.ebfbdff82c5aep-3));
  odd = hn::MulAdd(odd, s, constant(0x1.62e42fefa39efp-1));
  even = hn::MulAdd(even, s, constant(1.0));
  const hn::RebindToSigned<D> di;
  const V scale = hn::BitCast(d, hn::ShiftLeft<52>(hn::BitCast(di, biased)));
  return hn::Mul(hn::MulAdd(odd, r, even), scale);
}

// ---- Weights and sums. `gap2` is twice the largest gap 1 - cosine of a close pair.

template <bool kCount>
HWY_INLINE V pair_weight(V factor, V square, V gap2, V& close) {
  const D d;
  if constexpr (kCount)
    close = hn::Add(close, hn::IfThenElseZero(hn::Le(square, gap2), hn::Set(d, 1.0)));
  return exp2_nonpositive(hn::Mul(factor, square));
}

// Small dim: each pair once, everything about it in registers. Rows are tokens i and i + 1 with
// their sums so far.
template <int kDim>
struct Rows {
  V x[2][kDim], sum[2][kDim], total[2];
};

// Adds the pairs of both rows with tokens j, ..., j + kTile - 1 to both sides.
template <int kDim, bool kCount, std::size_t kTile>
HWY_INLINE void small_tile(const Block& b, const double* x, std::size_t j, V gap2, Rows<kDim>& rows,
                           V& close) {
  const V factor = load(b.factor, 0);
  V w[2][kTile];
  for (std::size_t t = 0; t < kTile; ++t)
    for (std::size_t r = 0; r < 2; ++r) {
      V square = hn::Zero(D());
      for (std::size_t a = 0; a < kDim; ++a) {
        const V difference = hn::Sub(load(x, (j + t) * kDim + a), rows.x[r][a]);
        square = hn::MulAdd(difference, difference, square);
      }
      w[r][t] = pair_weight<kCount>(factor, square, gap2, close);
    }
  for (std::size_t t = 0; t < kTile; ++t) {
    V total = load(b.total, j + t);
    for (std::size_t r = 0; r < 2; ++r) {
      rows.total[r] = hn::Add(rows.total[r], w[r][t]);
      total = hn::Add(total, w[r][t]);
    }
    store(total, b.total, j + t);
    for (std::size_t a = 0; a < kDim; ++a) {
      const std::size_t at = (j + t) * kDim + a;
      V sum = load(b.sum, at);
      for (std::size_t r = 0; r < 2; ++r) {
        rows.sum[r][a] = hn::MulAdd(w[r][t], load(x, at), rows.sum[r][a]);
        sum = hn::MulAdd(w[r][t], rows.x[r][a], sum);
      }
      store(sum, b.sum, at);
    }
  }
}

// The pair of the two rows.
template <int kDim, bool kCount>
HWY_INLINE void small_pair(const Block& b, V gap2, Rows<kDim>& rows, V& close) {
  V square = hn::Zero(D());
  for (std::size_t a = 0; a < kDim; ++a) {
    const V difference = hn::Sub(rows.x[1][a], rows.x[0][a]);
    square = hn::MulAdd(difference, difference, square);
  }
  const V w = pair_weight<kCount>(load(b.factor, 0), square, gap2, close);
  for (std::size_t r = 0; r < 2; ++r) {
    rows.total[r] = hn::Add(rows.total[r], w);
    for (std::size_t a = 0; a < kDim; ++a)
      rows.sum[r][a] = hn::MulAdd(w, rows.x[1 - r][a], rows.sum[r][a]);
  }
}

template <int kDim, bool kCount>
V small_sums(const Block& b, const double* x, V gap2) {
  const D d;
  V close = hn::Zero(d);
  for (std::size_t i = 0; i < b.n; ++i) store(hn::Set(d, 1.0), b.total, i);
  for (std::size_t k = 0; k < b.n * kDim; ++k) store(hn::Zero(d), b.sum, k);
  for (std::size_t i = 0; i + 1 < b.n; i += 2) {
    Rows<kDim> rows;
    for (std::size_t r = 0; r < 2; ++r) {
      rows.total[r] = load(b.total, i + r);
      for (std::size_t a = 0; a < kDim; ++a) {
        rows.x[r][a] = load(x, (i + r) * kDim + a);
        rows.sum[r][a] = load(b.sum, (i + r) * kDim + a);
      }
    }
    small_pair<kDim, kCount>(b, gap2, rows, close);
    std::size_t j = i + 2;
    for (; j + kColumns <= b.n; j += kColumns)
      small_tile<kDim, kCount, kColumns>(b, x, j, gap2, rows, close);
    for (; j < b.n; ++j) small_tile<kDim, kCount, 1>(b, x, j, gap2, rows, close);
    for (std::size_t r = 0; r < 2; ++r) {
      store(rows.total[r], b.total, i + r);
      for (std::size_t a = 0; a < kDim; ++a) store(rows.sum[r][a], b.sum, (i + r) * kDim + a);
    }
  }
  return close;
}

// Other dims: weights of all pairs first. A tile is rows i.. against columns j..; on the diagonal
// (kOffset = j - i >= 0) only its pairs above. Squared distances of a chunk of coordinates are
// added to those in `weight`, which the last chunk turns into weights.
template <int kOffset, bool kCount>
HWY_INLINE void weight_tile(const Block& b, const double* x, std::size_t i, std::size_t j,
                            std::size_t begin, std::size_t end, V gap2, V& close) {
  const D d;
  const auto kept = [](std::size_t r, std::size_t c) {
    return kOffset < 0 || r < c + static_cast<std::size_t>(kOffset);
  };
  V square[kRows][kColumns];
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t c = 0; c < kColumns; ++c)
      square[r][c] = begin == 0 ? hn::Zero(d) : load(b.weight, (i + r) * b.padded + j + c);
  for (std::size_t a = begin; a < end; ++a) {
    V y[kColumns];
    for (std::size_t c = 0; c < kColumns; ++c) y[c] = load(x, (j + c) * b.dim + a);
    for (std::size_t r = 0; r < kRows; ++r) {
      const V xi = load(x, (i + r) * b.dim + a);
      for (std::size_t c = 0; c < kColumns; ++c) {
        if (!kept(r, c)) continue;
        const V difference = hn::Sub(y[c], xi);
        square[r][c] = hn::MulAdd(difference, difference, square[r][c]);
      }
    }
  }
  const bool last = end == b.dim;
  const V factor = load(b.factor, 0);
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t c = 0; c < kColumns; ++c) {
      if (!kept(r, c)) continue;
      const V w = last ? pair_weight<kCount>(factor, square[r][c], gap2, close) : square[r][c];
      store(w, b.weight, (i + r) * b.padded + j + c);
      if (last) store(w, b.weight, (j + c) * b.padded + i + r);
    }
}

template <bool kCount>
V tiled_weights(const Block& b, const double* x, V gap2) {
  const D d;
  V close = hn::Zero(d);
  for (std::size_t begin = 0; begin < b.dim; begin += kChunk) {
    const std::size_t end = std::min(begin + kChunk, b.dim);
    for (std::size_t i = 0; i < b.n; i += kRows) {
      weight_tile<0, kCount>(b, x, i, i, begin, end, gap2, close);
      if (kColumns == 2) weight_tile<2, kCount>(b, x, i, i + 2, begin, end, gap2, close);
      for (std::size_t j = i + kRows; j < b.n; j += kColumns)
        weight_tile<-1, kCount>(b, x, i, j, begin, end, gap2, close);
    }
  }
  for (std::size_t i = 0; i < b.n; ++i) {
    store(hn::Zero(d), b.weight, i * b.padded + i);
    V total = hn::Set(d, 1.0);
    for (std::size_t j = 0; j < b.n; ++j) total = hn::Add(total, load(b.weight, i * b.padded + j));
    store(total, b.total, i);
  }
  return close;
}

// out_i = own_i x_i + share_i sum_{j != i} w_ij x_j, coordinates [a, a + kSlab).
template <std::size_t kSlab>
HWY_INLINE void combine_slab(const Block& b, const double* x, std::size_t a, double* out) {
  const D d;
  // Gathered, since rows a power of two apart share a few cache sets, and since `out` may be x.
  for (std::size_t j = 0; j < b.n; ++j)
    for (std::size_t k = 0; k < kSlab; ++k)
      store(load(x, j * b.dim + a + k), b.slab, j * kSlab + k);
  for (std::size_t i = 0; i < b.n; i += kRows) {
    V sum[kRows][kSlab];
    for (std::size_t r = 0; r < kRows; ++r)
      for (std::size_t k = 0; k < kSlab; ++k) sum[r][k] = hn::Zero(d);
    for (std::size_t j = 0; j < b.n; ++j) {
      V y[kSlab];
      for (std::size_t k = 0; k < kSlab; ++k) y[k] = load(b.slab, j * kSlab + k);
      for (std::size_t r = 0; r < kRows; ++r) {
        const V w = load(b.weight, (i + r) * b.padded + j);
        for (std::size_t k = 0; k < kSlab; ++k) sum[r][k] = hn::MulAdd(w, y[k], sum[r][k]);
      }
    }
    for (std::size_t r = 0; r < kRows && i + r < b.n; ++r) {
      const V own = load(b.own, i + r), share = load(b.share, i + r);
      for (std::size_t k = 0; k < kSlab; ++k) {
        const V x_own = hn::Mul(own, load(b.slab, (i + r) * kSlab + k));
        store(hn::MulAdd(share, sum[r][k], x_own), out, (i + r) * b.dim + a + k);
      }
    }
  }
}

bool is_small(std::size_t dim) { return dim <= 4; }

// Fills `total` and what combine() needs; the number of close pairs if asked.
V gather(const Block& b, const double* x, const V* gap2) {
  const V none = hn::Zero(D());
  switch (b.dim) {
    case 2:
      return gap2 ? small_sums<2, true>(b, x, *gap2) : small_sums<2, false>(b, x, none);
    case 3:
      return gap2 ? small_sums<3, true>(b, x, *gap2) : small_sums<3, false>(b, x, none);
    case 4:
      return gap2 ? small_sums<4, true>(b, x, *gap2) : small_sums<4, false>(b, x, none);
    default:
      return gap2 ? tiled_weights<true>(b, x, *gap2) : tiled_weights<false>(b, x, none);
  }
}

void combine(const Block& b, const double* x, double* out) {
  if (is_small(b.dim)) {
    for (std::size_t i = 0; i < b.n; ++i)
      for (std::size_t k = i * b.dim; k < (i + 1) * b.dim; ++k) {
        const V x_own = hn::Mul(load(b.own, i), load(x, k));
        store(hn::MulAdd(load(b.share, i), load(b.sum, k), x_own), out, k);
      }
    return;
  }
  std::size_t a = 0;
  for (; a + kWidth <= b.dim; a += kWidth) combine_slab<kWidth>(b, x, a, out);
  for (; a < b.dim; ++a) combine_slab<1>(b, x, a, out);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#endif
