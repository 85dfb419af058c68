#include "attractor/attention/weights.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <Eigen/QR>
#include <cmath>
#include <numbers>

#include "attractor/base/eigen.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/tokens/given_arrays.hpp"

namespace attractor {
namespace {

Eigen::Index index(std::size_t k) { return static_cast<Eigen::Index>(k); }

Stream stream_of(const WeightKey& key) {
  return {key.seed, fmt::format("weights {} period {} head {}", key.matrix, key.period, key.head)};
}

std::vector<double> standard_normals(const Stream& stream, std::size_t rows, std::size_t dim) {
  std::vector<double> entries(rows * dim);
  parallel_for(rows, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      stream.normals(i, std::span(entries).subspan(i * dim, dim));
  });
  return entries;
}

/// Copies what stands above the diagonal to below it.
void mirror(std::vector<double>& matrix, std::size_t dim) {
  for (std::size_t i = 0; i < dim; ++i)
    for (std::size_t j = 0; j < i; ++j) matrix[i * dim + j] = matrix[j * dim + i];
}

void scale(std::vector<double>& entries, double factor) {
  for (double& x : entries) x *= factor;
}

std::vector<double> goe(const Stream& stream, std::size_t dim) {
  std::vector<double> m = standard_normals(stream, dim, dim);
  for (std::size_t i = 0; i < dim; ++i) m[i * dim + i] *= std::numbers::sqrt2;
  mirror(m, dim);
  return m;
}

std::vector<double> wigner(const Stream& stream, std::size_t dim) {
  std::vector<double> m(dim * dim);
  for (std::size_t i = 0; i < dim; ++i)
    for (std::size_t j = i; j < dim; ++j) m[i * dim + j] = stream.uniform(i, j) < 0.5 ? -1 : 1;
  mirror(m, dim);
  return m;
}

std::vector<double> psd(const Stream& stream, std::size_t dim) {
  std::vector<double> m = standard_normals(stream, dim, dim);
  Eigen::Map<RowMajor> all(m.data(), index(dim), index(dim));
  all = RowMajor(all * all.transpose()) / static_cast<double>(dim);
  mirror(m, dim);
  return m;
}

std::vector<double> orthogonal(const Stream& stream, std::size_t rows, std::size_t dim) {
  const std::vector<double> normals = standard_normals(stream, dim, dim);
  const Eigen::HouseholderQR<RowMajor> qr(
      Eigen::Map<const RowMajor>(normals.data(), index(dim), index(dim)));
  std::vector<double> m(rows * dim);
  Eigen::Map<RowMajor> all(m.data(), index(rows), index(dim));
  all = RowMajor(qr.householderQ()).topRows(index(rows));
  // Q is uniform only if the diagonal of R has a fixed sign.
  for (Eigen::Index a = 0; a < index(dim); ++a)
    if (qr.matrixQR()(a, a) < 0) all.col(a) *= -1;
  return m;
}

void check_rows(WeightKind kind, std::size_t rows, std::size_t dim) {
  if (kind == WeightKind::qk || kind == WeightKind::minus_qk)
    throw Error(fmt::format("weights '{}' are made of Q and K; allowed for V only", name(kind)));
  const bool flat = kind == WeightKind::gaussian || kind == WeightKind::orthogonal;
  if (dim == 0 || rows == 0 || rows > dim || (rows < dim && !flat))
    throw Error(fmt::format("weights '{}' cannot be {} x {}; allowed: dim x dim{}", name(kind),
                            rows, dim, flat ? ", or fewer rows" : ""));
}

}  // namespace

std::span<const std::string_view> names(WeightKind) {
  static constexpr std::string_view kNames[] = {"identity",   "gaussian", "goe", "wigner",
                                                "orthogonal", "psd",      "qk",  "minus-qk"};
  return kNames;
}

std::vector<double> draw_weights(WeightKind kind, std::size_t rows, std::size_t dim,
                                 const WeightKey& key) {
  check_rows(kind, rows, dim);
  if (kind == WeightKind::identity) return {};
  const Stream stream = stream_of(key);
  if (kind == WeightKind::orthogonal) return orthogonal(stream, rows, dim);
  if (kind == WeightKind::psd) return psd(stream, dim);
  std::vector<double> entries = kind == WeightKind::goe      ? goe(stream, dim)
                                : kind == WeightKind::wigner ? wigner(stream, dim)
                                                             : standard_normals(stream, rows, dim);
  scale(entries, 1 / std::sqrt(static_cast<double>(dim)));
  return entries;
}

std::vector<double> query_key_product(std::span<const double> query, std::span<const double> key,
                                      std::size_t dim, double sign) {
  if (query.size() % dim != 0 || key.size() % dim != 0 ||
      (query.empty() ? dim * dim : query.size()) != (key.empty() ? dim * dim : key.size()))
    throw Error(fmt::format("Q and K have {} and {} entries; allowed: rank x dim each, dim = {}",
                            query.size(), key.size(), dim));
  const auto matrix = [&](std::span<const double> m) {
    return m.empty()
               ? RowMajor(RowMajor::Identity(index(dim), index(dim)))
               : RowMajor(Eigen::Map<const RowMajor>(m.data(), index(m.size() / dim), index(dim)));
  };
  std::vector<double> product(dim * dim);
  Eigen::Map<RowMajor>(product.data(), index(dim), index(dim)) =
      sign * (matrix(query).transpose() * matrix(key));
  return product;
}

Head draw_head(const HeadPlan& plan, std::size_t dim, std::uint64_t seed, std::uint64_t period,
               std::uint64_t head) {
  const std::size_t rank = plan.rank == 0 ? dim : plan.rank;
  const auto key = [&](std::string_view matrix) { return WeightKey{seed, matrix, period, head}; };
  Head drawn{.query = draw_weights(plan.query, rank, dim, key("query")),
             .key = draw_weights(plan.key, rank, dim, key("key")),
             .value = {}};
  if (plan.value == WeightKind::qk || plan.value == WeightKind::minus_qk) {
    const bool identity = drawn.query.empty() && drawn.key.empty() && plan.value == WeightKind::qk;
    if (!identity)
      drawn.value =
          query_key_product(drawn.query, drawn.key, dim, plan.value == WeightKind::qk ? 1.0 : -1.0);
  } else {
    drawn.value = draw_weights(plan.value, dim, dim, key("value"));
  }
  return drawn;
}

std::vector<Head> heads_of(GivenHeads given, std::size_t dim) {
  std::vector<Head> heads;
  const auto take = [&](std::optional<Array>& array, const char* name, std::size_t rows,
                        std::vector<double> Head::*matrix) {
    if (!array) return;
    if (heads.empty()) heads.resize(array->shape.size() == 3 ? array->shape[0] : 1);
    const Array all = weights_of(std::move(*array), name, {heads.size(), rows, dim},
                                 rows == 0 ? "(heads, rank, dim)" : "(heads, dim, dim)");
    const std::size_t each = all.data.size() / heads.size();
    for (std::size_t h = 0; h < heads.size(); ++h)
      (heads[h].*matrix).assign(all.data.data() + each * h, all.data.data() + each * (h + 1));
  };
  take(given.query, "query", 0, &Head::query);
  take(given.key, "key", 0, &Head::key);
  take(given.value, "value", dim, &Head::value);
  if (heads.empty()) heads.resize(1);
  return heads;
}

}  // namespace attractor
