// QK-norm in the flow: what is beta of normed queries and keys, what it does to logits of large
// weights, and gains that make it anisotropic. Each statement is an identity between two flows.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "attractor/attention/weights.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/generators.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/token_walk.hpp"

namespace attractor::papers::query_key_norm {
namespace {

constexpr std::size_t kTokens = 32, kDim = 16, kRank = 8;
constexpr double kBeta = 4;
using Tokens = std::vector<double>;

Tokens start() { return make_tokens({.tokens = kTokens, .dim = kDim, .seed = 5}).data; }

/// Gaussian weights times a factor.
AttentionLayer layer_of(std::size_t rank, double factor, WeightKind kind = WeightKind::gaussian) {
  AttentionLayer layer{.beta = kBeta, .dim = kDim};
  Head& head = layer.heads[0];
  head.query = draw_weights(kind, rank, kDim, {.seed = 3, .matrix = "query"});
  head.key = kind == WeightKind::gaussian
                 ? draw_weights(kind, rank, kDim, {.seed = 3, .matrix = "key"})
                 : head.query;
  for (auto* matrix : {&head.query, &head.key})
    for (double& x : *matrix) x *= factor;
  return layer;
}

std::vector<Tokens> walked(const AttentionLayer& layer, const std::vector<double>& times,
                           const Effort& effort) {
  Walk walk{.tokens = start(), .times = times};
  walk.architecture.layer = layer;
  walk.tolerance = 1e-11;
  return states_of(walk, effort);
}

double apart(const AttentionLayer& a, const AttentionLayer& b, const Effort& effort) {
  return largest_distance(walked(a, {3}, effort).back(), walked(b, {3}, effort).back(), kDim);
}

double mean_cosine(const Tokens& tokens) {
  Tokens sum(kDim, 0.0);
  for (std::size_t k = 0; k < tokens.size(); ++k) sum[k % kDim] += tokens[k];
  constexpr double n = kTokens;
  return (dot(sum, sum) - n) / (n * (n - 1));
}

/// The mean entropy of attention over ln n: 1 where it is uniform, 0 where it chooses one token.
double spread_of(const AttentionLayer& layer, const Tokens& tokens) {
  LayerOutput out;
  attend(layer, tokens, {.entropy = true}, out);
  double sum = 0;
  for (const double e : out.entropy) sum += e;
  return sum / (kTokens * std::log(static_cast<double>(kTokens)));
}

/// Unit vectors M x_i.
std::vector<Tokens> directions(const Tokens& tokens, const std::vector<double>& matrix) {
  std::vector<Tokens> rows;
  for (std::size_t i = 0; i < kTokens; ++i) {
    Tokens y;
    for (std::size_t a = 0; a < kRank; ++a)
      y.push_back(dot(row(matrix, kDim, a), row(tokens, kDim, i)));
    const double length = norm(y);
    for (double& x : y) x /= length;
    rows.push_back(std::move(y));
  }
  return rows;
}

/// How far ln P_ij - ln P_ik is from beta (<q_i, k_j> - <q_i, k_k>), q and k of length 1, by hand.
double worst_logit(const AttentionLayer& layer) {
  const Tokens tokens = start();
  LayerOutput out;
  attend(layer, tokens, {.matrix = true}, out);
  const auto q = directions(tokens, layer.heads[0].query),
             k = directions(tokens, layer.heads[0].key);
  double worst = 0;
  for (std::size_t i = 0; i < kTokens; ++i)
    for (std::size_t j = 1; j < kTokens; ++j) {
      const double got = std::log(out.matrix[i * kTokens + j] / out.matrix[i * kTokens]);
      worst = std::max(worst, std::abs(got - kBeta * (dot(q[i], k[j]) - dot(q[i], k[0]))));
    }
  return worst;
}

void identities(const Effort& effort, std::vector<Check>& checks) {
  AttentionLayer l2 = layer_of(kRank, 1), rms = l2, large = layer_of(kRank, 10);
  l2.query_key.norm = large.query_key.norm = QueryKeyNorm::l2;
  rms.query_key.norm = QueryKeyNorm::rms;
  rms.beta = kBeta / std::sqrt(static_cast<double>(kRank));
  checks.push_back(at_most("rms with g_q g_k sqrt(d_head) = beta against l2 with beta",
                           apart(rms, l2, effort), 1e-8));
  checks.push_back(at_most("l2: logits against beta <q, k> by hand", worst_logit(l2), 1e-12));
  checks.push_back(at_most("l2, weights tenfold", apart(large, l2, effort), 1e-8));
  AttentionLayer turned = layer_of(kDim, 1, WeightKind::orthogonal);
  turned.query_key.norm = QueryKeyNorm::l2;
  const AttentionLayer plain{.beta = kBeta, .dim = kDim};
  checks.push_back(at_most("l2 with Q = K orthogonal against attention of the tokens, beta = g",
                           apart(turned, plain, effort), 1e-8));
  AttentionLayer gained = plain, diagonal = plain;
  gained.query_key.norm = QueryKeyNorm::l2;
  Head& head = diagonal.heads[0];
  head.query.assign(kDim * kDim, 0.0);
  head.key.assign(kDim * kDim, 0.0);
  for (std::size_t a = 0; a < kDim; ++a) {
    gained.query_key.query_gain.push_back(1 + 0.1 * static_cast<double>(a));
    gained.query_key.key_gain.push_back(a % 2 == 0 ? 1.5 : 0.5);
    head.query[a * (kDim + 1)] = gained.query_key.query_gain[a];
    head.key[a * (kDim + 1)] = gained.query_key.key_gain[a];
  }
  checks.push_back(
      at_most("elementwise gains against diagonal Q and K", apart(gained, diagonal, effort), 1e-8));
  checks.push_back(at_least("elementwise gains against none: how far tokens end apart",
                            apart(gained, plain, effort), 0.01));
}

struct Curve {
  double factor;
  bool normed;
  std::vector<double> time, cosine;
  double spread;  // of attention at the start
};

Curve curve(double factor, bool normed, const Effort& effort) {
  AttentionLayer layer = layer_of(kRank, factor);
  if (normed) layer.query_key.norm = QueryKeyNorm::l2;
  Curve c{.factor = factor, .normed = normed, .spread = spread_of(layer, start())};
  for (int k = 1; k <= 40; ++k) c.time.push_back(0.25 * k);
  for (const Tokens& tokens : walked(layer, c.time, effort))
    c.cosine.push_back(mean_cosine(tokens));
  return c;
}

PageFigure figure(const std::vector<Curve>& curves) {
  report::Panel panel{.title = "32 tokens, d = 16, d_head = 8, β = 4",
                      .x = {.label = "t", .low = 0, .high = 10},
                      .y = {.label = "mean cosine", .low = 0, .high = 1.02}};
  for (const Curve& c : curves)
    panel.series.push_back(line(fmt::format("weights × {}{}", c.factor, c.normed ? ", normed" : ""),
                                report::kPalette[panel.series.size()], c.time, c.cosine, c.normed));
  return figure_of("cosines", {std::move(panel)},
                   "Growing weights slow down collapse, unless queries and keys are normed.");
}

Finding run(const Effort& effort) {
  Finding finding;
  identities(effort, finding.checks);
  Table table{.name = "weights",
              .title = "Mean cosine at t = 10, and entropy of attention at the start over ln n",
              .columns = {"factor", "normed", "cosine", "entropy"},
              .yes_no = {"normed"}};
  std::vector<Curve> curves;
  for (const bool normed : {false, true})
    for (const double factor : {1.0, 3.0, 10.0}) {
      if (effort.context.stopped()) return {};
      curves.push_back(curve(factor, normed, effort));
      const Curve& c = curves.back();
      table.rows.push_back({factor, normed ? 1.0 : 0.0, c.cosine.back(), c.spread});
    }
  finding.checks.push_back(
      at_most("entropy without norms, weights tenfold", table.rows[2][3], 0.1));
  finding.checks.push_back(near("entropy with norms, weights tenfold and not",
                                table.rows[5][3] - table.rows[3][3], 0, 1e-12));
  // Logits of l2 are within beta of 0, so weights within a factor e^{2 beta} of each other.
  finding.checks.push_back(at_least("entropy with norms", table.rows[5][3], 0.5));
  finding.answer.headline = fmt::format(
      "With QK-norm the size of weights no longer matters: ten times larger ones leave an entropy "
      "of {:.3f} ln n (without: {:.3f}), and β is the gain, or g_q g_k √d_head for rms.",
      table.rows[5][3], table.rows[2][3]);
  finding.answer.draw = [curves] { return std::vector{figure(curves)}; };
  finding.answer.tables.push_back(std::move(table));
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "query-key-norm",
          .title = "QK-norm: the gain is beta",
          .source = "arXiv 2010.04245, 2302.05442; in the flow of 2512.01868",
          .shows =
              "Normed queries and keys keep logits from growing with the weights. In the flow the "
              "gain of L2 norms is beta, the two of RMS norms with 1/sqrt(d_head) give g_q g_k "
              "sqrt(d_head), and elementwise gains make attention anisotropic.",
          .run = run};
}

}  // namespace attractor::papers::query_key_norm
