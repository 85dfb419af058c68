// Planted stacks: random tokens through real layers say where the verdict truly turns; the band of
// `architect`, which sees only what a user can measure, must hold it nine times out of ten.
#include "attractor/commands/architect/turning_band.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/commands/architect/architect_experiment.hpp"
#include "attractor/commands/forecast_experiment.hpp"
#include "attractor/depth/layer_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/reductions/equiangular_layers.hpp"

namespace attractor::lab {
namespace {

/// sqrt(rho) u + sqrt(1 - rho) z_i, z_i independent and uniform beside u.
std::vector<double> spread_tokens(const Stream& stream, std::uint64_t item, std::size_t n,
                                  std::size_t dim, double rho) {
  std::vector<double> x(n * dim);
  stream.normals(item, x);
  for (std::size_t i = 0; i < n; ++i) {
    const std::span<double> row = std::span(x).subspan(i * dim, dim);
    row[0] = 0;
    double square = 0;
    for (const double y : row) square += y * y;
    for (double& y : row) y *= std::sqrt((1 - rho) / square);
    row[0] = std::sqrt(rho);
  }
  return x;
}

struct CosineMoments {
  double mean, deviation;
};

/// Over pairs of different tokens; directions need not be normalised.
CosineMoments cosine_moments(std::span<const double> x, std::size_t dim) {
  const std::size_t n = x.size() / dim;
  const auto dot_of = [&](std::size_t i, std::size_t j) {
    double sum = 0;
    for (std::size_t k = 0; k < dim; ++k) sum += x[i * dim + k] * x[j * dim + k];
    return sum;
  };
  std::vector<double> length(n);
  for (std::size_t i = 0; i < n; ++i) length[i] = std::sqrt(dot_of(i, i));
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const double c = dot_of(i, j) / (length[i] * length[j]);
      sum += c;
      squares += c * c;
    }
  const double pairs = static_cast<double>(n * (n - 1)) / 2, mean = sum / pairs;
  return {mean, std::sqrt(squares / pairs - mean * mean)};
}

/// A stack that nobody but the test knows.
struct Planted {
  Stack stack;
  std::size_t dim;
  double level;
  std::vector<double> tokens;
};

Planted planted(std::uint64_t seed) {
  const Stream stream(seed, "planted stack");
  const auto between = [&](std::uint64_t k, double low, double high) {
    return low + (high - low) * stream.uniform(0, k);
  };
  const auto whole = [&](std::uint64_t k, double low, double high) {
    return static_cast<std::size_t>(
        std::lround(std::exp(between(k, std::log(low), std::log(high)))));
  };
  const auto all = schemes();
  Planted p{.stack = {.depth = whole(1, 4, 32),
                      .norm = all[stream.below(all.size(), 0, 2)].id,
                      .tokens = static_cast<double>(whole(3, 32, 160)),
                      .beta = 8,
                      .rho = between(4, 0.05, 0.5)},
            .dim = whole(5, 16, 128),
            .level = between(6, 0.75, 0.95),
            .tokens = {}};
  p.stack.dimension = static_cast<double>(p.dim - 1);
  // Few layers of a slow scheme reach no high level at any beta.
  while (!turn_of(p.stack, p.level)) p.level = (p.level + p.stack.rho) / 2;
  p.tokens = spread_tokens(Stream(seed, "planted tokens"), 0,
                           static_cast<std::size_t>(p.stack.tokens), p.dim, p.stack.rho);
  return p;
}

/// Mean cosine of the tokens after all layers of the architecture itself.
double cosine_of_tokens(const Planted& p, double beta) {
  const ForecastSetup setup{
      .depth = p.stack.depth, .beta = beta, .tokens = p.stack.tokens, .rho0 = p.stack.rho};
  const meanfield::Equiangular e = stack_of(setup, p.stack.norm);
  depth::Architecture a;
  a.layer.beta = beta;
  a.layer.dim = p.dim;
  a.norm = p.stack.norm;
  a.alpha = e.alpha;
  a.switch_time = e.switch_time;
  a.deepnorm_scale = e.deepnorm_scale;
  depth::LayerFlow layers(a, p.tokens.size() / p.dim);
  flow::Progress progress{.state = p.tokens};
  std::vector<double> ends = {static_cast<double>(p.stack.depth)};
  if (scheme(a.norm).switches) ends.insert(ends.begin(), a.switch_time);
  for (const double end : ends)
    if (end > 0)
      flow::run(layers, flow::layers(), {.end = flow::Time(end), .tolerance = 1e-9, .step = 1},
                progress, {});
  return cosine_moments(progress.state, p.dim).mean;
}

/// Where the verdict over the tokens turns, to 1e-3 of it, looked for from a guess; 0 or infinity
/// where it does not, which no band holds.
double true_turn(const Planted& p, double guess) {
  const auto collapses = [&](double beta) { return cosine_of_tokens(p, beta) >= p.level; };
  double low = guess, high = guess;
  const bool above = collapses(guess);
  for (double by = 1.02; above && high < 1e6 && collapses(high); by *= by) high = (low = high) * by;
  for (double by = 1.02; !above && low > 1e-6 && !collapses(low); by *= by) low = (high = low) / by;
  if (low < 1e-6) return 0;
  if (high > 1e6) return kInfinity;
  while (high > 1.001 * low) {
    const double middle = std::sqrt(low * high);
    (collapses(middle) ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

/// What a user of the stack measures: 50 sentences whose mean cosines differ by 0.05 (less where
/// rho is so small that some would be negative), and a beta that is known to 8 %.
ArchitectSetup measured(const Planted& p, std::uint64_t seed, double true_beta) {
  constexpr std::size_t kSentences = 50;
  const Stream stream(seed, "measured stack");
  const double apart = std::min(0.05, p.stack.rho / 4);
  double sum = 0, squares = 0, spread = 0;
  for (std::uint64_t k = 0; k < kSentences; ++k) {
    const double rho = std::clamp(p.stack.rho + apart * stream.normal(0, k), 0.0, 0.9);
    const std::vector<double> x = spread_tokens(stream, k + 1, 40, p.dim, rho);
    const CosineMoments m = cosine_moments(x, p.dim);
    sum += m.mean;
    squares += m.mean * m.mean;
    spread += m.deviation / kSentences;
  }
  const double mean = sum / kSentences;
  const double variance = (squares - sum * mean) / (kSentences - 1);
  return {.depth = p.stack.depth,
          .norm = p.stack.norm,
          .context = p.stack.tokens,
          .beta = true_beta * std::exp(0.08 * stream.normal(100, 0)),
          .rho = mean,
          .level = p.level,
          .spread = spread,
          .beta_error = 0.08,
          .rho_error = std::sqrt(variance / kSentences)};
}

// kLawError is from seeds 0 to 149, 1000 to 1299, 100000 to 100199 and 200000 to 200199. (The last
// two were to be held out; the constant of the first 442 stacks, 0.75, held 178 and 169 of 200.
// With rho measured on 20 sentences, for which the band has no Student's t, it held 168: 50 are
// taken since. A set that nothing was chosen by, seeds 400000 to 400199, run once: 182, 175 and
// 181.)
constexpr std::uint64_t kFirstHeldOut = 300000;

// 200 draws: 90 % of them are 180; one standard deviation is 4.2.
TEST(TurningBand, HoldsTheTrueTurnNineTimesOutOfTen) {
  int law = 0, all = 0, factors = 0;
  for (std::uint64_t seed = kFirstHeldOut; seed < kFirstHeldOut + 200; ++seed) {
    const Planted p = planted(seed);
    const TurningBand known = turning_band(p.stack, p.level, 0);
    ASSERT_TRUE(known.turn) << seed;
    const double truth = true_turn(p, *known.turn);
    law += known.low <= truth && truth <= known.high;
    const double beta = 1.2 * (truth > 0 ? truth : *known.turn);
    const Json values = ask(measured(p, seed, beta), {}).values;
    const auto holds = [&](const std::string& band, double value) {
      const Json &low = values.at(band + "_low"), &high = values.at(band + "_high");
      return !values.at("turning_beta").is_null() &&
             (low.is_null() || low.get<double>() <= value) &&
             (high.is_null() || value <= high.get<double>());
    };
    all += holds("turning", truth);
    factors += holds("turning_factor", truth / beta);
  }
  for (const int count : {law, all, factors}) {
    EXPECT_GE(count, 170);
    EXPECT_LE(count, 190);
  }
  RecordProperty("law", law);
  RecordProperty("all", all);
  RecordProperty("factors", factors);
}

// The constant itself, from some of the draws it was taken from: nine tenths of them are within it,
// as nearly as 150 draws say (a standard deviation is 2.4 %).
TEST(TurningBand, TheErrorOfTheLawIsAsMeasured) {
  std::vector<double> scores;
  for (std::uint64_t seed = 0; seed < 150; ++seed) {
    const Planted p = planted(seed);
    const double law = turn_of(p.stack, p.level).value();
    scores.push_back(std::abs(std::log(true_turn(p, law) / law)) * p.stack.dimension);
  }
  std::sort(scores.begin(), scores.end());
  const auto within = std::upper_bound(scores.begin(), scores.end(), kLawError) - scores.begin();
  EXPECT_NEAR(static_cast<double>(within) / 150, 0.9, 3 * 0.024);
}

// Without scatter the law is that of equal cosines, and only rho widens the band.
TEST(TurningBand, EqualCosinesAreExact) {
  Stack s{.depth = 24, .norm = Normalisation::pre, .tokens = 4096, .beta = 8, .rho = 0.2};
  const TurningBand exact = turning_band(s, 0.9, 0);
  EXPECT_EQ(exact.low, *exact.turn);
  EXPECT_EQ(exact.high, *exact.turn);
  const TurningBand off = turning_band(s, 0.9, 0.03);
  s.rho = 0.2 - kNinety * 0.03;
  EXPECT_NEAR(off.low / *turn_of(s, 0.9), 1, 1e-12);
  s.rho = 0.2 + kNinety * 0.03;
  EXPECT_NEAR(off.high / *turn_of(s, 0.9), 1, 1e-12);
  const TurningBand factor = exact.over(4, 0.1);
  EXPECT_NEAR(std::log(factor.high / *factor.turn), kNinety * 0.1, 1e-12);
  EXPECT_FALSE(exact.over(*exact.turn * 1.1, 0.1).beside(1));
  EXPECT_TRUE(exact.over(*exact.turn * 1.2, 0.1).beside(1));
}

}  // namespace
}  // namespace attractor::lab
