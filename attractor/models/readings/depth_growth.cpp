#include "attractor/models/readings/depth_growth.hpp"

#include <cmath>

#include "attractor/base/random.hpp"

namespace attractor::models {
namespace {

double product_of(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

/// Makes vectors orthonormal in their order; the logarithms of what was left of each.
std::vector<double> orthonormalise(std::vector<std::vector<double>>& vectors) {
  std::vector<double> logs;
  for (std::size_t k = 0; k < vectors.size(); ++k) {
    for (int twice = 0; twice < 2; ++twice)
      for (std::size_t before = 0; before < k; ++before) {
        const double along = product_of(vectors[k], vectors[before]);
        for (std::size_t a = 0; a < vectors[k].size(); ++a)
          vectors[k][a] -= along * vectors[before][a];
      }
    const double length = std::sqrt(product_of(vectors[k], vectors[k]));
    logs.push_back(std::log(length));
    for (double& x : vectors[k]) x = length > 0 ? x / length : 0;
  }
  return logs;
}

double length_of(const Matrix& x, std::size_t row) {
  double squares = 0;
  for (std::size_t c = 0; c < x.columns; ++c)
    squares += static_cast<double>(x.row(row)[c]) * static_cast<double>(x.row(row)[c]);
  return std::sqrt(squares);
}

/// Takes what is along the token out of a perturbation of it.
void project(const Matrix& x, std::size_t row, std::span<double> moved) {
  double along = 0, squares = 0;
  for (std::size_t c = 0; c < x.columns; ++c) {
    const double here = static_cast<double>(x.row(row)[c]);
    along += here * moved[c];
    squares += here * here;
  }
  for (std::size_t c = 0; squares > 0 && c < x.columns; ++c)
    moved[c] -= along / squares * static_cast<double>(x.row(row)[c]);
}

}  // namespace

DepthGrowth::DepthGrowth(Pass& pass, std::size_t count, std::uint64_t seed) : pass_(pass) {
  const Stream stream(seed, "depth growth");
  const Matrix& x = pass.state();
  std::vector<std::vector<double>> unit(count, std::vector<double>(x.data.size()));
  for (std::size_t k = 0; k < count; ++k) {
    stream.normals(k, unit[k]);
    for (std::size_t i = 0; i < x.rows; ++i)
      project(x, i, std::span(unit[k]).subspan(i * x.columns, x.columns));
  }
  orthonormalise(unit);
  pass.tangents().assign(count, Matrix(x.rows, x.columns));
  plant(unit);
}

std::vector<std::vector<double>> DepthGrowth::directions() const {
  const Matrix& x = pass_.state();
  std::vector<std::vector<double>> all;
  for (const Matrix& t : pass_.tangents()) {
    std::vector<double>& moved = all.emplace_back(t.data.begin(), t.data.end());
    for (std::size_t i = 0; i < x.rows; ++i) {
      const auto part = std::span(moved).subspan(i * x.columns, x.columns);
      project(x, i, part);
      const double length = length_of(x, i);
      for (double& c : part) c = length > 0 ? c / length : 0;
    }
  }
  return all;
}

void DepthGrowth::plant(const std::vector<std::vector<double>>& unit) {
  const Matrix& x = pass_.state();
  for (std::size_t k = 0; k < unit.size(); ++k)
    for (std::size_t i = 0; i < x.rows; ++i) {
      const double length = length_of(x, i);
      for (std::size_t c = 0; c < x.columns; ++c)
        pass_.tangents()[k].row(i)[c] = static_cast<float>(length * unit[k][i * x.columns + c]);
    }
}

void DepthGrowth::measure() {
  std::vector<std::vector<double>> all = directions();
  growth_.push_back(orthonormalise(all));
  plant(all);
}

std::vector<double> DepthGrowth::exponents() const {
  if (growth_.empty()) return {};
  const std::size_t first = growth_.size() > 1 ? 1 : 0;
  std::vector<double> mean(growth_.front().size(), 0.0);
  for (std::size_t layer = first; layer < growth_.size(); ++layer)
    for (std::size_t k = 0; k < mean.size(); ++k)
      mean[k] += growth_[layer][k] / static_cast<double>(growth_.size() - first);
  return mean;
}

}  // namespace attractor::models
