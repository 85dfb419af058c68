#include "attractor/commands/density/meanfield_system.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/mean_field/circle_density.hpp"
#include "attractor/mean_field/marker_density.hpp"
#include "attractor/mean_field/sphere_labels.hpp"
#include "attractor/tokens/generators.hpp"
#include "attractor/tokens/given_arrays.hpp"

namespace attractor::lab {
namespace {

using namespace meanfield;
using State = MeanfieldSystem::State;

/// One number for all of `count`, or one for each.
std::vector<double> spread(const char* name, std::vector<double> numbers, std::size_t count) {
  if (numbers.size() == 1) numbers.assign(count, numbers[0]);
  if (numbers.size() != count)
    throw Error(fmt::format("{} has {} numbers; allowed: one, or one for each of {} centres", name,
                            numbers.size(), count));
  return numbers;
}

struct BumpLists {
  std::vector<double> concentrations, weights;
};

BumpLists bump_lists(const MeanfieldSetup& p, std::size_t count) {
  const std::vector<double> weights = p.weights.values;
  return {spread("concentration", p.concentration.values, count),
          spread("weights", weights.empty() ? std::vector{1.0} : weights, count)};
}

TokenSet given_tokens(const MeanfieldSetup& p) {
  if (!p.tokens_file.given()) throw Error("start tokens needs a tokens-file");
  Array array = tokens_of(p.tokens_file.get(), p.tokens_file.what(), true);
  if (array.shape[1] != p.dim)
    throw Error(fmt::format("{} holds tokens of dimension {}; dim = {} is asked for",
                            p.tokens_file.what(), array.shape[1], p.dim));
  return {.dim = p.dim, .data = std::move(array.data)};
}

double smallest_density(const MeanfieldSetup& p) {
  return p.dynamics == Rule::unnormalised ? 0 : kSmallestDensity;
}

std::vector<double> bin_centres(double low, double high, std::size_t bins) {
  std::vector<double> centres(bins);
  for (std::size_t b = 0; b < bins; ++b)
    centres[b] = low + (high - low) * (static_cast<double>(b) + 0.5) / static_cast<double>(bins);
  return centres;
}

}  // namespace

double uniform_polar(std::size_t dim, double angle) {
  const double d = static_cast<double>(dim), power = d - 2;
  return std::exp(std::lgamma(d / 2) - std::lgamma((d - 1) / 2) - 0.5 * std::log(std::numbers::pi) +
                  (power == 0 ? 0 : power * std::log(std::sin(angle))));
}

std::vector<double> listed(std::span<const std::complex<double>> m) {
  std::vector<double> result;
  for (std::size_t k = 1; k < m.size() && k <= kListed; ++k) result.push_back(std::abs(m[k]));
  return result;
}

std::vector<double> listed(std::size_t dim, std::span<const double> c) {
  std::vector<double> at_pole(c.size()), result;
  Gegenbauer(dim, c.size()).values(1, at_pole);
  for (std::size_t l = 1; l < c.size() && l <= kListed; ++l) result.push_back(c[l] / at_pole[l]);
  return result;
}

double most_error(const MeanfieldSetup& p) { return std::clamp(10 * p.tolerance, 1e-3, 1e-2); }

// ---- Laws and attention.

CircleLaw circle_law(const MeanfieldSetup& p) {
  if (p.start == StartLaw::perturbed) return perturbed_circle(p.mode, p.amplitude);
  if (p.start == StartLaw::wrapped_cauchy) return wrapped_cauchy(p.order);
  if (p.start == StartLaw::map) return labelled_map(p.amplitude);
  if (p.start == StartLaw::tokens) {
    const TokenSet tokens = given_tokens(p);
    std::vector<double> angles;
    for (std::size_t i = 0; i < tokens.count(); ++i)
      angles.push_back(std::atan2(tokens.data[2 * i + 1], tokens.data[2 * i]));
    return circle_atoms(std::move(angles));
  }
  std::vector<double> centres = p.centres.values;
  if (centres.empty()) centres = {0};
  const BumpLists lists = bump_lists(p, centres.size());
  std::vector<Bump> bumps;
  for (std::size_t b = 0; b < centres.size(); ++b)
    bumps.push_back({centres[b], lists.concentrations[b], lists.weights[b]});
  return circle_bumps(std::move(bumps));
}

ZonalLaw zonal_law(const MeanfieldSetup& p) {
  if (p.start == StartLaw::perturbed) return perturbed_zonal(p.dim, p.mode, p.amplitude);
  return zonal_bump(p.dim, bump_lists(p, 1).concentrations[0]);
}

CircleAttention circle_attention(const MeanfieldSetup& p) {
  return {.rule = p.dynamics, .beta = p.beta, .noise = p.noise};
}

ZonalAttention zonal_attention(const MeanfieldSetup& p) {
  return {.dim = p.dim, .rule = p.dynamics, .beta = p.beta, .noise = p.noise};
}

// ---- Systems.

namespace {

MeanfieldSystem circle_labels_system(const MeanfieldSetup& p, std::size_t size,
                                     const std::function<bool()>& stop) {
  const CircleLaw law = circle_law(p);
  const bool smooth = static_cast<bool>(law.density);
  const std::size_t count = smooth ? size : given_tokens(p).count();
  const WeightedPoints markers = circle_markers(law, count, smallest_density(p));
  auto flow = std::make_unique<CircleTokens>(circle_attention(p), markers.weights);
  flow->stop_when(stop);
  const CircleTokens& tokens = *flow;
  MeanfieldSystem s{.flow = std::move(flow), .start = markers.points, .weights = markers.weights};
  s.angles = bin_centres(-std::numbers::pi, std::numbers::pi, kGrid);
  s.measure = [&tokens, mode = p.mode](State state) {
    const auto moments = tokens.moments(state, std::max<std::size_t>(2, mode + 1));
    return MeanfieldMoment{
        .order = std::abs(moments[1]),
        .log_energy = tokens.log_energy(state),
        .entropy = kNan,
        .smallest = kNan,
        .largest = kNan,
        .mass = std::accumulate(tokens.weights().begin(), tokens.weights().end(), 0.0),
        .mode = std::abs(moments[mode])};
  };
  if (smooth)
    s.density = [&tokens](State state) { return marker_density({state, tokens.weights()}, kGrid); };
  else
    s.angles.clear();
  s.moments = [&tokens](State state) { return listed(tokens.moments(state, kListed + 1)); };
  s.modes = [count] { return count; };
  return s;
}

MeanfieldSystem zonal_labels_system(const MeanfieldSetup& p, std::size_t size) {
  const WeightedPoints markers = zonal_markers(zonal_law(p), size, smallest_density(p));
  auto flow = std::make_unique<ZonalLabels>(zonal_attention(p), markers.weights);
  const ZonalLabels& labels = *flow;
  const SphereSpectrum spectrum = resolved_spectrum(p.dim, p.beta, 1e-18);
  MeanfieldSystem s{.flow = std::move(flow), .start = markers.points, .weights = markers.weights};
  s.angles = bin_centres(0, std::numbers::pi, kGrid / 2);
  s.density = [&labels, angles = s.angles, dim = p.dim](State state) {
    std::vector<double> f = marker_density({state, labels.weights(), false}, angles.size());
    for (std::size_t b = 0; b < f.size(); ++b)
      f[b] /= std::numbers::pi * uniform_polar(dim, angles[b]);
    return f;
  };
  s.measure = [&labels, spectrum, mode = p.mode](State state) {
    const auto c = labels.coefficients(state, std::max<std::size_t>(spectrum.count(), mode + 1));
    return MeanfieldMoment{
        .order = std::abs(zonal_order(spectrum.dim, c)),
        .log_energy = zonal_log_energy(spectrum, c),
        .entropy = kNan,
        .smallest = kNan,
        .largest = kNan,
        .mass = std::accumulate(labels.weights().begin(), labels.weights().end(), 0.0),
        .mode = std::abs(c[mode])};
  };
  s.moments = [&labels, dim = p.dim](State state) {
    return listed(dim, labels.coefficients(state, kListed + 1));
  };
  s.modes = [size] { return size; };
  return s;
}

WeightedPoints general_start(const MeanfieldSetup& p, std::size_t heights) {
  if (p.start == StartLaw::tokens) {
    TokenSet tokens = given_tokens(p);
    const std::size_t count = tokens.count();
    return {std::move(tokens.data), std::vector<double>(count, 1.0)};
  }
  if (p.start == StartLaw::perturbed) {
    const ZonalLaw law = perturbed_zonal(3, p.mode, p.amplitude);
    return sphere_grid(heights, [&](State x) { return std::exp(law.log_density(x[0])); });
  }
  std::vector<double> numbers = p.centres.values;
  if (numbers.empty()) numbers = {1, 0, 0};
  if (numbers.size() % 3 != 0)
    throw Error(fmt::format("centres has {} numbers; allowed: three for each centre on the sphere",
                            numbers.size()));
  const BumpLists lists = bump_lists(p, numbers.size() / 3);
  std::vector<SphereBump> bumps;
  for (std::size_t b = 0; b < numbers.size() / 3; ++b) {
    std::vector<double> centre(numbers.begin() + static_cast<std::ptrdiff_t>(3 * b),
                               numbers.begin() + static_cast<std::ptrdiff_t>(3 * b + 3));
    if (!(norm(centre) > 0)) throw Error("a centre = 0,0,0 has no direction");
    Sphere(3).retract(centre);
    bumps.push_back({std::move(centre), lists.concentrations[b], lists.weights[b]});
  }
  return sphere_grid(heights, sphere_bumps(std::move(bumps)));
}

MeanfieldSystem general_system(const MeanfieldSetup& p, std::size_t heights) {
  WeightedPoints start = general_start(p, heights);
  const double lost = std::abs(start.mass - 1);
  if (!(lost <= most_error(p)))
    return {.start_lost = lost, .modes = [heights] { return 2 * heights * heights; }};
  auto flow = std::make_unique<WeightedTokens>(p.dim, p.dynamics, p.beta, start.weights);
  const WeightedTokens& tokens = *flow;
  MeanfieldSystem s{.flow = std::move(flow),
                    .start = std::move(start.points),
                    .weights = {tokens.weights().begin(), tokens.weights().end()},
                    .start_lost = lost};
  const auto basis = std::make_shared<Gegenbauer>(p.dim, p.mode + 1);
  s.measure = [&tokens, basis, dim = p.dim](State state) {
    const std::vector<double> mean = tokens.mean(state);
    std::vector<double> values(basis->count());
    double mode = 0;
    for (std::size_t i = 0; i < tokens.weights().size(); ++i) {
      basis->values(state[i * dim], values);
      mode += tokens.weights()[i] * values.back();
    }
    return MeanfieldMoment{
        .order = norm(mean),
        .log_energy = tokens.log_energy(state),
        .entropy = kNan,
        .smallest = kNan,
        .largest = kNan,
        .mass = std::accumulate(tokens.weights().begin(), tokens.weights().end(), 0.0),
        .mode = std::abs(mode)};
  };
  s.moments = [&tokens](State state) { return tokens.mean(state); };
  s.modes = [&tokens] { return tokens.weights().size(); };
  return s;
}

}  // namespace

std::size_t usual_size(const MeanfieldKind& kind) {
  switch (kind.geometry) {
    case Geometry::circle:
      return 2048;
    case Geometry::zonal:
      return 512;
    case Geometry::general:
      return 20;
  }
  return 0;
}

MeanfieldSystem meanfield_system(const MeanfieldSetup& p, const MeanfieldKind& kind,
                                 const MeanfieldSize& size, const std::function<bool()>& stop) {
  if (kind.spectral)
    return kind.geometry == Geometry::circle ? circle_spectral(p, size) : zonal_spectral(p, size);
  const std::size_t count = size.count > 0 ? size.count : usual_size(kind);
  switch (kind.geometry) {
    case Geometry::circle:
      return circle_labels_system(p, count, stop);
    case Geometry::zonal:
      return zonal_labels_system(p, count);
    case Geometry::general:
      return general_system(p, count);
  }
  return {};
}

}  // namespace attractor::lab
