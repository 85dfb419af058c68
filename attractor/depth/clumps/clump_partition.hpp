// Tokens gathered in clumps, in any dimension: a token belongs to the first leader within `reach`
// of it, else it leads a clump itself (in order of the tokens). Clumps may overlap; those of one
// token are not clumps: such tokens are alone. The reach is the one of a ladder that makes sums
// over clumps (clump_sums.hpp) cheapest, by a sample of the tokens. A function of the tokens alone,
// the same for any number of threads. Cost: O(n k d) at most, far less where first coordinates
// differ.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace attractor::depth {

struct ClumpPartition {
  std::vector<std::uint32_t> order;  // tokens, clump by clump; those alone last
  std::vector<std::size_t> begin;    // of each clump in `order`; the last entry: of those alone

  /// Clumps; none: it is not worth while.
  std::size_t count() const { return begin.empty() ? 0 : begin.size() - 1; }
  std::size_t alone() const { return begin.empty() ? order.size() : order.size() - begin.back(); }
  bool operator==(const ClumpPartition&) const = default;
};

struct ClumpTask {
  std::size_t dim = 0;
  double beta = 1;
  double accuracy = 1e-11;  // relative error of sums
};

/// Times of a velocity, in nanoseconds of one core.
double dense_cost(std::size_t tokens, std::size_t dim);
/// Own pairs are those that are summed one by one: inside clumps, and of tokens alone.
double clump_cost(std::size_t tokens, std::size_t dim, std::size_t clumps, double own_pairs);
/// Tables of so many clumps fit.
bool clumps_fit(std::size_t clumps, std::size_t dim);

/// Clumps of a given reach, as many as fit; without any if there were more.
ClumpPartition gather(std::span<const double> tokens, std::size_t dim, double reach);
/// The reach by a sample; without clumps if at best dense rows take less than twice the time.
ClumpPartition find_clumps(const ClumpTask& task, std::span<const double> tokens);

}  // namespace attractor::depth
