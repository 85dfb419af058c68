#include "attractor/kernels/sphere/sphere_passes.hpp"

#include <algorithm>
#include <numbers>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/sphere/sphere_sort.cpp"
// As for the other passes.
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/lanes-inl.hpp"
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace attractor::kernels {
namespace HWY_NAMESPACE {
namespace {

using F = hn::Rebind<float, D>;
using I = hn::Rebind<std::int32_t, D>;
using U = hn::Rebind<std::uint32_t, D>;

/// The angle of (x, y), 0 .. 2 pi, to 1e-5: a cell may be missed by that much.
HWY_INLINE hn::Vec<F> angle(hn::Vec<F> x, hn::Vec<F> y) {
  const F f;
  const auto ax = hn::Abs(x), ay = hn::Abs(y);
  const auto large = hn::Max(hn::Max(ax, ay), hn::Set(f, 1e-30F));
  const auto q = hn::Div(hn::Min(ax, ay), large), square = hn::Mul(q, q);
  auto a = hn::MulAdd(square, hn::Set(f, 0.0208351F), hn::Set(f, -0.0851330F));
  a = hn::MulAdd(square, a, hn::Set(f, 0.1801410F));
  a = hn::MulAdd(square, a, hn::Set(f, -0.3302995F));
  a = hn::Mul(q, hn::MulAdd(square, a, hn::Set(f, 0.9998660F)));
  constexpr auto kPi = std::numbers::pi_v<float>;
  a = hn::IfThenElse(hn::Gt(ay, ax), hn::Sub(hn::Set(f, kPi / 2), a), a);
  a = hn::IfThenElse(hn::Lt(x, hn::Zero(f)), hn::Sub(hn::Set(f, kPi), a), a);
  return hn::IfThenElse(hn::Lt(y, hn::Zero(f)), hn::Sub(hn::Set(f, 2 * kPi), a), a);
}

constexpr int kCountBits = 12;  // 400 bands have at most 2,500 cells each and 10^6 in all

/// First cell and number of cells of each band, in one word: gathers are slow.
std::vector<std::int32_t> packed_bands(const SphereCells& cells) {
  std::vector<std::int32_t> packed;
  for (const SphereBand& band : cells.bands)
    packed.push_back(static_cast<std::int32_t>(band.first << kCountBits | band.count));
  return packed;
}

/// Cells of a vector of tokens; `fine` stays true where all are unit vectors to 1e-6.
HWY_INLINE hn::Vec<I> cells_of(const SphereCells& cells, const std::int32_t* bands, V x, V y, V z,
                               hn::Mask<D>& fine) {
  const D d;
  const F f;
  const I i;
  const V square = hn::MulAdd(x, x, hn::MulAdd(y, y, hn::Mul(z, z)));
  const auto unit = hn::Le(hn::Abs(hn::Sub(square, hn::Set(d, 1.0))), hn::Set(d, 2e-6));
  fine = hn::And(fine, unit);
  const auto fx = hn::DemoteTo(f, hn::IfThenElseZero(unit, x));
  const auto fy = hn::DemoteTo(f, hn::IfThenElseZero(unit, y));
  const auto fz = hn::DemoteTo(f, hn::IfThenElseZero(unit, z));
  const auto level = hn::Sqrt(hn::MulAdd(fx, fx, hn::Mul(fy, fy)));
  const auto colatitude = angle(hn::Abs(fz), level);
  const auto per_height = hn::Set(f, static_cast<float>(1 / cells.height));
  const auto down = hn::MulAdd(colatitude, per_height,
                               hn::Set(f, static_cast<float>(1 - cells.cap / cells.height)));
  const auto last = hn::Set(i, static_cast<std::int32_t>(cells.bands.size()) - 1);
  const auto band = hn::Min(hn::ConvertTo(i, hn::Max(down, hn::Zero(f))), last);
  const auto packed = hn::GatherIndex(i, bands, band);
  const auto count = hn::And(packed, hn::Set(i, (1 << kCountBits) - 1));
  const auto first = hn::BitCast(i, hn::ShiftRight<kCountBits>(hn::BitCast(U(), packed)));
  const auto turn = hn::Mul(angle(fx, fy), hn::Set(f, 0.5F * std::numbers::inv_pi_v<float>));
  auto cell = hn::ConvertTo(i, hn::Mul(turn, hn::ConvertTo(f, count)));
  cell = hn::Min(cell, hn::Sub(count, hn::Set(i, 1)));
  const auto south = hn::RebindMask(i, hn::Lt(fz, hn::Zero(f)));
  return hn::Add(hn::Add(first, cell), hn::IfThenElseZero(south, count));
}

bool find_cells(const SphereJob& job, const SphereBlock& block, std::uint32_t* cell) {
  const D d;
  const I i;
  const std::vector<std::int32_t> bands = packed_bands(*job.cells);
  const std::size_t count = block.end - block.begin;
  const double* points = job.points + 3 * block.begin;
  auto* out = reinterpret_cast<std::int32_t*>(cell);
  auto fine = hn::FirstN(d, kLanes);
  V x, y, z;
  std::size_t k = 0;
  for (; k + kLanes <= count; k += kLanes) {
    hn::LoadInterleaved3(d, points + 3 * k, x, y, z);
    hn::StoreU(cells_of(*job.cells, bands.data(), x, y, z, fine), i, out + k);
  }
  if (k < count) {
    double rest[3 * kLanes];
    std::int32_t found[kLanes];
    for (std::size_t c = 0; c < 3 * kLanes; ++c) rest[c] = points[3 * k + c % (3 * (count - k))];
    hn::LoadInterleaved3(d, rest, x, y, z);
    hn::StoreU(cells_of(*job.cells, bands.data(), x, y, z, fine), i, found);
    std::copy_n(found, count - k, out + k);
  }
  return hn::AllTrue(d, fine);
}

void sort_block(const SphereJob& job, SphereBlock& block, std::vector<std::uint32_t>& scratch) {
  const std::size_t count = block.end - block.begin, cells = job.cells->count;
  scratch.resize(std::max(scratch.size(), cells + count));
  std::uint32_t *starts = scratch.data(), *cell = starts + cells;
  block.pieces.clear();
  block.on_sphere = find_cells(job, block, cell);
  if (!block.on_sphere) return;
  std::fill_n(starts, cells, 0U);
  for (std::size_t k = 0; k < count; ++k) ++starts[cell[k]];
  std::uint32_t before = 0;
  for (std::size_t c = 0; c < cells; ++c) {
    const std::uint32_t here = starts[c];
    if (here > 0) block.pieces.push_back({static_cast<std::uint32_t>(c), here});
    starts[c] = before;
    before += here;
  }
  std::uint32_t* order = job.order + block.begin;
  for (std::size_t k = 0; k < count; ++k) order[starts[cell[k]]++] = static_cast<std::uint32_t>(k);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace attractor::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(sort_block);

void sort_into_cells(const SphereJob& job, SphereBlock& block,
                     std::vector<std::uint32_t>& scratch) {
  HWY_DYNAMIC_DISPATCH(sort_block)(job, block, scratch);
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
