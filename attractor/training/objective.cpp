#include "attractor/training/objective.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>

#include "attractor/base/eigen.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/kernels/dense/mean_slope.hpp"
#include "attractor/kernels/dense/token_rows.hpp"
#include "attractor/space/space.hpp"

namespace attractor::training {
namespace {

constexpr std::size_t kBlocksOfThread = 16;

Eigen::Map<const RowMajor> matrix(std::span<const double> values, std::size_t rows,
                                  std::size_t columns) {
  return {values.data(), static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns)};
}
Eigen::Map<RowMajor> target(std::span<double> values, std::size_t rows, std::size_t columns) {
  return {values.data(), static_cast<Eigen::Index>(rows), static_cast<Eigen::Index>(columns)};
}

double log_sum(std::span<const double> logs) {
  const double top = *std::max_element(logs.begin(), logs.end());
  if (!std::isfinite(top)) return top;
  double sum = 0;
  for (double l : logs) sum += std::exp(l - top);
  return top + std::log(sum);
}

bool zero(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return x == 0; });
}

// What is stored in place of x: the nearest floats, where they tell tokens apart.
std::vector<float> rounded(const Problem& problem, const Trained& trained) {
  if (!problem.head.linear() || trained.head || trained.attention == AttentionPart::none)
    throw Error(
        "precision single is for training p, W or KQ with a linear head that stays fixed: any "
        "other "
        "needs its scores anew from all tokens");
  std::vector<float> x(problem.x.size());
  std::vector<double> back(x.size());
  for (std::size_t k = 0; k < x.size(); ++k) {
    x[k] = static_cast<float>(problem.x[k]);
    back[k] = static_cast<double>(x[k]);
    if (!std::isfinite(back[k]) || (back[k] == 0) != (problem.x[k] == 0))
      throw Error(fmt::format("precision single cannot hold {} of X: use double", problem.x[k]));
  }
  try {
    require_distinct_keys(problem, back);
  } catch (const Error& error) {
    throw Error(fmt::format("precision single: {}; use double", error.what()));
  }
  return x;
}

}  // namespace

std::span<const std::string_view> names(Train) {
  static constexpr std::string_view kNames[] = {"p", "W", "KQ", "v", "v,p", "v,W", "v,KQ"};
  return kNames;
}

Trained::Trained(Train train) {
  constexpr AttentionPart kParts[] = {AttentionPart::prompt, AttentionPart::weights,
                                      AttentionPart::factors};
  const auto place = static_cast<std::size_t>(train);
  head = train >= Train::v;
  attention = train == Train::v ? AttentionPart::none : kParts[head ? place - 4 : place];
}

Objective::Objective(const Problem& problem, Loss loss, Trained trained, kernels::Precision stored)
    : problem_(problem),
      loss_(loss),
      trained_(trained),
      simple_head_(problem.head.linear() && !trained.head),
      kinked_(problem.head.kinked()),
      rank_(problem.rank()) {
  check_labels(problem, loss);
  const std::size_t d = problem.dim;
  const auto add = [&](const char* name, std::size_t size) {
    blocks_.push_back({name, dim_, size});
    dim_ += size;
  };
  const bool shared = problem.queries.empty();
  if (trained.attention == AttentionPart::prompt && !shared)
    throw Error("a problem with queries z has no prompt p to train; train W or KQ");
  if ((trained.attention == AttentionPart::weights ||
       trained.attention == AttentionPart::factors) &&
      shared && zero(problem.prompt))
    throw Error("W cannot be trained against the query p0 = 0: give p0 or queries z");
  for (std::size_t i = 0; !shared && i < problem.inputs; ++i)
    if (zero(std::span(problem.queries).subspan(i * d, d)))
      throw Error(
          fmt::format("z: the query of input {} is 0, so all its tokens weigh the same", i));
  if (trained.attention == AttentionPart::factors && rank_ == 0)
    throw Error("training K and Q needs their start");
  if (trained.attention == AttentionPart::prompt) add("p", d);
  if (trained.attention == AttentionPart::weights) add("W", d * d);
  if (trained.attention == AttentionPart::factors) add("K", d * rank_), add("Q", d * rank_);
  if (trained.head) add("v", problem.head.units());
  if (stored == kernels::Precision::f32) single_ = rounded(problem, trained);
  outputs_ = token_outputs(problem);
  best_.resize(problem.inputs);
  for (std::size_t i = 0; i < problem.inputs; ++i) {
    const auto own = std::span(outputs_).subspan(i * problem.tokens, problem.tokens);
    const auto best = problem.labels[i] < 0 ? std::min_element(own.begin(), own.end())
                                            : std::max_element(own.begin(), own.end());
    best_[i] = static_cast<std::size_t>(best - own.begin());
  }
}

const Block* Objective::block(std::string_view name) const {
  for (const Block& b : blocks_)
    if (b.name == name) return &b;
  return nullptr;
}

std::span<const double> Objective::of(std::string_view name, std::span<const double> state,
                                      std::span<const double> fixed) const {
  const Block* b = block(name);
  return b ? b->of(state) : fixed;
}

std::vector<double> Objective::start() const {
  std::vector<double> state(dim_);
  for (const Block& b : blocks_) {
    const std::vector<double>& from = b.name == "p"   ? problem_.prompt
                                      : b.name == "W" ? problem_.weights
                                      : b.name == "K" ? problem_.key_factor
                                      : b.name == "Q" ? problem_.query_factor
                                                      : problem_.head.v;
    if (b.name == "W" && from.empty())
      for (std::size_t a = 0; a < problem_.dim; ++a) state[b.begin + a * (problem_.dim + 1)] = 1;
    std::copy(from.begin(), from.end(), state.begin() + static_cast<std::ptrdiff_t>(b.begin));
  }
  return state;
}

std::span<const double> Objective::head_weights(std::span<const double> state) const {
  return of("v", state, problem_.head.v);
}

std::span<const double> Objective::given_queries() const {
  return problem_.queries.empty() ? problem_.prompt : problem_.queries;
}

std::vector<double> Objective::attention_weights(std::span<const double> state) const {
  if (trained_.attention == AttentionPart::none) return {};
  if (trained_.attention != AttentionPart::factors) {
    const auto values = blocks_[0].of(state);
    return {values.begin(), values.end()};
  }
  const std::size_t d = problem_.dim;
  std::vector<double> w(d * d);
  target(w, d, d).noalias() =
      matrix(blocks_[0].of(state), d, rank_) * matrix(blocks_[1].of(state), d, rank_).transpose();
  return w;
}

void Objective::size(Evaluation& e) const {
  const std::size_t n = problem_.inputs, all = n * problem_.tokens, d = problem_.dim;
  e.weight.resize(all), e.coefficient.resize(all);
  if (!simple_head_) e.score.resize(all);
  e.chosen.resize(n), e.output.resize(n), e.mean.resize(n), e.log_weight.resize(n);
  e.log_size.resize(n), e.pull_sign.resize(n), e.pull_log.resize(n);
  e.move.resize(n * d);
  e.query.resize(problem_.queries.empty() ? d : n * d);
  if (trained_.head) e.feature.resize(n * problem_.head.units());
  if (kinked_) e.hidden.resize(n * problem_.head.units());
  e.descent.resize(dim_), e.log_scale.resize(blocks_.size());
}

// u_i = W q_i.
void Objective::find_queries(std::span<const double> state, Evaluation& e) const {
  const std::size_t d = problem_.dim, rows = e.query.size() / d;
  const auto q =
      matrix(trained_.attention == AttentionPart::prompt ? blocks_[0].of(state) : given_queries(),
             rows, d);
  auto u = target(e.query, rows, d);
  if (trained_.attention == AttentionPart::factors) {
    u.noalias() = (q * matrix(blocks_[1].of(state), d, rank_)) *
                  matrix(blocks_[0].of(state), d, rank_).transpose();
    return;
  }
  const std::span<const double> w = of("W", state, problem_.weights);
  if (w.empty())
    u = q;
  else
    u.noalias() = q * matrix(w, d, d).transpose();
}

std::span<const double> Objective::query(std::size_t i, const Evaluation& e) const {
  return problem_.queries.empty()
             ? std::span<const double>(e.query)
             : std::span<const double>(e.query).subspan(i * problem_.dim, problem_.dim);
}

// Output, features and scores of a head that is not just a fixed <v, .>; e.weight holds logits.
void Objective::read_head(std::size_t i, std::span<const double> v, const Piece& piece,
                          Evaluation& e) const {
  const std::size_t tokens = problem_.tokens, d = problem_.dim, a = e.chosen[i];
  const auto logits = std::span(e.weight).subspan(i * tokens, tokens);
  const auto s = std::span(e.coefficient).subspan(i * tokens, tokens);
  const auto rows = std::span(problem_.x).subspan(i * tokens * d, tokens * d);
  double sum = 0;
  for (std::size_t t = 0; t < tokens; ++t) sum += s[t] = std::exp(logits[t] - logits[a]);
  for (double& weight : s) weight /= sum;
  std::vector<double> o(d);
  kernels::weighted_differences(rows, s, problem_.token(i, a), o);
  for (std::size_t b = 0; b < d; ++b) o[b] += problem_.token(i, a)[b];
  const Head& head = problem_.head;
  const std::size_t units = head.units();
  const bool linear = head.linear();
  const auto on =
      piece.empty() ? std::span<const signed char>() : std::span(piece).subspan(i * units, units);
  const auto g = std::span(e.score).subspan(i * tokens, tokens);
  kernels::row_products(
      rows, linear ? std::vector<double>(v.begin(), v.end()) : head.gradient(o, v, on), g);
  e.output[i] = linear ? dot(o, v) : head.value(o, v, on);
  const auto keep = [&](const std::vector<double>& values, std::vector<double>& all) {
    std::copy(values.begin(), values.end(), all.begin() + static_cast<std::ptrdiff_t>(i * units));
  };
  if (kinked_) keep(head.inputs(o), e.hidden);
  if (trained_.head) keep(linear ? o : head.features(o, on), e.feature);
}

// Input i: its weights, its output and how it moves its query. Its tokens x, all inputs' as they
// are stored, come from memory once: the second sum finds them in a cache, while the first of those
// of input i + 1 are fetched if `next` says that it follows.
template <class T>
void Objective::look_at(std::size_t i, bool next, std::span<const T> x, std::span<const double> v,
                        const Piece& piece, Evaluation& e) const {
  const std::size_t tokens = problem_.tokens, d = problem_.dim;
  const auto s = std::span(e.weight).subspan(i * tokens, tokens);
  const auto c = std::span(e.coefficient).subspan(i * tokens, tokens);
  const auto rows = x.subspan(i * tokens * d, tokens * d);
  kernels::row_products(rows, query(i, e), s);
  const auto a = static_cast<std::size_t>(std::max_element(s.begin(), s.end()) - s.begin());
  e.chosen[i] = a;
  if (!simple_head_) read_head(i, v, piece, e);
  const auto g =
      std::span(simple_head_ ? std::span<const double>(outputs_) : std::span<const double>(e.score))
          .subspan(i * tokens, tokens);
  const kernels::MeanSlope slope = kernels::mean_slope(s, g, a, c);
  e.mean[i] = slope.mean;
  e.log_weight[i] = slope.log_weight;
  if (simple_head_) e.output[i] = g[a] + slope.excess;
  const Pull pull = training::pull(loss_, e.output[i], problem_.labels[i]);
  e.pull_sign[i] = pull.sign;
  e.pull_log[i] = pull.log_size;
  const auto move = std::span(e.move).subspan(i * d, d);
  kernels::weighted_differences(
      rows, c, rows.subspan(a * d, d), move,
      next ? x.subspan((i + 1) * tokens * d, tokens * d) : std::span<const T>());
  e.log_size[i] = zero(move) ? -kInfinity : pull.log_size + e.log_weight[i];
}

// The moves of the inputs become -grad of what is trained.
void Objective::collect_attention(std::span<const double> state, Evaluation& e) const {
  const std::size_t n = problem_.inputs, d = problem_.dim;
  const double top = *std::max_element(e.log_size.begin(), e.log_size.end());
  const std::size_t blocks = trained_.attention == AttentionPart::factors ? 2 : 1;
  const double unit = std::isfinite(top) ? top - std::log(static_cast<double>(n)) : 0;
  std::fill_n(e.log_scale.begin(), blocks, unit);
  for (std::size_t i = 0; i < n; ++i) {
    const double factor = std::isfinite(top) ? e.pull_sign[i] * std::exp(e.log_size[i] - top) : 0.0;
    for (std::size_t b = 0; b < d; ++b) e.move[i * d + b] *= factor;
  }
  auto moves = target(e.move, n, d);
  if (problem_.queries.empty()) {  // one query: only the sum of the moves counts
    for (std::size_t i = 1; i < n; ++i)
      for (std::size_t b = 0; b < d; ++b) e.move[b] += e.move[i * d + b];
    new (&moves) Eigen::Map<RowMajor>(e.move.data(), 1, static_cast<Eigen::Index>(d));
  }
  const auto rows = static_cast<std::size_t>(moves.rows());
  const auto out = [&](std::size_t k) {
    return std::span(e.descent).subspan(blocks_[k].begin, blocks_[k].size);
  };
  if (trained_.attention == AttentionPart::prompt) {
    auto p = target(out(0), 1, d);
    if (problem_.weights.empty())
      p = moves;
    else
      p.noalias() = moves * matrix(problem_.weights, d, d);
    return;
  }
  const auto q = matrix(given_queries(), rows, d);
  if (trained_.attention == AttentionPart::weights) {
    target(out(0), d, d).noalias() = moves.transpose() * q;
    return;
  }
  target(out(0), d, rank_).noalias() =
      moves.transpose() * (q * matrix(blocks_[1].of(state), d, rank_));
  target(out(1), d, rank_).noalias() =
      q.transpose() * (moves * matrix(blocks_[0].of(state), d, rank_));
}

// Adds what a move of u_i means for the blocks of attention.
void Objective::pull_back(std::size_t i, std::span<const double> move,
                          std::span<const double> state, std::span<double> out) const {
  const std::size_t d = problem_.dim;
  const auto column = matrix(move, d, 1);
  const auto block = [&](std::size_t k) { return out.subspan(blocks_[k].begin, blocks_[k].size); };
  if (trained_.attention == AttentionPart::prompt) {
    auto p = target(block(0), d, 1);
    if (problem_.weights.empty())
      p = column;
    else
      p.noalias() = matrix(problem_.weights, d, d).transpose() * column;
    return;
  }
  const auto q =
      matrix(problem_.queries.empty() ? given_queries() : given_queries().subspan(i * d, d), d, 1);
  if (trained_.attention == AttentionPart::weights) {
    target(block(0), d, d).noalias() = column * q.transpose();
    return;
  }
  target(block(0), d, rank_).noalias() =
      column * (q.transpose() * matrix(blocks_[1].of(state), d, rank_));
  target(block(1), d, rank_).noalias() =
      q * (column.transpose() * matrix(blocks_[0].of(state), d, rank_));
}

double Objective::output_slope(std::size_t i, std::span<const double> direction,
                               std::span<const double> state, const Evaluation& e,
                               std::span<double> unit) const {
  std::fill(unit.begin(), unit.end(), 0.0);
  if (trained_.attention == AttentionPart::none) return -kInfinity;
  const std::size_t tokens = problem_.tokens, d = problem_.dim;
  const auto rows = std::span(problem_.x).subspan(i * tokens * d, tokens * d);
  std::vector<double> s(tokens), g(tokens), c(tokens), move(d);
  kernels::row_products(rows, query(i, e), s);
  kernels::row_products(rows, direction, g);
  const kernels::MeanSlope slope = kernels::mean_slope(s, g, e.chosen[i], c);
  kernels::weighted_differences(rows, c, problem_.token(i, e.chosen[i]), move);
  pull_back(i, move, state, unit);
  const double length = norm(unit);
  if (!(length > 0)) return -kInfinity;
  for (double& x : unit) x /= length;
  return slope.log_weight + std::log(length);
}

void Objective::collect_head(Evaluation& e) const {
  const double top = *std::max_element(e.pull_log.begin(), e.pull_log.end());
  const Block& v = blocks_.back();
  const auto out = std::span(e.descent).subspan(v.begin, v.size);
  std::fill(out.begin(), out.end(), 0.0);
  e.log_scale.back() = 0;
  if (!std::isfinite(top)) return;
  e.log_scale.back() = top - std::log(static_cast<double>(problem_.inputs));
  for (std::size_t i = 0; i < problem_.inputs; ++i) {
    const double factor = e.pull_sign[i] * std::exp(e.pull_log[i] - top);
    for (std::size_t k = 0; k < v.size; ++k) out[k] += factor * e.feature[i * v.size + k];
  }
}

void Objective::evaluate(std::span<const double> state, Evaluation& e, const Piece& piece) const {
  size(e);
  find_queries(state, e);
  const std::span<const double> v = head_weights(state);
  // Long blocks of inputs: each is fetched while the one before it is summed.
  const std::size_t n = problem_.inputs;
  const std::size_t grain = std::max({std::size_t{1}, 65536 / (problem_.tokens * problem_.dim),
                                      n / (kBlocksOfThread * threads())});
  parallel_for(n, grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i)
      if (single_.empty())
        look_at(i, i + 1 < end, std::span<const double>(problem_.x), v, piece, e);
      else
        look_at(i, i + 1 < end, std::span<const float>(single_), v, piece, e);
  });
  if (trained_.attention != AttentionPart::none) collect_attention(state, e);
  if (trained_.head) collect_head(e);
}

double Objective::loss(const Evaluation& e) const {
  double total = 0;
  for (std::size_t i = 0; i < problem_.inputs; ++i)
    total += value(loss_, e.output[i], problem_.labels[i]);
  return total / static_cast<double>(problem_.inputs);
}

double Objective::log_loss(const Evaluation& e) const {
  std::vector<double> logs(problem_.inputs);
  for (std::size_t i = 0; i < logs.size(); ++i)
    logs[i] = log_value(loss_, e.output[i], problem_.labels[i]);
  return log_sum(logs) - std::log(static_cast<double>(problem_.inputs));
}

// ln (y (psi(x_token) - f) / |y|). Near the token the difference is known better than its two ends:
// from first-order terms for a fixed linear head, from the slope half-way for any other.
double Objective::log_deficit(std::size_t i, std::size_t token, const Evaluation& e) const {
  const double side = problem_.labels[i] < 0 ? -1 : 1;
  if (e.chosen[i] == token && simple_head_) return std::log(-side * e.mean[i]) + e.log_weight[i];
  const double direct = side * (outputs_[i * problem_.tokens + token] - e.output[i]);
  if (e.chosen[i] != token) return std::log(direct);
  const std::size_t tokens = problem_.tokens, d = problem_.dim;
  const std::span<const double> x = problem_.token(i, token);
  std::vector<double> shift(d), middle(x.begin(), x.end());
  kernels::weighted_differences(std::span(problem_.x).subspan(i * tokens * d, tokens * d),
                                std::span(e.weight).subspan(i * tokens, tokens), x, shift);
  const double length = norm(shift);
  if (length < 1e-100) return std::log(-side * e.mean[i]) + e.log_weight[i];
  if (length > 1e-5 * (1 + norm(x))) return std::log(direct);
  for (std::size_t b = 0; b < d; ++b) middle[b] += shift[b] / 2;
  return std::log(-side * dot(problem_.head.gradient(middle, problem_.head.v), shift));
}

double Objective::log_excess(const Evaluation& e, std::span<const std::size_t> tokens) const {
  std::vector<double> logs(problem_.inputs);
  for (std::size_t i = 0; i < logs.size(); ++i) {
    logs[i] = log_rise(loss_, outputs_[i * problem_.tokens + tokens[i]], problem_.labels[i],
                       log_deficit(i, tokens[i], e));
    if (std::isnan(logs[i])) return logs[i];
  }
  return log_sum(logs) - std::log(static_cast<double>(problem_.inputs));
}

}  // namespace attractor::training
