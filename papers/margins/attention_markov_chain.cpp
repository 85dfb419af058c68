// Attention as a Markov chain: the next token is j with probability m_j(X) P(j | last) over their
// sum, m_j the number of times that j stands in the prompt X. Trained on such prompts, one layer of
// attention has the logits ln P, and on a prompt with every token once it is the chain P itself.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "attractor/base/dense.hpp"
#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"
#include "attractor/training/objective.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::attention_markov_chain {
namespace {

using training::Objective;

constexpr std::size_t kStates = 6, kLength = 5, kPrompts = 120;

using Matrix = Eigen::MatrixXd;  // P(j | k) in row k, column j

Matrix random_chain(std::uint64_t seed) {
  const Stream stream(seed, "papers.markov.chain");
  Matrix P(kStates, kStates);
  std::vector<double> logits(kStates);
  for (std::size_t k = 0; k < kStates; ++k) {
    stream.normals(k, logits);
    for (std::size_t j = 0; j < kStates; ++j)
      P(static_cast<Eigen::Index>(k), static_cast<Eigen::Index>(j)) = std::exp(logits[j]);
  }
  return P.array().colwise() / P.rowwise().sum().array();
}

/// The law that a chain keeps: pi P = pi, sum pi = 1, with one equation in place of the redundant
/// one.
Eigen::VectorXd stationary_law(const Matrix& P) {
  Matrix A = P.transpose() - Matrix::Identity(P.rows(), P.rows());
  A.row(0).setOnes();
  Eigen::VectorXd b = Eigen::VectorXd::Zero(P.rows());
  b[0] = 1;
  return lu_solve(A, b);
}

/// The same as a limit: a law moved by the chain until it rests.
Eigen::VectorXd law_after(const Matrix& P, int steps) {
  Eigen::RowVectorXd law =
      Eigen::RowVectorXd::Constant(P.rows(), 1.0 / static_cast<double>(P.rows()));
  for (int k = 0; k < steps; ++k) law = law * P;
  return law.transpose();
}

/// Prompts of tokens; the last one asks. Tokens are unit vectors.
struct Prompts {
  std::size_t length;
  std::vector<std::size_t> token;  // prompts x length
  std::size_t count() const { return token.size() / length; }
  std::size_t last(std::size_t i) const { return token[(i + 1) * length - 1]; }
  training::Problem problem() const;
};

training::Problem Prompts::problem() const {
  training::Problem p{.inputs = count(),
                      .tokens = length,
                      .dim = kStates,
                      .x = std::vector<double>(token.size() * kStates, 0.0),
                      .labels = std::vector<double>(count(), 1.0),
                      .head = {.v = std::vector<double>(kStates, 1.0)},
                      .weights = std::vector<double>(kStates * kStates, 0.0),
                      .queries = std::vector<double>(count() * kStates, 0.0),
                      .prompt = std::vector<double>(kStates, 0.0)};
  for (std::size_t k = 0; k < token.size(); ++k) p.x[k * kStates + token[k]] = 1;
  for (std::size_t i = 0; i < count(); ++i) p.queries[i * kStates + last(i)] = 1;
  return p;
}

Prompts random_prompts(std::uint64_t seed) {
  const Stream stream(seed, "papers.markov.prompts");
  Prompts prompts{.length = kLength, .token = {}};
  for (std::size_t k = 0; k < kPrompts * kLength; ++k)
    prompts.token.push_back(static_cast<std::size_t>(stream.uniform(k, 0) * kStates));
  for (std::size_t i = 0; i < kPrompts; ++i)  // every token asks equally often
    prompts.token[(i + 1) * kLength - 1] = i % kStates;
  return prompts;
}

/// Every token once; each asks in turn.
Prompts complete_prompts() {
  Prompts prompts{.length = kStates, .token = {}};
  for (std::size_t k = 0; k < kStates; ++k)
    for (std::size_t j = 1; j <= kStates; ++j) prompts.token.push_back((k + j) % kStates);
  return prompts;
}

/// Weight on each token of each prompt, attention of the library: prompts x states.
Matrix attention(const Prompts& prompts, const Objective& objective, const std::vector<double>& w,
                 training::Evaluation& e) {
  objective.evaluate(w, e);
  Matrix weight = Matrix::Zero(static_cast<Eigen::Index>(prompts.count()), kStates);
  for (std::size_t k = 0; k < prompts.token.size(); ++k)
    weight(static_cast<Eigen::Index>(k / prompts.length),
           static_cast<Eigen::Index>(prompts.token[k])) += e.weight[k];
  return weight;
}

/// m_j P(j | last) over the sum.
Matrix next_law(const Prompts& prompts, const Matrix& P) {
  Matrix law = Matrix::Zero(static_cast<Eigen::Index>(prompts.count()), kStates);
  for (std::size_t k = 0; k < prompts.token.size(); ++k) {
    const auto i = static_cast<Eigen::Index>(k / prompts.length),
               j = static_cast<Eigen::Index>(prompts.token[k]);
    law(i, j) += P(static_cast<Eigen::Index>(prompts.last(k / prompts.length)), j);
  }
  return law.array().colwise() / law.rowwise().sum().array();
}

/// Frequencies of `draws` next tokens for each prompt.
Matrix sampled_law(const Matrix& law, std::size_t draws, std::uint64_t seed) {
  const Stream stream(seed, "papers.markov.labels");
  Matrix seen = Matrix::Zero(law.rows(), law.cols());
  for (Eigen::Index i = 0; i < law.rows(); ++i)
    for (std::size_t k = 0; k < draws; ++k) {
      double left = stream.uniform(static_cast<std::uint64_t>(i) * draws + k, 0);
      Eigen::Index j = 0;
      while (j + 1 < law.cols() && (left -= law(i, j)) >= 0) ++j;
      seen(i, j) += 1;
    }
  return seen / static_cast<double>(draws);
}

/// Gradient descent of W on the mean of -sum_j law_ij ln(weight on j), a convex function whose
/// curvature is at most 1/2 a prompt.
std::vector<double> trained(const Prompts& prompts, const Matrix& law, const Effort& effort) {
  const training::Problem problem = prompts.problem();
  const Objective objective(problem, training::Loss::logistic, training::Train::W);
  std::vector<double> w(kStates * kStates, 0.0), move(w.size());
  training::Evaluation e;
  const double n = static_cast<double>(prompts.count()), step = 2.0 * kStates;
  for (int k = 0; k < 50'000 && !effort.context.stopped(); ++k) {
    const Matrix missing = law - attention(prompts, objective, w, e);
    std::fill(move.begin(), move.end(), 0.0);
    for (std::size_t i = 0; i < prompts.count(); ++i)
      for (std::size_t j = 0; j < kStates; ++j)
        move[j * kStates + prompts.last(i)] +=
            missing(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(j)) / n;
    for (std::size_t a = 0; a < w.size(); ++a) w[a] += step * move[a];
    if (norm(move) < 1e-14) break;
  }
  return w;
}

/// The chain of a layer: its attention on complete prompts.
Matrix chain_of(const std::vector<double>& w) {
  const Prompts prompts = complete_prompts();
  const training::Problem problem = prompts.problem();
  const Objective objective(problem, training::Loss::logistic, training::Train::W);
  training::Evaluation e;
  const Matrix weight = attention(prompts, objective, w, e);
  Matrix P(kStates, kStates);
  for (std::size_t i = 0; i < kStates; ++i)
    P.row(static_cast<Eigen::Index>(prompts.last(i))) = weight.row(static_cast<Eigen::Index>(i));
  return P;
}

/// Largest difference of W_jk - W_ik to ln P(j | k) - ln P(i | k).
double logit_error(const std::vector<double>& w, const Matrix& P) {
  double worst = 0;
  for (Eigen::Index k = 0; k < P.rows(); ++k)
    for (Eigen::Index j = 0; j < P.cols(); ++j)
      for (Eigen::Index i = 0; i < j; ++i) {
        const auto at = [&](Eigen::Index row) {
          return w[static_cast<std::size_t>(row) * kStates + static_cast<std::size_t>(k)];
        };
        worst = std::max(worst, std::abs(at(j) - at(i) - std::log(P(k, j) / P(k, i))));
      }
  return worst;
}

struct Case {
  double logits, chain, law, limit;  // errors
  double few, many;                  // of the chain trained on sampled labels
};

Case case_of(std::uint64_t seed, std::size_t few, std::size_t many, const Effort& effort) {
  const Matrix P = random_chain(seed);
  const Prompts prompts = random_prompts(seed);
  const Matrix law = next_law(prompts, P);
  const std::vector<double> w = trained(prompts, law, effort);
  const Matrix own = chain_of(w);
  const auto sampled = [&](std::size_t draws) {
    return (chain_of(trained(prompts, sampled_law(law, draws, seed), effort)) - P).norm();
  };
  return {.logits = logit_error(w, P),
          .chain = (own - P).cwiseAbs().maxCoeff(),
          .law = (stationary_law(own) - stationary_law(P)).cwiseAbs().maxCoeff(),
          .limit = (law_after(own, 400) - stationary_law(P)).cwiseAbs().maxCoeff(),
          .few = sampled(few),
          .many = sampled(many)};
}

PageFigure draw(std::uint64_t seed, const Effort& effort) {
  const Matrix P = random_chain(seed);
  const Prompts prompts = random_prompts(seed);
  const Eigen::VectorXd exact = stationary_law(P);
  const Eigen::VectorXd own = stationary_law(
      chain_of(trained(prompts, sampled_law(next_law(prompts, P), 10, seed), effort)));
  report::Panel panel{.x = {.label = "token", .whole = true},
                      .y = {.label = "stationary probability", .low = 0}};
  report::Series truth = dots("chain", report::kInk, 6),
                 layer = dots("attention trained on 10 labels a prompt", report::kVermillion, 4);
  for (Eigen::Index j = 0; j < exact.size(); ++j) {
    add_point(truth, static_cast<double>(j), exact[j]);
    add_point(layer, static_cast<double>(j), own[j]);
  }
  panel.series = {std::move(truth), std::move(layer)};
  return figure_of("law", {std::move(panel)},
                   "The stationary law of a chain of six tokens, and of the attention layer that "
                   "learnt it from 120 prompts.",
                   360);
}

Finding run(const Effort& effort) {
  const std::size_t seeds = effort.quick ? 4 : 20, few = 10, many = 1000;
  Table table{.name = "chains",
              .title = "Largest errors of the trained layer, and of the chain learnt from samples",
              .columns = {"seed", "logits", "chain", "stationary_law", "limit_of_powers",
                          "sampled_10", "sampled_1000"}};
  double logits = 0, chain = 0, law = 0, limit = 0, ratio = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const Case c = case_of(seed, few, many, effort);
    if (effort.context.stopped()) return {};
    table.rows.push_back(
        {static_cast<double>(seed), c.logits, c.chain, c.law, c.limit, c.few, c.many});
    logits = std::max(logits, c.logits), chain = std::max(chain, c.chain);
    law = std::max(law, c.law), limit = std::max(limit, c.limit);
    ratio += std::log(c.few / c.many) / static_cast<double>(seeds);
    effort.context.tell(static_cast<double>(seed + 1) / static_cast<double>(seeds), "chains");
  }
  const double slope = ratio / std::log(static_cast<double>(many) / few);
  Finding finding;
  finding.checks = {
      at_most("logits of the trained layer against ln P, largest error", logits, 1e-9),
      at_most("chain of the trained layer against P, largest error", chain, 1e-10),
      at_most("stationary law of the trained chain, largest error", law, 1e-10),
      at_most("where 400 steps of the trained chain lead, against the stationary law", limit,
              1e-10),
      near("error of the chain learnt from N labels falls like N^-x, x", slope, 0.5, 0.1)};
  finding.answer.headline = fmt::format(
      "Attention trained on prompts of a random chain is that chain within {:.0e}, with its "
      "stationary law within {:.0e}; from N sampled labels its error falls like N^{{−{:.2f}}}.",
      chain, law, slope);
  finding.answer.tables.push_back(std::move(table));
  const PageFigure figure = draw(0, effort);
  finding.answer.draw = [figure] { return std::vector<PageFigure>{figure}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "attention-markov-chain",
          .title = "Attention learns a Markov chain",
          .source = "arXiv 2402.13512",
          .shows =
              "One layer of self-attention is a Markov chain whose transitions are weighted by how "
              "often tokens stand in the prompt; trained on prompts it recovers the chain, with an "
              "error that falls with the number of samples.",
          .run = run};
}

}  // namespace attractor::papers::attention_markov_chain
