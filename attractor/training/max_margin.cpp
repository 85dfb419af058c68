#include "attractor/training/max_margin.hpp"

#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "attractor/base/error.hpp"
#include "attractor/solve/lp_margin.hpp"
#include "attractor/solve/nuclear_margin.hpp"
#include "attractor/space/space.hpp"

namespace attractor::training {
namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
constexpr double kTight = 1e-9;  // relative to a margin of one
constexpr double kRival = 0.1;

std::span<const double> or_own(std::span<const double> v, const Problem& problem) {
  return v.empty() ? std::span<const double>(problem.head.v) : v;
}

double alone(const Problem& p, std::size_t i, std::size_t t, std::span<const double> v) {
  return p.head.linear() ? dot(p.token(i, t), v) : p.head.value(p.token(i, t), v);
}

std::size_t rank_of(std::span<const double> w, std::size_t d) {
  const auto n = static_cast<Eigen::Index>(d);
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(Eigen::Map<const Matrix>(w.data(), n, n));
  qr.setThreshold(1e-7);
  return static_cast<std::size_t>(qr.rank());
}

}  // namespace

AttSvm::AttSvm(const Objective& objective, double power) : objective_(objective), power_(power) {
  const Problem& p = objective.problem();
  const AttentionPart part = objective.trained().attention;
  if (part == AttentionPart::none) throw Error("without trained attention there is no Att-SVM");
  if (part == AttentionPart::prompt) {
    if (!p.weights.empty()) keys_ = keys(p);
    return;
  }
  const auto d = static_cast<Eigen::Index>(p.dim);
  const auto rows = static_cast<Eigen::Index>(objective.given_queries().size() / p.dim);
  const Eigen::Map<const Matrix> z(objective.given_queries().data(), rows, d);
  Eigen::MatrixXd basis = Eigen::MatrixXd::Identity(d, d);
  if (power == 2) {  // an l_q norm knows its own coordinates only
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(z.transpose());
    basis = Eigen::MatrixXd(qr.householderQ()).leftCols(qr.rank());
  }
  query_dim_ = static_cast<std::size_t>(basis.cols());
  basis_.resize(p.dim * query_dim_);
  coordinates_.resize(static_cast<std::size_t>(rows) * query_dim_);
  Eigen::Map<Matrix>(basis_.data(), d, basis.cols()) = basis;
  Eigen::Map<Matrix>(coordinates_.data(), rows, basis.cols()) = z * basis;
}

// From the coordinates of the queries' span back to d x d.
void AttSvm::expand(MaxMargin& result) const {
  const auto d = static_cast<Eigen::Index>(objective_.problem().dim);
  const auto k = static_cast<Eigen::Index>(query_dim_);
  const Matrix w = Eigen::Map<const Matrix>(result.solution.data(), d, k) *
                   Eigen::Map<const Matrix>(basis_.data(), d, k).transpose();
  result.solution.assign(w.data(), w.data() + w.size());
  result.rank = rank_of(result.solution, objective_.problem().dim);
}

template <class Rows>
void AttSvm::solve_rows(const Rows& rows, MaxMargin& result) const {
  const auto take = [&](auto&& answer, std::vector<double>& solution) {
    result.status = answer.status;
    result.norm = answer.norm;
    result.relative_gap = answer.relative_gap;
    result.farkas_residual = answer.farkas_residual;
    result.support = result.feasible() ? std::move(answer.support) : std::move(answer.farkas);
    result.solution = std::move(solution);
  };
  if (power_ == 2) {
    solve::HardMargin answer = solve::hard_margin(rows);
    take(answer, answer.p);
  } else {
    solve::LpMargin answer = solve::lp_margin(rows, {.p = power_});
    take(answer, answer.w);
  }
}

void AttSvm::solve_nuclear(MaxMargin& result) const {
  const Problem& p = objective_.problem();
  const solve::TokenDifferences rows(p.x, p.tokens, p.dim,
                                     {.chosen = result.chosen, .relaxed = result.relaxed});
  std::vector<double> left(rows.size() * p.dim), bounds(rows.size());
  std::vector<std::size_t> query(rows.size());
  const bool shared = coordinates_.size() == query_dim_;
  for (std::size_t j = 0; j < rows.size(); ++j) {
    rows.row(j, std::span(left).subspan(j * p.dim, p.dim));
    bounds[j] = rows.bound(j);
    query[j] = shared ? 0 : rows.group(j);
  }
  solve::NuclearMargin answer = solve::nuclear_margin({.left = left,
                                                       .right = coordinates_,
                                                       .left_dim = p.dim,
                                                       .right_dim = query_dim_,
                                                       .query = query,
                                                       .bounds = bounds});
  result.status = answer.status;
  result.norm = answer.norm;
  result.relative_gap = answer.relative_gap;
  result.farkas_residual = answer.farkas_residual;
  const std::vector<double>& multipliers = result.feasible() ? answer.multipliers : answer.farkas;
  for (std::size_t j = 0; j < multipliers.size(); ++j)
    if (multipliers[j] > 0) result.support.push_back({j, multipliers[j]});
  result.solution = std::move(answer.W);
}

// Neighbours, rivals and local optimality of a solution, in the coordinates it was solved in.
template <class Rows>
void AttSvm::compare(const Rows& rows, std::span<const double> v, MaxMargin& result) const {
  const std::vector<double> scores = first_order_scores(objective_, result.chosen, v);
  const std::size_t tokens = objective_.problem().tokens;
  // An interior-point solution knows its tight rows to the square root of its gap only.
  const double tight = std::max(kTight, std::sqrt(std::max(0.0, result.relative_gap)));
  std::vector<double> margins(rows.size());
  rows.products(result.solution, margins);
  result.locally_optimal = true;
  for (std::size_t j = 0; j < margins.size(); ++j) {
    const TokenMargin token{rows.group(j), rows.token(j), margins[j]};
    const double ahead = scores[token.input * tokens + token.token] -
                         scores[token.input * tokens + result.chosen[token.input]];
    if (margins[j] <= rows.bound(j) + tight) {
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
  if (objective_.trained().attention == AttentionPart::prompt) {
    const solve::TokenDifferences rows(keys_.empty() ? p.x : keys_, p.tokens, p.dim, choice);
    solve_rows(rows, result);
    if (result.feasible())
      compare(rows, v, result);
    else
      result.solution.clear();
    return result;
  }
  const solve::QueryDifferences rows(p.x, p.tokens, p.dim, coordinates_, query_dim_, choice);
  if (objective_.trained().attention == AttentionPart::factors)
    solve_nuclear(result);
  else
    solve_rows(rows, result);
  if (!result.feasible()) {
    result.solution.clear();
    return result;
  }
  compare(rows, v, result);
  expand(result);
  return result;
}

bool AttSvm::feasible(std::span<const std::size_t> prefix) const {
  const Problem& p = objective_.problem();
  const solve::TokenChoice choice{.chosen = {prefix.begin(), prefix.end()}};
  const std::size_t numbers = prefix.size() * p.tokens * p.dim;
  solve::MarginStatus status;
  if (objective_.trained().attention == AttentionPart::prompt) {
    const std::span<const double> all = keys_.empty() ? p.x : keys_;
    status =
        solve::hard_margin(solve::TokenDifferences(all.first(numbers), p.tokens, p.dim, choice))
            .status;
  } else {
    const std::span<const double> queries = coordinates_;
    const std::size_t own = queries.size() == query_dim_ ? query_dim_ : prefix.size() * query_dim_;
    status =
        solve::hard_margin(solve::QueryDifferences(std::span(p.x).first(numbers), p.tokens, p.dim,
                                                   queries.first(own), query_dim_, choice))
            .status;
  }
  return status != solve::MarginStatus::infeasible;
}

std::vector<std::size_t> best_tokens(const Objective& objective, std::span<const double> v) {
  const Problem& p = objective.problem();
  std::vector<std::size_t> best(p.inputs);
  for (std::size_t i = 0; i < p.inputs; ++i) {
    double least = std::numeric_limits<double>::infinity();
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
  LabelMargin result{.svm = solve::hard_margin(solve::DenseConstraints(rows, ones, units)),
                     .support = std::vector<bool>(p.inputs, false)};
  if (result.svm.status == solve::MarginStatus::infeasible) return result;
  for (std::size_t i = 0; i < p.inputs; ++i)
    result.support[i] = dot(std::span(rows).subspan(i * units, units), result.svm.p) <= 1 + kTight;
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
