// The spectral solvers of `attractor meanfield`: how many modes a start asks for, and what is
// measured on modes.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "attractor/base/numbers.hpp"
#include "attractor/commands/density/meanfield_system.hpp"
#include "attractor/mean_field/circle_density.hpp"

namespace attractor::lab {
namespace {

using namespace meanfield;
using State = MeanfieldSystem::State;

// First try and end of automatic doubling.
constexpr std::size_t kFirstModes = 16, kMostModes = 1024;
constexpr std::size_t kFirstDegrees = 32, kMostDegrees = 256;

/// What modes may lose without being felt beside the error of the steps.
double unfelt(const MeanfieldSetup& p) { return std::max(1e-13, p.tolerance); }

/// Doubles `first` until what is lost, of the start and within its first unit of time (or the whole
/// run), is not felt. make(modes) gives a flow, begin(flow) its start.
template <class Make, class Begin, class Lost>
auto enough(const MeanfieldSetup& p, std::size_t first, std::size_t most, const Make& make,
            const Begin& begin, const Lost& lost) {
  while (2 * first <= most && !(lost(first) <= unfelt(p))) first *= 2;
  auto flow = make(first);
  const double unit = flow->log_unit(), time = std::min(1.0, flow::Time(p.time).in_unit(unit));
  while (2 * first <= most && !(time * flow->feed(begin(*flow), unit) <= unfelt(p)))
    flow = make(first *= 2);
  return flow;
}

ModePlan plan_of(const MeanfieldSetup& p, const MeanfieldSize& size, std::size_t modes,
                 std::size_t most) {
  if (size.twin) return twin_of(modes / 2, size.doublings);
  return {.modes = modes,
          .max_modes = size.count > 0 ? modes : most,
          .double_above = unfelt(p),
          .give_up_above = most_error(p)};
}

/// The largest possible |sum over modes beyond `modes`|, relative to that over all.
double beyond(std::span<const std::complex<double>> moments, std::size_t modes) {
  double lost = 0, all = 1;
  for (std::size_t k = 1; k < moments.size(); ++k) {
    all += 2 * std::abs(moments[k]);
    if (k > modes) lost += 2 * std::abs(moments[k]);
  }
  return lost / all;
}

MeanfieldMoment measure_circle(const SphereSpectrum& spectrum, std::size_t mode, State state) {
  const DensityMeasures m = measure_density(state);
  const auto moments = moments_of(state);
  return {.order = std::abs(moments[1]),
          .log_energy = circle_log_energy(spectrum, moments),
          .entropy = m.entropy,
          .smallest = m.smallest,
          .largest = m.largest,
          .mass = m.mass,
          .mode = mode < moments.size() ? std::abs(moments[mode]) : kNan};
}

std::vector<double> polar_grid() {
  std::vector<double> angles(kGrid / 2 + 1);
  for (std::size_t j = 0; j < angles.size(); ++j)
    angles[j] = 2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(kGrid);
  return angles;
}

std::vector<double> with_mass(State state) {
  std::vector<double> c(state.begin(), state.end());
  c.insert(c.begin(), 1.0);
  return c;
}

/// f at angles to the axis. In high dimension the sum is lost to rounding near the poles, where
/// hardly any token is.
std::vector<double> zonal_values(std::size_t dim, State state, std::span<const double> angles) {
  const Gegenbauer basis(dim, state.size() + 1);
  std::vector<double> p(state.size() + 1), f;
  for (const double angle : angles) {
    basis.values(std::cos(angle), p);
    double sum = 1;
    for (std::size_t l = 1; l < p.size(); ++l) sum += state[l - 1] * p[l];
    f.push_back(sum);
  }
  return f;
}

/// What as many degrees lose of a law: of the density of the polar angle, relative to its peak.
double lost_degrees(const ZonalLaw& law, std::span<const double> angles, std::size_t degrees) {
  const std::vector<double> c = law.coefficients(degrees + 1);
  const std::vector<double> f = zonal_values(law.dim, std::span(c).subspan(1), angles);
  double lost = 0, peak = 0;
  for (std::size_t j = 0; j < angles.size(); ++j) {
    const double weight = uniform_polar(law.dim, angles[j]);
    if (weight == 0) continue;  // 0 times infinity
    const double truth = weight * std::exp(law.log_density(std::cos(angles[j])));
    const double off = std::abs(weight * f[j] - truth);
    lost = off <= lost ? lost : off;  // keeps NaN
    peak = std::max(peak, truth);
  }
  return lost / peak;
}

MeanfieldMoment measure_zonal(const ZonalDensity& density, const SphereSpectrum& spectrum,
                              std::size_t mode, State state) {
  const std::vector<double> c = with_mass(state), f = density.values(state);
  MeanfieldMoment m{.order = std::abs(zonal_order(spectrum.dim, c)),
                    .log_energy = zonal_log_energy(spectrum, c),
                    .smallest = kNan,  // told with the density, once its error is known
                    .largest = kNan,
                    .mode = mode < c.size() ? std::abs(c[mode]) : kNan};
  for (std::size_t q = 0; q < f.size(); ++q) {
    const double weight = density.rule().weights[q];
    m.mass += weight * f[q];
    if (f[q] > 0) m.entropy += weight * f[q] * std::log(f[q]);
  }
  return m;
}

}  // namespace

MeanfieldSystem circle_spectral(const MeanfieldSetup& p, const MeanfieldSize& size) {
  // Four times as many moments as are kept: what is cut off must be seen.
  const std::size_t most = std::max(kMostModes, size.count);
  const std::vector<std::complex<double>> given = circle_law(p).moments(4 * most + 1);
  const auto make = [&](std::size_t modes) {
    return std::make_unique<CircleDensity>(circle_attention(p), plan_of(p, size, modes, most));
  };
  const auto begin = [&](const CircleDensity& flow) { return flow.state(given); };
  const auto lost = [&](std::size_t modes) { return beyond(given, modes); };
  auto flow =
      size.count > 0 ? make(size.count) : enough(p, kFirstModes, kMostModes, make, begin, lost);
  std::vector<double> start = begin(*flow);
  CircleDensity& density = *flow;
  const SphereSpectrum spectrum = resolved_spectrum(2, p.beta, 1e-18);
  MeanfieldSystem s{.flow = std::move(flow),
                    .start = std::move(start),
                    .truncation = &density.truncation(),
                    .start_lost = lost(density.modes())};
  for (std::size_t j = 0; j < kGrid; ++j)
    s.angles.push_back(2 * std::numbers::pi * static_cast<double>(j) / static_cast<double>(kGrid) -
                       std::numbers::pi);
  s.measure = [spectrum, mode = p.mode](State state) {
    return measure_circle(spectrum, mode, state);
  };
  s.density = [](State state) {
    std::size_t count = kGrid;
    while (count <= state.size()) count *= 2;
    const std::vector<double> fine = density_values(state, count);
    std::vector<double> result(kGrid);
    for (std::size_t j = 0; j < kGrid; ++j) result[j] = fine[j * (count / kGrid)];
    return result;
  };
  s.moments = [](State state) { return listed(moments_of(state)); };
  s.modes = [&density] { return density.modes(); };
  return s;
}

MeanfieldSystem zonal_spectral(const MeanfieldSetup& p, const MeanfieldSize& size) {
  const ZonalLaw law = zonal_law(p);
  const std::vector<double> angles = polar_grid();
  const auto lost = [&](std::size_t degrees) { return lost_degrees(law, angles, degrees); };
  const auto make = [&](std::size_t degrees) {
    return std::make_unique<ZonalDensity>(zonal_attention(p),
                                          plan_of(p, size, degrees, kMostDegrees));
  };
  const auto begin = [&](const ZonalDensity& flow) {
    std::vector<double> c = law.coefficients(flow.degrees() + 1);
    c.erase(c.begin());
    return c;
  };
  auto flow =
      size.count > 0 ? make(size.count) : enough(p, kFirstDegrees, kMostDegrees, make, begin, lost);
  const ZonalDensity& density = *flow;
  std::vector<double> start = begin(density);
  const SphereSpectrum spectrum = resolved_spectrum(p.dim, p.beta, 1e-18);
  MeanfieldSystem s{.flow = std::move(flow),
                    .start = std::move(start),
                    .angles = angles,
                    .truncation = &density.truncation(),
                    .start_lost = lost(density.degrees())};
  s.density = [angles, dim = p.dim](State state) { return zonal_values(dim, state, angles); };
  s.measure = [&density, spectrum, mode = p.mode](State state) {
    return measure_zonal(density, spectrum, mode, state);
  };
  s.moments = [dim = p.dim](State state) { return listed(dim, with_mass(state)); };
  s.modes = [&density] { return density.degrees(); };
  return s;
}

}  // namespace attractor::lab
