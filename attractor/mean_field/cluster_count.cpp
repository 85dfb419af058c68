#include "attractor/mean_field/cluster_count.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/stability/stability.hpp"

namespace attractor::meanfield {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;
constexpr double kSpacing = 0.25;  // e-foldings between moments
constexpr double kMostMoments = 1e6;
constexpr std::size_t kOversampling = 16;  // points for the shortest wave of the density

/// Slopes of the kernel density, up to a positive factor, at equispaced angles.
std::vector<double> density_slopes(const CircleTokens& tokens, const SphereSpectrum& spectrum,
                                   std::span<const double> angles) {
  auto terms = tokens.moments(angles, spectrum.count());
  for (std::size_t k = 0; k < terms.size(); ++k)
    terms[k] *= static_cast<double>(k) * spectrum.pull[k];
  std::vector<double> slopes(kOversampling * spectrum.count());
  parallel_for(slopes.size(), 64, [&](std::size_t begin, std::size_t end) {
    for (std::size_t g = begin; g < end && !tokens.stopped(); ++g) {
      const double angle = kTurn * static_cast<double>(g) / static_cast<double>(slopes.size());
      const std::complex<double> turn = std::polar(1.0, -angle);
      std::complex<double> sum = 0;  // Horner
      for (std::size_t k = terms.size(); k-- > 1;) sum = (sum + terms[k]) * turn;
      slopes[g] = sum.imag();
    }
  });
  return slopes;
}

double on_first_turn(double angle) { return angle - kTurn * std::floor(angle / kTurn); }

double distance(double a, double b) { return std::abs(std::remainder(a - b, kTurn)); }

/// From an angle of the first turn to the nearest of these, ascending ones; infinity without any.
double to_nearest(double angle, const std::vector<double>& sorted) {
  if (sorted.empty()) return kInfinity;
  const auto next = std::lower_bound(sorted.begin(), sorted.end(), angle);
  const double after = next == sorted.end() ? sorted.front() : *next;
  const double before = next == sorted.begin() ? sorted.back() : *(next - 1);
  return std::min(distance(angle, after), distance(angle, before));
}

/// Share of the angles farther than `radius` from all maxima.
double loose_share(std::span<const double> angles, const std::vector<double>& maxima,
                   double radius) {
  const auto loose = [&](std::size_t i) {
    return to_nearest(on_first_turn(angles[i]), maxima) > radius ? 1.0 : 0.0;
  };
  return parallel_sum(angles.size(), loose) / static_cast<double>(angles.size());
}

/// How near a token must be to a maximum: the root of cos d = beta sin^2 d.
double reach_of_maxima(double beta) {
  return std::acos(2 * beta / (1 + std::sqrt(1 + 4 * beta * beta)));
}

std::vector<double> sorted_on_first_turn(std::span<const double> angles) {
  std::vector<double> sorted(angles.begin(), angles.end());
  for (double& angle : sorted) angle = on_first_turn(angle);
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

}  // namespace

std::vector<double> density_maxima(const CircleTokens& tokens, double beta,
                                   std::span<const double> angles) {
  const SphereSpectrum spectrum = resolved_spectrum(2, beta, 1e-17);
  const std::vector<double> slopes = density_slopes(tokens, spectrum, angles);
  const double spacing = kTurn / static_cast<double>(slopes.size());
  std::vector<double> maxima;
  for (std::size_t g = 0; g < slopes.size(); ++g) {
    const double here = slopes[g], next = slopes[(g + 1) % slopes.size()];
    if (here > 0 && next <= 0)
      maxima.push_back(spacing * (static_cast<double>(g) + here / (here - next)));
  }
  const std::vector<double> sorted = sorted_on_first_turn(angles);
  const double reach = reach_of_maxima(beta) + spacing;  // a maximum is known to the spacing
  std::erase_if(maxima, [&](double at) { return to_nearest(at, sorted) > reach; });
  return maxima;
}

std::size_t least_tokens(double beta) {
  const SphereSpectrum spectrum = resolved_spectrum(2, beta, 1e-17);
  double variance = 0;  // of the density over its mean, times n
  for (std::size_t k = 1; k < spectrum.count(); ++k)
    variance += 2 * spectrum.ratio[k] * spectrum.ratio[k];
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(4 * variance)));
}

const ClusterMoment* ClusterHistory::formation() const {
  const auto found =
      std::find_if(moments.begin(), moments.end(), [](const auto& m) { return m.formed(); });
  return found == moments.end() ? nullptr : &*found;
}

flow::Time e_foldings(Rule rule, double beta, double count) {
  const Stability s = stability({.rule = rule, .beta = beta});
  return flow::Time(count / s.rate[s.fastest], -s.log_unit);
}

std::vector<double> uniform_angles(std::size_t tokens, std::uint64_t seed,
                                   std::uint64_t replicate) {
  const Stream stream(seed, "uniform angles");
  std::vector<double> angles(tokens);
  for (std::size_t i = 0; i < tokens; ++i) angles[i] = kTurn * stream.uniform(replicate, i);
  return angles;
}

ClusterHistory watch_clusters(const ClusterRun& run) {
  if (run.beta < 0)
    throw Error(fmt::format("beta = {} is not allowed; allowed: 0 to 1e6", run.beta));
  const flow::Time unit = e_foldings(run.rule, run.beta, 1);
  const auto in_units = [&](const flow::Time& t) { return t.in_unit(unit.log()); };
  const double end = in_units(run.end);
  if (!(end >= 0 && end <= kSpacing * kMostMoments))
    throw Error(fmt::format("{:.3g} e-foldings are not allowed; allowed: 0 to {:.3g}", end,
                            kSpacing * kMostMoments));
  if (run.tokens < least_tokens(run.beta))
    throw Error(fmt::format(
        "{} tokens are not allowed at beta = {}; allowed: at least {} (fewer are not uniform but "
        "stand alone, clusters of their own from the start)",
        run.tokens, run.beta, least_tokens(run.beta)));
  CircleTokens flow({.rule = run.rule, .beta = run.beta}, run.tokens);
  flow.stop_when(run.stop);
  flow::Plan plan{.end = run.end, .tolerance = run.tolerance};
  for (double t = 0; t < end * (1 - 1e-9); t += kSpacing)
    plan.outputs.emplace_back(t * unit.mantissa(), unit.exponent());
  plan.outputs.push_back(run.end);
  flow::Progress progress{.state = uniform_angles(run.tokens, run.seed, run.replicate)};
  const double radius = 0.5 / std::sqrt(std::max(1.0, run.beta));
  ClusterHistory history;
  const auto look = [&](const flow::Time& time, std::span<const double> angles) {
    const auto maxima = density_maxima(flow, run.beta, angles);
    if (run.stop && run.stop()) return;
    history.moments.push_back({in_units(time), maxima.size(), loose_share(angles, maxima, radius)});
  };
  history.status =
      flow::run(flow, flow::dormand_prince(), plan, progress, {.output = look, .stop = run.stop});
  if (run.stop && run.stop()) history.status = flow::Status::interrupted;
  return history;
}

}  // namespace attractor::meanfield
