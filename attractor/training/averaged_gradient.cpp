#include "attractor/training/averaged_gradient.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/dense.hpp"
#include "attractor/base/eigen.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"

namespace attractor::training {
namespace {

double sign_of(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }

bool all_zero(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return x == 0; });
}

}  // namespace

// The eigenvectors of [0 A; A^T 0] for positive eigenvalues are (u, v) / sqrt 2; A^T A would square
// the condition number.
std::vector<double> polar_factor(std::span<const double> A, std::size_t rows, std::size_t columns,
                                 double least) {
  const auto a = static_cast<Eigen::Index>(rows), b = static_cast<Eigen::Index>(columns);
  Eigen::MatrixXd both = Eigen::MatrixXd::Zero(a + b, a + b);
  both.bottomLeftCorner(b, a) = Eigen::Map<const RowMajor>(A.data(), a, b).transpose();
  const SymmetricEigen eigen = symmetric_eigen(both);
  std::vector<double> polar(rows * columns, 0.0);
  Eigen::Map<RowMajor> out(polar.data(), a, b);
  const double largest = eigen.values[a + b - 1];
  for (Eigen::Index k = std::max(a, b); k < a + b; ++k)
    if (largest > 0 && eigen.values[k] > least * largest)
      out += 2 * eigen.vectors.col(k).head(a) * eigen.vectors.col(k).tail(b).transpose();
  return polar;
}

AveragedGradient::AveragedGradient(const Objective& objective, const AverageOptions& options)
    : objective_(objective), options_(options), dim_(objective.dim()) {
  const std::size_t blocks = objective.blocks().size();
  if (squares())
    size_ = 2 * dim_ + blocks + 2;
  else if (options.beta1 > 0)
    size_ = dim_ + blocks;
  if (options.rule != Update::muon) return;
  for (const Block& block : objective.blocks())
    if (block.name == "p" || block.name == "v")
      throw Error(fmt::format(
          "muon orthogonalises matrices; {} is a vector: train W, or K and Q, alone", block.name));
}

void AveragedGradient::start(std::span<double> kept) const {
  std::fill(kept.begin(), kept.end(), 0.0);
  if (squares()) kept[size_ - 2] = kept[size_ - 1] = 1;  // b1^0 and b2^0
}

AveragedGradient::Averages AveragedGradient::averages(std::size_t k, const Evaluation& e,
                                                      std::span<const double> kept) const {
  const Block& block = objective_.blocks()[k];
  const auto g = block.of(e.descent);
  Averages now{.mean = {g.begin(), g.end()}, .scale = e.log_scale[k]};
  if (!keeps()) return now;
  const auto mean = block.of(kept);
  const auto square = squares() ? block.of(kept.subspan(dim_)) : std::span<const double>{};
  const double past = kept[(squares() ? 2 : 1) * dim_ + k];
  const bool none = all_zero(mean) && all_zero(square), still = all_zero(g);
  now.scale = none ? e.log_scale[k] : still ? past : std::max(past, e.log_scale[k]);
  const double old = none ? 0 : std::exp(past - now.scale),
               fresh = still ? 0 : std::exp(e.log_scale[k] - now.scale);
  const double b1 = options_.beta1, b2 = options_.beta2;
  double size = 0;
  now.square.resize(square.size());
  for (std::size_t j = 0; j < g.size(); ++j) {
    now.mean[j] = b1 * old * mean[j] + (1 - b1) * fresh * g[j];
    size = std::max(size, std::abs(now.mean[j]));
    if (square.empty()) continue;
    now.square[j] = b2 * old * old * square[j] + (1 - b2) * (fresh * g[j]) * (fresh * g[j]);
    size = std::max(size, std::sqrt(now.square[j]));
  }
  if (size == 0) return {now.mean, now.square, 0};
  for (double& x : now.mean) x /= size;
  for (double& x : now.square) x /= size * size;
  now.scale += std::log(size);
  return now;
}

void AveragedGradient::rescale(const Block& block, const Averages& now,
                               std::span<const double> next, std::span<double> move) const {
  if (options_.rule == Update::muon) {
    const std::size_t rows = objective_.problem().dim;
    const std::vector<double> polar = polar_factor(now.mean, rows, block.size / rows);
    std::copy(polar.begin(), polar.end(), move.begin() + static_cast<std::ptrdiff_t>(block.begin));
    return;
  }
  double first = 1, second = 1, epsilon = 0;
  if (squares()) {
    first = 1 - next[size_ - 2];
    second = 1 - next[size_ - 1];
    if (options_.epsilon > 0) epsilon = options_.epsilon * std::exp(-now.scale);
  }
  for (std::size_t j = 0; j < block.size; ++j) {
    const double m = now.mean[j];
    move[block.begin + j] = !squares() ? sign_of(m)
                            : m == 0   ? 0.0
                                     : (m / first) / (std::sqrt(now.square[j] / second) + epsilon);
  }
}

void AveragedGradient::advance(const Evaluation& e, std::span<const double> kept,
                               std::span<double> next, std::span<double> move) const {
  if (squares()) {
    next[size_ - 2] = options_.beta1 * kept[size_ - 2];
    next[size_ - 1] = options_.beta2 * kept[size_ - 1];
  }
  const std::span<const Block> blocks = objective_.blocks();
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    const Averages now = averages(k, e, kept);
    const auto at = static_cast<std::ptrdiff_t>(blocks[k].begin);
    if (keeps()) {
      std::copy(now.mean.begin(), now.mean.end(), next.begin() + at);
      std::copy(now.square.begin(), now.square.end(),
                next.begin() + static_cast<std::ptrdiff_t>(dim_) + at);
      next[(squares() ? 2 : 1) * dim_ + k] = now.scale;
    }
    rescale(blocks[k], now, next, move);
  }
}

}  // namespace attractor::training
