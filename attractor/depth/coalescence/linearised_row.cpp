#include "attractor/depth/coalescence/linearised_row.hpp"

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "attractor/kernels/dense/attention_rows.hpp"
#include "attractor/kernels/dense/logit_panels.hpp"
#include "attractor/space/space.hpp"

namespace attractor::depth {
namespace {

std::vector<double> products(const std::vector<double>& matrix, std::span<const double> state,
                             std::size_t dim) {
  std::vector<double> rows(matrix.empty() ? 0 : state.size());
  if (!matrix.empty()) kernels::row_products(state, matrix, dim, rows, Precision::f64);
  return rows;
}

void multiply(const std::vector<double>& matrix, std::span<const double> x, std::span<double> out) {
  const std::size_t dim = x.size();
  if (matrix.empty()) {
    std::copy(x.begin(), x.end(), out.begin());
    return;
  }
  for (std::size_t a = 0; a < dim; ++a) out[a] = dot(std::span(matrix).subspan(a * dim, dim), x);
}

/// Most are 0 at large beta, which exp() is slow to find.
double capped_exp(double log) { return log < -746 ? 0 : std::exp(std::min(log, 690.0)); }

}  // namespace

RowSources::RowSources(const Attention& map, std::span<const double> tokens,
                       std::span<const double> mass, double all)
    : attention(map),
      state(tokens),
      masses(mass),
      total(all),
      keys(products(map.key, tokens, map.dim)),
      values(products(map.value, tokens, map.dim)) {}

std::span<const double> LinearisedRow::row(const std::vector<double>& rows, std::size_t j) const {
  const std::size_t dim = sources_.attention.dim;
  return (rows.empty() ? sources_.state : std::span<const double>(rows)).subspan(j * dim, dim);
}

// Of all tokens, relative to the own one.
struct LinearisedRow::Logits {
  std::vector<double> logit, weight;  // the latter m_j e^{logit_j - top}
  double own = 0;
  double top = 0, sum = 0;  // the largest, and sum_j m_j e^{logit_j - top}
};

struct LinearisedRow::Pull {
  std::vector<double> vector;  // sum_j w_j (v_j - v_c)
  double weight = 0;           // sum_j w_j
};

LinearisedRow::LinearisedRow(const RowSources& sources, std::size_t token, double log_unit)
    : sources_(sources), token_(token), query_(sources.attention.dim) {
  const Attention& attention = sources.attention;
  // The own key and value are normal to every offset with identity weights, and cancel in softmax.
  near_ = attention.rule == Rule::softmax || (attention.by_distance() && attention.value.empty());
  const Logits found = logits();
  log_partition_ = found.own + found.top + std::log(found.sum);
  set_motion(weigh(found, log_unit), log_unit);
}

// By differences, so that near tokens keep their digits.
LinearisedRow::Logits LinearisedRow::logits() const {
  const Attention& attention = sources_.attention;
  const std::size_t dim = attention.dim, count = sources_.masses.size();
  const auto c = sources_.state.subspan(token_ * dim, dim), own_key = row(sources_.keys, token_);
  multiply(attention.query, c, query_);
  Logits found{.logit = std::vector<double>(count), .weight = std::vector<double>(count)};
  found.own = attention.by_distance() ? attention.beta : attention.beta * dot(query_, own_key);
  for (std::size_t j = 0; j < count; ++j) {
    const auto key = row(sources_.keys, j);
    double along = 0;
    if (attention.by_distance())
      along = -0.5 * squared_distance(key, c);
    else
      for (std::size_t a = 0; a < dim; ++a) along += query_[a] * (key[a] - own_key[a]);
    found.logit[j] = attention.beta * along;
    found.top = std::max(found.top, found.logit[j]);
  }
  for (std::size_t j = 0; j < count; ++j) {
    found.weight[j] = sources_.masses[j] * capped_exp(found.logit[j] - found.top);
    found.sum += found.weight[j];
  }
  return found;
}

// Means over all tokens, and those whose weight is felt.
LinearisedRow::Pull LinearisedRow::weigh(const Logits& logits, double log_unit) {
  const Attention& attention = sources_.attention;
  const std::size_t dim = attention.dim, count = sources_.masses.size();
  const bool softmax = attention.rule == Rule::softmax;
  const auto own_key = row(sources_.keys, token_), own_value = row(sources_.values, token_);
  // ln of what one unit of mass with the own logit weighs.
  const double unit = softmax ? log_unit - logits.top - std::log(logits.sum)
                              : log_unit + logits.own - std::log(sources_.total);
  mean_key_.assign(dim, 0.0);
  mean_pull_.assign(dim, 0.0);
  Pull pull{.vector = std::vector<double>(dim, 0.0)};
  std::vector<double> key_length(count), value_length(count), weight(count);
  double heaviest = 0;
  for (std::size_t j = 0; j < count; ++j) {
    weight[j] = sources_.masses[j] * capped_exp(unit + logits.logit[j]);
    pull.weight += weight[j];
    const double share = logits.weight[j] / logits.sum;
    if (weight[j] == 0 && share == 0) continue;  // not felt, as lengths of 0 say below
    const auto key = row(sources_.keys, j), value = row(sources_.values, j);
    double keys = 0, values = 0;
    for (std::size_t a = 0; a < dim; ++a) {
      const double dk = key[a] - (near_ ? own_key[a] : 0), dv = value[a] - own_value[a];
      pull.vector[a] += weight[j] * dv;
      if (softmax) mean_key_[a] += share * dk;
      const double v = near_ ? dv : value[a];
      keys += dk * dk;
      values += v * v;
    }
    key_length[j] = std::sqrt(keys);
    value_length[j] = std::sqrt(values);
    heaviest = std::max(heaviest, weight[j] * key_length[j] * value_length[j]);
  }
  for (std::size_t j = 0; j < count; ++j) {
    const double felt = weight[j] * key_length[j] * value_length[j];
    if (felt <= 1e-18 * heaviest || felt == 0) continue;
    felt_.push_back(j);
    weight_.push_back(attention.beta * weight[j]);
    size_ += attention.beta * felt;
  }
  if (softmax)
    for (std::size_t a = 0; a < dim; ++a) mean_pull_[a] = attention.beta * pull.vector[a];
  return pull;
}

// A = (sum of weights) v_c + pull; with V = I its first part is normal.
void LinearisedRow::set_motion(const Pull& pull, double log_unit) {
  const Attention& attention = sources_.attention;
  const std::size_t dim = attention.dim;
  const auto c = sources_.state.subspan(token_ * dim, dim),
             own_value = row(sources_.values, token_);
  const double share = attention.rule == Rule::softmax ? capped_exp(log_unit) : pull.weight;
  rate_ = -share * dot(c, own_value) - dot(c, pull.vector);
  velocity_ = pull.vector;
  if (!sources_.values.empty())
    for (std::size_t a = 0; a < dim; ++a) velocity_[a] += share * own_value[a];
  Sphere(dim).project(c, velocity_);
  double query_norm = 1;
  if (!attention.query.empty()) query_norm = norm(attention.query);
  size_ = query_norm * (size_ + norm(mean_pull_) * norm(mean_key_)) + norm(velocity_);
}

void LinearisedRow::add_product(std::span<const double> xi, double factor,
                                std::span<double> out) const {
  const Attention& attention = sources_.attention;
  const std::size_t dim = attention.dim;
  const bool softmax = attention.rule == Rule::softmax;
  const auto c = sources_.state.subspan(token_ * dim, dim);
  const auto own_key = row(sources_.keys, token_), own_value = row(sources_.values, token_);
  multiply(attention.query, xi, query_);
  const double own_along = near_ ? dot(own_key, query_) : 0;
  std::vector<double>& sum = sum_;
  sum.assign(dim, 0.0);
  for (std::size_t k = 0; k < felt_.size(); ++k) {
    const double* value = row(sources_.values, felt_[k]).data();
    const double along = weight_[k] * (dot(row(sources_.keys, felt_[k]), query_) - own_along);
    if (near_)
      for (std::size_t a = 0; a < dim; ++a) sum[a] += along * (value[a] - own_value[a]);
    else
      for (std::size_t a = 0; a < dim; ++a) sum[a] += along * value[a];
  }
  if (softmax) {
    const double mean = dot(mean_key_, query_);
    for (std::size_t a = 0; a < dim; ++a) sum[a] -= mean * mean_pull_[a];
  }
  Sphere(dim).project(c, sum);
  const double turn = dot(velocity_, xi);
  for (std::size_t a = 0; a < dim; ++a) out[a] += factor * (sum[a] - turn * c[a]);
}

// K = P (sum_j w_j v_j k_j^T Q) - c c'^T, as one product of the rows that are felt.
void LinearisedRow::matrix(std::span<double> out) const {
  const Attention& attention = sources_.attention;
  const std::size_t dim = attention.dim;
  const auto d = static_cast<Eigen::Index>(dim), m = static_cast<Eigen::Index>(felt_.size());
  const auto vector = [&](std::span<const double> x) {
    return Eigen::Map<const Eigen::VectorXd>(x.data(), d);
  };
  const auto own_key = vector(row(sources_.keys, token_)),
             own_value = vector(row(sources_.values, token_));
  Eigen::MatrixXd keys(d, m), pulls(d, m);
  for (Eigen::Index k = 0; k < m; ++k) {
    const auto j = static_cast<std::size_t>(k);
    keys.col(k) = vector(row(sources_.keys, felt_[j]));
    pulls.col(k) = vector(row(sources_.values, felt_[j]));
    if (near_) {
      keys.col(k) -= own_key;
      pulls.col(k) -= own_value;
    }
    pulls.col(k) *= weight_[j];
  }
  Eigen::Map<Eigen::MatrixXd> k(out.data(), d, d);
  k.noalias() = pulls * keys.transpose();
  if (attention.rule == Rule::softmax) k -= vector(mean_pull_) * vector(mean_key_).transpose();
  using ByRows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  if (!attention.query.empty())
    k = (k * Eigen::Map<const ByRows>(attention.query.data(), d, d)).eval();
  const auto c = sources_.state.subspan(token_ * dim, dim);
  for (std::size_t a = 0; a < dim; ++a) Sphere(dim).project(c, out.subspan(a * dim, dim));
  k.noalias() -= vector(c) * vector(velocity_).transpose();
}

}  // namespace attractor::depth
