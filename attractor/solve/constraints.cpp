#include "attractor/solve/constraints.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "attractor/base/eigen.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/solve/enclosed_sum.hpp"

namespace attractor::solve {
namespace {

constexpr std::size_t kBlock = 1 << 15;  // doubles a thread reads together

std::size_t grain(std::size_t item) { return std::max<std::size_t>(1, kBlock / (item + 1)); }

// a - b = difference + this, exactly (Knuth).
double rounding(double a, double b, double difference) {
  const double part = difference - a;
  return (a - (difference - part)) - (b + part);
}

}  // namespace

double length(std::span<const double> x) { return VectorMap(x.data(), x.size()).stableNorm(); }

double Constraints::tail(std::size_t, std::span<double> out) const {
  std::fill(out.begin(), out.end(), 0.0);
  return 0;
}

DenseConstraints::DenseConstraints(std::span<const double> rows, std::span<const double> bounds,
                                   std::size_t dim)
    : rows_(rows), bounds_(bounds), dim_(dim) {
  if (dim == 0 || rows.size() != bounds.size() * dim)
    throw Error(fmt::format("{} bounds in dimension {} need {} row entries, not {}", bounds.size(),
                            dim, bounds.size() * dim, rows.size()));
}

void DenseConstraints::products(std::span<const double> p, std::span<double> out) const {
  assert(p.size() == dim_ && out.size() == size());
  const VectorMap x(p.data(), dim_);
  parallel_for(size(), grain(dim_), [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) out[j] = VectorMap(&rows_[j * dim_], dim_).dot(x);
  });
}

void DenseConstraints::row(std::size_t j, std::span<double> out) const {
  assert(j < size() && out.size() == dim_);
  std::copy_n(&rows_[j * dim_], dim_, out.begin());
}

TokenDifferences::TokenDifferences(std::span<const double> keys, std::size_t tokens,
                                   std::size_t dim, TokenChoice choice)
    : keys_(keys), tokens_(tokens), dim_(dim), choice_(std::move(choice)) {
  const std::size_t inputs = choice_.chosen.size();
  if (tokens < 2 || dim == 0)
    throw Error(
        fmt::format("{} tokens of dimension {}: a choice needs at least 2 tokens of "
                    "dimension 1",
                    tokens, dim));
  if (keys.size() != inputs * tokens * dim)
    throw Error(fmt::format("{} inputs of {} tokens in dimension {} need {} key entries, not {}",
                            inputs, tokens, dim, inputs * tokens * dim, keys.size()));
  if (!choice_.relaxed.empty() && choice_.relaxed.size() != inputs)
    throw Error(fmt::format("{} relaxation marks for {} inputs", choice_.relaxed.size(), inputs));
  for (std::size_t i = 0; i < inputs; ++i)
    if (choice_.chosen[i] >= tokens)
      throw Error(fmt::format("input {} selects token {}; it has tokens 0 to {}", i,
                              choice_.chosen[i], tokens - 1));
}

void TokenDifferences::products_of(std::size_t i, std::span<const double> p,
                                   std::span<double> out) const {
  const VectorMap x(p.data(), dim_), chosen(key(i, choice_.chosen[i]), dim_);
  double* product = out.data();
  for (std::size_t t = 0; t < tokens_; ++t)
    if (t != choice_.chosen[i]) *product++ = (chosen - VectorMap(key(i, t), dim_)).dot(x);
}

void TokenDifferences::products(std::span<const double> p, std::span<double> out) const {
  assert(p.size() == dim_ && out.size() == size());
  parallel_for(groups(), grain(tokens_ * dim_), [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      products_of(i, p, out.subspan(i * (tokens_ - 1), tokens_ - 1));
  });
}

std::size_t TokenDifferences::token(std::size_t j) const {
  const std::size_t t = j % (tokens_ - 1);
  return t < choice_.chosen[group(j)] ? t : t + 1;
}

void TokenDifferences::row(std::size_t j, std::span<double> out) const {
  assert(j < size() && out.size() == dim_);
  const std::size_t i = group(j);
  const double *chosen = key(i, choice_.chosen[i]), *other = key(i, token(j));
  for (std::size_t a = 0; a < dim_; ++a) out[a] = chosen[a] - other[a];
}

double TokenDifferences::tail(std::size_t j, std::span<double> out) const {
  const std::size_t i = group(j);
  const double *chosen = key(i, choice_.chosen[i]), *other = key(i, token(j));
  for (std::size_t a = 0; a < dim_; ++a)
    out[a] = rounding(chosen[a], other[a], chosen[a] - other[a]);
  return 0;
}

std::pair<std::size_t, std::size_t> TokenDifferences::places(std::size_t j) const {
  const std::size_t i = group(j);
  return {(i * tokens_ + choice_.chosen[i]) * dim_, (i * tokens_ + token(j)) * dim_};
}

double TokenDifferences::bound(std::size_t j) const {
  return !choice_.relaxed.empty() && choice_.relaxed[group(j)] ? 0 : 1;
}

MappedDifferences::MappedDifferences(std::span<const double> tokens, std::span<const double> map,
                                     std::span<const double> keys, std::size_t count,
                                     std::size_t dim, TokenChoice choice)
    : TokenDifferences(keys, count, dim, choice),
      tokens_(tokens, count, dim, std::move(choice)),
      map_(map),
      map_size_(length(map)) {
  if (map.size() != dim * dim)
    throw Error(fmt::format("a map of {} numbers is not {} x {}", map.size(), dim, dim));
  for (std::size_t k = 0; k < tokens.size(); k += dim)
    lengths_.push_back(length(tokens.subspan(k, dim)));
}

// Two keys of d products each, every partial sum rounded.
double MappedDifferences::row_error(std::size_t j) const {
  const auto [chosen, other] = places(j);
  return static_cast<double>(dim() + 2) * std::numeric_limits<double>::epsilon() * map_size_ *
         (lengths_[chosen / dim()] + lengths_[other / dim()]);
}

double MappedDifferences::tail(std::size_t j, std::span<double> out) const {
  const std::size_t d = dim();
  std::vector<double> high(d), low(d), row(d);
  tokens_.row(j, high);
  tokens_.tail(j, low);
  TokenDifferences::row(j, row);
  long double missing = 0;
  for (std::size_t b = 0; b < d; ++b) {
    EnclosedSum sum;
    for (std::size_t c = 0; c < d; ++c) {
      sum.add(high[c], map_[c * d + b]);
      sum.add(low[c], map_[c * d + b]);
    }
    sum.add(-row[b]);
    out[b] = static_cast<double>(sum.value());
    missing += sum.error() + std::abs(sum.value() - out[b]);
  }
  return rounded_up(missing * (1 + static_cast<long double>(2 * d) *
                                       std::numeric_limits<long double>::epsilon()));
}

QueryDifferences::QueryDifferences(std::span<const double> tokens, std::size_t count,
                                   std::size_t token_dim, std::span<const double> queries,
                                   std::size_t query_dim, TokenChoice choice)
    : tokens_(tokens, count, token_dim, std::move(choice)),
      queries_(queries),
      query_dim_(query_dim) {
  if (queries.size() != query_dim && queries.size() != groups() * query_dim)
    throw Error(fmt::format("{} query numbers do not make 1 or {} queries of dimension {}",
                            queries.size(), groups(), query_dim));
}

std::span<const double> QueryDifferences::query(std::size_t input) const {
  return queries_.subspan(queries_.size() == query_dim_ ? 0 : input * query_dim_, query_dim_);
}

void QueryDifferences::products(std::span<const double> w, std::span<double> out) const {
  assert(w.size() == dim() && out.size() == size());
  const std::size_t rows = tokens_.dim(), share = size() / groups();
  parallel_for(groups(), grain(rows * (share + query_dim_)),
               [&](std::size_t begin, std::size_t end) {
                 std::vector<double> u(rows);  // W c
                 for (std::size_t i = begin; i < end; ++i) {
                   const VectorMap c(query(i).data(), query_dim_);
                   for (std::size_t a = 0; a < rows; ++a)
                     u[a] = VectorMap(&w[a * query_dim_], query_dim_).dot(c);
                   tokens_.products_of(i, u, out.subspan(i * share, share));
                 }
               });
}

void QueryDifferences::row(std::size_t j, std::span<double> out) const {
  assert(j < size() && out.size() == dim());
  std::vector<double> difference(tokens_.dim());
  tokens_.row(j, difference);
  const std::span<const double> c = query(group(j));
  for (std::size_t a = 0; a < difference.size(); ++a)
    for (std::size_t b = 0; b < query_dim_; ++b) out[a * query_dim_ + b] = difference[a] * c[b];
}

double QueryDifferences::tail(std::size_t j, std::span<double> out) const {
  std::vector<double> high(tokens_.dim()), low(tokens_.dim());
  tokens_.row(j, high);
  tokens_.tail(j, low);
  return outer_tail(high, low, query(group(j)), out);
}

// (high + low) c = high c + fma(high, c, -high c) + low c; the last product and sum are rounded.
double outer_tail(std::span<const double> high, std::span<const double> low,
                  std::span<const double> c, std::span<double> out) {
  constexpr double kTiny = 0x1p-960;  // of a smaller product the rounding may underflow
  bool rounded = false;
  std::size_t underflows = 0;
  for (std::size_t a = 0; a < high.size(); ++a)
    for (std::size_t b = 0; b < c.size(); ++b) {
      const double product = high[a] * c[b], rest = low[a] * c[b];
      out[a * c.size() + b] = std::fma(high[a], c[b], -product) + rest;
      rounded = rounded || rest != 0;
      if (std::abs(product) < kTiny && high[a] != 0 && c[b] != 0) ++underflows;
    }
  return (rounded ? 0x1p-103 * length(high) * length(c) : 0) +
         0x1p-1070 * static_cast<double>(underflows);
}

long double extended_product(std::span<const double> a, std::span<const double> b) {
  assert(a.size() == b.size());
  long double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += static_cast<long double>(a[k]) * b[k];
  return sum;
}

long double extended_product(std::span<const double> a, std::span<const long double> b) {
  assert(a.size() == b.size());
  long double sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

}  // namespace attractor::solve
