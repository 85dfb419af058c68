// Without normalisation Gaussian tokens in R^d stay Gaussian, with an equation of their mean and
// covariance (reductions/gaussian_tokens.hpp). Tokens at the nodes of Gauss and Hermite's rule,
// weighted by it, are the law itself: the flow moves them by an affine map, so that they stay a
// rule for the law, and the attention kernel must give mean and covariance to rounding. Independent
// tokens follow within their sampling error.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/depth/velocity.hpp"
#include "attractor/reductions/gaussian_tokens.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::gaussian_tokens {
namespace {

using meanfield::GaussianLaw;

const GaussianLaw kStart{{0.3, -0.2}, {0.5, 0.1, 0.1, 0.4}};
/// Its lower triangular root.
const double kRoot[] = {std::sqrt(0.5), 0.1 / std::sqrt(0.5), std::sqrt(0.4 - 0.02)};

struct Weighted {
  std::vector<double> tokens, masses;  // n x 2
};

/// Orthonormal Hermite polynomials of the normal law at x: the last one, and Christoffel's sum of
/// the squares of those before it.
struct Hermite {
  double last, sum;
};

Hermite hermite(int order, double x) {
  double before = 0, now = 1, sum = 0;
  for (int k = 1; k <= order; ++k) {
    sum += now * now;
    const double next = (x * now - std::sqrt(k - 1.0) * before) / std::sqrt(static_cast<double>(k));
    before = now, now = next;
  }
  return {now, sum};
}

/// Gauss and Hermite's rule: roots, which are more than 1/sqrt(order) apart, and one over the sums.
Weighted rule_of(int order) {
  std::vector<double> nodes, weights;
  const double far = 2 * std::sqrt(order + 1.0), step = 0.5 / std::sqrt(order + 1.0);
  for (double x = -far; x < far; x += step) {
    double low = x, high = x + step;
    const bool rises = hermite(order, low).last < 0;
    if (rises == (hermite(order, high).last < 0)) continue;
    for (int k = 0; k < 60; ++k) {
      const double middle = (low + high) / 2;
      ((hermite(order, middle).last < 0) == rises ? low : high) = middle;
    }
    nodes.push_back((low + high) / 2);
    weights.push_back(1 / hermite(order, nodes.back()).sum);
  }
  Weighted rule;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    for (std::size_t j = 0; j < nodes.size(); ++j) {
      const double weight = weights[i] * weights[j];
      if (weight < 1e-22) continue;  // below what the others' rounding is
      rule.tokens.insert(rule.tokens.end(),
                         {kStart.mean[0] + kRoot[0] * nodes[i],
                          kStart.mean[1] + kRoot[1] * nodes[i] + kRoot[2] * nodes[j]});
      rule.masses.push_back(weight);
    }
  return rule;
}

Weighted sample_of(std::size_t count, std::uint64_t seed) {
  Weighted sample{.tokens = std::vector<double>(2 * count), .masses = {}};
  Stream(seed, "gaussian tokens").normals(0, sample.tokens);
  for (std::size_t i = 0; i < count; ++i) {
    double* x = &sample.tokens[2 * i];
    const double a = x[0], b = x[1];
    x[0] = kStart.mean[0] + kRoot[0] * a;
    x[1] = kStart.mean[1] + kRoot[1] * a + kRoot[2] * b;
  }
  return sample;
}

GaussianLaw law_of(const Weighted& w) {
  GaussianLaw law{{0, 0}, {0, 0, 0, 0}};
  const std::size_t n = w.tokens.size() / 2;
  double total = 0;
  for (std::size_t i = 0; i < n; ++i) total += w.masses.empty() ? 1 : w.masses[i];
  const auto share = [&](std::size_t i) { return (w.masses.empty() ? 1 : w.masses[i]) / total; };
  for (std::size_t k = 0; k < 2 * n; ++k) law.mean[k % 2] += share(k / 2) * w.tokens[k];
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < 4; ++k)
      law.covariance[k] += share(i) * (w.tokens[2 * i + k / 2] - law.mean[k / 2]) *
                           (w.tokens[2 * i + k % 2] - law.mean[k % 2]);
  return law;
}

/// Runge and Kutta's method on velocities of the attention kernel.
void walk(const Attention& attention, double time, int steps, Weighted& w, const Effort& effort) {
  const double h = time / steps;
  const std::size_t size = w.tokens.size();
  std::vector<double> at(size), k(size), sum(size);
  for (int s = 0; s < steps && !effort.context.stopped(); ++s) {
    std::fill(sum.begin(), sum.end(), 0.0);
    for (const auto& [reach, weight] :
         {std::pair{0.0, 1.0}, {h / 2, 2.0}, {h / 2, 2.0}, {h, 1.0}}) {
      for (std::size_t c = 0; c < size; ++c) at[c] = w.tokens[c] + reach * k[c];
      depth::velocity({.attention = attention}, at, w.masses, k);
      for (std::size_t c = 0; c < size; ++c) sum[c] += weight * k[c];
    }
    for (std::size_t c = 0; c < size; ++c) w.tokens[c] += h / 6 * sum[c];
  }
}

double apart(const GaussianLaw& a, const GaussianLaw& b) {
  double largest = 0;
  for (std::size_t k = 0; k < 2; ++k) largest = std::max(largest, std::abs(a.mean[k] - b.mean[k]));
  for (std::size_t k = 0; k < 4; ++k)
    largest = std::max(largest, std::abs(a.covariance[k] - b.covariance[k]));
  return largest;
}

struct Case {
  std::string name;
  Attention attention;
  double time;
};

std::vector<Case> cases() {
  const Attention plain{.beta = 0.8, .dim = 2, .on_sphere = false};
  Attention back = plain, general = plain;
  back.value = {-1, 0, 0, -1};
  general.query = {1, 0.2, -0.3, 0.8};
  general.key = {0.5, -0.4, 0.1, 1.1};
  general.value = {0.9, 0.3, -0.2, -0.6};
  return {{"V = I", plain, 0.5}, {"V = −I", back, 2}, {"general Q, K, V", general, 1}};
}

Table by_quadrature(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "laws",
              .title = "Mean and covariance at the end: weighted tokens and the equation",
              .columns = {"time", "m1", "m2", "S11", "S12", "S22", "difference"},
              .label_column = "weights"};
  for (const Case& c : cases()) {
    Weighted w = rule_of(effort.quick ? 36 : 48);
    walk(c.attention, c.time, effort.quick ? 100 : 400, w, effort);
    if (effort.context.stopped()) return table;
    const GaussianLaw seen = law_of(w),
                      law = meanfield::gaussian_after(c.attention, 0, kStart, c.time, 1e-13);
    table.labels.push_back(c.name);
    table.rows.push_back({c.time, seen.mean[0], seen.mean[1], seen.covariance[0],
                          seen.covariance[1], seen.covariance[3], apart(seen, law)});
    // Runge and Kutta's error, 1e-9 with steps of a hundredth.
    checks.push_back(at_most(c.name + ": weighted tokens from the equation, largest difference",
                             apart(seen, law), effort.quick ? 1e-7 : 1e-9));
  }
  return table;
}

/// V = I diverges at 1/(2 beta s), s the largest eigenvalue of the covariance.
void divergence(std::vector<Check>& checks) {
  const double beta = 0.8, s = 0.45 + std::sqrt(0.05 * 0.05 + 0.01);
  const double end = 1 / (2 * beta * s);
  const auto trace = [&](double time) {
    const GaussianLaw law =
        meanfield::gaussian_after({.beta = beta, .dim = 2}, 0, kStart, time, 1e-11);
    return law.covariance[0] + law.covariance[3];
  };
  // 1/(2 beta (end - t)) and what is finite: the difference of two times leaves the first.
  const double a = 1e-2, b = 1e-3;
  checks.push_back(near_relative("V = I: growth of the covariance before 1/(2 beta max s)",
                                 trace(end - b) - trace(end - a), (1 / b - 1 / a) / (2 * beta),
                                 1e-3));
}

Table by_sampling(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "samples",
              .title = "Independent tokens, V = I, t = 0.5: from the equation",
              .columns = {"tokens", "samples", "root_mean_square_of_S11"}};
  const Case c = cases()[0];
  const GaussianLaw law = meanfield::gaussian_after(c.attention, 0, kStart, c.time);
  std::vector<double> errors;
  for (const std::size_t n : {100U, effort.quick ? 900U : 3600U}) {
    const std::uint64_t samples = effort.quick ? 60U : 100U;
    double squares = 0;
    for (std::uint64_t s = 0; s < samples; ++s) {
      Weighted w = sample_of(n, s);
      walk(c.attention, c.time, 10, w, effort);
      if (effort.context.stopped()) return table;
      const double off = law_of(w).covariance[0] - law.covariance[0];
      squares += off * off / static_cast<double>(samples);
    }
    errors.push_back(std::sqrt(squares));
    table.rows.push_back({static_cast<double>(n), static_cast<double>(samples), errors.back()});
  }
  const double root = std::sqrt(table.rows[1][0] / table.rows[0][0]);
  // Two root mean squares of so many samples: each known to 1/sqrt(2 samples).
  checks.push_back(near_relative("independent tokens: error of S11 falls like n^{-1/2}",
                                 errors[0] / errors[1], root, 4 / std::sqrt(table.rows[0][1])));
  return table;
}

std::vector<PageFigure> figures() {
  report::Panel panel{.x = {.label = "t", .low = 0, .high = 2},
                      .y = {.label = "trace of the covariance", .scale = report::Scale::log}};
  std::size_t colour = 0;
  for (const Case& c : cases()) {
    report::Series series = line(c.name, report::kPalette[colour++]);
    for (double t = 0; t <= (c.attention.value.empty() ? 1.1 : 2.0); t += 0.05) {
      const GaussianLaw law = meanfield::gaussian_after(c.attention, 0, kStart, t);
      add_point(series, t, law.covariance[0] + law.covariance[3]);
    }
    panel.series.push_back(std::move(series));
  }
  return {picture("covariance", "Gaussian tokens without normalisation", {std::move(panel)},
                  "V = I diverges in finite time, V = −I collapses like 1/t.")};
}

Finding run(const Effort& effort) {
  Finding finding;
  const Table laws = by_quadrature(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  divergence(finding.checks);
  const Table samples = by_sampling(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  double worst = 0;
  for (const std::vector<double>& r : laws.rows) worst = std::max(worst, r.back());
  finding.answer.headline = fmt::format(
      "Weighted tokens that are a quadrature of the Gaussian law keep to the equation of mean and "
      "covariance within {:.0e}, for V = ±I and general weights; independent ones within {:.1e} at "
      "n = {:g}.",
      worst, samples.rows[1][2], samples.rows[1][0]);
  finding.answer.tables = {laws, samples};
  finding.answer.draw = [] { return figures(); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "gaussian-tokens",
          .title = "Gaussian tokens stay Gaussian",
          .source = "arXiv 2501.18322; 2512.01868, section 6.2",
          .shows =
              "Without normalisation tokens in R^d diverge or collapse; Gaussian starts stay "
              "Gaussian, and mean and covariance obey a closed equation.",
          .run = run};
}

}  // namespace attractor::papers::gaussian_tokens
