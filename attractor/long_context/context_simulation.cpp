#include "attractor/long_context/context_simulation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <span>
#include <vector>

#include "attractor/attention/attention.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/space/space.hpp"

namespace attractor::meanfield {
namespace {

constexpr std::size_t kBlock = 2048;  // tokens drawn at a time

void require(const char* what, double value, bool good, const char* allowed) {
  if (!good) throw Error(fmt::format("{} = {} is not allowed; allowed: {}", what, value, allowed));
}

void validate(const ContextSimulation& s) {
  const double n = s.layer.tokens;
  require("tokens", n, n >= 2 && n <= 1e5 && n == std::floor(n),
          "whole numbers from 2 to 1e5 in a simulation");
  require("rho", s.layer.rho, s.layer.rho >= 0 && s.layer.rho < 1, "0 to below 1 in a simulation");
  require("dim", static_cast<double>(s.dim), s.exact || (s.dim >= 3 && s.dim <= 65536),
          "3 to 65536");
  require("rows", static_cast<double>(s.rows), s.rows >= 2 && s.rows <= 65536, "2 to 65536");
  require("replicates", static_cast<double>(s.replicates),
          s.replicates >= 2 && s.replicates <= 10000, "2 to 10000");
}

std::size_t token_count(const ContextSimulation& s) {
  return static_cast<std::size_t>(s.layer.tokens);
}

double angle(double gap) { return 2 * std::asin(std::sqrt(std::clamp(gap / 2, 0.0, 1.0))); }

/// One replicate, in the order of the fields of ContextSample.
using Numbers = std::array<double, 5>;

Numbers numbers(double self_weight, double gap, double entropy, double rho) {
  return {self_weight, 1 - gap, gap, entropy, angle(gap) / angle(1 - rho)};
}

/// Half the mean squared distance of two rows: 1 - cosine without cancellation.
double mean_gap(std::span<const double> unit_rows, std::size_t dim) {
  const std::size_t count = unit_rows.size() / dim;
  std::vector<double> centre(dim, 0.0);
  for (std::size_t k = 0; k < unit_rows.size(); ++k) centre[k % dim] += unit_rows[k];
  for (double& c : centre) c /= static_cast<double>(count);
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i)
    sum += squared_distance(unit_rows.subspan(i * dim, dim), centre);
  return sum / static_cast<double>(count - 1);
}

class RandomTokens {
 public:
  RandomTokens(const ContextSimulation& s, std::size_t replicate)
      : stream_(s.seed, fmt::format("long context {}", replicate)),
        dim_(s.dim),
        along_(std::sqrt(s.layer.rho)),
        across_(std::sqrt(1 - s.layer.rho)) {}

  /// Tokens first, first + 1, ... into rows of `out`.
  void draw(std::size_t first, std::span<double> out) const {
    parallel_for(out.size() / dim_, 16, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        const std::span<double> v = out.subspan(i * dim_ + 1, dim_ - 1);
        stream_.normals(first + i, v);
        const double scale = across_ / norm(v);
        for (double& x : v) x *= scale;
        out[i * dim_] = along_;
      }
    });
  }

 private:
  Stream stream_;
  std::size_t dim_;
  double along_, across_;
};

/// Sums over all tokens but the own one, weights relative to the own weight.
struct RowTotals {
  std::vector<double> queries, pull, weight, moment;
};

bool attend_all(const ContextSimulation& s, std::size_t replicate, std::size_t rows,
                RowTotals& all) {
  const std::size_t n = token_count(s), d = s.dim;
  const RandomTokens source(s, replicate);
  Attention attention;
  attention.beta = s.layer.exponent * std::log(s.layer.tokens);
  attention.dim = d;
  std::vector<std::uint32_t> queries(rows);
  std::iota(queries.begin(), queries.end(), 0U);
  all = {std::vector<double>(rows * d), std::vector<double>(rows * d, 0.0),
         std::vector<double>(rows, 0.0), std::vector<double>(rows, 0.0)};
  source.draw(0, all.queries);
  AttentionSums sums;
  // The queries lead every block; they are sources themselves in the first one only.
  for (std::size_t first = rows; first == rows || first < n; first += kBlock) {
    const std::size_t fresh = std::min(kBlock, n - first);
    std::vector<double> tokens = all.queries, masses(rows, first == rows ? 1.0 : 0.0);
    tokens.resize((rows + fresh) * d);
    masses.resize(rows + fresh, 1.0);
    source.draw(first, std::span(tokens).subspan(rows * d));
    attend(attention, tokens, masses, {.rows = queries, .moment = true}, sums);
    for (std::size_t k = 0; k < rows * d; ++k) all.pull[k] += sums.pull[k];
    for (std::size_t i = 0; i < rows; ++i) {
      all.weight[i] += sums.weight[i];
      all.moment[i] += sums.moment[i];
    }
    if (s.stop && s.stop()) return false;
    if (s.progress)
      s.progress((static_cast<double>(replicate) +
                  static_cast<double>(first + fresh) / static_cast<double>(n)) /
                 static_cast<double>(s.replicates));
  }
  return true;
}

Numbers measure(const ContextSimulation& s, std::size_t rows, RowTotals& all) {
  const std::size_t d = s.dim;
  const double a = s.layer.residual, b = s.layer.attention;
  double own = 0, entropy = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    const double total = 1 + all.weight[i];
    own += 1 / total;
    entropy += std::log(total) - all.moment[i] / total;
    const std::span<double> out = std::span(all.pull).subspan(i * d, d);
    for (std::size_t k = 0; k < d; ++k)
      out[k] = (a + b) * all.queries[i * d + k] + b * out[k] / total;
    Sphere(d).retract(out);
  }
  const auto count = static_cast<double>(rows);
  return numbers(own / count, mean_gap(all.pull, d), entropy / count, s.layer.rho);
}

/// Rows 0 and 1 of exactly equiangular tokens; coordinates e_0, e_1, ..., e_n.
Numbers exact_numbers(const ContextSimulation& s) {
  const std::size_t n = token_count(s);
  const double rho = s.layer.rho, beta = s.layer.exponent * std::log(s.layer.tokens);
  std::vector<double> outputs(2 * (n + 1), 0.0);
  double own = 0, entropy = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    const std::span<double> out = std::span(outputs).subspan(i * (n + 1), n + 1);
    long double sum = 0, mean = 0;  // of up to 1e5 equal terms
    for (std::size_t j = 0; j < n; ++j) {
      const double logit = i == j ? 0 : -beta * (1 - rho), weight = std::exp(logit);
      sum += weight;
      mean += weight * logit;
      out[0] += weight * std::sqrt(rho);
      out[j + 1] = weight * std::sqrt(1 - rho);
    }
    const auto total = static_cast<double>(sum), moment = static_cast<double>(mean);
    for (double& x : out) x *= s.layer.attention / total;
    out[0] += s.layer.residual * std::sqrt(rho);
    out[i + 1] += s.layer.residual * std::sqrt(1 - rho);
    Sphere(n + 1).retract(out);
    own += 0.5 / total;
    entropy += 0.5 * (std::log(total) - moment / total);
  }
  return numbers(own, mean_gap(outputs, n + 1), entropy, rho);
}

ContextSample summary(const std::vector<Numbers>& replicates) {
  const auto column = [&](std::size_t k) {
    const auto count = static_cast<double>(replicates.size());
    double mean = 0, squares = 0;
    for (const Numbers& r : replicates) mean += r[k] / count;
    for (const Numbers& r : replicates) squares += (r[k] - mean) * (r[k] - mean);
    return Measured{mean, count > 1 ? std::sqrt(squares / (count - 1) / count) : 0};
  };
  return {.self_weight = column(0),
          .output_cosine = column(1),
          .gap = column(2),
          .entropy = column(3),
          .angle_ratio = column(4)};
}

/// ln 0F1(; c; z) for c, z >= 0: all terms are positive, and rescaled before they overflow.
double log_0f1(double c, double z) {
  double term = 1, sum = 1, scale = 0;
  for (double k = 0; term > 1e-17 * sum; ++k) {
    term *= z / ((k + 1) * (c + k));
    sum += term;
    if (sum > 1e200) {
      term *= 1e-200;
      sum *= 1e-200;
      scale += 200 * std::log(10.0);
    }
  }
  return scale + std::log(sum);
}

}  // namespace

ContextSample simulate_context(const ContextSimulation& s) {
  validate(s);
  context_state(s.layer);  // refuses a bad layer
  if (s.exact) return summary({exact_numbers(s)});
  const std::size_t rows = std::min(s.rows, token_count(s));
  std::vector<Numbers> replicates;
  RowTotals all;
  for (std::size_t r = 0; r < s.replicates; ++r) {
    if (!attend_all(s, r, rows, all)) {
      ContextSample nothing;
      nothing.stopped = true;
      return nothing;
    }
    replicates.push_back(measure(s, rows, all));
  }
  return summary(replicates);
}

ContextExpectation expected_context(const ContextSimulation& s) {
  validate(s);
  const ContextLayer& l = s.layer;
  const ContextState closed = context_state(l);
  if (s.exact)
    return {closed.self_weight, closed.output_cosine, closed.gap,
            closed.entropy,     closed.angle_ratio,   0,
            l.tokens - 1};
  const double n = l.tokens, gap = 1 - l.rho, k = closed.beta * gap;
  const double half = 0.5 * static_cast<double>(s.dim - 1);
  const double log_mean = log_0f1(half, 0.25 * k * k);
  const double lean = k / (2 * half) * std::exp(log_0f1(half + 1, 0.25 * k * k) - log_mean);
  const double log_crowding = log_0f1(half, k * k) - 2 * log_mean;
  const double odds = std::exp(k - std::log(n - 1) - log_mean);
  const double p0 = odds / (1 + odds), q0 = 1 / (1 + odds);

  // With weight P on the own token and Q on the others: squared length of the part across e_1 of
  // one output, and its product with another one.
  const double P = l.residual + l.attention * p0, Q = l.attention * q0, p = Q / (n - 1);
  const double alone = std::min(Q * Q, Q * p * std::exp(log_crowding));
  const double square = P * P + 2 * P * Q * lean + alone + (Q * Q - alone) * lean * lean;
  const double product = 2 * p * (P + Q * lean) + (n - 2) * p * p;
  const double along = (P + Q) * (P + Q) * l.rho;
  const double out = gap * (square - product) / (along + gap * square);
  return {.self_weight = p0,
          .output_cosine = 1 - out,
          .gap = out,
          .entropy = std::log1p(1 / odds) + q0 * k * (1 - lean),
          .angle_ratio = angle(out) / angle(gap),
          .log_odds_shift = log_mean,
          .effective_tokens = (n - 1) * std::exp(-log_crowding)};
}

}  // namespace attractor::meanfield
