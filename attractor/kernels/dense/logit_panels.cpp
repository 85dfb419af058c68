#include "attractor/kernels/dense/logit_panels.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "attractor/base/threads.hpp"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "attractor/kernels/dense/logit_panels.cpp"
#include "hwy/foreach_target.h"
// After foreach_target.
#include "attractor/kernels/dense/logit_panels-inl.hpp"
#include "hwy/highway.h"

#if HWY_ONCE
namespace attractor::kernels {

HWY_EXPORT(panels_job);
HWY_EXPORT(single_panels_job);
HWY_EXPORT(products_job);
HWY_EXPORT(single_products_job);

namespace {

std::size_t padded_to(std::size_t multiple, std::size_t count) {
  return (count + multiple - 1) / multiple * multiple;
}

// Rows as strips [padded/kPanelStrip][dim][kPanelStrip], zero beyond the last.
template <class T>
Scratch<T> in_strips(std::span<const double> rows, std::size_t dim) {
  constexpr std::size_t kStrip = kPanelStrip<T>;
  const std::size_t n = rows.size() / dim, padded = padded_to(kStrip, n);
  Scratch<T> strips(padded * dim);
  parallel_for(padded, 16 * kStrip, [&](std::size_t begin, std::size_t end) {
    for (std::size_t strip = begin; strip < end; strip += kStrip)
      for (std::size_t a = 0; a < dim; ++a)
        for (std::size_t t = 0; t < kStrip; ++t)
          strips[strip * dim + a * kStrip + t] =
              strip + t < n ? static_cast<T>(rows[(strip + t) * dim + a]) : T(0);
  });
  return strips;
}

// Rows as panels of a cache line of coordinates, `panel` numbers apart.
template <class T>
Scratch<T> in_panels(std::span<const double> rows, std::size_t dim, std::size_t padded,
                     std::size_t panel) {
  constexpr std::size_t kWidth = kLine<T>;
  const std::size_t n = rows.size() / dim, padded_dim = padded_to(kWidth, dim);
  Scratch<T> panels(padded_dim / kWidth * panel);
  parallel_for(padded, 512, [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j)
      for (std::size_t a = 0; a < padded_dim; ++a)
        panels[a / kWidth * panel + j * kWidth + a % kWidth] =
            j < n && a < dim ? static_cast<T>(rows[j * dim + a]) : T(0);
  });
  return panels;
}

double longest(std::span<const double> rows, std::size_t dim) {
  double most = 0;
  for (std::size_t i = 0; i < rows.size(); i += dim) {
    double squared = 0;
    for (std::size_t a = i; a < i + dim; ++a) squared += rows[a] * rows[a];
    most = std::max(most, squared);
  }
  return std::sqrt(most);
}

void run_panels(const PanelsJob<double>& job, std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(panels_job)(job, begin, end);
}
void run_panels(const PanelsJob<float>& job, std::size_t begin, std::size_t end) {
  HWY_DYNAMIC_DISPATCH(single_panels_job)(job, begin, end);
}
void run_products(const PanelsJob<double>& job, std::size_t begin, std::size_t end, double* out) {
  HWY_DYNAMIC_DISPATCH(products_job)(job, begin, end, out);
}
void run_products(const PanelsJob<float>& job, std::size_t begin, std::size_t end, double* out) {
  HWY_DYNAMIC_DISPATCH(single_products_job)(job, begin, end, out);
}

template <class T>
void panels_of(const LogitSources& in, std::span<const std::uint32_t> rows, const RowSums& out) {
  const std::size_t n = in.masses.size(), dim = in.dim, count = rows.empty() ? n : rows.size();
  assert(in.queries.size() == n * dim && out.weight.size() == count && out.peak.size() == count);
  constexpr std::size_t kStrip = kPanelStrip<T>;
  const std::size_t padded = padded_to(kStrip, n), padded_dim = padded_to(kLine<T>, dim);
  const std::size_t chunk = kPanelColumns;
  const std::size_t panel = (padded + chunk) * kLine<T>;  // + chunk: panels in different cache sets
  const Scratch<T> strips = in_strips<T>(in.keys, dim);
  const Scratch<T> values = in_panels<T>(in.values, dim, padded, panel);
  const Scratch<T> masses(padded);
  const auto [least, most] = std::minmax_element(in.masses.begin(), in.masses.end());
  const double unit = *most > 0 ? *most : 1;
  for (std::size_t j = 0; j < padded; ++j)
    masses[j] = j < n ? static_cast<T>(in.masses[j] / unit) : T(0);
  const PanelsJob<T> job{.dim = dim,
                         .padded_dim = padded_dim,
                         .n = n,
                         .padded = padded,
                         .chunk = chunk,
                         .panel = panel,
                         .factor = in.beta * kLogitSteps<T>,
                         .longest = longest(in.values, dim),
                         .even = *least == *most,
                         .queries = in.queries.data(),
                         .strips = strips.get(),
                         .values = values.get(),
                         .masses = masses.get(),
                         .unit = unit,
                         .rows = rows.empty() ? nullptr : rows.data(),
                         .out = &out};
  parallel_for(count, kPanelGroups * kPanelRows,
               [&](std::size_t begin, std::size_t end) { run_panels(job, begin, end); });
}

template <class T>
void products_of(std::span<const double> rows, std::span<const double> matrix, std::size_t dim,
                 std::span<double> out) {
  const std::size_t count = rows.size() / dim, n = matrix.size() / dim;
  assert(out.size() == count * n);
  const Scratch<T> strips = in_strips<T>(matrix, dim);
  const PanelsJob<T> job{.dim = dim,
                         .padded_dim = padded_to(kLine<T>, dim),
                         .n = n,
                         .padded = padded_to(kPanelStrip<T>, n),
                         .factor = 1,
                         .queries = rows.data(),
                         .strips = strips.get()};
  parallel_for(count, kPanelGroups * kPanelRows, [&](std::size_t begin, std::size_t end) {
    run_products(job, begin, end, out.data());
  });
}

}  // namespace

bool logit_panels_apply(const LogitSources& in, Precision precision) {
  if (in.masses.size() < 32) return false;
  if (precision == Precision::f64) return in.dim >= 8;
  const auto [least, most] = std::minmax_element(in.masses.begin(), in.masses.end());
  return in.dim >= 5 && *least > 1e-6 && *most < 1e6;
}

void logit_panels(const LogitSources& in, std::span<const std::uint32_t> rows, const RowSums& out,
                  Precision precision) {
  precision == Precision::f32 ? panels_of<float>(in, rows, out) : panels_of<double>(in, rows, out);
}

void row_products(std::span<const double> rows, std::span<const double> matrix, std::size_t dim,
                  std::span<double> out, Precision precision) {
  precision == Precision::f32 ? products_of<float>(rows, matrix, dim, out)
                              : products_of<double>(rows, matrix, dim, out);
}

}  // namespace attractor::kernels
#endif  // HWY_ONCE
