// The linearised row against differences of the velocity of one more, massless token.
#include "attractor/depth/coalescence/linearised_row.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

std::vector<double> times(const std::vector<double>& matrix, std::span<const double> x) {
  if (matrix.empty()) return {x.begin(), x.end()};
  std::vector<double> y(x.size(), 0.0);
  for (std::size_t k = 0; k < matrix.size(); ++k) y[k / x.size()] += matrix[k] * x[k % x.size()];
  return y;
}

/// P A(x) of a test token at x, from the definition.
std::vector<double> velocity(const Attention& att, std::span<const double> state,
                             std::span<const double> masses, std::span<const double> x) {
  const std::size_t dim = att.dim;
  const std::vector<double> query = times(att.query, x);
  std::vector<double> sum(dim, 0.0);
  double z = 0, total = 0;
  for (std::size_t j = 0; j < masses.size(); ++j) {
    const auto token = state.subspan(j * dim, dim);
    const double weight = masses[j] * std::exp(att.beta * dot(query, times(att.key, token)));
    const std::vector<double> value = times(att.value, token);
    for (std::size_t a = 0; a < dim; ++a) sum[a] += weight * value[a];
    z += weight;
    total += masses[j];
  }
  for (double& c : sum) c /= att.rule == Rule::softmax ? z : total;
  Sphere(dim).project(x, sum);
  return sum;
}

TEST(LinearisedRow, IsTheDerivativeOfTheVelocity) {
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const bool weights : {false, true})
      for (const std::size_t dim : {2UL, 3UL, 5UL}) {
        const std::size_t n = 6;
        const Stream stream(4, "row");
        Attention att{.rule = rule, .beta = 1.7, .dim = dim};
        if (weights)
          for (std::vector<double>* matrix : {&att.query, &att.key, &att.value}) {
            matrix->resize(dim * dim);
            stream.normals(matrix == &att.query ? 10 : matrix == &att.key ? 11 : 12, *matrix);
          }
        std::vector<double> state(n * dim), masses = {1, 2, 5, 1, 3, 1};
        stream.normals(1, state);
        for (std::size_t j = 0; j < n; ++j)
          Sphere(dim).retract(std::span(state).subspan(j * dim, dim));
        const auto c = std::span<const double>(state).subspan(2 * dim, dim);
        std::vector<double> xi(dim);
        stream.normals(2, xi);
        Sphere(dim).project(c, xi);
        const double log_unit = 0.3, h = 1e-5;
        const RowSources sources(att, state, masses, 13);
        const LinearisedRow row(sources, 2, log_unit);
        std::vector<double> product(dim), up(c.begin(), c.end()), down = up;
        for (std::size_t a = 0; a < dim; ++a) {
          product[a] = row.rate() * xi[a];
          up[a] += h * xi[a];
          down[a] -= h * xi[a];
        }
        row.add_product(xi, 1, product);
        Sphere(dim).retract(up);
        Sphere(dim).retract(down);
        const auto a = velocity(att, state, masses, up), b = velocity(att, state, masses, down);
        for (std::size_t k = 0; k < dim; ++k)
          EXPECT_NEAR(product[k], std::exp(log_unit) * (a[k] - b[k]) / (2 * h),
                      1e-6 * (1 + row.size()))
              << name(rule) << " dim " << dim << " weights " << weights;
        std::vector<double> matrix(dim * dim);
        row.matrix(matrix);
        for (std::size_t k = 0; k < dim; ++k) {
          double sum = row.rate() * xi[k];
          for (std::size_t l = 0; l < dim; ++l) sum += matrix[l * dim + k] * xi[l];
          EXPECT_NEAR(sum, product[k], 1e-14 * (1 + row.size()) * norm(xi)) << "column sums";
        }
      }
}

}  // namespace
}  // namespace attractor::depth
