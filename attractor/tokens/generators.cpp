#include "attractor/tokens/generators.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/given_arrays.hpp"

namespace attractor {
namespace {

using std::numbers::pi;

// Token i from its own draws; `make` fills one row.
template <class Make>
TokenSet each_token(const Start& start, const Make& make) {
  TokenSet set{start.dim, std::vector<double>(start.tokens * start.dim)};
  for (std::size_t i = 0; i < start.tokens; ++i)
    make(i, std::span(set.data).subspan(i * start.dim, start.dim));
  return set;
}

void normalise(std::span<double> x) {
  const double length = norm(x);
  for (double& c : x) c /= length;
}

TokenSet uniform(const Start& start) {
  const Stream stream(start.seed, "tokens");
  return each_token(start, [&](std::size_t i, std::span<double> x) {
    stream.normals(i, x);
    if (start.on_sphere) normalise(x);
  });
}

TokenSet hemisphere(const Start& start) {
  TokenSet set = uniform(start);
  for (std::size_t i = 0; i < set.data.size(); i += set.dim) set.data[i] = std::abs(set.data[i]);
  return set;
}

// The angle to the pole has density ~ sin^{d-2} on [0, opening]. Up to a right angle its logarithm
// is concave and below its tangent at `opening`: draw from that exponential and reject. Beyond,
// draw a uniform angle and reject (about 1/sqrt(d) of them stay). In a tiny cap sin is the
// identity.
double cap_angle(const Stream& stream, std::size_t i, double opening, std::size_t dim) {
  const double power = static_cast<double>(dim) - 2;
  if (opening < 1e-8) return opening * std::pow(stream.uniform(i, 0), 1 / (power + 1));
  const bool narrow = opening <= pi / 2;
  const double slope = narrow ? power / std::tan(opening) : 0;
  const double reach = narrow ? opening : pi;
  for (std::uint64_t k = 0;; k += 2) {
    const double u = stream.uniform(i, k);
    const double back =
        slope * reach > 1e-12 ? -std::log1p(u * std::expm1(-slope * reach)) / slope : u * reach;
    const double angle = reach - back;
    const double top = narrow ? std::log(std::sin(opening)) * power - slope * back : 0;
    const double log_accept = power > 0 ? power * std::log(std::sin(angle)) - top : 0;
    if (angle <= opening && std::log(stream.uniform(i, k + 1)) <= log_accept) return angle;
  }
}

TokenSet cap(const Start& start) {
  if (!(start.cap_angle > 0 && start.cap_angle <= pi))
    throw Error(fmt::format("cap angle {} is out of range; allowed: above 0, at most pi radians",
                            start.cap_angle));
  const Stream stream(start.seed, "tokens"), angles(start.seed, "cap angle");
  return each_token(start, [&](std::size_t i, std::span<double> x) {
    const double angle = cap_angle(angles, i, start.cap_angle, start.dim);
    const auto sideways = x.subspan(1);
    stream.normals(i, sideways);
    normalise(sideways);
    for (double& c : sideways) c *= std::sin(angle);
    x[0] = std::cos(angle);
  });
}

TokenSet noisy_clusters(const Start& start) {
  if (start.clusters < 1 || start.clusters > start.tokens)
    throw Error(fmt::format("{} clusters for {} tokens; allowed: 1 to the number of tokens",
                            start.clusters, start.tokens));
  if (!(start.spread >= 0 && start.spread <= pi))
    throw Error(fmt::format("spread {} is out of range; allowed: 0 to pi radians", start.spread));
  const Stream centres(start.seed, "cluster centres"), stream(start.seed, "tokens");
  const Sphere sphere(start.dim);
  const double per_axis = start.spread / std::sqrt(static_cast<double>(start.dim - 1));
  return each_token(start, [&](std::size_t i, std::span<double> x) {
    std::vector<double> centre(start.dim);
    centres.normals(i % start.clusters, centre);
    normalise(centre);
    stream.normals(i, x);
    sphere.project(centre, x);
    // Along the geodesic: the angle to the centre is the length of the tangent step.
    const double length = norm(x), angle = per_axis * length;
    for (std::size_t a = 0; a < start.dim; ++a)
      x[a] = std::cos(angle) * centre[a] + std::sin(angle) * x[a] / length;
    normalise(x);
  });
}

TokenSet on_circle(const std::vector<double>& angles, std::size_t dim) {
  TokenSet set{dim, std::vector<double>(angles.size() * dim, 0.0)};
  for (std::size_t i = 0; i < angles.size(); ++i) {
    set.data[i * dim] = std::cos(angles[i]);
    set.data[i * dim + 1] = std::sin(angles[i]);
  }
  return set;
}

TokenSet circle_grid(const Start& start) {
  if (!std::isfinite(start.amplitude) || !std::isfinite(start.phase))
    throw Error("circle: amplitude and phase must be finite");
  std::vector<double> angles(start.tokens);
  for (std::size_t i = 0; i < angles.size(); ++i) {
    const double u = 2 * pi * (static_cast<double>(i) + 0.5) / static_cast<double>(start.tokens);
    angles[i] = u + start.amplitude * std::cos(static_cast<double>(start.mode) * u - start.phase);
  }
  return on_circle(angles, start.dim);
}

TokenSet listed_angles(const Start& start) {
  for (const double angle : start.angles)
    if (!std::isfinite(angle))
      throw Error(fmt::format("angles: '{}' is not a finite number (radians)", angle));
  if (start.angles.empty())
    throw Error("init angles needs angles, for instance 0,0.9,2.2 (radians)");
  return on_circle(start.angles, start.dim);
}

TokenSet given_tokens(const Start& start) {
  if (start.given == nullptr)
    throw Error("init file needs a tokens-file (.npy or HDF5, one token a row)");
  Array array = tokens_of(*start.given, start.given_name, start.on_sphere);
  return {array.shape[1], std::move(array.data)};
}

// Helmert's orthonormal basis of the vectors with zero sum: row i of this n x (n-1) matrix.
double helmert(std::size_t i, std::size_t column) {
  const double k = static_cast<double>(column) + 1;
  if (i > column + 1) return 0;
  return (i <= column ? 1.0 : -k) / std::sqrt(k * (k + 1));
}

}  // namespace

std::span<const std::string_view> names(Arrangement) {
  static constexpr std::string_view kNames[] = {"uniform",  "hemisphere", "cap",    "equiangular",
                                                "clusters", "circle",     "angles", "file"};
  return kNames;
}

TokenSet equiangular(std::size_t n, std::size_t dim, double rho) {
  const double count = static_cast<double>(n), lowest = n > 1 ? -1 / (count - 1) : -1;
  const bool simplex = n == dim + 1 && std::abs(rho - lowest) <= 1e-12;
  if (n > dim && !simplex)
    throw Error(fmt::format(
        "{} equiangular tokens with rho = {} do not fit into dimension {}; allowed: tokens <= dim, "
        "or tokens = dim + 1 with rho = -1/dim",
        n, rho, dim));
  if (!(rho >= lowest - 1e-12 && rho <= 1))
    throw Error(fmt::format("rho = {} is out of range for {} equiangular tokens; allowed: {} to 1",
                            rho, n, lowest));
  // The square root of the Gram matrix (1-rho) I + rho J; for the simplex its rows in Helmert's
  // basis.
  const double apart = std::sqrt(1 - rho),
               together = std::sqrt(std::max(0.0, 1 + (count - 1) * rho));
  TokenSet set{dim, std::vector<double>(n * dim, 0.0)};
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t a = 0; a < std::min(n, dim); ++a)
      set.data[i * dim + a] =
          simplex ? apart * helmert(i, a) : (i == a ? apart : 0.0) + (together - apart) / count;
  return set;
}

TokenSet make_tokens(const Start& start) {
  if (start.tokens < 1) throw Error("tokens = 0; at least one token is needed");
  if (start.dim < 2) throw Error(fmt::format("dim = {}; at least 2 is needed", start.dim));
  switch (start.arrangement) {
    case Arrangement::uniform:
      return uniform(start);
    case Arrangement::hemisphere:
      return hemisphere(start);
    case Arrangement::cap:
      return cap(start);
    case Arrangement::equiangular:
      return equiangular(start.tokens, start.dim, start.rho);
    case Arrangement::clusters:
      return noisy_clusters(start);
    case Arrangement::circle:
      return circle_grid(start);
    case Arrangement::angles:
      return listed_angles(start);
    case Arrangement::file:
      break;
  }
  return given_tokens(start);
}

}  // namespace attractor
