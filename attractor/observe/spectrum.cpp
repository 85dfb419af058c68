#include "attractor/observe/spectrum.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <set>

#include "attractor/base/dense.hpp"
#include "attractor/base/eigen.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::observe {
namespace {

using Tokens = Eigen::Map<const RowMajor>;

constexpr std::size_t kLargest = 1024;   // order of the largest matrix diagonalised
constexpr std::size_t kPanel = 64;       // columns of the matrix a thread takes together
constexpr Eigen::Index kChunk = 512;     // tokens in cache at a time
constexpr double kSpanThreshold = 1e-3;  // of the largest eigenvalue

// sum_i m_i x_i x_i^T, lower triangle; panels of columns are disjoint outputs.
Eigen::MatrixXd second_moment(const Tokens& x, const Eigen::VectorXd& masses) {
  const Eigen::Index dim = x.cols();
  Eigen::MatrixXd moment = Eigen::MatrixXd::Zero(dim, dim);
  parallel_for(dim, kPanel, [&](std::size_t begin, std::size_t end) {
    const Eigen::Index from = begin, width = end - begin;
    for (Eigen::Index i = 0; i < x.rows(); i += kChunk) {
      const Eigen::Index count = std::min(kChunk, x.rows() - i);
      const RowMajor weighted =
          masses.segment(i, count).asDiagonal() * x.block(i, from, count, width);
      moment.block(from, from, dim - from, width).noalias() +=
          x.block(i, from, count, dim - from).transpose() * weighted;
    }
  });
  return moment;
}

// sqrt(m_i m_j) <x_i, x_j>, lower triangle.
Eigen::MatrixXd weighted_gram(const Tokens& x, const Eigen::VectorXd& masses) {
  const Eigen::Index n = x.rows();
  const Eigen::VectorXd roots = masses.cwiseSqrt();
  Eigen::MatrixXd gram = Eigen::MatrixXd::Zero(n, n);
  parallel_for(n, kPanel, [&](std::size_t begin, std::size_t end) {
    const Eigen::Index from = begin, width = end - begin;
    auto panel = gram.block(from, from, n - from, width);
    panel.noalias() = x.bottomRows(n - from) * x.middleRows(from, width).transpose();
    panel = roots.tail(n - from).asDiagonal() * panel * roots.segment(from, width).asDiagonal();
  });
  return gram;
}

// `count` different numbers below `total`, ascending: Floyd's algorithm, one draw each.
std::set<std::uint64_t> choose(std::uint64_t total, std::uint64_t count, std::uint64_t seed) {
  const Stream stream(seed, "observe.spectrum");
  std::set<std::uint64_t> chosen;
  for (std::uint64_t last = total - count; last < total; ++last)
    if (!chosen.insert(stream.below(last + 1, last - (total - count), 0)).second)
      chosen.insert(last);
  return chosen;
}

struct Sample {
  std::vector<double> tokens, masses;
};

Sample draw_sample(std::span<const double> tokens, std::size_t dim, std::span<const double> masses,
                   std::size_t count, std::uint64_t seed) {
  std::vector<double> ends(masses.size());  // token i stands for the originals below ends[i]
  std::partial_sum(masses.begin(), masses.end(), ends.begin());
  const double weight = ends.back() / static_cast<double>(count);
  Sample sample;
  std::size_t i = 0, previous = masses.size();
  for (const std::uint64_t original :
       choose(static_cast<std::uint64_t>(ends.back()), count, seed)) {
    while (ends[i] <= static_cast<double>(original)) ++i;
    if (i == previous) {
      sample.masses.back() += weight;
      continue;
    }
    const auto row = tokens.subspan(i * dim, dim);
    sample.tokens.insert(sample.tokens.end(), row.begin(), row.end());
    sample.masses.push_back(weight);
    previous = i;
  }
  return sample;
}

std::vector<double> eigenvalues(std::span<const double> tokens, std::size_t dim,
                                std::span<const double> masses) {
  const Tokens x(tokens.data(), masses.size(), dim);
  const Eigen::VectorXd m = Eigen::Map<const Eigen::VectorXd>(masses.data(), masses.size());
  const Eigen::MatrixXd matrix = x.rows() < x.cols() ? weighted_gram(x, m) : second_moment(x, m);
  const Eigen::VectorXd ascending = symmetric_eigenvalues(matrix);
  std::vector<double> values(ascending.begin(), ascending.end());
  std::reverse(values.begin(), values.end());
  for (double& value : values) value = std::max(0.0, value);  // negative only by rounding
  return values;
}

double effective_rank(std::span<const double> values) {
  const double total = std::accumulate(values.begin(), values.end(), 0.0);
  if (!(total > 0)) return 0;
  double entropy = 0;
  for (const double value : values)
    if (value > 0) entropy -= value / total * std::log(value / total);
  return std::exp(entropy);
}

}  // namespace

Spectrum spectrum(std::span<const double> tokens, std::size_t dim, std::span<const double> masses,
                  std::uint64_t seed) {
  assert(dim > 0 && !masses.empty() && tokens.size() == masses.size() * dim);
  Spectrum result;
  result.sampled = std::min(masses.size(), dim) > kLargest;
  if (result.sampled) {
    const Sample sample = draw_sample(tokens, dim, masses, kLargest, seed);
    const Sample half = draw_sample(tokens, dim, masses, kLargest / 2, ~seed);
    result.eigenvalues = eigenvalues(sample.tokens, dim, sample.masses);
    const double rank = effective_rank(result.eigenvalues), part = 1.0 / kLargest;
    result.effective_rank_error =
        std::hypot(rank - effective_rank(eigenvalues(half.tokens, dim, half.masses)),
                   rank * part * (1 - std::log(part) + std::log(static_cast<double>(dim))));
  } else {
    result.eigenvalues = eigenvalues(tokens, dim, masses);
  }
  result.effective_rank = effective_rank(result.eigenvalues);
  result.span_dimension = count_above(result, kSpanThreshold * result.eigenvalues.front());
  return result;
}

std::size_t count_above(const Spectrum& spectrum, double least) {
  return static_cast<std::size_t>(std::count_if(spectrum.eigenvalues.begin(),
                                                spectrum.eigenvalues.end(),
                                                [&](double value) { return value > least; }));
}

}  // namespace attractor::observe
