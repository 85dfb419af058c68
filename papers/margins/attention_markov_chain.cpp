// Attention as a Markov chain: the next token is j with probability m_j(X) P(j | last) over their
// sum, m_j the number of times that j stands in the prompt X. Trained on such prompts, one layer of
// attention has the logits ln P, and on a prompt with every token once it is the chain P itself.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "attractor/base/random.hpp"
#include "attractor/space/space.hpp"
#include "attractor/training/objective.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"

namespace attractor::papers::attention_markov_chain {
namespace {

using training::Objective;

constexpr std::size_t kStates = 6, kLength = 5, kPrompts = 120;

/// Laws of the next token, one in each row.
struct Laws {
  std::vector<std::array<double, kStates>> row;
  explicit Laws(std::size_t count) : row(count) {}

  void normalise() {
    for (auto& law : row) {
      const double sum = std::accumulate(law.begin(), law.end(), 0.0);
      for (double& x : law) x /= sum;
    }
  }
  /// Root of the sum of squares, and the largest, of the differences.
  double distance(const Laws& other) const;
  double largest_difference(const Laws& other) const;
};

double Laws::distance(const Laws& other) const {
  double sum = 0;
  for (std::size_t i = 0; i < row.size(); ++i)
    for (std::size_t j = 0; j < kStates; ++j) sum += std::pow(row[i][j] - other.row[i][j], 2);
  return std::sqrt(sum);
}

double Laws::largest_difference(const Laws& other) const {
  double most = 0;
  for (std::size_t i = 0; i < row.size(); ++i)
    for (std::size_t j = 0; j < kStates; ++j)
      most = std::max(most, std::abs(row[i][j] - other.row[i][j]));
  return most;
}

using Law = std::array<double, kStates>;

Laws random_chain(std::uint64_t seed) {
  const Stream stream(seed, "papers.markov.chain");
  Laws P(kStates);
  std::vector<double> logits(kStates);
  for (std::size_t k = 0; k < kStates; ++k) {
    stream.normals(k, logits);
    for (std::size_t j = 0; j < kStates; ++j) P.row[k][j] = std::exp(logits[j]);
  }
  P.normalise();
  return P;
}

/// The law that a chain keeps, by eliminating one state after another (Grassmann, Taksar and
/// Heyman, Oper. Res. 33, 1985): only sums of positive numbers, so nothing cancels.
Law stationary_law(Laws P) {
  for (std::size_t n = kStates - 1; n > 0; --n) {
    double out = 0;
    for (std::size_t j = 0; j < n; ++j) out += P.row[n][j];
    for (std::size_t i = 0; i < n; ++i) P.row[i][n] /= out;
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) P.row[i][j] += P.row[i][n] * P.row[n][j];
  }
  Law law{1};
  double sum = 1;
  for (std::size_t n = 1; n < kStates; ++n) {
    for (std::size_t i = 0; i < n; ++i) law[n] += law[i] * P.row[i][n];
    sum += law[n];
  }
  for (double& x : law) x /= sum;
  return law;
}

/// The same as a limit: a law moved by the chain until it rests.
Law law_after(const Laws& P, int steps) {
  Law law;
  law.fill(1.0 / kStates);
  for (int k = 0; k < steps; ++k) {
    Law next{};
    for (std::size_t i = 0; i < kStates; ++i)
      for (std::size_t j = 0; j < kStates; ++j) next[j] += law[i] * P.row[i][j];
    law = next;
  }
  return law;
}

double largest_difference(const Law& a, const Law& b) {
  double most = 0;
  for (std::size_t j = 0; j < kStates; ++j) most = std::max(most, std::abs(a[j] - b[j]));
  return most;
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

/// Weight on each token of each prompt, attention of the library.
Laws attention(const Prompts& prompts, const Objective& objective, const std::vector<double>& w,
               training::Evaluation& e) {
  objective.evaluate(w, e);
  Laws weight(prompts.count());
  for (std::size_t k = 0; k < prompts.token.size(); ++k)
    weight.row[k / prompts.length][prompts.token[k]] += e.weight[k];
  return weight;
}

/// m_j P(j | last) over the sum.
Laws next_law(const Prompts& prompts, const Laws& P) {
  Laws law(prompts.count());
  for (std::size_t k = 0; k < prompts.token.size(); ++k) {
    const std::size_t i = k / prompts.length, j = prompts.token[k];
    law.row[i][j] += P.row[prompts.last(i)][j];
  }
  law.normalise();
  return law;
}

/// Frequencies of `draws` next tokens for each prompt.
Laws sampled_law(const Laws& law, std::size_t draws, std::uint64_t seed) {
  const Stream stream(seed, "papers.markov.labels");
  Laws seen(law.row.size());
  for (std::size_t i = 0; i < law.row.size(); ++i)
    for (std::size_t k = 0; k < draws; ++k) {
      double left = stream.uniform(i * draws + k, 0);
      std::size_t j = 0;
      while (j + 1 < kStates && (left -= law.row[i][j]) >= 0) ++j;
      seen.row[i][j] += 1;
    }
  seen.normalise();
  return seen;
}

/// Gradient descent of W on the mean of -sum_j law_ij ln(weight on j), a convex function whose
/// curvature is at most 1/2 a prompt.
std::vector<double> trained(const Prompts& prompts, const Laws& law, const Effort& effort) {
  const training::Problem problem = prompts.problem();
  const Objective objective(problem, training::Loss::logistic, training::Train::W);
  std::vector<double> w(kStates * kStates, 0.0), move(w.size());
  training::Evaluation e;
  const double n = static_cast<double>(prompts.count()), step = 2.0 * kStates;
  for (int k = 0; k < 50'000 && !effort.context.stopped(); ++k) {
    const Laws weight = attention(prompts, objective, w, e);
    std::fill(move.begin(), move.end(), 0.0);
    for (std::size_t i = 0; i < prompts.count(); ++i)
      for (std::size_t j = 0; j < kStates; ++j)
        move[j * kStates + prompts.last(i)] += (law.row[i][j] - weight.row[i][j]) / n;
    for (std::size_t a = 0; a < w.size(); ++a) w[a] += step * move[a];
    if (norm(move) < 1e-14) break;
  }
  return w;
}

/// The chain of a layer: its attention on complete prompts.
Laws chain_of(const std::vector<double>& w) {
  const Prompts prompts = complete_prompts();
  const training::Problem problem = prompts.problem();
  const Objective objective(problem, training::Loss::logistic, training::Train::W);
  training::Evaluation e;
  const Laws weight = attention(prompts, objective, w, e);
  Laws P(kStates);
  for (std::size_t i = 0; i < kStates; ++i) P.row[prompts.last(i)] = weight.row[i];
  return P;
}

/// Largest difference of W_jk - W_ik to ln P(j | k) - ln P(i | k).
double logit_error(const std::vector<double>& w, const Laws& P) {
  double worst = 0;
  for (std::size_t k = 0; k < kStates; ++k)
    for (std::size_t j = 0; j < kStates; ++j)
      for (std::size_t i = 0; i < j; ++i)
        worst = std::max(worst, std::abs(w[j * kStates + k] - w[i * kStates + k] -
                                         std::log(P.row[k][j] / P.row[k][i])));
  return worst;
}

struct Case {
  double logits, chain, law, limit;  // errors
  double few, many;                  // of the chain trained on sampled labels
};

Case case_of(std::uint64_t seed, std::size_t few, std::size_t many, const Effort& effort) {
  const Laws P = random_chain(seed);
  const Prompts prompts = random_prompts(seed);
  const Laws law = next_law(prompts, P);
  const std::vector<double> w = trained(prompts, law, effort);
  const Laws own = chain_of(w);
  const auto sampled = [&](std::size_t draws) {
    return chain_of(trained(prompts, sampled_law(law, draws, seed), effort)).distance(P);
  };
  return {.logits = logit_error(w, P),
          .chain = own.largest_difference(P),
          .law = largest_difference(stationary_law(own), stationary_law(P)),
          .limit = largest_difference(law_after(own, 400), stationary_law(P)),
          .few = sampled(few),
          .many = sampled(many)};
}

PageFigure draw(std::uint64_t seed, const Effort& effort) {
  const Laws P = random_chain(seed);
  const Prompts prompts = random_prompts(seed);
  const Law exact = stationary_law(P);
  const Law own = stationary_law(
      chain_of(trained(prompts, sampled_law(next_law(prompts, P), 10, seed), effort)));
  report::Panel panel{.x = {.label = "token", .whole = true},
                      .y = {.label = "stationary probability", .low = 0}};
  report::Series truth = dots("chain", report::kInk, 6),
                 layer = dots("attention trained on 10 labels a prompt", report::kVermillion, 4);
  for (std::size_t j = 0; j < kStates; ++j) {
    add_point(truth, static_cast<double>(j), exact[j]);
    add_point(layer, static_cast<double>(j), own[j]);
  }
  panel.series = {std::move(truth), std::move(layer)};
  return figure_of("law", {std::move(panel)},
                   "The stationary law of a chain of six tokens, and of the attention layer that "
                   "learnt it from 120 prompts.");
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
