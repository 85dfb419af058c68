#include "attractor/attention/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/dense.hpp"
#include "attractor/base/eigen.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/scratch.hpp"
#include "attractor/kernels/dense/attention_rows.hpp"
#include "attractor/kernels/dense/logit_panels.hpp"
#include "attractor/kernels/dense/symmetric_rows.hpp"
#include "attractor/space/space.hpp"

namespace attractor {
namespace {

using Map = Eigen::Map<const RowMajor>;

// Rows M x_i; empty matrix: the tokens themselves, not copied.
std::span<const double> transformed(const std::vector<double>& matrix,
                                    std::span<const double> tokens, std::size_t dim,
                                    Precision precision, Scratch<double>& storage) {
  if (matrix.empty()) return tokens;
  storage = Scratch<double>(tokens.size());
  const std::span<double> rows(storage.get(), tokens.size());
  kernels::row_products(tokens, matrix, dim, rows, precision);
  return rows;
}

// Products of few coordinates cost nothing; in double the rows may still turn out to need it.
Precision product_precision(const Attention& att, const AttentionRequest& request) {
  return att.dim >= 16 && !att.by_distance() ? request.precision : Precision::f64;
}

void attend_by_logits(const Attention& att, std::span<const double> tokens,
                      std::span<const double> masses, const AttentionRequest& request,
                      const kernels::RowSums& sums, AttentionSums& out) {
  Scratch<double> query_storage, key_storage;
  const Precision products = product_precision(att, request);
  const auto queries = transformed(att.query, tokens, att.dim, products, query_storage);
  const auto keys = transformed(att.key, tokens, att.dim, products, key_storage);
  const std::span<const double> values = out.values.empty() ? tokens : std::span(out.values);
  kernels::logit_rows({att.dim, queries, keys, values, masses, att.beta}, request.rows, sums,
                      request.precision);
  for (std::size_t k = 0; k < out.own.size(); ++k) {
    const std::size_t i = request.rows.empty() ? k : request.rows[k];
    out.own[k] =
        att.beta * dot(queries.subspan(i * att.dim, att.dim), keys.subspan(i * att.dim, att.dim));
  }
}

}  // namespace

double Attention::logit_bound() const {
  if (identity_logits()) return std::abs(beta);
  const auto d = static_cast<Eigen::Index>(dim);
  const RowMajor identity = RowMajor::Identity(d, d);
  const RowMajor q = query.empty() ? identity : RowMajor(Map(query.data(), d, d));
  const RowMajor k = key.empty() ? identity : RowMajor(Map(key.data(), d, d));
  const RowMajor product = q.transpose() * k;
  const auto squared = (product.transpose() * product).eval();
  return std::abs(beta) * std::sqrt(std::max(0.0, symmetric_eigenvalues(squared).maxCoeff()));
}

AttentionSums::Partition AttentionSums::partition(std::size_t row, double own_mass) const {
  const double top = std::max(own[row], peak[row]);
  return {own_mass * std::exp(own[row] - top) + weight[row] * std::exp(peak[row] - top), top};
}

double AttentionSums::log_partition(std::size_t row, double own_mass) const {
  const Partition z = partition(row, own_mass);
  return offset + z.top + std::log(z.scaled);
}

double AttentionSums::entropy(std::size_t row, double own_mass) const {
  const Partition z = partition(row, own_mass);
  // H = -sum_j m_j p_j ln p_j with ln p_j = l_ij - ln Z.
  const double own_part = own_mass * std::exp(own[row] - z.top) * own[row];
  const double others = std::exp(peak[row] - z.top) * moment[row];
  return std::max(0.0, z.top + std::log(z.scaled) - (own_part + others) / z.scaled);
}

void attend(const Attention& att, std::span<const double> tokens, std::span<const double> masses,
            const AttentionRequest& request, AttentionSums& out) {
  const std::size_t count = request.rows.empty() ? masses.size() : request.rows.size();
  const bool own_place = request.pull && request.pull_place.empty();
  out.pull.resize(own_place ? count * att.dim : 0);
  out.moment.resize(request.moment ? count : 0);
  for (std::vector<double>* column : {&out.weight, &out.peak, &out.own}) column->resize(count);
  out.values.resize(att.value.empty() ? 0 : tokens.size());
  if (!att.value.empty())
    kernels::row_products(tokens, att.value, att.dim, out.values, product_precision(att, request));
  const std::span<double> pull =
      request.pull && !own_place ? request.pull_place : std::span<double>(out.pull);
  const kernels::RowSums sums{pull, out.weight, out.moment, out.peak};
  out.offset = 0;
  if (!att.by_distance()) return attend_by_logits(att, tokens, masses, request, sums, out);

  const kernels::DistanceSources sources{att.dim, tokens,   out.values,
                                         masses,  att.beta, request.lift};
  // All rows: each pair once. The last bits differ from those of rows asked for one by one.
  if (request.rows.empty() && kernels::symmetric_rows_apply(sources))
    kernels::symmetric_rows(sources, sums, request.precision);
  else
    kernels::distance_rows(sources, request.rows, sums);
  // l_ij = beta - beta |x_i - x_j|^2 / 2, relative to beta.
  out.offset = att.beta;
  std::fill(out.own.begin(), out.own.end(), 0.0);
  std::fill(out.peak.begin(), out.peak.end(), -request.lift);
  for (std::size_t k = 0; k < out.moment.size(); ++k) out.moment[k] -= request.lift * out.weight[k];
}

}  // namespace attractor
