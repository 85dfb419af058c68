#include "attractor/training/margins/margin_norm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/dense.hpp"
#include "attractor/base/eigen.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::training {
namespace {

// Descending, of a square matrix: the eigenvalues of [0 A; A^T 0] that are not negative.
Eigen::VectorXd singular_values_of(std::span<const double> w) {
  const auto d = static_cast<Eigen::Index>(std::lround(std::sqrt(static_cast<double>(w.size()))));
  Eigen::MatrixXd both = Eigen::MatrixXd::Zero(2 * d, 2 * d);
  both.bottomLeftCorner(d, d) = Eigen::Map<const RowMajor>(w.data(), d, d).transpose();
  return symmetric_eigenvalues(both).tail(d).reverse().cwiseMax(0);
}

}  // namespace

double MarginNorm::operator()(std::span<const double> w) const {
  if (w.empty()) return 0;
  if (of == Of::nuclear) return singular_values_of(w).sum();
  if (of == Of::spectral) return singular_values_of(w)[0];
  double largest = 0, sum = 0;
  for (const double x : w) largest = std::max(largest, std::abs(x));
  if (largest == 0 || power == kInfinity) return largest;
  for (const double x : w) sum += std::pow(std::abs(x) / largest, power);
  return largest * std::pow(sum, 1 / power);
}

std::string name(const MarginNorm& norm, bool matrix) {
  if (norm.of == MarginNorm::Of::nuclear) return "nuclear";
  if (norm.of == MarginNorm::Of::spectral) return "spectral";
  if (norm.power == kInfinity) return "l_inf";
  return norm.power == 2 && matrix ? "Frobenius" : fmt::format("l_{:.4g}", norm.power);
}

MarginNorm natural_norm(AttentionPart part) {
  return {.of = part == AttentionPart::factors ? MarginNorm::Of::nuclear : MarginNorm::Of::entries};
}

std::vector<MarginNorm> margin_norms(AttentionPart part) {
  std::vector<MarginNorm> all{{.power = 2}, {.power = kInfinity}, {.power = 1}};
  if (part == AttentionPart::prompt) return all;
  all.push_back({.of = MarginNorm::Of::nuclear});
  all.push_back({.of = MarginNorm::Of::spectral});
  return all;
}

}  // namespace attractor::training
