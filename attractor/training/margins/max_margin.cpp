#include "attractor/training/margins/max_margin.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attractor/base/dense.hpp"
#include "attractor/base/eigen.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/solve/enclosed_sum.hpp"
#include "attractor/solve/norms/lp_margin.hpp"
#include "attractor/solve/norms/polyhedral_margin.hpp"
#include "attractor/solve/nuclear/nuclear_margin.hpp"
#include "attractor/solve/nuclear/spectral_margin.hpp"
#include "attractor/space/space.hpp"

namespace attractor::training {
namespace {

using Extended = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
constexpr double kTight = 1e-9;  // relative to a margin of one
constexpr double kRival = 0.1;

std::span<const double> or_own(std::span<const double> v, const Problem& problem) {
  return v.empty() ? std::span<const double>(problem.head.v) : v;
}

double alone(const Problem& p, std::size_t i, std::size_t t, std::span<const double> v) {
  return p.head.linear() ? dot(p.token(i, t), v) : p.head.value(p.token(i, t), v);
}

// A solution with gap e may miss the margin of a tight row by the root of e. An active set names
// its tight rows, and misses other ones by what it misses the norm by.
double tight_within(double gap, bool active_set) {
  return std::max(kTight, active_set ? 4 * gap : std::sqrt(gap));
}

std::size_t rank_of(std::span<const double> w, std::size_t d) {
  const auto n = static_cast<Eigen::Index>(d);
  const PivotedQr qr(Eigen::Map<const RowMajor>(w.data(), n, n), 1e-7);
  return static_cast<std::size_t>(qr.rank());
}

// What the answers of all solvers say.
template <class Result>
void take_bounds(const Result& answer, MaxMargin& result) {
  result.status = answer.status;
  result.norm = answer.norm;
  result.lower = answer.lower;
  result.upper = answer.upper;
  result.relative_gap = answer.relative_gap;
  result.farkas_residual = answer.farkas_residual;
}

}  // namespace

bool MaxMargin::proved_infeasible() const { return !feasible() && lower == kInfinity; }

AttSvm::AttSvm(const Objective& objective, double power)
    : AttSvm(objective, power == 2 ? natural_norm(objective.trained().attention)
                                   : MarginNorm{.power = power}) {}

AttSvm::AttSvm(const Objective& objective, MarginNorm norm) : objective_(objective), norm_(norm) {
  const Problem& p = objective.problem();
  const AttentionPart part = objective.trained().attention;
  if (part == AttentionPart::none) throw Error("without trained attention there is no Att-SVM");
  if (part == AttentionPart::prompt) {
    if (norm.of != MarginNorm::Of::entries)
      throw Error(
          fmt::format("p is a vector and has no {} norm; train W, or K and Q", name(norm, false)));
    if (!p.weights.empty()) keys_ = keys(p);
    return;
  }
  const auto d = static_cast<Eigen::Index>(p.dim);
  const auto rows = static_cast<Eigen::Index>(objective.given_queries().size() / p.dim);
  const Eigen::Map<const RowMajor> z(objective.given_queries().data(), rows, d);
  const PivotedQr qr(z.transpose());
  query_dim_ = p.dim;
  coordinates_.assign(objective.given_queries().begin(), objective.given_queries().end());
  if (qr.rank() == d || !norm.euclidean()) return;  // an l_q norm knows its own coordinates only
  const Eigen::MatrixXd basis = qr.span();
  query_dim_ = static_cast<std::size_t>(basis.cols());
  basis_.resize(p.dim * query_dim_);
  coordinates_.resize(static_cast<std::size_t>(rows) * query_dim_);
  Eigen::Map<RowMajor>(basis_.data(), d, basis.cols()) = basis;
  Eigen::Map<RowMajor>(coordinates_.data(), rows, basis.cols()) = z * basis;
}

// The rows of a trained prompt, for the first inputs.
template <class Use>
auto AttSvm::with_keys(std::size_t inputs, const solve::TokenChoice& choice, const Use& use) const {
  const Problem& p = objective_.problem();
  const std::size_t numbers = inputs * p.tokens * p.dim;
  const auto x = std::span<const double>(p.x).first(numbers);
  if (keys_.empty()) return use(solve::TokenDifferences(x, p.tokens, p.dim, choice));
  return use(solve::MappedDifferences(x, p.weights, std::span<const double>(keys_).first(numbers),
                                      p.tokens, p.dim, choice));
}

AttSvm::Point AttSvm::solve_rows(const solve::Constraints& rows, MaxMargin& result) const {
  const auto take = [&](auto&& answer, std::vector<double>& solution) {
    take_bounds(answer, result);
    result.upper_is_proved = answer.upper_is_proved;
    result.support = result.feasible() ? std::move(answer.support) : std::move(answer.farkas);
    result.solution = std::move(solution);
  };
  if (norm_.power != 2) {
    using solve::PolyhedralNorm;
    const bool largest = norm_.power == kInfinity;
    solve::LpMargin answer =
        largest || norm_.power == 1
            ? solve::polyhedral_margin(
                  rows, {.norm = largest ? PolyhedralNorm::largest : PolyhedralNorm::sum})
            : solve::lp_margin(rows, {.p = norm_.power});
    take(answer, answer.w);
    return {result.solution.begin(), result.solution.end()};
  }
  solve::HardMargin answer = solve::hard_margin(rows);
  take(answer, answer.p);
  Point point(result.solution.begin(), result.solution.end());
  for (std::size_t k = 0; k < answer.p_tail.size(); ++k) point[k] += answer.p_tail[k];
  return point;
}

AttSvm::Point AttSvm::solve_schatten(MaxMargin& result) const {
  const Problem& p = objective_.problem();
  const solve::TokenDifferences rows(p.x, p.tokens, p.dim,
                                     {.chosen = result.chosen, .relaxed = result.relaxed});
  const bool nuclear = norm_.of == MarginNorm::Of::nuclear;
  solve::NuclearMargin answer =
      nuclear ? solve::nuclear_margin(rows, objective_.given_queries(), p.dim)
              : solve::spectral_margin(rows, objective_.given_queries(), p.dim);
  take_bounds(answer, result);
  const std::vector<double>& multipliers = result.feasible() ? answer.multipliers : answer.farkas;
  for (std::size_t j = 0; j < multipliers.size(); ++j)
    if (multipliers[j] > 0) result.support.push_back({j, multipliers[j]});
  result.solution = std::move(answer.W);
  result.rank = answer.rank;
  if (objective_.trained().attention != AttentionPart::factors)
    return {result.solution.begin(), result.solution.end()};
  result.factor_rank = p.rank();
  if (result.feasible() && result.rank > p.rank())
    result.reach = norm(std::span(answer.singular_values).first(p.rank())) /
                   norm(std::span<const double>(answer.singular_values));
  return {result.solution.begin(), result.solution.end()};
}

// From the coordinates of the queries' span back to d x d. Bounds are formed again: the coordinates
// are rounded, and so is the orthogonality of their axes.
AttSvm::Point AttSvm::expand(const Point& point, const solve::QueryDifferences& rows,
                             MaxMargin& result) const {
  const auto d = static_cast<Eigen::Index>(objective_.problem().dim);
  const auto k = static_cast<Eigen::Index>(query_dim_);
  solve::MarginProof proof(rows);
  const solve::Combination sum = proof.combine(result.support);
  result.lower = sum.lower_bound(solve::length_above(sum.rows));
  if (!result.feasible()) return {};
  Point whole(static_cast<std::size_t>(d * d));
  Eigen::Map<Extended>(whole.data(), d, d) =
      Eigen::Map<const Extended>(point.data(), d, k) *
      Eigen::Map<const RowMajor>(basis_.data(), d, k).cast<long double>().transpose();
  result.solution.assign(whole.begin(), whole.end());
  if (const long double scale = proof.feasible_scale(whole); std::isfinite(scale)) {
    constexpr long double kAbove = 1 + 4 * std::numeric_limits<long double>::epsilon();
    result.upper = solve::rounded_up(scale * solve::length_above(whole) * kAbove);
  } else {
    result.upper_is_proved = false;
  }
  result.relative_gap =
      std::isfinite(result.upper) ? (result.upper - result.lower) / result.upper : 1;
  result.norm = std::min(std::max(result.norm, result.lower), result.upper);
  if (result.status == solve::MarginStatus::optimal &&
      !(result.relative_gap <= solve::HardMarginOptions{}.tolerance))
    result.status = solve::MarginStatus::precision_limit;
  return whole;
}

// Neighbours, rivals and local optimality of a solution.
template <class Rows>
void AttSvm::compare(const Rows& rows, const Point& point, std::span<const double> v,
                     MaxMargin& result, const std::vector<std::size_t>* tight) const {
  const std::vector<double> scores = first_order_scores(objective_, result.chosen, v);
  const std::size_t tokens = objective_.problem().tokens;
  solve::MarginProof proof(rows);
  result.smallest_slack = proof.smallest_slack(result.solution);
  std::vector<double> margins = proof.margins(point, kRival);
  std::vector<char> is_tight(rows.size(), 0);
  const bool active_set = norm_.euclidean();
  const double within = tight_within(result.relative_gap, active_set);
  for (std::size_t j = 0; j < margins.size() && !tight; ++j)
    is_tight[j] = margins[j] <= rows.bound(j) + within;
  if (!tight && active_set)
    for (const solve::Multiplier& row : result.support) is_tight[row.index] = 1;
  for (std::size_t k = 0; tight && k < tight->size(); ++k)
    is_tight[(*tight)[k]] = 1, margins[(*tight)[k]] = rows.bound((*tight)[k]);
  result.neighbours.clear();
  result.rivals.clear();
  result.locally_optimal = true;
  for (std::size_t j = 0; j < margins.size(); ++j) {
    const TokenMargin token{rows.group(j), rows.token(j), margins[j]};
    const double ahead = scores[token.input * tokens + token.token] -
                         scores[token.input * tokens + result.chosen[token.input]];
    if (is_tight[j]) {
      result.neighbours.push_back(token);
      if (ahead >= 0) result.locally_optimal = false;
    } else if (ahead > 0 && margins[j] <= rows.bound(j) + kRival) {
      result.rivals.push_back(token);
    }
  }
}

MaxMargin AttSvm::solve(std::vector<std::size_t> chosen, std::span<const double> v,
                        std::vector<bool> relaxed) const {
  MaxMargin result{.chosen = std::move(chosen), .relaxed = std::move(relaxed)};
  const Problem& p = objective_.problem();
  result.globally_optimal = true;
  const std::vector<std::size_t> best = best_tokens(objective_, v);
  for (std::size_t i = 0; i < p.inputs; ++i)
    if (best[i] != result.chosen[i] &&
        alone(p, i, best[i], or_own(v, p)) != alone(p, i, result.chosen[i], or_own(v, p)))
      result.globally_optimal = false;
  const solve::TokenChoice choice{.chosen = result.chosen, .relaxed = result.relaxed};
  const auto finish = [&](const auto& rows, const Point& point) {
    if (result.feasible())
      compare(rows, point, v, result);
    else
      result.solution.clear();
  };
  const AttentionPart part = objective_.trained().attention;
  if (part == AttentionPart::prompt) {
    with_keys(p.inputs, choice, [&](const auto& rows) { finish(rows, solve_rows(rows, result)); });
    return result;
  }
  const solve::QueryDifferences rows(p.x, p.tokens, p.dim, objective_.given_queries(), p.dim,
                                     choice);
  Point point;
  const bool singular = norm_.of != MarginNorm::Of::entries;
  if (singular) {
    point = solve_schatten(result);
  } else if (basis_.empty() || !result.relaxed.empty()) {  // no scale moves a point into h = 0
    point = solve_rows(rows, result);
  } else {
    const solve::QueryDifferences reduced(p.x, p.tokens, p.dim, coordinates_, query_dim_, choice);
    point = solve_rows(reduced, result);
    point = expand(point, rows, result);
  }
  finish(rows, point);
  if (!singular && result.feasible()) result.rank = rank_of(result.solution, p.dim);
  return result;
}

bool AttSvm::feasible(std::span<const std::size_t> prefix) const {
  const Problem& p = objective_.problem();
  const solve::TokenChoice choice{.chosen = {prefix.begin(), prefix.end()}};
  const auto possible = [](const solve::Constraints& rows) {
    return solve::hard_margin(rows).status != solve::MarginStatus::infeasible;
  };
  if (objective_.trained().attention == AttentionPart::prompt)
    return with_keys(prefix.size(), choice, possible);
  const std::span<const double> queries = coordinates_;
  const std::size_t own = queries.size() == query_dim_ ? query_dim_ : prefix.size() * query_dim_;
  return possible(solve::QueryDifferences(std::span(p.x).first(prefix.size() * p.tokens * p.dim),
                                          p.tokens, p.dim, queries.first(own), query_dim_, choice));
}

solve::ExactMargin AttSvm::prove(MaxMargin& found, std::span<const double> v) const {
  const Problem& p = objective_.problem();
  if (objective_.trained().attention != AttentionPart::prompt || !norm_.euclidean())
    throw Error("exact arithmetic serves the Euclidean margin of p only");
  const solve::TokenChoice choice{.chosen = found.chosen, .relaxed = found.relaxed};
  solve::HardMargin answer{.status = found.status, .p = found.solution};
  (found.feasible() ? answer.support : answer.farkas) = found.support;
  solve::ExactMargin exact = solve::exact_margin(
      {.tokens = p.x, .count = p.tokens, .dim = p.dim, .map = p.weights}, choice, answer);
  if (!exact.proved) return exact;
  found.exact = found.upper_is_proved = true;
  found.status = exact.infeasible ? solve::MarginStatus::infeasible : solve::MarginStatus::optimal;
  found.lower = exact.lower;
  found.upper = exact.upper;
  found.farkas_residual = 0;
  found.support.clear();
  for (std::size_t k = 0; k < exact.support.size(); ++k)
    found.support.push_back({exact.support[k], exact.lambda[k].value});
  found.solution.clear();
  if (exact.infeasible) {
    found.neighbours.clear();
    found.rivals.clear();
    found.locally_optimal = false;
    found.relative_gap = 1;
    return exact;
  }
  Point point;
  for (const solve::Rational& x : exact.p) {
    found.solution.push_back(x.value);
    point.push_back(static_cast<long double>(x.value) + x.rest);
  }
  found.norm = exact.lower;
  found.relative_gap = exact.upper > 0 ? (exact.upper - exact.lower) / exact.upper : 0;
  with_keys(p.inputs, choice,
            [&](const auto& rows) { compare(rows, point, v, found, &exact.tight); });
  return exact;
}

std::vector<std::size_t> best_tokens(const Objective& objective, std::span<const double> v) {
  const Problem& p = objective.problem();
  std::vector<std::size_t> best(p.inputs);
  for (std::size_t i = 0; i < p.inputs; ++i) {
    double least = kInfinity;
    for (std::size_t t = 0; t < p.tokens; ++t) {
      const double f = alone(p, i, t, or_own(v, p));
      const double cost =
          is_margin_loss(objective.loss()) ? -p.labels[i] * f : std::abs(f - p.labels[i]);
      if (cost < least) least = cost, best[i] = t;
    }
  }
  return best;
}

std::vector<double> first_order_scores(const Objective& objective,
                                       std::span<const std::size_t> chosen,
                                       std::span<const double> v) {
  const Problem& p = objective.problem();
  const std::span<const double> weights = or_own(v, p);
  std::vector<double> scores(p.inputs * p.tokens);
  for (std::size_t i = 0; i < p.inputs; ++i) {
    const double f = alone(p, i, chosen[i], weights);
    const double sign = pull(objective.loss(), f, p.labels[i]).sign;
    const std::vector<double> slope = p.head.linear()
                                          ? std::vector<double>(weights.begin(), weights.end())
                                          : p.head.gradient(p.token(i, chosen[i]), weights);
    for (std::size_t t = 0; t < p.tokens; ++t)
      scores[i * p.tokens + t] = sign * dot(p.token(i, t), slope);
  }
  return scores;
}

LabelMargin label_margin(const Problem& p, std::span<const double> features) {
  const std::size_t units = p.head.units();
  std::vector<double> rows(features.begin(), features.end());
  for (std::size_t k = 0; k < rows.size(); ++k) rows[k] *= p.labels[k / units];
  const std::vector<double> ones(p.inputs, 1.0);
  const solve::DenseConstraints constraints(rows, ones, units);
  LabelMargin result{.svm = solve::hard_margin(constraints),
                     .support = std::vector<bool>(p.inputs, false)};
  if (result.svm.status == solve::MarginStatus::infeasible) return result;
  std::vector<long double> point(result.svm.p.begin(), result.svm.p.end());
  for (std::size_t k = 0; k < point.size(); ++k) point[k] += result.svm.p_tail[k];
  const std::vector<double> margins = solve::MarginProof(constraints).margins(point, kTight);
  const double within = tight_within(result.svm.relative_gap, true);
  for (std::size_t i = 0; i < p.inputs; ++i) result.support[i] = margins[i] <= 1 + within;
  for (const solve::Multiplier& row : result.svm.support) result.support[row.index] = true;
  return result;
}

std::vector<double> token_features(const Problem& p, std::span<const std::size_t> chosen) {
  std::vector<double> features;
  for (std::size_t i = 0; i < p.inputs; ++i) {
    const std::vector<double> own = p.head.features(p.token(i, chosen[i]));
    features.insert(features.end(), own.begin(), own.end());
  }
  return features;
}

}  // namespace attractor::training
