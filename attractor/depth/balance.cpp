#include "attractor/depth/balance.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/attention_output.hpp"

namespace attractor::depth {
namespace {

/// ln of a sum of exponentials that come one by one.
class LogSum {
 public:
  /// So small beside the largest one that a double does not feel it.
  bool lost(double log) const { return log < top_ - 37.5; }
  void add(double log) {
    if (log == -kInfinity || lost(log)) return;
    if (log > top_) {
      sum_ = sum_ * std::exp(top_ - log) + 1;
      top_ = log;
    } else {
      sum_ += std::exp(log - top_);
    }
  }
  double value() const { return sum_ > 0 ? top_ + std::log(sum_) : -kInfinity; }

 private:
  double top_ = -kInfinity, sum_ = 0;
};

std::vector<double> image(const std::vector<double>& matrix, std::span<const double> x,
                          std::size_t dim) {
  std::vector<double> y(x.begin(), x.end());
  if (matrix.empty()) return y;
  for (std::size_t i = 0; i < x.size(); i += dim)
    for (std::size_t a = 0; a < dim; ++a)
      y[i + a] = dot(std::span(matrix).subspan(a * dim, dim), x.subspan(i, dim));
  return y;
}

struct Pulls {
  const Attention& attention;
  std::span<const double> state, masses;
  double log_total, log_longest;  // the latter of what two values differ by at most
  std::vector<double> queries, keys, values, log_masses;

  std::span<const double> row(std::span<const double> of, std::size_t i) const {
    return of.subspan(i * attention.dim, attention.dim);
  }

  double logit(std::size_t i, std::size_t j) const {
    if (attention.by_distance())  // relative to beta: exact inside clusters
      return -0.5 * attention.beta * squared_distance(row(state, i), row(state, j));
    return attention.beta * dot(row(queries, i), row(keys, j));
  }

  /// ln B_i.
  double log_pull(std::size_t i) const {
    LogSum partition, pull;
    for (std::size_t j = 0; j < masses.size(); ++j) {
      const double log = log_masses[j] + logit(i, j);
      partition.add(log);
      if (pull.lost(log + log_longest)) continue;
      const double way = std::sqrt(squared_distance(row(values, i), row(values, j)));
      if (j != i) pull.add(log + std::log(way));
    }
    const bool softmax = attention.rule == Rule::softmax;
    double log_z = softmax ? partition.value() : log_total;
    if (!softmax && attention.by_distance()) log_z -= attention.beta;
    if (!attention.value.empty()) {
      std::vector<double> own(row(values, i).begin(), row(values, i).end());
      Sphere(attention.dim).project(row(state, i), own);
      pull.add(partition.value() + std::log(norm(own)));
    }
    return pull.value() - log_z;
  }
};

}  // namespace

flow::Balance balance_of(const Attention& attention, std::span<const double> state,
                         std::span<const double> masses, double total,
                         std::span<const double> drift, double log_unit) {
  const std::size_t dim = attention.dim, n = masses.size();
  Pulls pulls{.attention = attention,
              .state = state,
              .masses = masses,
              .log_total = std::log(total),
              .log_longest = 0,
              .queries = image(attention.query, state, dim),
              .keys = image(attention.key, state, dim),
              .values = image(attention.value, state, dim),
              .log_masses = std::vector<double>(n)};
  double fastest = 0, longest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    fastest = std::max(fastest, norm(drift.subspan(i * dim, dim)));
    longest = std::max(longest, norm(pulls.row(pulls.values, i)));
  }
  const double possible = std::exp(std::min(700.0, log_unit - natural_log_unit(attention)));
  if (fastest > 1e-3 * longest * possible) return {};
  pulls.log_longest = std::log(2 * longest);
  for (std::size_t i = 0; i < n; ++i) pulls.log_masses[i] = std::log(masses[i]);
  std::vector<double> pull(n);
  parallel_for(n, 16, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) pull[i] = std::exp(pulls.log_pull(i) + log_unit);
  });
  const double share =
      16 * std::numeric_limits<double>::epsilon() * (1 + 2 * attention.logit_bound());
  flow::Balance balance{*std::max_element(pull.begin(), pull.end()), true};
  for (std::size_t i = 0; i < n; ++i)
    balance.by_rounding =
        balance.by_rounding && norm(drift.subspan(i * dim, dim)) <= share * pull[i];
  return balance;
}

}  // namespace attractor::depth
