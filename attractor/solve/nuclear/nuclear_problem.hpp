// The problem of nuclear_margin.hpp as its solver sees it, and the way back: bounds of the answer
// that hold whatever the solver did.
#pragma once

#include <span>
#include <vector>

#include "attractor/solve/margin_proof.hpp"
#include "attractor/solve/nuclear/nuclear_certificate.hpp"
#include "attractor/solve/nuclear/nuclear_rows.hpp"

namespace attractor::solve::nuclear {

// The rows as vectors, for the Frobenius norm.
class Vectorised : public Constraints {
 public:
  Vectorised(const RankOneRows<double>& rows, const Rows<double>& left_tail)
      : rows_(rows), left_tail_(left_tail) {}
  std::size_t size() const override { return static_cast<std::size_t>(rows_.size()); }
  std::size_t dim() const override {
    return static_cast<std::size_t>(rows_.left.cols() * rows_.right.cols());
  }
  void products(std::span<const double> p, std::span<double> out) const override {
    const Eigen::Map<const Rows<double>> W(p.data(), rows_.left.cols(), rows_.right.cols());
    Eigen::Map<Vector<double>>(out.data(), rows_.size()) = rows_.products(W);
  }
  void row(std::size_t j, std::span<double> out) const override {
    const auto at = static_cast<Index>(j);
    Eigen::Map<Rows<double>>(out.data(), rows_.left.cols(), rows_.right.cols()) =
        rows_.left.row(at).transpose() * rows_.right.row(rows_.query_of(at));
  }
  double tail(std::size_t j, std::span<double> out) const override {
    const auto at = static_cast<Index>(j), a = rows_.left.cols(), b = rows_.right.cols();
    const auto view = [at](const Rows<double>& rows, Index k) {
      return std::span(rows.data() + at * k, static_cast<std::size_t>(k));
    };
    return outer_tail(
        view(rows_.left, a), view(left_tail_, a),
        std::span(rows_.right.data() + rows_.query_of(at) * b, static_cast<std::size_t>(b)), out);
  }
  double bound(std::size_t j) const override { return rows_.bounds[static_cast<Index>(j)]; }
  std::size_t groups() const override { return static_cast<std::size_t>(rows_.right.rows()); }
  std::size_t group(std::size_t j) const override {
    return static_cast<std::size_t>(rows_.query[j]);
  }

 private:
  const RankOneRows<double>& rows_;
  const Rows<double>& left_tail_;
};

// Which norm of singular values is minimised: their sum or the largest.
enum class Schatten { nuclear, spectral };

// The user's rows; those of them that are not zero, with unit g and z in the coordinates of their
// spans and bounds of at most 1; and the way back.
class Problem {
 public:
  explicit Problem(const RankOneConstraints& constraints);

  const RankOneRows<double>& rows() const { return rows_; }
  const Rows<double>& left_tail() const { return left_tail_; }
  const RankOneRows<double>& unit_rows() const { return unit_rows_; }
  bool asks_nothing() const { return rows_.size() == 0 || rows_.bounds.maxCoeff() <= 0; }
  // A row 0 >= h > 0.
  bool is_contradictory() const { return (sizes_.array() == 0 && rows_.bounds.array() > 0).any(); }
  Matrix<double> reduced(const Matrix<double>& W) const {
    return left_span_.transpose() * W * right_span_;
  }
  // The result W = 0.
  NuclearMargin zero() const;
  // Writes W, lambda and all that follows from them.
  void report(const Matrix<double>& W, const Vector<double>& lambda, NuclearMargin& found,
              Schatten norm = Schatten::nuclear) const;
  void report_farkas(std::span<const Multiplier> farkas, NuclearMargin& found) const;

 private:
  void normalise();
  // The rows with their tails.
  RankOneRows<Exact> whole_rows() const;
  struct Spectrum {
    Vector<Exact> values;      // descending, about
    Exact sum = 0, first = 0;  // of the singular values, and the largest: proved from above
  };
  Spectrum spectrum(const Matrix<Exact>& M) const;

  RankOneRows<double> rows_, unit_rows_;
  Rows<double> left_tail_;  // as rows_.left
  std::vector<Index> kept_;
  Vector<Exact> sizes_;  // |g_j| |z_q(j)|
  Exact unit_ = 0;       // the largest bound over its size
  Matrix<double> left_span_, right_span_;
};

double relative_gap(double upper, double lower);

}  // namespace attractor::solve::nuclear
