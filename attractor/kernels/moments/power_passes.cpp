#include "attractor/kernels/moments/power_passes.hpp"

#include <algorithm>
#include <array>
#include <utility>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/moments/power_passes.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/exp-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {

// What the registers hold.
constexpr bool kManyRegisters = HWY_MAX_BYTES == 64;
constexpr std::size_t kMomentRows = kManyRegisters ? 4 : 3, kMomentColumns = kManyRegisters ? 6 : 4;
constexpr std::size_t kValueRows = kManyRegisters ? kPowerTile : 4;

// Divided powers: row i is row i - e_c times x_c / i_c, c the last coordinate in it.
void fill(const PowerGroup& group, const double* x, std::size_t stride, std::size_t count,
          double* rows) {
  const Tag<double> d;
  for (std::size_t row = 1; row < group.count; ++row) {
    const std::size_t c = group.last[row];
    const auto inverse = hn::Set(d, group.inverse[row]);
    const double* from = rows + group.down[row * group.vars + c] * stride;
    double* to = rows + row * stride;
    for (std::size_t k = 0; k < count; k += hn::Lanes(d))
      hn::Store(hn::Mul(hn::Load(d, from + k), hn::Mul(inverse, hn::Load(d, x + c * stride + k))),
                d, to + k);
  }
}

std::size_t padded(const PowerScratch& chunk) { return (chunk.count + 15) / 16 * 16; }

void fill_both(const PowerShape& s, PowerScratch& chunk) {
  fill(s.a, chunk.x.get(), chunk.stride, padded(chunk), chunk.a.get());
  fill(s.b, chunk.x.get() + s.a.vars * chunk.stride, chunk.stride, padded(chunk), chunk.b.get());
  std::fill_n(chunk.a.get() + s.a.count * chunk.stride, chunk.stride, 0.0);
  std::fill_n(chunk.b.get() + s.b.count * chunk.stride, chunk.stride, 0.0);
}

// ---- Moments: tokens in lanes, sums of lanes at the end of a chunk.

template <std::size_t kRows, std::size_t kColumns>
HWY_NOINLINE void moment_tile(const double* u, const double* v, std::size_t stride,
                              std::size_t count, double* out, std::size_t columns) {
  const Tag<double> d;
  using V = Vector<double>;
  V sum[kRows][kColumns];
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    ATTRACTOR_UNROLL
    for (std::size_t c = 0; c < kColumns; ++c) sum[r][c] = hn::Zero(d);
  }
  for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
    V left[kRows];
    ATTRACTOR_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) left[r] = hn::Load(d, u + r * stride + k);
    ATTRACTOR_UNROLL
    for (std::size_t c = 0; c < kColumns; ++c) {
      const V right = hn::Load(d, v + c * stride + k);
      ATTRACTOR_UNROLL
      for (std::size_t r = 0; r < kRows; ++r) sum[r][c] = hn::MulAdd(left[r], right, sum[r][c]);
    }
  }
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) {
    ATTRACTOR_UNROLL
    for (std::size_t c = 0; c < kColumns; ++c)
      out[r * columns + c] += hn::GetLane(hn::SumOfLanes(d, sum[r][c]));
  }
}

using MomentTile = void (*)(const double*, const double*, std::size_t, std::size_t, double*,
                            std::size_t);

template <std::size_t... k>
constexpr std::array<MomentTile, sizeof...(k)> moment_tiles(std::index_sequence<k...>) {
  return {moment_tile<k / kMomentColumns + 1, k % kMomentColumns + 1>...};
}

void add_moments(const PowerShape& s, PowerScratch& chunk, double* moments) {
  static constexpr auto kTiles =
      moment_tiles(std::make_index_sequence<kMomentRows * kMomentColumns>());
  const std::size_t count = padded(chunk);
  std::copy_n(chunk.weight.get(), count, chunk.a.get());
  std::fill_n(chunk.b.get(), count, 1.0);
  fill_both(s, chunk);
  const auto pieces = [](std::size_t n, std::size_t most) { return (n + most - 1) / most; };
  for (std::size_t q = 0; q <= s.degree; ++q) {
    const std::size_t rows = s.a.rows(q), left = s.begin(s.b, q);
    const std::size_t columns = s.end(s.b, q) - left;
    const std::size_t across = pieces(columns, kMomentColumns), down = pieces(rows, kMomentRows);
    for (std::size_t i = 0; i < down; ++i)
      for (std::size_t j = 0; j < across; ++j) {
        const std::size_t r = i * rows / down, c = j * columns / across;
        const std::size_t height = (i + 1) * rows / down - r,
                          width = (j + 1) * columns / across - c;
        kTiles[(height - 1) * kMomentColumns + width - 1](
            chunk.a.get() + (s.a.first[q] + r) * chunk.stride,
            chunk.b.get() + (left + c) * chunk.stride, chunk.stride, count,
            moments + s.blocks[q] + r * columns + c, columns);
      }
  }
}

// ---- Values and gradients: tokens in lanes, two vectors of them.

// A tile of rows of one group: sums over the other group, then what they are multiplied with.
struct ValueTile {
  const double* coefficients;  // [columns][height]
  std::size_t height, columns, stride;
  const double* other;        // rows of the other group, at the tokens
  const double* own;          // rows of this group, at the tokens
  std::size_t row;            // first one of this tile
  const std::uint32_t* down;  // of all rows, x vars
  std::size_t vars;           // 0: no gradient
  double* value;              // null: none
  double* gradient;
};

template <std::size_t kRows>
HWY_NOINLINE void value_tile(const ValueTile& tile) {
  const Tag<double> d;
  using V = Vector<double>;
  const std::size_t lanes = hn::Lanes(d), stride = tile.stride;
  V sum[kRows][2];
  ATTRACTOR_UNROLL
  for (std::size_t r = 0; r < kRows; ++r) sum[r][0] = sum[r][1] = hn::Zero(d);
  const double *c = tile.coefficients, *other = tile.other;
  for (std::size_t k = 0; k < tile.columns; ++k, c += tile.height, other += stride) {
    const V x0 = hn::Load(d, other), x1 = hn::Load(d, other + lanes);
    ATTRACTOR_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const V y = hn::Set(d, c[r]);
      sum[r][0] = hn::MulAdd(x0, y, sum[r][0]);
      sum[r][1] = hn::MulAdd(x1, y, sum[r][1]);
    }
  }
  if (tile.value) {
    V v0 = hn::Load(d, tile.value), v1 = hn::Load(d, tile.value + lanes);
    ATTRACTOR_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const double* u = tile.own + (tile.row + r) * stride;
      v0 = hn::MulAdd(hn::Load(d, u), sum[r][0], v0);
      v1 = hn::MulAdd(hn::Load(d, u + lanes), sum[r][1], v1);
    }
    hn::Store(v0, d, tile.value);
    hn::Store(v1, d, tile.value + lanes);
  }
  for (std::size_t a = 0; a < tile.vars; ++a) {
    double* to = tile.gradient + a * stride;
    V g0 = hn::Load(d, to), g1 = hn::Load(d, to + lanes);
    ATTRACTOR_UNROLL
    for (std::size_t r = 0; r < kRows; ++r) {
      const double* u = tile.own + tile.down[(tile.row + r) * tile.vars + a] * stride;
      g0 = hn::MulAdd(hn::Load(d, u), sum[r][0], g0);
      g1 = hn::MulAdd(hn::Load(d, u + lanes), sum[r][1], g1);
    }
    hn::Store(g0, d, to);
    hn::Store(g1, d, to + lanes);
  }
}

template <std::size_t... k>
constexpr std::array<void (*)(const ValueTile&), sizeof...(k)> value_tiles(
    std::index_sequence<k...>) {
  return {value_tile<k + 1>...};
}

// One group's rows against the other's, degree by degree, so that coefficients stay in a cache.
void evaluate_side(const PowerShape& s, const PowerGroup& own, const PowerGroup& other,
                   const double* own_rows, const double* other_rows, const double* coefficients,
                   std::size_t count, std::size_t stride, std::size_t vars, double* value,
                   double* gradient) {
  static constexpr auto kTiles = value_tiles(std::make_index_sequence<kValueRows>());
  const std::size_t step = 2 * hn::Lanes(Tag<double>());
  for (std::size_t q = 0; q <= s.degree; ++q) {
    const std::size_t rows = own.rows(q), begin = s.begin(other, q);
    const std::size_t columns = s.end(other, q) - begin, tiles = power_tiles(rows);
    for (std::size_t k = 0; k < count; k += step)
      for (std::size_t t = 0; t < tiles; ++t) {
        const std::size_t first = power_tile_begin(rows, t);
        const std::size_t height = power_tile_begin(rows, t + 1) - first;
        for (std::size_t r = 0; r < height; r += kValueRows)
          kTiles[std::min(kValueRows, height - r) - 1](
              {.coefficients = coefficients + first * columns + r,
               .height = height,
               .columns = columns,
               .stride = stride,
               .other = other_rows + begin * stride + k,
               .own = own_rows + k,
               .row = own.first[q] + first + r,
               .down = own.down.data(),
               .vars = vars,
               .value = value ? value + k : nullptr,
               .gradient = gradient + k});
      }
    coefficients += rows * columns;
  }
}

void fill_monomials(const PowerShape& s, PowerScratch& chunk) {
  std::fill_n(chunk.a.get(), padded(chunk), 1.0);
  std::fill_n(chunk.b.get(), padded(chunk), 1.0);
  fill_both(s, chunk);
}

void evaluate(const PowerShape& s, const PowerCoefficients& coefficients, bool gradient,
              PowerScratch& chunk) {
  const std::size_t count = padded(chunk);
  double* slope = chunk.gradient.get();
  std::fill_n(chunk.value.get(), count, 0.0);
  for (std::size_t c = 0; gradient && c < s.dim; ++c)
    std::fill_n(slope + c * chunk.stride, count, 0.0);
  evaluate_side(s, s.a, s.b, chunk.a.get(), chunk.b.get(), coefficients.by_a.data(), count,
                chunk.stride, gradient ? s.a.vars : 0, chunk.value.get(), slope);
  if (!gradient) return;
  evaluate_side(s, s.b, s.a, chunk.b.get(), chunk.a.get(), coefficients.by_b.data(), count,
                chunk.stride, s.b.vars, nullptr, slope + s.a.vars * chunk.stride);
}

}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(add_moments);
HWY_EXPORT(fill_monomials);
HWY_EXPORT(evaluate);

void add_power_moments(const PowerShape& shape, PowerScratch& chunk, double* moments) {
  HWY_DYNAMIC_DISPATCH(add_moments)(shape, chunk, moments);
}
void fill_power_monomials(const PowerShape& shape, PowerScratch& chunk) {
  HWY_DYNAMIC_DISPATCH(fill_monomials)(shape, chunk);
}
void evaluate_powers(const PowerShape& shape, const PowerCoefficients& coefficients, bool gradient,
                     PowerScratch& chunk) {
  HWY_DYNAMIC_DISPATCH(evaluate)(shape, coefficients, gradient, chunk);
}

double binomial(std::size_t n, std::size_t k) {
  double value = 1;
  for (std::size_t i = 1; i <= k; ++i)
    value = value * static_cast<double>(n - k + i) / static_cast<double>(i);
  return value;
}

namespace {

/// Number of monomials of the same degree before this one: those with a larger first exponent,
/// then second, and so on.
std::size_t rank(const std::uint32_t* exponents, std::size_t vars, std::size_t degree) {
  double before = 0;
  for (std::size_t c = 0; c + 1 < vars; degree -= exponents[c], ++c)
    if (degree > exponents[c])
      before += binomial(degree - exponents[c] - 1 + vars - c - 1, vars - c - 1);
  return static_cast<std::size_t>(before + 0.5);
}

/// All exponents of a degree, in the order of rank().
void list_exponents(std::size_t vars, std::size_t degree, std::vector<std::uint32_t>& prefix,
                    std::vector<std::uint32_t>& out) {
  if (prefix.size() + 1 == vars) {
    out.insert(out.end(), prefix.begin(), prefix.end());
    out.push_back(static_cast<std::uint32_t>(degree));
    return;
  }
  for (std::size_t e = degree + 1; e-- > 0;) {
    prefix.push_back(static_cast<std::uint32_t>(e));
    list_exponents(vars, degree - e, prefix, out);
    prefix.pop_back();
  }
}

}  // namespace

PowerGroup::PowerGroup(std::size_t vars_, std::size_t degree) : vars(vars_) {
  std::vector<std::uint32_t> prefix;
  first.push_back(0);
  for (std::size_t k = 0; k <= degree; ++k) {
    list_exponents(vars, k, prefix, exponents);
    first.push_back(exponents.size() / vars);
  }
  count = first.back();
  down.assign(count * vars, static_cast<std::uint32_t>(count));
  up.assign(count * vars, static_cast<std::uint32_t>(count));
  last.assign(count, 0);
  inverse.assign(count, 1.0);
  factorial.assign(count, 1.0);
  for (std::size_t k = 0; k <= degree; ++k)
    for (std::size_t row = first[k]; row < first[k + 1]; ++row)
      for (std::size_t c = 0; c < vars; ++c) {
        std::array<std::uint32_t, kPowerMostVars> e{};
        std::copy_n(exponents.data() + row * vars, vars, e.data());
        for (std::uint32_t i = 2; i <= e[c]; ++i) factorial[row] *= i;
        const auto at = [&](std::size_t power) {
          return static_cast<std::uint32_t>(first[power] + rank(e.data(), vars, power));
        };
        e[c] += 2;
        if (k + 2 <= degree) up[row * vars + c] = at(k + 2);
        if (e[c] == 2) continue;
        last[row] = static_cast<std::uint32_t>(c);
        inverse[row] = 1.0 / (e[c] - 2);
        e[c] -= 3;
        down[row * vars + c] = at(k - 1);
      }
}

PowerShape::PowerShape(std::size_t dim_, std::size_t degree_)
    : dim(dim_), degree(degree_), a(dim / 2, degree), b(dim - dim / 2, degree) {
  for (std::size_t q = 0; q <= degree; ++q) {
    blocks.push_back(features);
    features += a.rows(q) * (end(b, q) - begin(b, q));
  }
  blocks.push_back(features);
  // What is at work should stay in the second cache; strides put rows in different sets.
  tokens = a.count + b.count <= 2500 ? 256 : 128;
  stride = tokens + 8;
  few = 64;
  few_stride = few + 8;
}

PowerScratch::PowerScratch(const PowerShape& s)
    : x(hwy::AllocateAligned<double>(s.dim * s.stride)),
      weight(hwy::AllocateAligned<double>(s.stride)),
      a(hwy::AllocateAligned<double>((s.a.count + 1) * s.stride)),
      b(hwy::AllocateAligned<double>((s.b.count + 1) * s.stride)),
      value(hwy::AllocateAligned<double>(s.stride)),
      gradient(hwy::AllocateAligned<double>(s.dim * s.stride)) {}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
