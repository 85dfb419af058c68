// What the loops of logit_panels-inl.hpp share: tokens in the layouts they want and the rows at
// work, for T = double or float.
#pragma once

#include <cstddef>
#include <cstdint>

#include "attractor/kernels/dense/row_sums.hpp"

namespace attractor::kernels {

constexpr std::size_t kPanelRows = 12, kPanelColumns = 256, kPanelGroups = 8;
// Coordinates of a strip that are taken at a time: they stay in the first cache, with the queries.
constexpr std::size_t kPanelDepth = 128;
// A cache line: coordinates of a panel, and the parts (j mod kLine) of sums over j on every target.
template <class T>
constexpr std::size_t kLine = 64 / sizeof(T);
template <class T>
constexpr std::size_t kPanelStrip = 2 * kLine<T>;

template <class T>
struct PanelsJob {
  std::size_t dim, padded_dim, n, padded, chunk, panel;
  double factor;   // of a query: logits come out in the steps of exp-inl.hpp
  double longest;  // length of a value
  bool even;       // equal masses: taken as 1
  const double* queries;
  const T* strips;  // keys [padded/kPanelStrip][dim][kPanelStrip]
  const T* values;  // [padded_dim/kLine][panel], of which [padded][kLine] are used
  const T* masses;  // [padded] over `unit`, 0 beyond n
  double unit;
  const std::uint32_t* rows;
  const RowSums* out;
  std::size_t row(std::size_t k) const { return rows ? rows[k] : k; }
};

// Twelve rows at work: their queries [dim][12], values and pulls [12][padded_dim].
template <class T>
struct PanelScratch {
  std::size_t index[kPanelRows];
  T peak[kPanelRows];
  double weight[kPanelRows], moment[kPanelRows];
  double recent[kPanelRows];  // weight of the chunk in hand
  bool near[kPanelRows];      // sums in differences
  T *queries, *values;
  T* sums;  // [12][padded_dim] of the chunk in hand
  double* pull;
  T* w;  // [12][kPanelStride]: logits, then weights
};
template <class T>
constexpr std::size_t kPanelStride = kPanelColumns + kLine<T>;  // rows in different cache sets

}  // namespace attractor::kernels
