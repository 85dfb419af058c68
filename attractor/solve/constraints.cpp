#include "attractor/solve/constraints.hpp"

#include <fmt/format.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"

namespace attractor::solve {
namespace {

using Vector = Eigen::Map<const Eigen::VectorXd>;

constexpr std::size_t kBlock = 1 << 15;  // doubles a thread reads together

std::size_t grain(std::size_t item) { return std::max<std::size_t>(1, kBlock / (item + 1)); }

}  // namespace

DenseConstraints::DenseConstraints(std::span<const double> rows, std::span<const double> bounds,
                                   std::size_t dim)
    : rows_(rows), bounds_(bounds), dim_(dim) {
  if (dim == 0 || rows.size() != bounds.size() * dim)
    throw Error(fmt::format("{} bounds in dimension {} need {} row entries, not {}", bounds.size(),
                            dim, bounds.size() * dim, rows.size()));
}

void DenseConstraints::products(std::span<const double> p, std::span<double> out) const {
  assert(p.size() == dim_ && out.size() == size());
  const Vector x(p.data(), dim_);
  parallel_for(size(), grain(dim_), [&](std::size_t begin, std::size_t end) {
    for (std::size_t j = begin; j < end; ++j) out[j] = Vector(&rows_[j * dim_], dim_).dot(x);
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
  const Vector x(p.data(), dim_), chosen(key(i, choice_.chosen[i]), dim_);
  double* product = out.data();
  for (std::size_t t = 0; t < tokens_; ++t)
    if (t != choice_.chosen[i]) *product++ = (chosen - Vector(key(i, t), dim_)).dot(x);
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

double TokenDifferences::bound(std::size_t j) const {
  return !choice_.relaxed.empty() && choice_.relaxed[group(j)] ? 0 : 1;
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
                   const Vector c(query(i).data(), query_dim_);
                   for (std::size_t a = 0; a < rows; ++a)
                     u[a] = Vector(&w[a * query_dim_], query_dim_).dot(c);
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

long double proved_slack(std::span<const double> g, double h, std::span<const long double> q) {
  assert(g.size() == q.size());
  long double sum = -static_cast<long double>(h), rest = 0, size = 0;
  const auto add = [&](double a, double b) {  // a b = product + fma, sum + product = total + lost
    const double product = a * b;
    const long double total = sum + product, part = total - sum;
    const long double lost = ((sum - (total - part)) + (product - part)) + std::fma(a, b, -product);
    sum = total, rest += lost, size += std::abs(lost);
  };
  for (std::size_t k = 0; k < g.size(); ++k) {
    const auto high = static_cast<double>(q[k]);
    add(g[k], high);
    add(g[k], static_cast<double>(q[k] - high));
  }
  constexpr long double epsilon = std::numeric_limits<long double>::epsilon();
  const long double value = sum + rest;
  return value - epsilon * (std::abs(value) + static_cast<long double>(4 * g.size()) * size);
}

}  // namespace attractor::solve
