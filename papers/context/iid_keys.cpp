// Long contexts whose keys are independent and uniform on S^{d-1} (long_context/iid_keys.hpp). A
// token keeps half of its attention at beta ~ n^{2/(d-1)}, not at ln n/(1-rho) as with a common
// cosine. Below, its own weight is 0 and above 1; at that scale it is random, however many keys
// there are, since few of them matter. If d grows like ln n the law is logarithmic again, and the
// weight is not random. Exact averages against draws by order statistics, to n = 10^9.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/attention/attention_layer.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/long_context/iid_keys.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/generators.hpp"
#include "papers/entry.hpp"
#include "papers/pictures.hpp"
#include "papers/points.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::iid_keys {
namespace {

using meanfield::IidKeys;
using meanfield::OwnWeight;

std::vector<double> draws(const IidKeys& keys, std::uint64_t count, std::uint64_t seed,
                          const Effort& effort) {
  const Stream stream(seed, "keys");
  std::vector<double> weights;
  for (std::uint64_t k = 0; k < count && !effort.context.stopped(); ++k)
    weights.push_back(meanfield::draw_own_weight(keys, stream, k));
  return weights;
}

/// How far a sample is from the exact average, over 4 standard errors.
double misfit(const std::vector<double>& sample, const OwnWeight& own) {
  return std::abs(mean(sample) - own.mean) /
         (4 * own.deviation / std::sqrt(static_cast<double>(sample.size())) + 1e-15);
}

Table powers(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "half",
              .title = "β at which a token keeps half of its attention",
              .columns = {"dim", "points", "beta", "log_law", "drawn_weight", "standard_error"}};
  double worst = 0, steepest = 0;
  std::uint64_t seed = 0;
  for (const double dim : {3.0, 5.0, 9.0}) {
    for (const double n : {1e3, 1e5, 1e7, 1e9}) {
      const double beta = meanfield::half_scale(n, dim);
      const std::vector<double> sample =
          draws({n, dim, beta}, effort.quick ? 60 : 2000, ++seed, effort);
      if (effort.context.stopped()) return table;
      const OwnWeight own = meanfield::own_weight({n, dim, beta});
      worst = std::max(worst, misfit(sample, own));
      table.rows.push_back({dim, n, beta, std::log(n), mean(sample), standard_error(sample)});
    }
    const double far =
        std::log(meanfield::half_scale(1e200, dim) / meanfield::half_scale(1e100, dim)) /
        (100 * std::numbers::ln10);
    steepest = std::max(steepest, std::abs(far - 2 / (dim - 1)));
    // The next order is n^{-2/(d-1)}, the curvature of the sphere.
    const std::size_t last = table.rows.size() - 1;
    const double slope = std::log(table.rows[last][2] / table.rows[last - 1][2]) / std::log(100.0);
    checks.push_back(near(fmt::format("d = {}: exponent of the half scale from 1e7 to 1e9", dim),
                          slope, 2 / (dim - 1),
                          (dim - 1) * std::pow(1e7, -2 / (dim - 1)) / std::log(100.0)));
  }
  checks.push_back(at_most(
      "own weights drawn at the half scale, n to 1e9: from 1/2, largest over 4 standard errors",
      worst, 1));
  checks.push_back(at_most("exponent from n = 1e100 to 1e200 against 2/(d-1), largest difference",
                           steepest, 1e-4));
  return table;
}

/// Far below, at and far above the half scale, n = 10^9: mean and deviation, exact and drawn.
Table regimes(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "regimes",
              .title = "Own weight at n = 10^{9}: mean and deviation over keys",
              .columns = {"dim", "beta/half", "mean", "deviation", "drawn_mean", "drawn_deviation",
                          "deviation_at_1e3"}};
  double worst = 0;
  std::uint64_t seed = 100;
  const double tokens = 1e9;
  for (const double dim : {3.0, 5.0})
    for (const double factor : {0.01, 1.0, 100.0}) {
      const IidKeys keys{tokens, dim, factor * meanfield::half_scale(tokens, dim)};
      const OwnWeight own = meanfield::own_weight(keys);
      const double small = meanfield::half_scale(1e3, dim);
      const std::vector<double> sample = draws(keys, effort.quick ? 60 : 2000, ++seed, effort);
      if (effort.context.stopped()) return table;
      const auto count = static_cast<double>(sample.size());
      worst = std::max(worst, misfit(sample, own));
      table.rows.push_back({dim, factor, own.mean, own.deviation, mean(sample),
                            standard_error(sample) * std::sqrt(count),
                            meanfield::own_weight({1e3, dim, factor * small}).deviation});
    }
  checks.push_back(at_most("three regimes: drawn means, largest over 4 standard errors", worst, 1));
  for (const std::size_t k : {0U, 3U}) {
    // E S is beta^{-m} up to a factor, m = (d-1)/2: 100^m times 1 or so.
    const double m = (table.rows[k][0] - 1) / 2;
    const std::string at = fmt::format("d = {:g}", table.rows[k][0]);
    checks.push_back(
        at_most(at + ": own weight far below", table.rows[k][2], 2 * std::pow(100, -m)));
    checks.push_back(at_most(at + ": what is missing to 1 far above", 1 - table.rows[k + 2][2],
                             2 * std::pow(100, -m)));
    // The curvature of the sphere, of the order of n^{-1/m}.
    checks.push_back(near_relative(at + ": deviation at the half scale, n = 1e9 over n = 1e3",
                                   table.rows[k + 1][3], table.rows[k + 1][6],
                                   3 * std::pow(1e3, -1 / m)));
  }
  return table;
}

/// d - 1 = k ln n.
Table logarithms(const Effort& effort, std::vector<Check>& checks) {
  Table table{.name = "log_law",
              .title = "d − 1 = k ln n: β at which a token keeps half, over ln n",
              .columns = {"k", "points_1e9", "points_1e100", "points_1e300", "extrapolated",
                          "limit", "drawn_weight_1e9", "deviation_1e9"}};
  double worst = 0, off = 0;
  std::uint64_t seed = 200;
  for (const double k : {1.0, 2.0, 10.0}) {
    const auto ratio = [k](double n) {
      const double log_n = std::log(n);
      return meanfield::half_scale(n, 1 + k * log_n) / log_n;
    };
    const double near_n = ratio(1e9), middle = ratio(1e100), far = ratio(1e300);
    const IidKeys keys{1e9, 1 + k * std::log(1e9), near_n * std::log(1e9)};
    const OwnWeight own = meanfield::own_weight(keys);
    const std::vector<double> sample = draws(keys, effort.quick ? 20 : 400, ++seed, effort);
    if (effort.context.stopped()) return table;
    // What is left falls like 1/ln n: away by extrapolation, up to 1/(ln n ln n').
    const double limit = meanfield::log_law_constant(k), straight = (3 * far - middle) / 2;
    worst = std::max(worst, std::abs(straight - limit));
    off = std::max(off, misfit(sample, own));
    table.rows.push_back({k, near_n, middle, far, straight, limit, mean(sample), own.deviation});
  }
  checks.push_back(at_most("d - 1 = k ln n: beta/ln n extrapolated, from its limit, largest", worst,
                           1 / (std::log(1e100) * std::log(1e300))));
  checks.push_back(at_most(
      "d - 1 = k ln n, n = 1e9: own weights drawn, largest over 4 standard errors", off, 1));
  checks.push_back(
      at_most("d - 1 = 2 ln n, n = 1e9: deviation of the own weight", table.rows[1][7], 0.01));
  return table;
}

/// The attention layer itself on explicit keys: its own weights by plain sums, and their mean.
void layers(const Effort& effort, std::vector<Check>& checks) {
  const std::size_t n = 400, dim = 5;
  const double beta = meanfield::half_scale(n, dim);
  std::vector<double> means;
  double worst = 0;
  for (std::uint64_t set = 0; set < 16 && !effort.context.stopped(); ++set) {
    const TokenSet keys = make_tokens({.tokens = n, .dim = dim, .seed = set});
    LayerOutput out;
    attend({.beta = beta, .dim = dim}, keys.data, {.matrix = true}, out);
    double own = 0;
    for (std::size_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < n; ++j)
        sum += std::exp(beta * (dot(row(keys.data, dim, i), row(keys.data, dim, j)) - 1));
      worst = std::max(worst, std::abs(out.matrix[i * n + i] * sum - 1));
      own += out.matrix[i * n + i] / n;
    }
    means.push_back(own);
  }
  const Sampled weight = sampled(means);
  checks.push_back(near("attention layer, n = 400, d = 5 at the half scale: own weight",
                        weight.mean, 0.5, 4 * weight.error));
  checks.push_back(
      at_most("attention layer: own weights against plain sums, largest", worst, 1e-11));
}

std::vector<PageFigure> figures(const Table& half) {
  report::Panel power{.title = "β of half the attention",
                      .x = {.label = "keys n", .scale = report::Scale::log},
                      .y = {.label = "β", .scale = report::Scale::log}};
  report::Series law = line("common cosine 0: ln n", report::kInk, 2, true);
  for (std::size_t k = 0; k < half.rows.size(); k += 4) {
    const double dim = half.rows[k][0];
    report::Series exact = line(fmt::format("d = {:g}", dim), report::kPalette[k / 4]);
    for (std::size_t j = k; j < k + 4; ++j) {
      add_point(exact, half.rows[j][1], half.rows[j][2]);
      if (k == 0) add_point(law, half.rows[j][1], half.rows[j][3]);
    }
    power.series.push_back(std::move(exact));
  }
  power.series.push_back(std::move(law));
  report::Panel regimes{.title = "own weight, n = 10^{9}, d = 3",
                        .x = {.label = "β / n", .scale = report::Scale::log},
                        .y = {.label = "own weight", .low = 0, .high = 1}};
  report::Series middle = line("mean", report::kBlue),
                 low = line("± deviation", report::kBlue, 1.2, true),
                 high = line("", report::kBlue, 1.2, true);
  for (double log_factor = -3; log_factor <= 3; log_factor += 0.1) {
    const double factor = std::pow(10, log_factor);
    const OwnWeight own = meanfield::own_weight({1e9, 3, factor * 1e9});
    add_point(middle, factor, own.mean);
    add_point(low, factor, own.mean - own.deviation);
    add_point(high, factor, own.mean + own.deviation);
  }
  regimes.series = {middle, low, high};
  return {two_columns("iid_keys", {std::move(power), std::move(regimes)},
                      "Left: independent keys in few dimensions need a power of n, not ln n. "
                      "Right: only within a few decades around it is the own weight neither 0 nor "
                      "1, and there it differs from token to token.")};
}

Finding run(const Effort& effort) {
  Finding finding;
  const Table half = powers(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  const Table three = regimes(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  const Table logs = logarithms(effort, finding.checks);
  layers(effort, finding.checks);
  if (effort.context.stopped()) return finding;
  finding.answer.headline = fmt::format(
      "With 10^{{9}} independent keys in d = 3, 5, 9 a token keeps half of its attention at β = "
      "{:.3g}, {:.3g}, {:.3g} (ln n = {:.1f}), like n^{{2/(d−1)}}, and its weight varies by {:.2f} "
      "in d = 3; with d − 1 = 2 ln n it is {:.3f} ln n, and varies by {:.4f}.",
      half.rows[3][2], half.rows[7][2], half.rows[11][2], half.rows[3][3], three.rows[1][3],
      logs.rows[1][1], logs.rows[1][7]);
  finding.answer.tables = {half, three, logs};
  finding.answer.remarks = {
      "The exact averages, the limit law and the constant of d ~ ln n are our own derivations."};
  finding.answer.draw = [half] { return figures(half); };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "iid-keys",
          .title = "Independent keys: a power of n, not its logarithm",
          .source = "arXiv 2605.08505; 2512.01868, section 6.3",
          .shows =
              "With keys independent and uniform on the sphere the critical scale of logits is of "
              "the order of n^{2/(d-1)}, not log n, with three regimes; log n survives where d "
              "grows like log n.",
          .run = run};
}

}  // namespace attractor::papers::iid_keys
