#include "attractor/kernels/sphere/sphere_cells.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::kernels {
namespace {

constexpr double kPi = std::numbers::pi;
// In heights of a band. A cell spans little more than a square; the polar cell is smaller, so that
// its nodes also reach into the corners of the square on which T_a T_b are bounded.
constexpr double kReach = 0.72, kCap = 0.6;

double real(std::size_t k) { return static_cast<double>(k); }

std::size_t coefficient_count(std::size_t degree) { return (degree + 1) * (degree + 2) / 2; }

double band_height(std::size_t bands) { return kPi / 2 / (real(bands) + kCap); }

/// Coordinates in the tangent plane at colatitude `centre` of a point `longitude` away.
std::pair<double, double> tangent(double centre, double colatitude, double longitude) {
  const double sine = std::sin(colatitude);
  return {sine * std::cos(longitude) * std::cos(centre) - std::cos(colatitude) * std::sin(centre),
          sine * std::sin(longitude)};
}

/// FFTs like small prime factors.
bool smooth(std::size_t n) {
  for (const std::size_t p : {2U, 3U, 5U, 7U})
    while (n % p == 0) n /= p;
  return n == 1;
}

/// Cells in the band from `top` to `bottom` that span at most `radius`.
std::size_t cells_in_band(double top, double bottom, double radius) {
  for (std::size_t n = 3;; ++n) {
    if (!smooth(n)) continue;
    const double half = kPi / real(n), centre = (top + bottom) / 2;
    const auto [s0, t0] = tangent(centre, top, half);
    const auto [s1, t1] = tangent(centre, bottom, half);
    if (std::max(std::hypot(s0, t0), std::hypot(s1, t1)) <= radius) return n;
  }
}

std::size_t count_cells(std::size_t bands) {
  const double height = band_height(bands);
  std::size_t count = 2;
  for (std::size_t b = 0; b < bands; ++b)
    count += 2 * cells_in_band((kCap + real(b)) * height, (kCap + real(b + 1)) * height,
                               kReach * height);
  return count;
}

/// The modes of degree l are waves of length 2 pi / l: on a disc of radius r, polynomials of degree
/// p miss them by about 2 J_{p+1}(l r); those of degree p - 1 miss their gradient. The factor
/// covers least squares instead of the best polynomial: errors seen are at most 0.8 of the bound.
double cut_error(const SphereModes& modes, double radius, std::size_t degree) {
  constexpr double kFactor = 2;
  const double p = real(degree), factorial = std::lgamma(p + 2);
  double value = 0, slope = 0;
  for (std::size_t l = 1; l <= modes.highest(); ++l) {
    const double x = radius * (real(l) + 0.5);
    if (x > p + 1) return kInfinity;
    const double wave = 2 * std::exp((p + 1) * std::log(x / 2) - factorial);
    const double rough = wave * (p + 1) * 2 / x;  // of degree p - 1
    value += modes.value[l] * 2 * wave;
    slope += modes.slope[l] * real(l) * (wave + rough);
  }
  // The sphere itself, sqrt(1 - s^2 - t^2), is no polynomial either.
  const double bend = 0.4 * p * std::pow(radius / 2, p);
  return kFactor * (std::max(value, slope) + bend);
}

/// T_p has coefficients of sum (1 + sqrt 2)^p in powers, which cancel to 1 when it is evaluated; a
/// gradient multiplies that by p / r. The factor is what was seen.
double rounding_error(const SphereModes& modes, double radius, std::size_t degree) {
  constexpr double kFactor = 1e-17;
  double slope = 0;
  for (const double s : modes.slope) slope += s;
  const double p = real(degree);
  return kFactor * std::pow(1 + std::numbers::sqrt2, p) * std::max(1.0, 2 * slope * p / radius);
}

/// Nanoseconds of one evaluation, as measured on a Zen 4 core with 512-bit vectors: passes over
/// tokens in random order, pieces of cells, transforms. More than kMany tokens keep the cells of
/// kMany.
double cost(std::size_t tokens, std::size_t bands, std::size_t degree, std::size_t modes) {
  constexpr std::size_t kMany = 1'000'000;
  const double n = real(std::min(tokens, kMany)), cells = real(count_cells(bands));
  const double terms = real(coefficient_count(degree)), p = real(degree), l = real(modes);
  const double nodes = (p + 1) * (p + 2), rings = real(bands + 1) * (p + 2);
  return n * (24 + 0.15 * terms) + std::min(n, 8 * cells) * (120 + 0.5 * terms) +
         cells * nodes * (5 + 0.07 * terms) + rings * l * (4 * p + 0.8 * l);
}

struct Nodes {
  std::vector<double> colatitudes;
  std::vector<double> longitudes;  // turns x colatitudes, from the centre of the cell
  std::size_t turns = 0;
};

std::vector<double> chebyshev_roots(std::size_t count, double from, double to) {
  std::vector<double> roots(count);
  for (std::size_t i = 0; i < count; ++i)
    roots[i] =
        (from + to) / 2 - (to - from) / 2 * std::cos(kPi * (2 * real(i) + 1) / (2 * real(count)));
  return roots;
}

/// Around the pole: both ends of diameters.
Nodes polar_nodes(std::size_t degree, double cap) {
  const std::size_t rings = degree / 2 + 1, turns = 2 * degree + 2;
  Nodes nodes;
  for (std::size_t i = 0; i < rings; ++i)
    nodes.colatitudes.push_back(cap * std::cos(kPi * (2 * real(i) + 1) / (4 * real(rings))));
  nodes.turns = turns;
  for (std::size_t j = 0; j < turns; ++j)
    nodes.longitudes.insert(nodes.longitudes.end(), rings, 2 * kPi * real(j) / real(turns) - kPi);
  return nodes;
}

/// A cell is a trapezium near a pole; its nodes fill a rectangle, on which T_a T_b are independent.
Nodes band_nodes(std::size_t degree, double top, double bottom, double half) {
  Nodes nodes{.colatitudes = chebyshev_roots(degree + 1, top, bottom), .turns = degree + 1};
  for (const double across : chebyshev_roots(nodes.turns, -half, half))
    for (const double colatitude : nodes.colatitudes)
      nodes.longitudes.push_back(across * std::sin(bottom) / std::sin(colatitude));
  return nodes;
}

/// T_0 .. T_degree at x.
std::vector<double> chebyshev(std::size_t degree, double x) {
  std::vector<double> t(degree + 1, 1.0);
  if (degree > 0) t[1] = x;
  for (std::size_t a = 2; a <= degree; ++a) t[a] = 2 * x * t[a - 1] - t[a - 2];
  return t;
}

/// table[a][k]: T_a in powers of x.
std::vector<std::vector<double>> chebyshev_powers(std::size_t degree) {
  std::vector<std::vector<double>> t(degree + 1, std::vector<double>(degree + 1, 0.0));
  t[0][0] = 1;
  if (degree > 0) t[1][1] = 1;
  for (std::size_t a = 2; a <= degree; ++a)
    for (std::size_t k = 0; k <= a; ++k) t[a][k] = (k > 0 ? 2 * t[a - 1][k - 1] : 0) - t[a - 2][k];
  return t;
}

/// Eight partial sums: a compiler may not reorder one.
double dot(const double* x, const double* y, std::size_t count) {
  double sums[8] = {};
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (std::size_t k = 0; k < 8; ++k) sums[k] += x[i + k] * y[i + k];
  for (; i < count; ++i) sums[0] += x[i] * y[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

void subtract(double factor, const double* y, std::size_t count, double* x) {
  for (std::size_t i = 0; i < count; ++i) x[i] -= factor * y[i];
}

/// The least squares solution R^-1 Q^T, columns x rows, for columns of length `rows`, by
/// Gram-Schmidt, twice for orthogonality to rounding. Columns of different parity are orthogonal.
std::vector<double> pseudo_inverse(std::vector<double> q, const std::vector<bool>& odd,
                                   std::size_t rows) {
  const std::size_t columns = odd.size();
  std::vector<double> r(columns * columns, 0.0);
  for (std::size_t c = 0; c < columns; ++c) {
    double* x = q.data() + c * rows;
    for (int pass = 0; pass < 2; ++pass)
      for (std::size_t d = 0; d < c; ++d) {
        if (odd[c] != odd[d]) continue;
        const double* y = q.data() + d * rows;
        const double part = dot(x, y, rows);
        subtract(part, y, rows, x);
        r[d * columns + c] += part;
      }
    const double length = std::sqrt(dot(x, x, rows));
    r[c * columns + c] = length;
    for (std::size_t i = 0; i < rows; ++i) x[i] /= length;
  }
  for (std::size_t c = columns; c-- > 0;) {
    double* x = q.data() + c * rows;
    for (std::size_t d = c + 1; d < columns; ++d)
      if (odd[c] == odd[d]) subtract(r[c * columns + d], q.data() + d * rows, rows, x);
    for (std::size_t i = 0; i < rows; ++i) x[i] /= r[c * columns + c];
  }
  return q;
}

/// The same polynomials, coefficients x points, as points x stride in powers of u and v.
std::vector<double> in_powers(const std::vector<double>& fit, const SphereCells& cells,
                              std::size_t points) {
  const std::size_t p = cells.degree;
  const auto table = chebyshev_powers(p);
  std::vector<double> target(points * cells.stride, 0.0);
  for (std::size_t b = 0, row = 0; b <= p; ++b)
    for (std::size_t a = 0; a <= p - b; ++a, ++row)
      for (std::size_t k = 0, column = 0; k <= b; column += p - k + 1, ++k)
        for (std::size_t h = a % 2; h <= a; h += 2) {
          const double factor = table[b][k] * table[a][h];
          if (factor == 0) continue;
          for (std::size_t i = 0; i < points; ++i)
            target[i * cells.stride + column + h] += factor * fit[row * points + i];
        }
  return target;
}

/// Where a band lies, and how far its cells reach in the two directions of their tangent planes.
struct Place {
  double centre, s, t;
};

Place place_of(double top, double bottom, double half) {
  const double centre = (top + bottom) / 2;
  double s = 0;
  for (const double longitude : {0.0, half})
    for (const double colatitude : {top, bottom})
      s = std::max(s, std::abs(tangent(centre, colatitude, longitude).first));
  return {centre, s, tangent(centre, bottom, half).second};
}

void fit_band(const Nodes& nodes, const Place& place, const SphereCells& cells, SphereBand& band) {
  const std::size_t p = cells.degree, rings = nodes.colatitudes.size(), turns = nodes.turns;
  std::vector<double> basis(cells.coefficients * rings * turns);
  std::vector<bool> odd;
  for (std::size_t b = 0; b <= p; ++b) odd.insert(odd.end(), p - b + 1, b % 2 == 1);
  for (std::size_t k = 0; k < rings * turns; ++k) {
    const auto [s, t] = tangent(place.centre, nodes.colatitudes[k % rings], nodes.longitudes[k]);
    const auto u = chebyshev(p, s / place.s), v = chebyshev(p, t / place.t);
    for (std::size_t b = 0, row = 0; b <= p; ++b)
      for (std::size_t a = 0; a <= p - b; ++a, ++row) basis[row * rings * turns + k] = u[a] * v[b];
  }
  const std::vector<double> fit = pseudo_inverse(std::move(basis), odd, rings * turns);
  band.source.assign(cells.coefficients * band.nodes(), 0.0);
  for (std::size_t row = 0; row < cells.coefficients; ++row)
    for (std::size_t k = 0; k < rings * turns; ++k)
      band.source[row * band.nodes() + k / rings * band.rings + k % rings] =
          fit[row * rings * turns + k];
  band.target = in_powers(band.source, cells, band.nodes());
}

void add_frames(const Place& place, const SphereBand& band, SphereCells& cells) {
  const auto [centre, s, t] = place;
  for (std::size_t k = 0; k < 2 * band.count; ++k) {
    const bool south = k >= band.count;
    const double phi = 2 * kPi * (real(k % band.count) + 0.5) / real(band.count);
    double* frame = cells.frames.data() + 6 * (band.first + k);
    frame[0] = std::cos(centre) * std::cos(phi) / s;
    frame[1] = std::cos(centre) * std::sin(phi) / s;
    frame[2] = (south ? 1 : -1) * std::sin(centre) / s;
    frame[3] = -std::sin(phi) / t;
    frame[4] = std::cos(phi) / t;
    frame[5] = 0;
  }
}

}  // namespace

// Ratios i_l / i_{l-1} by the backward recurrence; the scale from e^beta = sum (2l+1) i_l.
SphereModes sphere_modes(double beta, double tail) {
  const auto count = static_cast<std::size_t>(60 + 12 * std::sqrt(beta));
  std::vector<double> ratio(count + 2, 0.0), bessel(count + 1, 1.0);
  for (std::size_t l = count; l >= 1; --l)
    ratio[l] = beta / (2 * real(l) + 1 + beta * ratio[l + 1]);
  double sum = 1;
  for (std::size_t l = 1; l <= count; ++l) {
    bessel[l] = bessel[l - 1] * ratio[l];
    sum += (2 * real(l) + 1) * bessel[l];
  }
  for (double& i : bessel) i /= sum;
  SphereModes modes{std::vector(count, 0.0), std::vector(count, 0.0), std::vector(count, 0.0)};
  modes.value[0] = bessel[0];
  modes.along[0] = bessel[1];
  for (std::size_t l = 1; l < count; ++l) {
    const double odd = 2 * real(l) + 1;
    modes.value[l] = odd * bessel[l];
    modes.slope[l] = odd * bessel[l - 1] / (odd + beta * ratio[l + 1]);
    modes.along[l] = real(l) * bessel[l - 1] + real(l + 1) * bessel[l + 1];
  }
  std::size_t keep = count;
  for (; keep > 2; --keep) {
    const std::size_t l = keep - 1;
    const double more =
        modes.tail + std::max({modes.value[l], real(l) * modes.slope[l], modes.along[l]});
    if (more > tail) break;
    modes.tail = more;
  }
  for (auto* list : {&modes.value, &modes.slope, &modes.along}) list->resize(keep);
  return modes;
}

SphereDesign sphere_design(const SphereModes& modes, double error, std::size_t tokens) {
  SphereDesign best;
  double best_cost = kInfinity;
  for (std::size_t bands = 3; bands <= 400; bands += std::max<std::size_t>(1, bands / 10)) {
    if (cost(tokens, bands, 4, modes.highest()) >= best_cost) break;
    const double radius = kReach * band_height(bands);
    for (std::size_t degree = 4; degree <= kMostSphereDegree; ++degree) {
      const double bound =
          cut_error(modes, radius, degree) + rounding_error(modes, radius, degree) + modes.tail;
      if (bound > error) continue;
      const double price = cost(tokens, bands, degree, modes.highest());
      if (price < best_cost) best = {bands, degree, bound}, best_cost = price;
      break;
    }
  }
  return best;
}

namespace {

double top_of(const SphereCells& cells, std::size_t band) {
  return cells.cap + real(band - 1) * cells.height;
}

/// Numbers of cells and rings of a band, and where its nodes are.
Nodes lay_out(std::size_t b, SphereCells& cells) {
  const double reach = kReach * cells.height;
  SphereBand& band = cells.bands[b];
  band.first = cells.count;
  band.count = b == 0 ? 1 : cells_in_band(top_of(cells, b), top_of(cells, b + 1), reach);
  cells.count += 2 * band.count;
  const double half = kPi / real(band.count);
  Nodes nodes = b == 0 ? polar_nodes(cells.degree, reach)
                       : band_nodes(cells.degree, top_of(cells, b), top_of(cells, b + 1), half);
  const std::size_t rings = nodes.colatitudes.size();
  band.first_ring = cells.ring_cosine.size();
  band.rings = (rings + 3) / 4 * 4;
  for (std::size_t i = 0; i < band.rings; ++i) {
    cells.ring_cosine.push_back(i < rings ? std::cos(nodes.colatitudes[i]) : 0);
    cells.ring_sine.push_back(i < rings ? std::sin(nodes.colatitudes[i]) : 0);
  }
  band.longitudes.assign(nodes.turns * band.rings, 0.0);
  for (std::size_t k = 0; k < nodes.longitudes.size(); ++k)
    band.longitudes[k / rings * band.rings + k % rings] = half + nodes.longitudes[k];
  return nodes;
}

}  // namespace

SphereCells sphere_cells(const SphereDesign& design) {
  SphereCells cells{.degree = design.degree, .coefficients = coefficient_count(design.degree)};
  cells.stride = (cells.coefficients + 7) / 8 * 8;
  cells.height = band_height(design.bands);
  cells.cap = kCap * cells.height;
  cells.bands.resize(design.bands + 1);
  std::vector<Nodes> nodes;
  for (std::size_t b = 0; b < cells.bands.size(); ++b) nodes.push_back(lay_out(b, cells));
  cells.frames.resize(6 * cells.count);
  parallel_for(cells.bands.size(), 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t b = begin; b < end; ++b) {
      SphereBand& band = cells.bands[b];
      const double cap = std::sin(cells.cap), half = kPi / real(band.count);
      const Place place =
          b == 0 ? Place{0, cap, cap} : place_of(top_of(cells, b), top_of(cells, b + 1), half);
      fit_band(nodes[b], place, cells, band);
      add_frames(place, band, cells);
    }
  });
  return cells;
}

}  // namespace attractor::kernels
