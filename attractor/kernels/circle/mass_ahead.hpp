// Pairs of places around the circle that are at most a reach apart, from each one forwards:
//
//   sum_{k < n} m_k sum_{l > k, a_l <= a_k + reach} m_l,
//
// the angles a ascending, the places n .. 2n - 1 those of the next turn. One merge of the places
// with themselves: a vector of places k against as many places l, until the last l is too far for
// the last k. Masses are whole numbers, so sums are exact and the same on every processor. Cost:
// 6 n operations of vectors' lanes, wherever the places stand.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace attractor::kernels {

class CirclePlaces {
 public:
  static constexpr std::size_t kPad = 8;      // places read beyond the last
  static constexpr std::size_t kReaches = 4;  // at once: each waits for itself

  /// angles ascending within a turn, and the mass of each; both n.
  CirclePlaces(std::span<const double> angles, std::span<const double> masses);

  std::size_t size() const { return size_; }
  double total() const { return before_[size_]; }
  /// Of place k < 2n; of the next turn from n on.
  double angle(std::size_t k) const { return angle_[k]; }
  /// Each reach from 0 to below pi.
  std::array<double, kReaches> pairs_ahead(const std::array<double, kReaches>& reach) const;
  /// The same in plain loops.
  double pairs_ahead_reference(double reach) const;

 private:
  std::size_t size_;
  std::vector<double> angle_, mass_, before_;  // of places; mass of the places before
};

}  // namespace attractor::kernels
