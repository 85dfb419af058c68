// Initial tokens. Every draw comes from the stream "tokens" of the seed, keyed by token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "attractor/base/array.hpp"
#include "attractor/base/named.hpp"

namespace attractor {

struct TokenSet {
  std::size_t dim = 0;
  std::vector<double> data;  // count x dim, row-major
  std::size_t count() const { return data.size() / dim; }
};

enum class Arrangement { uniform, hemisphere, cap, equiangular, clusters, circle, angles, file };
std::span<const std::string_view> names(Arrangement);

/// How tokens start. Fields that an arrangement does not use are ignored.
struct Start {
  Arrangement arrangement = Arrangement::uniform;
  std::size_t tokens = 64, dim = 3;
  std::uint64_t seed = 0;
  bool on_sphere = true;     // false: uniform means standard normal in R^d
  double rho = 0;            // equiangular: common cosine
  double cap_angle = 0.5;    // cap: opening angle from the pole e_1, radians
  std::size_t clusters = 3;  // clusters: number of centres
  double spread = 0.1;       // clusters: root-mean-square angle to the centre, radians
  std::size_t mode = 2;      // circle: theta = 2 pi u + amplitude cos(2 pi mode u - phase),
  double amplitude = 1e-3;   //         u = (i + 1/2) / n
  double phase = 0;
  std::vector<double> angles{};  // angles: positions on the circle, radians
  const Array* given = nullptr;  // file: n x d, a row for each token
  std::string given_name = "the array";
};

/// Given tokens and a list of angles decide the number of tokens (and given ones the dimension).
/// Throws Error on impossible requests.
TokenSet make_tokens(const Start& start);

/// n unit vectors with every cosine equal to rho: needs n <= dim and -1/(n-1) <= rho <= 1, or
/// n = dim + 1 and rho = -1/dim (the simplex).
TokenSet equiangular(std::size_t n, std::size_t dim, double rho);

}  // namespace attractor
