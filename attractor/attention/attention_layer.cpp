#include "attractor/attention/attention_layer.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "attractor/attention/logits.hpp"
#include "attractor/base/eigen.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/space/space.hpp"

namespace attractor {
namespace {

using ArrayMap = Eigen::Map<const Eigen::ArrayXd>;

Eigen::Map<const RowMajor> as_matrix(std::span<const double> data, std::size_t columns) {
  return {data.data(), static_cast<Eigen::Index>(data.size() / columns),
          static_cast<Eigen::Index>(columns)};
}

/// What one head makes of the tokens.
struct HeadTokens {
  std::size_t rank;
  std::vector<double> queries, keys;  // n x rank; empty: the tokens themselves
  std::vector<double> values;         // dim x n: sums over j run along memory
  double largest_query, largest_key;  // norms
};

std::vector<double> rows_times(std::span<const double> tokens, const std::vector<double>& matrix,
                               std::size_t dim) {
  if (matrix.empty()) return {};
  std::vector<double> product(tokens.size() / dim * (matrix.size() / dim));
  Eigen::Map<RowMajor>(product.data(), static_cast<Eigen::Index>(tokens.size() / dim),
                       static_cast<Eigen::Index>(matrix.size() / dim))
      .noalias() = as_matrix(tokens, dim) * as_matrix(matrix, dim).transpose();
  return product;
}

double largest_norm(std::span<const double> points, std::size_t dim) {
  double largest = 0;
  for (std::size_t k = 0; k < points.size(); k += dim) {
    const double size = norm(points.subspan(k, dim));
    largest = std::max(largest, std::isfinite(size) ? size : kInfinity);
  }
  return largest;
}

/// Queries and keys that are the tokens themselves become copies.
void treat(const QueryKey& query_key, std::span<const double> tokens, HeadTokens& h) {
  if (query_key.plain()) return;
  if (h.queries.empty()) h.queries.assign(tokens.begin(), tokens.end());
  if (h.keys.empty()) h.keys.assign(tokens.begin(), tokens.end());
  treat_queries(query_key, h.queries, h.rank);
  treat_keys(query_key, h.keys, h.rank);
}

HeadTokens transformed(const AttentionLayer& layer, const Head& head,
                       std::span<const double> tokens) {
  const std::size_t dim = layer.dim;
  HeadTokens h{.rank = head.rank(dim),
               .queries = rows_times(tokens, head.query, dim),
               .keys = rows_times(tokens, head.key, dim),
               .values = std::vector<double>(tokens.size()),
               .largest_query = 0,
               .largest_key = 0};
  const std::vector<double> values = rows_times(tokens, head.value, dim);
  const auto rows = as_matrix(values.empty() ? tokens : values, dim);
  Eigen::Map<RowMajor>(h.values.data(), rows.cols(), rows.rows()) = rows.transpose();
  treat(layer.query_key, tokens, h);
  h.largest_query = largest_norm(h.queries.empty() ? tokens : h.queries, h.rank);
  h.largest_key = largest_norm(h.keys.empty() ? tokens : h.keys, h.rank);
  return h;
}

Logits logits_of(const AttentionLayer& layer, const HeadTokens& head,
                 std::span<const double> tokens) {
  Logits logits{.count = tokens.size() / layer.dim,
                .rank = head.rank,
                .queries = head.queries.empty() ? tokens : head.queries,
                .keys = head.keys.empty() ? tokens : head.keys,
                .beta = layer.beta,
                .mask = layer.mask,
                .kernel = {}};
  if (layer.rule == Rule::radial) logits.kernel = layer.kernel;
  return logits;
}

double softmax(std::span<double> row) {
  const double peak = std::ranges::max(row);
  if (peak == -kInfinity) {  // outside the support of a radial kernel, or nothing but itself
    std::ranges::fill(row, 0.0);
    return 0;
  }
  double sum = 0;
  for (double& l : row) sum += l = std::exp(l - peak);
  for (double& l : row) l /= sum;
  return 1;
}

double hardmax(std::span<double> row, double tie) {
  const double threshold = std::ranges::max(row) - tie;
  if (threshold == -kInfinity) {  // nothing but the own token, which is excluded
    std::ranges::fill(row, 0.0);
    return 0;
  }
  const auto chosen = std::ranges::count_if(row, [&](double l) { return l >= threshold; });
  for (double& l : row) l = l >= threshold ? 1 / static_cast<double>(chosen) : 0;
  return 1;
}

/// Over all but those with logit minus infinity.
template <typename Weight>
double mean_weights(std::span<double> row, double count, const Weight& weight) {
  double sum = 0;
  for (double& l : row) sum += l = l == -kInfinity ? 0 : weight(l) / count;
  return sum;
}

double entropy(std::span<const double> row) {
  double total = 0, moment = 0;
  for (const double p : row) total += std::abs(p);
  if (total == 0) return 0;
  for (const double p : row)
    if (const double share = std::abs(p) / total; share > 0) moment -= share * std::log(share);
  return std::max(0.0, moment);
}

/// One head's contribution, added to `out` row by row.
class HeadPass {
 public:
  HeadPass(const AttentionLayer& layer, const HeadTokens& head, std::size_t index,
           const Logits& logits, const SinkhornPotentials& potentials, const LayerRequest& request,
           LayerOutput& out)
      : layer_(layer),
        head_(head),
        index_(index),
        logits_(logits),
        potentials_(potentials),
        request_(request),
        out_(out),
        sink_logit_(std::log(layer.sink_mass)) {}

  void operator()(LogitTile& tile) const {
    for (std::size_t i = tile.begin; i < tile.end; ++i) {
      const auto visible = logits_.mask.visible(i, logits_.count);
      const auto row = tile.row(i, visible);
      if (visible.first == 0) row[0] += sink_logit_;
      if (layer_.self == SelfAttention::exclude) row[i - visible.first] = -kInfinity;
      const double sum = weigh(i, visible, row);
      record(i, visible, row, sum);
      if (removes()) continue;  // the own value, whatever its weight
      for (std::size_t a = 0; a < layer_.dim; ++a)
        out_.out[i * layer_.dim + a] += sum * head_.values[a * logits_.count + i];
    }
    const std::vector<double> earlier = removes() ? take_pulls(tile) : std::vector<double>();
    for (std::size_t c = tile.columns.first; c < tile.columns.last; c += kBlock)
      for (std::size_t i = tile.begin; i < tile.end; ++i) {
        const auto visible = logits_.mask.visible(i, logits_.count);
        const Mask::Interval part{std::max(c, visible.first), std::min(c + kBlock, visible.last)};
        if (part.first < part.last) add_pull(i, part, tile.row(i, part));
      }
    if (removes()) remove_own_values(tile, earlier);
  }

 private:
  static constexpr std::size_t kBlock = 512;  // columns whose values stay in the cache

  bool removes() const { return layer_.self == SelfAttention::remove_own_value; }

  std::span<double> pulls(const LogitTile& tile) const {
    return std::span(out_.pull).subspan(tile.begin * layer_.dim,
                                        (tile.end - tile.begin) * layer_.dim);
  }

  /// Pulls of earlier heads, set aside.
  std::vector<double> take_pulls(const LogitTile& tile) const {
    const std::span<double> rows = pulls(tile);
    std::vector<double> earlier(rows.begin(), rows.end());
    std::ranges::fill(rows, 0.0);
    return earlier;
  }

  /// What this head pulls across the own value, and what earlier ones did.
  void remove_own_values(const LogitTile& tile, std::span<const double> earlier) const {
    const std::size_t dim = layer_.dim;
    std::vector<double> own(dim);
    for (std::size_t i = tile.begin; i < tile.end; ++i) {
      const auto pull = pulls(tile).subspan((i - tile.begin) * dim, dim);
      for (std::size_t a = 0; a < dim; ++a) own[a] = head_.values[a * logits_.count + i];
      const double square = dot(own, own), along = square > 0 ? dot(pull, own) / square : 0;
      for (std::size_t a = 0; a < dim; ++a)
        pull[a] = pull[a] - along * own[a] + earlier[(i - tile.begin) * dim + a];
    }
  }

  /// How many tokens a row is divided by, where that is not the sum of the weights.
  double seen(const Mask::Interval& visible) const {
    return static_cast<double>(visible.count()) -
           (layer_.self == SelfAttention::exclude ? 1.0 : 0.0) +
           (visible.first == 0 ? layer_.sink_mass - 1 : 0.0);
  }

  /// Logits in, weights out; returns their sum.
  double weigh(std::size_t i, const Mask::Interval& visible, std::span<double> row) const {
    switch (layer_.rule) {
      case Rule::softmax:
        return softmax(row);
      case Rule::unnormalised:
        return mean_weights(row, seen(visible),
                            [&](double l) { return std::exp(l - out_.log_scale); });
      case Rule::hardmax: {
        const double query = norm(logits_.queries.subspan(i * logits_.rank, logits_.rank));
        return hardmax(row,
                       layer_.tie_tolerance * std::abs(layer_.beta) * query * head_.largest_key);
      }
      case Rule::sinkhorn: {
        double sum = 0;
        for (std::size_t k = 0; k < row.size(); ++k)
          sum += row[k] =
              std::exp(row[k] + potentials_.columns[visible.first + k] + potentials_.rows[i]);
        return sum;
      }
      case Rule::linear:
        return mean_weights(row, seen(visible), [](double l) { return l; });
      case Rule::relu:
        return mean_weights(row, seen(visible), [](double l) { return std::max(0.0, l); });
      case Rule::radial:
        return layer_.normalised
                   ? softmax(row)
                   : mean_weights(row, seen(visible), [](double l) { return std::exp(l); });
    }
    return 0;
  }

  void record(std::size_t i, const Mask::Interval& visible, std::span<const double> row,
              double sum) const {
    const std::size_t n = logits_.count, slot = i * layer_.heads.size() + index_;
    out_.row_sum[slot] = sum;
    if (request_.entropy) out_.entropy[slot] = entropy(row);
    if (request_.chosen)
      out_.chosen[slot] = static_cast<std::uint32_t>(
          visible.first + static_cast<std::size_t>(std::ranges::max_element(row) - row.begin()));
    if (request_.matrix) std::ranges::copy(row, &out_.matrix[(index_ * n + i) * n + visible.first]);
  }

  void add_pull(std::size_t i, const Mask::Interval& part, std::span<const double> weights) const {
    const auto size = static_cast<Eigen::Index>(part.count());
    const ArrayMap weight(weights.data(), size);
    if ((weight == 0).all()) return;
    for (std::size_t a = 0; a < layer_.dim; ++a) {
      const double* values = &head_.values[a * logits_.count];
      out_.pull[i * layer_.dim + a] +=
          (weight * (ArrayMap(values + part.first, size) - values[i])).sum();
    }
  }

  const AttentionLayer& layer_;
  const HeadTokens& head_;
  std::size_t index_;
  const Logits& logits_;
  const SinkhornPotentials& potentials_;
  const LayerRequest& request_;
  LayerOutput& out_;
  double sink_logit_;
};

void reset(const AttentionLayer& layer, std::size_t n, const LayerRequest& request,
           LayerOutput& out) {
  const std::size_t heads = layer.heads.size();
  out.out.assign(n * layer.dim, 0.0);
  out.pull.assign(n * layer.dim, 0.0);
  out.row_sum.assign(n * heads, 0.0);
  out.entropy.assign(request.entropy ? n * heads : 0, 0.0);
  out.chosen.assign(request.chosen ? n * heads : 0, 0U);
  out.matrix.assign(request.matrix ? heads * n * n : 0, 0.0);
  out.log_scale = 0;
  out.status = LayerStatus::complete;
  out.sinkhorn_iterations = 0;
  out.sinkhorn_error = 0;
}

double logit_bound(const AttentionLayer& layer, std::span<const HeadTokens> heads) {
  double bound = 0;
  for (const HeadTokens& h : heads) {
    const double of_head = std::abs(layer.beta) * h.largest_query * h.largest_key;
    bound = std::max(bound, std::isfinite(of_head) ? of_head : kInfinity);  // 0 * inf is no number
  }
  return bound;
}

/// e^{l} is taken relative to the largest logit when plain exponentials could leave the range.
double common_scale(const AttentionLayer& layer, std::span<const HeadTokens> heads,
                    std::span<const double> tokens) {
  constexpr double kSafe = 600;
  if (layer.rule != Rule::unnormalised || logit_bound(layer, heads) <= kSafe) return 0;
  double largest = -kInfinity;
  for (const HeadTokens& h : heads)
    largest = std::max(largest, largest_logit(logits_of(layer, h, tokens)));
  return std::abs(largest) <= kSafe ? 0 : largest;
}

SinkhornPotentials potentials_of(const AttentionLayer& layer, const Head& head,
                                 const Logits& logits, LayerOutput& out) {
  if (layer.rule != Rule::sinkhorn) return {};
  const bool symmetric =
      head.query == head.key && layer.query_key.query_gain == layer.query_key.key_gain;
  SinkhornPotentials p = sinkhorn(logits, symmetric, layer.sinkhorn);
  out.sinkhorn_iterations = std::max(out.sinkhorn_iterations, p.iterations);
  out.sinkhorn_error = std::max(out.sinkhorn_error, p.error);
  if (!p.converged) out.status = LayerStatus::sinkhorn_unconverged;
  return p;
}

void check_shapes(const AttentionLayer& layer) {
  const std::size_t dim = layer.dim, square = dim * dim;
  if (dim == 0) throw Error("dim = 0 is not allowed for attention; allowed: 1 or more");
  if (layer.heads.empty()) throw Error("attention needs 1 head or more, not 0");
  const auto check_square = [&](const std::vector<double>& matrix, const char* what) {
    if (!matrix.empty() && matrix.size() != square)
      throw Error(fmt::format("the {} matrix has {} entries; dim = {} needs {} (or none: identity)",
                              what, matrix.size(), dim, square));
  };
  check_square(layer.output, "output");
  for (const Head& head : layer.heads) {
    check_square(head.value, "value");
    for (const auto* matrix : {&head.query, &head.key})
      if (matrix->size() % dim != 0 || matrix->size() > square)
        throw Error(fmt::format(
            "a query or key matrix has {} entries; allowed: rank x dim with dim = {} and rank 1 to "
            "{}, or none (identity)",
            matrix->size(), dim, dim));
    const auto rank = [&](const std::vector<double>& m) {
      return m.empty() ? dim : m.size() / dim;
    };
    if (rank(head.query) != rank(head.key))
      throw Error(fmt::format("the query matrix has rank {} and the key matrix {}; they must agree",
                              rank(head.query), rank(head.key)));
  }
  if (layer.rule == Rule::sinkhorn && layer.mask.causal)
    throw Error(
        "rule sinkhorn is not allowed with a causal mask: rows and columns of a triangular matrix "
        "sum to 1 only if it is the identity");
  if (layer.rule == Rule::sinkhorn && layer.self == SelfAttention::exclude)
    throw Error(
        "rule sinkhorn is not allowed where tokens exclude themselves: its weights are scaled with "
        "the own one among them");
}

void check_tokens(const AttentionLayer& layer, std::size_t size, const LayerRequest& request) {
  const std::size_t n = size / layer.dim;
  if (size == 0 || size % layer.dim != 0)
    throw Error(fmt::format("{} numbers are no tokens of dim = {}; allowed: a positive multiple",
                            size, layer.dim));
  constexpr std::size_t kMost = 1U << 24U;
  if (request.matrix && n * n * layer.heads.size() > kMost)
    throw Error(
        fmt::format("attention matrices of {} tokens and {} heads are too large to keep; "
                    "allowed: {} weights in all",
                    n, layer.heads.size(), kMost));
}

bool finite(std::span<const double> values) {
  return std::ranges::all_of(values, [](double x) { return std::isfinite(x); });
}

}  // namespace

std::size_t Head::rank(std::size_t dim) const {
  return query.empty() ? (key.empty() ? dim : key.size() / dim) : query.size() / dim;
}

std::string_view name(LayerStatus status) {
  switch (status) {
    case LayerStatus::complete:
      return "complete";
    case LayerStatus::sinkhorn_unconverged:
      return "sinkhorn_unconverged";
    case LayerStatus::not_finite:
      return "not_finite";
  }
  return "unknown";
}

void validate(const AttentionLayer& layer) {
  const auto require = [](const char* what, double value, bool good, const char* allowed) {
    if (!good)
      throw Error(fmt::format("{} = {} is not allowed; allowed: {}", what, value, allowed));
  };
  check_shapes(layer);
  for (const Head& head : layer.heads) validate(layer.query_key, head.rank(layer.dim));
  const bool radial = layer.rule == Rule::radial;
  require("beta", layer.beta, std::isfinite(layer.beta) && (!radial || layer.beta >= 0),
          radial ? "0 or more for a radial kernel" : "any finite number");
  require("sink mass", layer.sink_mass, layer.sink_mass >= 1e-12 && layer.sink_mass <= 1e12,
          "1e-12 to 1e12");
  if (layer.sink_mass != 1 && !(layer.mask.causal && is_exponential(layer.rule)))
    throw Error(fmt::format(
        "a first token of mass {} needs sa or usa with a causal mask: elsewhere none is first",
        layer.sink_mass));
  require("slope", layer.mask.slope, layer.mask.slope >= 0 && std::isfinite(layer.mask.slope),
          "0 or more");
  require("tie tolerance", layer.tie_tolerance, layer.tie_tolerance >= 0 && layer.tie_tolerance < 1,
          "0 to below 1");
  require("sinkhorn tolerance", layer.sinkhorn.tolerance,
          layer.sinkhorn.tolerance > 0 && layer.sinkhorn.tolerance < 1, "above 0 and below 1");
  require("sinkhorn iterations", static_cast<double>(layer.sinkhorn.max_iterations),
          layer.sinkhorn.max_iterations >= 1, "1 or more");
  bool all_finite = finite(layer.output);
  for (const Head& h : layer.heads)
    all_finite = all_finite && finite(h.query) && finite(h.key) && finite(h.value);
  if (!all_finite) throw Error("a weight matrix has an entry that is no finite number");
}

void attend(const AttentionLayer& layer, std::span<const double> tokens,
            const LayerRequest& request, LayerOutput& out) {
  check_shapes(layer);
  check_tokens(layer, tokens.size(), request);
  reset(layer, tokens.size() / layer.dim, request, out);

  std::vector<HeadTokens> heads;
  for (const Head& head : layer.heads) heads.push_back(transformed(layer, head, tokens));
  if (!std::isfinite(logit_bound(layer, heads))) {
    out.status = LayerStatus::not_finite;
    return;
  }
  out.log_scale = common_scale(layer, heads, tokens);
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const Logits logits = logits_of(layer, heads[h], tokens);
    const SinkhornPotentials potentials = potentials_of(layer, layer.heads[h], logits, out);
    for_each_tile(logits, HeadPass(layer, heads[h], h, logits, potentials, request, out));
  }
  for (std::size_t k = 0; k < out.out.size(); ++k) out.out[k] += out.pull[k];
  if (!layer.output.empty()) {
    out.out = rows_times(out.out, layer.output, layer.dim);
    out.pull = rows_times(out.pull, layer.output, layer.dim);
  }
  if (!finite(out.out)) out.status = LayerStatus::not_finite;
}

}  // namespace attractor
