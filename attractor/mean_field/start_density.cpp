#include "attractor/mean_field/start_density.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/math/special_functions/bessel.hpp>
#include <cmath>
#include <memory>
#include <numbers>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/mean_field/circle_tokens.hpp"
#include "attractor/space/space.hpp"
#include "attractor/stability/gegenbauer.hpp"
#include "attractor/stability/sphere_spectrum.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kSharpest = 1e6;     // concentration
constexpr double kNothing = 1e-18;    // weights that no sum feels
constexpr double kMassMissed = 1e-4;  // by a rule that is too coarse for the density

void require(bool good, const char* what, double value, const char* allowed) {
  if (!good) throw Error(fmt::format("{} = {} is not allowed; allowed: {}", what, value, allowed));
}

void check_concentration(double c) {
  require(c >= 0 && c <= kSharpest, "concentration", c, "0 to 1e6");
}

void check_amplitude(double a) { require(std::abs(a) <= 1, "amplitude", a, "-1 to 1"); }

/// Panels short enough for a density that changes on the length 1/sharpness.
std::size_t panels(double sharpness) {
  return 32 + static_cast<std::size_t>(std::ceil(16 * sharpness));
}

std::function<double(double)> tabulated_quantile(const std::function<double(double)>& density,
                                                 double sharpness) {
  // A copy of the table for each law is shared by all copies of the law.
  const auto table =
      std::make_shared<InverseCdf>(density, -std::numbers::pi, std::numbers::pi, panels(sharpness));
  return [table](double u) { return (*table)(u); };
}

/// Spectra of bumps: ratio_k = I_k(c)/I_0(c), log_scale = ln(e^{-c} I_0(c)).
std::vector<std::complex<double>> bump_moments(const std::vector<Bump>& bumps, std::size_t count) {
  std::vector<std::complex<double>> sum(count);
  for (const Bump& bump : bumps) {
    const SphereSpectrum s =
        sphere_spectrum(2, bump.concentration, std::max<std::size_t>(2, count));
    for (std::size_t k = 0; k < count; ++k)
      sum[k] += bump.weight * s.ratio[k] * std::polar(1.0, static_cast<double>(k) * bump.centre);
  }
  return sum;
}

template <class B>
void normalise(std::vector<B>& bumps) {
  if (bumps.empty()) throw Error("0 centres are not allowed; allowed: at least 1");
  double total = 0;
  for (const B& bump : bumps) {
    check_concentration(bump.concentration);
    require(bump.weight > 0 && std::isfinite(bump.weight), "weight", bump.weight,
            "positive and finite");
    total += bump.weight;
  }
  for (B& bump : bumps) bump.weight /= total;
}

}  // namespace

CircleLaw perturbed_circle(std::size_t mode, double amplitude) {
  require(mode >= 1, "mode", static_cast<double>(mode), "at least 1");
  check_amplitude(amplitude);
  const auto k = static_cast<double>(mode);
  CircleLaw law;
  law.density = [=](double angle) { return 1 + amplitude * std::cos(k * angle); };
  law.quantile = tabulated_quantile(law.density, k);
  law.moments = [=](std::size_t count) {
    std::vector<std::complex<double>> m(count);
    if (count > 0) m[0] = 1;
    if (count > mode) m[mode] = amplitude / 2;
    return m;
  };
  return law;
}

CircleLaw circle_bumps(std::vector<Bump> bumps) {
  normalise(bumps);
  double sharpness = 1;
  std::vector<double> log_scales;
  for (const Bump& bump : bumps) {
    sharpness = std::max(sharpness, std::sqrt(bump.concentration));
    log_scales.push_back(sphere_spectrum(2, bump.concentration, 2).log_scale);
  }
  CircleLaw law;
  law.density = [=](double angle) {
    double sum = 0;
    for (std::size_t b = 0; b < bumps.size(); ++b) {
      const double half = std::sin((angle - bumps[b].centre) / 2);
      sum += bumps[b].weight * std::exp(-2 * bumps[b].concentration * half * half - log_scales[b]);
    }
    return sum;
  };
  law.quantile = tabulated_quantile(law.density, sharpness);
  law.moments = [=](std::size_t count) { return bump_moments(bumps, count); };
  return law;
}

CircleLaw wrapped_cauchy(double order) {
  require(order >= 0 && order < 1, "order", order, "0 to below 1");
  CircleLaw law;
  law.density = [=](double angle) {
    const double half = std::sin(angle / 2);
    return (1 - order * order) / ((1 - order) * (1 - order) + 4 * order * half * half);
  };
  law.quantile = [=](double u) {
    return 2 * std::atan((1 - order) / (1 + order) * std::tan(std::numbers::pi * (u - 0.5)));
  };
  law.moments = [=](std::size_t count) {
    std::vector<std::complex<double>> m(count);
    double power = 1;
    for (std::size_t k = 0; k < count; ++k, power *= order) m[k] = power;
    return m;
  };
  return law;
}

CircleLaw labelled_map(double amplitude) {
  require(std::abs(amplitude) < 1, "amplitude", amplitude, "between -1 and 1");
  CircleLaw law;
  law.quantile = [=](double u) {
    return 2 * std::numbers::pi * u + amplitude * std::sin(2 * std::numbers::pi * u);
  };
  law.density = [=](double angle) {
    double turn = angle;  // of Kepler's equation turn + A sin turn = angle
    for (int step = 0; step < 100; ++step) {
      const double change =
          (turn + amplitude * std::sin(turn) - angle) / (1 + amplitude * std::cos(turn));
      turn -= std::clamp(change, -0.5, 0.5);
      if (std::abs(change) < 1e-15 * (1 + std::abs(turn))) break;
    }
    return 1 / (1 + amplitude * std::cos(turn));
  };
  law.moments = [=](std::size_t count) {
    // Bessel's integral: m_k = (-1)^k J_k(k A), which falls with k; a sum over labels would stop
    // falling at rounding, and ask for modes that are not there.
    std::vector<std::complex<double>> m(count);
    if (count > 0) m[0] = 1;
    for (std::size_t k = 1; k < count; ++k) {
      const double size =
          boost::math::cyl_bessel_j(static_cast<int>(k), static_cast<double>(k) * amplitude);
      if (std::abs(size) < kNothing) break;
      m[k] = k % 2 == 0 ? size : -size;
    }
    return m;
  };
  return law;
}

CircleLaw circle_atoms(std::vector<double> angles) {
  if (angles.empty()) throw Error("0 tokens are not allowed; allowed: at least 1");
  for (double a : angles) require(std::isfinite(a), "angle", a, "finite");
  CircleLaw law;
  law.moments = [=](std::size_t count) {
    return CircleTokens({.beta = 0}, angles.size()).moments(angles, count);
  };
  law.quantile = [angles](double u) {
    const auto i = static_cast<std::size_t>(u * static_cast<double>(angles.size()));
    return angles[std::min(i, angles.size() - 1)];
  };
  return law;
}

std::vector<double> circle_labels(const CircleLaw& law, std::size_t count) {
  std::vector<double> angles(count);
  parallel_for(count, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      angles[i] = law.quantile((static_cast<double>(i) + 0.5) / static_cast<double>(count));
  });
  return angles;
}

WeightedPoints circle_markers(const CircleLaw& law, std::size_t count, double smallest) {
  const auto n = static_cast<double>(count);
  WeightedPoints grid;
  bool thin = !law.density;
  double total = 0;
  for (std::size_t i = 0; i < count && !thin; ++i) {
    const double angle =
        2 * std::numbers::pi * (static_cast<double>(i) + 0.5) / n - std::numbers::pi;
    const double density = law.density(angle);
    thin = !(density >= smallest);
    if (!(density > kNothing)) continue;
    grid.points.push_back(angle);
    grid.weights.push_back(density);
    total += density;
  }
  if (thin || !(std::abs(total / n - 1) <= kMassMissed))
    return {circle_labels(law, count), std::vector<double>(count, 1 / n)};
  for (double& w : grid.weights) w /= total;
  return grid;
}

std::vector<double> circle_samples(const CircleLaw& law, std::size_t count, const Stream& stream,
                                   std::uint64_t replicate) {
  std::vector<double> angles(count);
  parallel_for(count, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      angles[i] = law.quantile(stream.uniform(replicate, i));
  });
  return angles;
}

ZonalLaw perturbed_zonal(std::size_t dim, std::size_t degree, double amplitude) {
  require(dim >= 2, "dim", static_cast<double>(dim), "at least 2");
  require(degree >= 1, "mode", static_cast<double>(degree), "at least 1");
  check_amplitude(amplitude);
  const auto basis = std::make_shared<Gegenbauer>(dim, degree + 1);
  std::vector<double> at_pole(degree + 1);
  basis->values(1, at_pole);
  const double top = at_pole[degree];
  return {.dim = dim,
          .log_density =
              [=](double t) {
                std::vector<double> p(degree + 1);
                basis->values(t, p);
                return std::log1p(amplitude * std::clamp(p[degree] / top, -1.0, 1.0));
              },
          .coefficients =
              [=](std::size_t count) {
                std::vector<double> c(count);
                if (count > 0) c[0] = 1;
                if (count > degree) c[degree] = amplitude / top;
                return c;
              },
          .sharpness = static_cast<double>(degree)};
}

ZonalLaw zonal_bump(std::size_t dim, double concentration) {
  require(dim >= 2, "dim", static_cast<double>(dim), "at least 2");
  check_concentration(concentration);
  const double log_scale = sphere_spectrum(dim, concentration, 2).log_scale;
  return {.dim = dim,
          .log_density = [=](double t) { return concentration * (t - 1) - log_scale; },
          .coefficients =
              [=](std::size_t count) {
                std::vector<double> c(count);
                const std::size_t degrees = std::max<std::size_t>(2, count);
                const SphereSpectrum s = sphere_spectrum(dim, concentration, degrees);
                Gegenbauer(dim, count).values(1, c);
                for (std::size_t l = 0; l < count; ++l) c[l] *= s.ratio[l];  // Funk-Hecke
                return c;
              },
          .sharpness = std::sqrt(1 + concentration)};
}

namespace {

InverseCdf polar_angles(const ZonalLaw& law) {
  const double power = static_cast<double>(law.dim) - 2;
  const auto log_weight = [law, power](double angle) {
    return law.log_density(std::cos(angle)) + (power == 0 ? 0 : power * std::log(std::sin(angle)));
  };
  const std::size_t count = panels(law.sharpness + std::sqrt(power));
  double top = -kInfinity;
  for (std::size_t p = 0; p < count; ++p)
    top = std::max(top, log_weight(std::numbers::pi * (static_cast<double>(p) + 0.5) /
                                   static_cast<double>(count)));
  return {[=](double angle) { return std::exp(log_weight(angle) - top); }, 0, std::numbers::pi,
          count};
}

WeightedPoints equal_markers(const ZonalLaw& law, std::size_t count) {
  const InverseCdf quantile = polar_angles(law);
  const auto n = static_cast<double>(count);
  WeightedPoints markers{std::vector<double>(count), std::vector<double>(count, 1 / n)};
  parallel_for(count, 256, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      markers.points[i] = quantile((static_cast<double>(i) + 0.5) / n);
  });
  return markers;
}

}  // namespace

WeightedPoints zonal_markers(const ZonalLaw& law, std::size_t count, double smallest) {
  const auto thin = [&](double t) { return !(std::exp(law.log_density(t)) >= smallest); };
  if (thin(-1) || thin(1)) return equal_markers(law, count);  // spares a rule of many nodes
  const GaussRule rule = gauss_rule(law.dim, count);
  WeightedPoints markers;
  double total = 0;
  for (std::size_t q = 0; q < count; ++q) {
    if (thin(rule.nodes[q])) return equal_markers(law, count);
    const double weight = rule.weights[q] * std::exp(law.log_density(rule.nodes[q]));
    if (!(weight > 1e-300)) continue;
    markers.points.push_back(std::acos(rule.nodes[q]));
    markers.weights.push_back(weight);
    total += weight;
  }
  if (!(std::abs(total - 1) <= kMassMissed)) return equal_markers(law, count);
  for (double& w : markers.weights) w /= total;
  return markers;
}

ZonalSampler::ZonalSampler(const ZonalLaw& law) : dim_(law.dim), polar_angle_(polar_angles(law)) {}

std::vector<double> ZonalSampler::points(std::size_t count, const Stream& stream,
                                         std::uint64_t replicate) const {
  std::vector<double> points(count * dim_);
  parallel_for(count, 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::uint64_t item = replicate * count + i;
      const std::span<double> x(points.data() + i * dim_, dim_);
      stream.normals(item, x);  // the last d - 1 of them give the direction
      const double angle = polar_angle_(stream.uniform(item, 4 * dim_));
      const double length = norm(x.subspan(1));
      for (double& c : x.subspan(1)) c *= std::sin(angle) / length;
      x[0] = std::cos(angle);
    }
  });
  return points;
}

std::function<double(std::span<const double>)> sphere_bumps(std::vector<SphereBump> bumps) {
  normalise(bumps);
  std::vector<double> log_scales;
  for (const SphereBump& bump : bumps)
    log_scales.push_back(sphere_spectrum(bump.centre.size(), bump.concentration, 2).log_scale);
  return [=](std::span<const double> point) {
    double sum = 0;
    for (std::size_t b = 0; b < bumps.size(); ++b)
      sum += bumps[b].weight *
             std::exp(-0.5 * bumps[b].concentration * squared_distance(point, bumps[b].centre) -
                      log_scales[b]);
    return sum;
  };
}

}  // namespace attractor::meanfield
