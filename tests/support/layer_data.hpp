// Random tokens and heads for tests of attention layers.
#pragma once

#include <cmath>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "attractor/attention/attention_layer.hpp"
#include "attractor/base/random.hpp"

namespace attractor {

inline std::vector<double> normals(const std::string& name, std::size_t rows, std::size_t dim) {
  std::vector<double> all(rows * dim);
  for (std::size_t i = 0; i < rows; ++i)
    Stream(5, name).normals(i, std::span(all).subspan(i * dim, dim));
  return all;
}

inline std::vector<double> unit_rows(std::vector<double> x, std::size_t dim) {
  for (std::size_t i = 0; i < x.size(); i += dim) {
    const double size = std::sqrt(std::inner_product(&x[i], &x[i] + dim, &x[i], 0.0));
    for (std::size_t a = 0; a < dim; ++a) x[i + a] /= size;
  }
  return x;
}

inline Head random_head(const std::string& name, std::size_t rank, std::size_t dim) {
  return {.query = normals(name + "q", rank, dim),
          .key = normals(name + "k", rank, dim),
          .value = normals(name + "v", dim, dim)};
}

}  // namespace attractor
