#include "attractor/observe/field_energy.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/depth/clumps/clump_sums.hpp"
#include "attractor/kernels/circle/circle_field.hpp"
#include "attractor/kernels/moments/power_moments.hpp"
#include "attractor/kernels/sphere/sphere_field.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

constexpr double kCircleAccuracy = 1e-12, kSphereAccuracy = 1e-11;
constexpr double kMostCircleBeta = 1e4;
constexpr double kMostMomentsBeta = 100;  // what the kernel takes
constexpr double kMostSphereBeta = 1e3;   // beyond, tables of the field cost more than rows
constexpr double kClumpAccuracy = 1e-8;   // of what pulls a token
constexpr double kUseful = 1e-4;          // errors above: rows are read instead, for 1e-2 to 1e-3

// What the field says of each token, and bounds of its errors.
struct Field {
  std::vector<double> weight, partition, squared_pull, along;
  double error = 0, along_error = 0;
};

std::optional<Field> circle_field_of(double beta, const CircleOrder& order,
                                     std::span<const double> masses, double total) {
  const std::size_t n = order.token.size();
  Field f{.weight = std::vector<double>(n),
          .partition = std::vector<double>(n),
          .squared_pull = std::vector<double>(n),
          .along = std::vector<double>(n)};
  for (std::size_t k = 0; k < n; ++k) f.weight[k] = masses[order.token[k]] / total;
  kernels::CircleField field({.beta = beta, .accuracy = kCircleAccuracy, .tokens = n});
  std::vector<double>& pull = f.squared_pull;
  if (!field.evaluate(order.angle, f.weight, {.pull = pull, .partition = f.partition}).in_order)
    return {};
  for (double& d : pull) d *= d;
  std::vector<double> tilted(n), sums(n);
  const auto add_tilted = [&](double (*component)(double)) {
    double all = 0;
    for (std::size_t k = 0; k < n; ++k)
      all += tilted[k] = f.weight[k] * (2 + component(order.angle[k]));
    field.evaluate(order.angle, tilted, {.partition = sums});
    for (std::size_t k = 0; k < n; ++k)
      f.along[k] += component(order.angle[k]) * (all * sums[k] - 2 * f.partition[k]);
  };
  add_tilted([](double a) { return std::cos(a); });
  add_tilted([](double a) { return std::sin(a); });
  f.error = kCircleAccuracy;
  f.along_error = 1.4143 * (3 + 2) * kCircleAccuracy;  // |cos| + |sin|, and weights of up to 3
  return f;
}

/// By the sums of a kernel for spheres.
template <class Sums>
std::optional<Field> field_by(Sums sums, double accuracy, std::span<const double> tokens,
                              std::span<const double> masses, double total) {
  const std::size_t n = masses.size(), dim = tokens.size() / n;
  Field f{.weight = std::vector<double>(n),
          .partition = std::vector<double>(n),
          .squared_pull = std::vector<double>(n),
          .along = std::vector<double>(n)};
  for (std::size_t i = 0; i < n; ++i) f.weight[i] = masses[i] / total;
  std::vector<double> pull(dim * n);
  const kernels::SphereFieldSummary found =
      sums.evaluate(tokens, f.weight, {.pull = pull, .partition = f.partition, .along = f.along});
  if (!found.on_sphere) return {};
  for (std::size_t i = 0; i < n; ++i) {
    const auto d = std::span(pull).subspan(dim * i, dim);
    f.squared_pull[i] = dot(d, d);
  }
  f.error = f.along_error = std::max(found.error, accuracy);
  return f;
}

// Where it takes less time than all rows, which take kPairNs a pair.
std::optional<Field> moments_of(const Attention& attention, std::span<const double> tokens,
                                std::span<const double> masses, double total) {
  constexpr double kPairNs = 1.5, kAccuracy = 1e-8;
  const auto n = static_cast<double>(masses.size());
  const kernels::PowerMomentsSettings settings{.dim = attention.dim,
                                               .beta = attention.beta,
                                               .accuracy = kAccuracy,
                                               .means = false,
                                               .tokens = masses.size()};
  if (attention.beta > kMostMomentsBeta) return {};
  const kernels::PowerMomentsCost cost = kernels::power_moments_cost(settings);
  if (!cost.possible || cost.token_ns + cost.fixed_ns / n > kPairNs * n) return {};
  return field_by(kernels::PowerMoments(settings), kAccuracy, tokens, masses, total);
}

// Means over all originals, each with a bound of its error.
struct Sum {
  double value = 0, error = 0;
  void add(double weight, double x, double bound) {
    value += weight * x;
    error += weight * bound;
  }
};

std::optional<Energy> energy_of(const Field& f, const Attention& attention, double total) {
  const bool softmax = attention.rule == Rule::softmax;
  const double beta = attention.beta, e = f.error;
  Sum z, h, p;
  for (std::size_t i = 0; i < f.weight.size(); ++i) {
    const double w = f.weight[i], Z = f.partition[i], square = f.squared_pull[i];
    if (!(Z > 1e3 * e)) return {};
    const double pull_error = (2 * std::sqrt(square) + e) * e;
    z.add(w, Z, e);
    h.add(w, std::log(total * Z) + beta * (1 - f.along[i] / Z),
          1.01 * (e + beta * (f.along_error + e)) / Z);
    if (softmax)
      p.add(w, square / Z, 1.01 * (pull_error + square * e / Z) / Z);
    else
      p.add(w, square, pull_error);
  }
  const auto relative = [](const Sum& s) { return s.error / s.value; };
  if (!(relative(z) <= kUseful && h.error <= kUseful && relative(p) <= kUseful)) return {};
  Energy found;
  found.log_energy = beta + std::log(z.value) - std::log(2 * beta);
  found.relative_error = relative(z);
  found.log_dissipation = (softmax ? 1 : 2) * beta + std::log(p.value);
  found.dissipation_relative_error = relative(p);
  found.entropy = h.value;
  found.entropy_error = h.error;
  return found;
}

}  // namespace

std::optional<Energy> field_energy(const Attention& attention, std::span<const double> tokens,
                                   std::span<const double> masses, const CircleOrder* order) {
  if (!attention.by_distance() || !attention.value.empty() || !(attention.beta > 0)) return {};
  const double total = std::accumulate(masses.begin(), masses.end(), 0.0);
  std::optional<Field> field;
  if (attention.dim == 2 && order != nullptr && attention.beta <= kMostCircleBeta)
    field = circle_field_of(attention.beta, *order, masses, total);
  else if (attention.dim == 3 && attention.beta <= kMostSphereBeta)
    field = field_by(
        kernels::SphereField(
            {.beta = attention.beta, .accuracy = kSphereAccuracy, .tokens = masses.size()}),
        kSphereAccuracy, tokens, masses, total);
  else if (attention.dim >= 4 && attention.dim <= 8)
    field = moments_of(attention, tokens, masses, total);
  return field ? energy_of(*field, attention, total) : std::nullopt;
}

std::optional<Energy> clumped_energy(const Attention& attention, std::span<const double> tokens,
                                     std::span<const double> masses) {
  const bool softmax = attention.rule == Rule::softmax;
  if (!(softmax || attention.rule == Rule::unnormalised) || !attention.by_distance() ||
      !attention.value.empty() || !(attention.beta > 0))
    return {};
  const double beta = attention.beta, total = std::accumulate(masses.begin(), masses.end(), 0.0);
  const depth::ClumpTask task{attention.dim, beta, kClumpAccuracy};
  const depth::ClumpPartition partition = depth::find_clumps(task, tokens);
  if (partition.count() == 0) return {};
  std::vector<double> pulls(tokens.size()), weights(masses.size());
  const depth::ClumpOutcome outcome =
      depth::clump_sums({.task = task, .points = tokens, .masses = masses, .softmax = softmax},
                        partition, pulls, weights);
  if (!outcome.taken) return {};
  const Sphere sphere(attention.dim);
  const double e = outcome.absolute, part = outcome.weight;
  Sum z, h, p;
  for (std::size_t i = 0; i < masses.size(); ++i) {
    const auto x = tokens.subspan(i * attention.dim, attention.dim);
    const auto pull = std::span(pulls).subspan(i * attention.dim, attention.dim);
    const double w = masses[i] / total, Z = masses[i] + weights[i], along = -dot(pull, x);
    sphere.project(x, pull);
    const double speed = norm(pull) / (softmax ? Z : total);
    const double squared = (2 * speed + e) * e;  // the error of its square
    z.add(w, Z / total, part * Z / total);
    h.add(w, std::log(Z) + beta * along / Z,
          part + beta * (2 * part + (softmax ? e : e * total / Z)));
    if (softmax)
      p.add(w, Z / total * speed * speed, Z / total * (squared + part * speed * speed));
    else
      p.add(w, speed * speed, squared);
  }
  Energy found;
  found.log_energy = beta + std::log(z.value) - std::log(2 * beta);
  found.relative_error = z.error / z.value;
  found.log_dissipation = (softmax ? 1 : 2) * beta + std::log(p.value);
  found.dissipation_relative_error = p.value > 0 ? p.error / p.value : kInfinity;
  found.entropy = h.value;
  found.entropy_error = h.error;
  return found;
}

}  // namespace attractor::observe
