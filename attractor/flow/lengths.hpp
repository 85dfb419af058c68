// Lengths of many vectors of a state at once, in pieces that stay in the first cache.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "attractor/space/space.hpp"

namespace attractor::flow {

constexpr std::size_t kTogether = 64;  // vectors of a piece

/// Points that a thread takes at once.
inline std::size_t grain(std::size_t dim) { return std::max<std::size_t>(1, 8192 / dim); }

/// Calls work(first, count) for pieces of at most kTogether of the points [begin, end).
template <class Work>
void in_pieces(std::size_t begin, std::size_t end, const Work& work) {
  for (; begin < end; begin += kTogether) work(begin, std::min(kTogether, end - begin));
}

/// Squared lengths of consecutive vectors.
void squares_of(std::span<const double> vectors, std::size_t dim, double* out);

/// The largest |v| / scale(x) over vectors v at points x; NaN wins.
class LargestLength {
 public:
  explicit LargestLength(const Space& space) : space_(space) {}
  /// At most kTogether of them.
  void meet(std::span<const double> vectors, std::span<const double> points);
  double value() const { return largest_; }

 private:
  const Space& space_;
  double largest_ = 0, surely_less_ = 0;  // the latter of squares of |v| / scale
};

/// The same over whole states.
double largest_length(const Space& space, std::span<const double> vectors,
                      std::span<const double> points);

}  // namespace attractor::flow
