#include "attractor/solve/active_qr.hpp"

#include <Eigen/Core>
#include <Eigen/Jacobi>
#include <algorithm>
#include <cassert>
#include <utility>

#include "attractor/base/threads.hpp"

namespace attractor::solve {
namespace {

using QrMatrix = Eigen::Map<Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
using ConstMatrix = Eigen::Map<const Eigen::MatrixXd, 0, Eigen::OuterStride<>>;
using QrVector = Eigen::Map<Eigen::VectorXd>;
using ConstVector = Eigen::Map<const Eigen::VectorXd>;

constexpr std::size_t kEntriesTogether = 1 << 16;  // entries of Q a thread takes together

std::size_t row_grain(std::size_t length) {
  return std::max<std::size_t>(16, kEntriesTogether / (length + 1));
}

}  // namespace

void ActiveQr::multiply_transposed(std::span<const double> x, std::span<double> u) const {
  assert(x.size() == rows_ && u.size() == size_);
  parallel_for(size_, row_grain(rows_), [&](std::size_t begin, std::size_t end) {
    const ConstMatrix q(q_.data() + begin * rows_, rows_, end - begin, Eigen::OuterStride<>(rows_));
    QrVector(u.data() + begin, end - begin).noalias() =
        q.transpose() * ConstVector(x.data(), x.size());
  });
}

void ActiveQr::multiply(std::span<const double> u, std::span<double> x) const {
  assert(u.size() == size_ && x.size() == rows_);
  parallel_for(rows_, row_grain(size_), [&](std::size_t begin, std::size_t end) {
    const ConstMatrix q(q_.data() + begin, end - begin, size_, Eigen::OuterStride<>(rows_));
    QrVector(x.data() + begin, end - begin).noalias() = q * ConstVector(u.data(), u.size());
  });
}

double ActiveQr::split(std::span<const double> x, std::span<double> along,
                       std::span<double> rest) const {
  assert(along.size() == size_ && rest.size() == rows_);
  std::copy(x.begin(), x.end(), rest.begin());
  std::fill(along.begin(), along.end(), 0.0);
  std::vector<double> part(size_), image(rows_);
  for (int pass = 0; pass < 2; ++pass) {
    multiply_transposed(rest, part);
    multiply(part, image);
    for (std::size_t a = 0; a < rows_; ++a) rest[a] -= image[a];
    for (std::size_t k = 0; k < size_; ++k) along[k] += part[k];
  }
  return ConstVector(rest.data(), rest.size()).stableNorm();
}

void ActiveQr::append(std::span<const double> along, std::span<const double> rest,
                      double rest_norm) {
  assert(rest_norm > 0 && size_ < rows_);
  reserve(size_ + 1);
  std::copy(along.begin(), along.end(), r_.begin() + size_ * capacity_);
  r_[size_ * capacity_ + size_] = rest_norm;
  for (std::size_t a = 0; a < rows_; ++a) q_[size_ * rows_ + a] = rest[a] / rest_norm;
  ++size_;
}

bool ActiveQr::insert(std::span<const double> x, double dependent) {
  if (size_ == rows_) return false;
  std::vector<double> along(size_), rest(rows_);
  const double rest_norm = split(x, along, rest);
  if (!(rest_norm > dependent * ConstVector(x.data(), x.size()).stableNorm())) return false;
  append(along, rest, rest_norm);
  return true;
}

// Without the column, R is upper Hessenberg from there on; plane rotations make it triangular.
void ActiveQr::erase(std::size_t column) {
  assert(column < size_);
  const Eigen::Index last = --size_, first = column;
  QrMatrix q(q_.data(), rows_, last + 1, Eigen::OuterStride<>(rows_));
  QrMatrix r(r_.data(), last + 1, last + 1, Eigen::OuterStride<>(capacity_));
  for (Eigen::Index k = first; k < last; ++k) r.col(k) = r.col(k + 1);
  for (Eigen::Index k = first; k < last; ++k) {
    Eigen::JacobiRotation<double> rotation;
    rotation.makeGivens(r(k, k), r(k + 1, k));
    r.block(k, k, 2, last - k).applyOnTheLeft(0, 1, rotation.adjoint());
    r(k + 1, k) = 0;
    q.middleCols(k, 2).applyOnTheRight(0, 1, rotation);
  }
}

void ActiveQr::solve(std::span<double> x) const {
  assert(x.size() == size_);
  const ConstMatrix r(r_.data(), size_, size_, Eigen::OuterStride<>(capacity_));
  QrVector y(x.data(), x.size());
  r.triangularView<Eigen::Upper>().solveInPlace(y);
}

void ActiveQr::solve_transposed(std::span<double> x) const {
  assert(x.size() == size_);
  const ConstMatrix r(r_.data(), size_, size_, Eigen::OuterStride<>(capacity_));
  QrVector y(x.data(), x.size());
  r.transpose().triangularView<Eigen::Lower>().solveInPlace(y);
}

void ActiveQr::reserve(std::size_t columns) {
  if (columns <= capacity_) return;
  const std::size_t wanted = std::min(rows_, std::max<std::size_t>({columns, 2 * capacity_, 8}));
  std::vector<double> r(wanted * wanted);
  for (std::size_t k = 0; k < size_; ++k)
    std::copy_n(r_.begin() + k * capacity_, size_, r.begin() + k * wanted);
  r_ = std::move(r);
  q_.resize(wanted * rows_);
  capacity_ = wanted;
}

}  // namespace attractor::solve
