// Named random streams. A draw is a pure function of (seed, stream name, item, index): it does not
// depend on the order of calls, on threads or on ranks. Generator: Threefry-4x64-20 (Random123).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace attractor {

class Stream {
 public:
  Stream(std::uint64_t seed, std::string_view name);

  /// Uniform in the open interval (0, 1).
  double uniform(std::uint64_t item, std::uint64_t index) const;
  /// Standard normal (Box-Muller; index 2k and 2k+1 share one pair of uniforms).
  double normal(std::uint64_t item, std::uint64_t index) const;
  /// Uniform integer in [0, bound), bound >= 1, without modulo bias beyond 2^-64.
  std::uint64_t below(std::uint64_t bound, std::uint64_t item, std::uint64_t index) const;
  /// Fills a vector with the standard normals (item, 0), (item, 1), ...
  void normals(std::uint64_t item, std::span<double> out) const;

 private:
  std::uint64_t seed_;
  std::uint64_t name_;
};

}  // namespace attractor
