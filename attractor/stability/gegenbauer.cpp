#include "attractor/stability/gegenbauer.hpp"

#include <cassert>
#include <cmath>
#include <numbers>

#include "attractor/base/dense.hpp"

namespace attractor::meanfield {
namespace {

double recurrence(std::size_t dim, std::size_t degree) {
  const double d = static_cast<double>(dim), l = static_cast<double>(degree);
  if (degree == 0) return 0;
  if (degree == 1) return std::sqrt(1 / d);
  return std::sqrt(l * (l + d - 3) / ((2 * l + d - 2) * (2 * l + d - 4)));
}

}  // namespace

Gegenbauer::Gegenbauer(std::size_t dim, std::size_t count) : dim_(dim) {
  assert(dim >= 2 && count >= 1);
  for (std::size_t l = 0; l < count; ++l) coefficients_.push_back(recurrence(dim, l));
}

void Gegenbauer::values(double t, std::span<double> out) const {
  const std::vector<double>& a = coefficients_;
  out[0] = 1;
  for (std::size_t l = 1; l < count(); ++l)
    out[l] = (t * out[l - 1] - (l > 1 ? a[l - 1] * out[l - 2] : 0.0)) / a[l];
}

void Gegenbauer::values_and_slopes(double t, std::span<double> p, std::span<double> slopes) const {
  const std::vector<double>& a = coefficients_;
  values(t, p);
  slopes[0] = 0;
  for (std::size_t l = 1; l < count(); ++l)
    slopes[l] = (p[l - 1] + t * slopes[l - 1] - (l > 1 ? a[l - 1] * slopes[l - 2] : 0.0)) / a[l];
}

namespace {

/// d = 2 in closed form.
GaussRule chebyshev_rule(std::size_t nodes) {
  const double n = static_cast<double>(nodes);
  GaussRule rule{.nodes = std::vector<double>(nodes), .weights = std::vector<double>(nodes, 1 / n)};
  for (std::size_t k = 0; k < nodes; ++k)
    rule.nodes[k] = std::sin((2 * static_cast<double>(k) + 1 - n) / (2 * n) * std::numbers::pi);
  return rule;
}

}  // namespace

GaussRule gauss_rule(std::size_t dim, std::size_t nodes) {
  if (dim == 2) return chebyshev_rule(nodes);
  const auto size = static_cast<Eigen::Index>(nodes);
  Eigen::VectorXd off(std::max<Eigen::Index>(size - 1, 0));
  for (Eigen::Index l = 1; l < size; ++l) off(l - 1) = recurrence(dim, static_cast<std::size_t>(l));
  const Eigen::VectorXd roots = tridiagonal_eigenvalues(Eigen::VectorXd::Zero(size), off);
  const Gegenbauer basis(dim, nodes + 1);
  std::vector<double> p(nodes + 1), slopes(nodes + 1);
  GaussRule rule{.nodes = std::vector<double>(nodes), .weights = std::vector<double>(nodes)};
  for (std::size_t k = 0; k <= (nodes - 1) / 2; ++k) {  // the other half by symmetry
    const std::size_t mirror = nodes - 1 - k;
    double t = mirror == k ? 0.0 : roots(static_cast<Eigen::Index>(k));
    for (int polish = 0; polish < 2 && mirror != k; ++polish) {
      basis.values_and_slopes(t, p, slopes);
      t -= p[nodes] / slopes[nodes];
    }
    basis.values(t, p);
    double sum = 0;  // Christoffel: 1 / weight
    for (std::size_t l = 0; l < nodes; ++l) sum += p[l] * p[l];
    rule.nodes[k] = t;
    rule.nodes[mirror] = -t;
    rule.weights[k] = rule.weights[mirror] = 1 / sum;
  }
  return rule;
}

}  // namespace attractor::meanfield
