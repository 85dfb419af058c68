// Linear constraints <g_j, p> >= h_j, j = 0..m-1, p in R^d, seen through what a solver asks of
// them: all products G p at once, and single rows. So m x d need not exist.
//
// Rows that are formed from data (differences of keys, their products with queries) are rounded;
// tail() is what the roundings took, so that a bound can be proved for the data as given.
//
// A group is a set of rows of which a solver takes one at a time (the tokens of one input compete
// with each other first of all).
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace attractor::solve {

/// |x|, whatever the size of its entries.
double length(std::span<const double> x);

/// lambda_index = value > 0.
struct Multiplier {
  std::size_t index;
  double value;
};

/// Every member may be called from several threads at once.
class Constraints {
 public:
  virtual ~Constraints() = default;
  virtual std::size_t size() const = 0;  // m
  virtual std::size_t dim() const = 0;   // d
  /// out[j] = <g_j, p>; the same bits on any number of threads.
  virtual void products(std::span<const double> p, std::span<double> out) const = 0;
  /// g_j in doubles: two roundings in every entry at most, beside row_error(j) in norm.
  virtual void row(std::size_t j, std::span<double> out) const = 0;
  virtual double row_error(std::size_t) const { return 0; }
  /// g_j - row(j) in doubles; returns a bound on the norm of what is still missing.
  virtual double tail(std::size_t j, std::span<double> out) const;
  virtual double bound(std::size_t j) const = 0;
  virtual std::size_t groups() const { return size(); }
  virtual std::size_t group(std::size_t j) const { return j; }
};

/// Rows as they stand: m x d, row-major. A view: both arrays must outlive it.
class DenseConstraints : public Constraints {
 public:
  DenseConstraints(std::span<const double> rows, std::span<const double> bounds, std::size_t dim);

  std::size_t size() const override { return bounds_.size(); }
  std::size_t dim() const override { return dim_; }
  void products(std::span<const double> p, std::span<double> out) const override;
  void row(std::size_t j, std::span<double> out) const override;
  double bound(std::size_t j) const override { return bounds_[j]; }

 private:
  std::span<const double> rows_, bounds_;
  std::size_t dim_;
};

/// Which token every input should select.
struct TokenChoice {
  std::vector<std::size_t> chosen{};  // alpha_i, one for each input
  std::vector<bool> relaxed{};        // empty: none; true: the input's bound is 0 instead of 1
};

/// g = k_{i,alpha_i} - k_{i,t} for t != alpha_i, of keys [n][T][d]; m = n (T - 1), one group for
/// each input. A view of the keys. Differences are taken before the product with p, not after: that
/// costs the same pass over the keys and keeps all digits when the keys share a large offset.
class TokenDifferences : public Constraints {
 public:
  TokenDifferences(std::span<const double> keys, std::size_t tokens, std::size_t dim,
                   TokenChoice choice);

  std::size_t size() const override { return groups() * (tokens_ - 1); }
  std::size_t dim() const override { return dim_; }
  void products(std::span<const double> p, std::span<double> out) const override;
  /// Those of one input only: T - 1 of them.
  void products_of(std::size_t input, std::span<const double> p, std::span<double> out) const;
  void row(std::size_t j, std::span<double> out) const override;
  double tail(std::size_t j, std::span<double> out) const override;  // exact
  double bound(std::size_t j) const override;
  std::size_t groups() const override { return choice_.chosen.size(); }
  std::size_t group(std::size_t j) const override { return j / (tokens_ - 1); }
  /// The token t != alpha_i that row j is about.
  std::size_t token(std::size_t j) const;
  /// Where the two tokens of row j stand in an array [n][T][dim]: alpha_i and t.
  std::pair<std::size_t, std::size_t> places(std::size_t j) const;

 private:
  const double* key(std::size_t input, std::size_t token) const {
    return keys_.data() + (input * tokens_ + token) * dim_;
  }

  std::span<const double> keys_;
  std::size_t tokens_, dim_;
  TokenChoice choice_;
};

/// The same of keys k = M^T x, which doubles hold only rounded: x is [n][T][d], M is d x d, keys
/// are the rounded products. Rows are differences of these, tails lead to M^T (x_alpha - x_t). Cost
/// of a tail: d^2. A view of all three arrays.
class MappedDifferences : public TokenDifferences {
 public:
  MappedDifferences(std::span<const double> tokens, std::span<const double> map,
                    std::span<const double> keys, std::size_t count, std::size_t dim,
                    TokenChoice choice);

  double row_error(std::size_t j) const override;
  double tail(std::size_t j, std::span<double> out) const override;

 private:
  TokenDifferences tokens_;
  std::span<const double> map_;
  std::vector<double> lengths_{};  // |x|: n x T
  double map_size_ = 0;            // |M|_F
};

/// g = (x_{i,alpha_i} - x_{i,t}) c_i^T as one vector of token_dim x query_dim numbers: what W must
/// separate when input i asks with query c_i. Rows, groups and bounds as in TokenDifferences. A
/// view of tokens and queries ([n][query_dim]); one query for all inputs may be given once.
class QueryDifferences : public Constraints {
 public:
  QueryDifferences(std::span<const double> tokens, std::size_t count, std::size_t token_dim,
                   std::span<const double> queries, std::size_t query_dim, TokenChoice choice);

  std::size_t size() const override { return tokens_.size(); }
  std::size_t dim() const override { return tokens_.dim() * query_dim_; }
  void products(std::span<const double> w, std::span<double> out) const override;
  void row(std::size_t j, std::span<double> out) const override;
  double tail(std::size_t j, std::span<double> out) const override;
  double bound(std::size_t j) const override { return tokens_.bound(j); }
  std::size_t groups() const override { return tokens_.groups(); }
  std::size_t group(std::size_t j) const override { return tokens_.group(j); }
  std::size_t token(std::size_t j) const { return tokens_.token(j); }

 private:
  std::span<const double> query(std::size_t input) const;

  TokenDifferences tokens_;
  std::span<const double> queries_;
  std::size_t query_dim_;
};

/// The tail of the row (high + low) c^T, whose rounded entries are high_a c_b; returns a bound on
/// the norm of what is still missing, 0 if low is 0.
double outer_tail(std::span<const double> high, std::span<const double> low,
                  std::span<const double> c, std::span<double> out);

/// <a, b> in long double: 64-bit significands where the platform has them.
long double extended_product(std::span<const double> a, std::span<const double> b);
long double extended_product(std::span<const double> a, std::span<const long double> b);

}  // namespace attractor::solve
