#include "attractor/kernels/sphere/sphere_steps.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/sphere/sphere_steps.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {
namespace {
namespace hn = hwy::HWY_NAMESPACE;

using Wide = hn::ScalableTag<double>;
using Four = hn::CappedTag<double, 4>;  // rings come in fours
constexpr std::size_t kWide = hn::MaxLanes(Wide());
constexpr std::size_t kFour = hn::MaxLanes(Four());

/// kRows rows of `out`, kVectors vectors of columns.
template <std::size_t kRows, std::size_t kVectors, class D>
HWY_INLINE void multiply_tile(D d, const SphereProduct& p, std::size_t row, std::size_t column) {
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  hn::Vec<D> sum[kRows][kVectors];
  for (auto& s : sum)
    for (auto& v : s) v = hn::Zero(d);
  const double *left = p.left + row * p.left_stride, *right = p.right + column;
  for (std::size_t k = 0; k < p.inner; ++k, right += p.columns) {
    hn::Vec<D> b[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) b[v] = hn::LoadU(d, right + v * kLanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto a = hn::Set(d, left[r * p.left_stride + k]);
      for (std::size_t v = 0; v < kVectors; ++v) sum[r][v] = hn::MulAdd(a, b[v], sum[r][v]);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r)
    for (std::size_t v = 0; v < kVectors; ++v)
      hn::StoreU(sum[r][v], d, p.out + (row + r) * p.columns + column + v * kLanes);
}

template <std::size_t kRows>
HWY_INLINE void multiply_rows(const SphereProduct& p, std::size_t row) {
  constexpr std::size_t kVectors = 3;
  std::size_t c = 0;
  for (; c + kVectors * kWide <= p.columns; c += kVectors * kWide)
    multiply_tile<kRows, kVectors>(Wide(), p, row, c);
  for (; c + kWide <= p.columns; c += kWide) multiply_tile<kRows, 1>(Wide(), p, row, c);
  for (; c < p.columns; c += kFour) multiply_tile<kRows, 1>(Four(), p, row, c);
}

void multiply_all(const SphereProduct& p) {
  constexpr std::size_t kRows = kWide >= 8 ? 6 : 4;
  std::size_t row = 0;
  for (; row + kRows <= p.rows; row += kRows) multiply_rows<kRows>(p, row);
  for (; row < p.rows; ++row) multiply_rows<1>(p, row);
}

/// turning: cosine and sine of m times each longitude, then those of the longitude itself.
void start_turning(const SphereTurns& t) {
  const std::size_t nodes = t.band->nodes();
  for (std::size_t k = 0; k < nodes; ++k) {
    t.turning[k] = 1;
    t.turning[nodes + k] = 0;
    t.turning[2 * nodes + k] = std::cos(t.band->longitudes[k]);
    t.turning[3 * nodes + k] = std::sin(t.band->longitudes[k]);
  }
}

void turn(const SphereTurns& t) {
  const Four d;
  const std::size_t nodes = t.band->nodes();
  double *c = t.turning, *s = c + nodes, *step = s + nodes;
  for (std::size_t k = 0; k < nodes; k += kFour) {
    const auto x = hn::LoadU(d, c + k), y = hn::LoadU(d, s + k);
    const auto a = hn::LoadU(d, step + k), b = hn::LoadU(d, step + nodes + k);
    hn::StoreU(hn::NegMulAdd(y, b, hn::Mul(x, a)), d, c + k);
    hn::StoreU(hn::MulAdd(y, a, hn::Mul(x, b)), d, s + k);
  }
}

/// Mode m over `count` cells: where it is stored, and whether as its conjugate.
struct Folded {
  std::size_t at;
  double sign;
};
Folded fold(std::size_t m, std::size_t count) {
  const std::size_t k = m % count;
  return 2 * k > count ? Folded{count - k, -1} : Folded{k, 1};
}

void gather_all(const SphereTurns& t) {
  const Four d;
  const SphereBand& band = *t.band;
  const std::size_t nodes = band.nodes(), turns = nodes / band.rings;
  start_turning(t);
  for (std::size_t m = 0; m < t.modes; ++m) {
    const Folded at = fold(m, band.count);
    const auto sign = hn::Set(d, at.sign);
    for (std::size_t i = 0; i < band.rings; i += kFour) {
      auto re = hn::Zero(d), im = re;
      for (std::size_t j = 0; j < turns; ++j) {
        const std::size_t k = j * band.rings + i;
        hn::Vec<Four> x, y;
        hn::LoadInterleaved2(d, t.spectrum + 2 * (at.at * nodes + k), x, y);
        const auto c = hn::LoadU(d, t.turning + k), s = hn::LoadU(d, t.turning + nodes + k);
        y = hn::Mul(y, sign);
        re = hn::MulAdd(c, x, hn::MulAdd(s, y, re));
        im = hn::MulAdd(c, y, hn::NegMulAdd(s, x, im));
      }
      hn::StoreU(re, d, t.rings + m * 4 * t.ring_stride + i);
      hn::StoreU(im, d, t.rings + (m * 4 + 1) * t.ring_stride + i);
    }
    turn(t);
  }
}

void spread_all(const SphereTurns& t) {
  const Four d;
  const SphereBand& band = *t.band;
  const std::size_t nodes = band.nodes(), turns = nodes / band.rings;
  std::fill_n(t.spectrum, 2 * (band.count / 2 + 1) * nodes, 0.0);
  start_turning(t);
  for (std::size_t m = 0; m < t.modes; ++m) {
    const Folded at = fold(m, band.count);
    const auto sign = hn::Set(d, at.sign);
    // Synthesis adds the conjugate of every mode but of those that are their own.
    const bool own = m > 0 && (at.at == 0 || 2 * at.at == band.count);
    const auto factor = hn::Set(d, own ? 2.0 : 1.0);
    for (std::size_t i = 0; i < band.rings; i += kFour) {
      const auto re = hn::Mul(factor, hn::LoadU(d, t.rings + m * 4 * t.ring_stride + i));
      const auto im = hn::Mul(factor, hn::LoadU(d, t.rings + (m * 4 + 1) * t.ring_stride + i));
      for (std::size_t j = 0; j < turns; ++j) {
        const std::size_t k = j * band.rings + i;
        double* to = t.spectrum + 2 * (at.at * nodes + k);
        hn::Vec<Four> x, y;
        hn::LoadInterleaved2(d, to, x, y);
        const auto c = hn::LoadU(d, t.turning + k), s = hn::LoadU(d, t.turning + nodes + k);
        x = hn::Add(x, hn::NegMulAdd(s, im, hn::Mul(c, re)));
        y = hn::MulAdd(sign, hn::MulAdd(s, re, hn::Mul(c, im)), y);
        hn::StoreInterleaved2(x, y, d, to);
      }
    }
    turn(t);
  }
}

constexpr std::size_t kRings = 2;  // vectors of rings at a time; 16 rings divide any number of them

/// P_l^m of some rings, l = m, m+1, ...
struct Legendre {
  hn::Vec<Wide> x[kRings], now[kRings], before[kRings];
  const double* recursion;

  HWY_INLINE bool begin(const SphereRings& job, std::size_t ring) {
    const Wide d;
    auto any = hn::Zero(d);
    for (std::size_t v = 0; v < kRings; ++v) {
      x[v] = hn::LoadU(d, job.cosine + ring + v * kWide);
      now[v] = hn::LoadU(d, job.start + ring + v * kWide);
      before[v] = hn::Zero(d);
      any = hn::Max(any, now[v]);
    }
    recursion = job.recursion;
    return !hn::AllTrue(d, hn::Eq(any, hn::Zero(d)));
  }
  HWY_INLINE void next() {
    const Wide d;
    const auto a = hn::Set(d, recursion[0]), b = hn::Set(d, recursion[1]);
    for (std::size_t v = 0; v < kRings; ++v) {
      const auto later = hn::NegMulAdd(b, before[v], hn::Mul(hn::Mul(a, x[v]), now[v]));
      before[v] = now[v];
      now[v] = later;
    }
    recursion += 2;
  }
};

/// North and south become their sum and difference: l - m even needs one, odd the other.
void mirror(std::size_t rings, double* rows) {
  const Wide d;
  for (std::size_t i = 0; i < 2 * rings; i += kWide) {
    const auto north = hn::LoadU(d, rows + i), south = hn::LoadU(d, rows + 2 * rings + i);
    hn::StoreU(hn::Add(north, south), d, rows + i);
    hn::StoreU(hn::Sub(north, south), d, rows + 2 * rings + i);
  }
}

void analyse_rows(const SphereRings& job, double* rings, double* modes) {
  const Wide d;
  mirror(job.rings, rings);
  const std::size_t terms = (job.terms + 1) / 2 * 2;
  std::vector<double> sums(2 * terms * kWide, 0.0);
  for (std::size_t ring = 0; ring < job.rings; ring += kRings * kWide) {
    Legendre p;
    if (!p.begin(job, ring)) continue;
    hn::Vec<Wide> row[4][kRings];
    for (std::size_t part = 0; part < 4; ++part)
      for (std::size_t v = 0; v < kRings; ++v)
        row[part][v] = hn::LoadU(d, rings + part * job.rings + ring + v * kWide);
    double* sum = sums.data();
    for (std::size_t k = 0; k < terms; k += 2)
      for (std::size_t odd = 0; odd < 2; ++odd, sum += 2 * kWide) {
        auto re = hn::LoadU(d, sum), im = hn::LoadU(d, sum + kWide);
        for (std::size_t v = 0; v < kRings; ++v) {
          re = hn::MulAdd(p.now[v], row[2 * odd][v], re);
          im = hn::MulAdd(p.now[v], row[2 * odd + 1][v], im);
        }
        hn::StoreU(re, d, sum);
        hn::StoreU(im, d, sum + kWide);
        p.next();
      }
  }
  for (std::size_t k = 0; k < 2 * job.terms; ++k)
    modes[k] = hn::GetLane(hn::SumOfLanes(d, hn::LoadU(d, sums.data() + k * kWide)));
}

void synthesise_rows(const SphereRings& job, const double* modes, double* rings) {
  const Wide d;
  for (std::size_t ring = 0; ring < job.rings; ring += kRings * kWide) {
    hn::Vec<Wide> row[4][kRings];
    for (auto& part : row)
      for (auto& v : part) v = hn::Zero(d);
    Legendre p;
    if (p.begin(job, ring))
      for (std::size_t k = 0; k < job.terms; k += 2)
        for (std::size_t odd = 0; odd < 2; ++odd) {
          const auto re = hn::Set(d, modes[2 * (k + odd)]),
                     im = hn::Set(d, modes[2 * (k + odd) + 1]);
          for (std::size_t v = 0; v < kRings; ++v) {
            row[2 * odd][v] = hn::MulAdd(p.now[v], re, row[2 * odd][v]);
            row[2 * odd + 1][v] = hn::MulAdd(p.now[v], im, row[2 * odd + 1][v]);
          }
          p.next();
        }
    for (std::size_t part = 0; part < 4; ++part)
      for (std::size_t v = 0; v < kRings; ++v)
        hn::StoreU(row[part][v], d, rings + part * job.rings + ring + v * kWide);
  }
  mirror(job.rings, rings);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(multiply_all);
HWY_EXPORT(gather_all);
HWY_EXPORT(spread_all);
HWY_EXPORT(analyse_rows);
HWY_EXPORT(synthesise_rows);

void multiply(const SphereProduct& product) { HWY_DYNAMIC_DISPATCH(multiply_all)(product); }
void gather_rings(const SphereTurns& turns) { HWY_DYNAMIC_DISPATCH(gather_all)(turns); }
void spread_rings(const SphereTurns& turns) { HWY_DYNAMIC_DISPATCH(spread_all)(turns); }
void analyse_latitudes(const SphereRings& job, double* rings, double* modes) {
  HWY_DYNAMIC_DISPATCH(analyse_rows)(job, rings, modes);
}
void synthesise_latitudes(const SphereRings& job, const double* modes, double* rings) {
  HWY_DYNAMIC_DISPATCH(synthesise_rows)(job, modes, rings);
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
