// Two noises that the survey leaves open (flow/noise_law.hpp).
//
// Multiplicative, one clock s = t + sqrt(2 kappa) B(t) for all: the tokens at t are those of the
// flow without noise at s; equiangular ones stay on their exact curve. Two tokens with clocks of
// their own: only the sum of both moves their angle, delta(t) = Delta(t + sqrt(kappa) W(t)), W =
// (B_1 + B_2)/sqrt 2, Delta the exact law of the pair.
//
// Additive with axes, x <- N(x + sqrt(2 kappa h) D xi): on the circle the variance along it is
// 2 kappa a, a = s_1^2 sin^2 + s_2^2 cos^2, and the drift kappa a', so a token at rest is anywhere
// alike. A tight cluster averages the kicks of its tokens and keeps the drift:
//
//   Theta' = -kappa (s_2^2 - s_1^2) sin 2 Theta,   tan Theta = tan Theta_0 e^{-2 kappa (s_2^2 -
//   s_1^2) t},
//
// towards the axis with less noise, however many tokens there are.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/random.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/reductions/cluster_pair.hpp"
#include "attractor/reductions/equiangular.hpp"
#include "papers/flow_run.hpp"
#include "papers/pictures.hpp"
#include "papers/sample.hpp"

namespace attractor::papers::noise_shapes {
namespace {

constexpr double kBeta = 2, kTime = 3, kStep = 0.005, kStrength = 0.1;  // of the clocks
constexpr auto kSteps = static_cast<std::uint64_t>(kTime / kStep + 0.5);
constexpr std::size_t kMany = 16;  // equiangular tokens
/// The curve begins so long before the flow, as a clock may run backwards.
constexpr double kEarlier = 2, kFirstCosine = -0.06;
constexpr double kGap = 1.5;  // radians of the pair

/// B(kTime) of a token, or of all.
double path(std::uint64_t seed, const char* stream, std::size_t item, std::size_t dim) {
  const Stream numbers(seed, stream);
  double sum = 0;
  for (std::uint64_t k = 0; k < kSteps; ++k) sum += numbers.normal(item, k * dim);
  return std::sqrt(kStep) * sum;
}

FlowSetup clocked(std::uint64_t seed) {
  return {.beta = kBeta,
          .noise_kind = flow::NoiseKind::multiplicative,
          .seed = seed,
          .time = kTime,
          .step = kStep,
          .outputs = 1};
}

struct Clocks {
  std::vector<double> clock, cosine, angle;  // cosine after a common clock; angle of a pair
  double worst_cosine = 0, worst_angle = 0;  // from the exact laws
  std::vector<double> found;                 // clocks read off the cosines
};

void common_clock(std::uint64_t seed, const meanfield::EquiangularFlow& curve, Clocks& all,
                  const Effort& effort) {
  FlowSetup p = clocked(seed);
  p.common_noise = kStrength;
  p.init = Arrangement::equiangular;
  p.tokens = p.dim = kMany;
  p.rho = curve.at(std::log(kEarlier)).cosine;
  const double cosine = flow_of(p, effort).series.back().mean_cosine;
  const double clock = kTime + std::sqrt(2 * kStrength) * path(seed, "common noise", 0, kMany);
  all.clock.push_back(clock);
  all.cosine.push_back(cosine);
  all.found.push_back(curve.arrival(cosine).time() - kEarlier);
  all.worst_cosine =
      std::max(all.worst_cosine, std::abs(cosine - curve.at(std::log(kEarlier + clock)).cosine));
}

void pair_of_clocks(std::uint64_t seed, Clocks& all, const Effort& effort) {
  FlowSetup p = clocked(seed);
  p.noise = kStrength;
  p.dim = 2;
  p.init = Arrangement::angles;
  p.angles = {0, kGap};
  const double angle = std::acos(flow_of(p, effort).series.back().mean_cosine);
  const double both = path(seed, "noise", 0, 2) + path(seed, "noise", 1, 2);
  const flow::Time clock(kTime + std::sqrt(kStrength / 2) * both);
  const double exact =
      meanfield::angle_after({.beta = kBeta}, meanfield::PairAngle::of(kGap), clock).angle();
  all.angle.push_back(angle);
  all.worst_angle = std::max(all.worst_angle, std::abs(angle - exact));
}

Clocks clocks(const Effort& effort) {
  const meanfield::EquiangularFlow curve({.tokens = kMany, .beta = kBeta, .cosine0 = kFirstCosine});
  Clocks all;
  for (std::uint64_t seed = 1; seed <= (effort.quick ? 60U : 1000U); ++seed) {
    common_clock(seed, curve, all, effort);
    pair_of_clocks(seed, all, effort);
    if (effort.context.stopped()) break;
  }
  return all;
}

/// Tokens that nothing but noise moves.
class Adrift final : public flow::Flow {
 public:
  const Space& space() const override { return circle_; }
  flow::NoiseLaw noise() const override { return {.own = 0.5, .axes = kAxes}; }
  void drift(std::span<const double> x, double, std::span<double> out) const override {
    std::fill_n(out.begin(), x.size(), 0.0);
  }

 private:
  static constexpr double kAxes[] = {1, 2};
  Sphere circle_{2};
};

/// The mean of cos 2 theta of tokens that began uniform.
Sampled two_fold(const Effort& effort) {
  const std::size_t tokens = effort.quick ? 100'000 : 2'000'000;
  flow::Progress progress{.state = std::vector<double>(2 * tokens)};
  std::vector<double>& x = progress.state;
  for (std::size_t i = 0; i < tokens; ++i) {
    const double angle =
        2 * std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(tokens);
    x[2 * i] = std::cos(angle), x[2 * i + 1] = std::sin(angle);
  }
  Adrift flow;
  flow::Hooks hooks;
  hooks.stop = [&] { return effort.context.stopped(); };
  flow::run(flow, flow::euler_maruyama(), {.end = flow::Time(1), .step = 0.004}, progress, hooks);
  std::vector<double> wave(tokens);
  for (std::size_t i = 0; i < tokens; ++i)
    wave[i] = x[2 * i] * x[2 * i] - x[2 * i + 1] * x[2 * i + 1];
  return sampled(wave);
}

constexpr double kQuiet = 0.5, kLoud = 1.5, kStart = 1;  // axes; radians from the quiet one
constexpr double kTurn = 0.6;  // kappa t: tan falls by e^{-2 (kLoud^2 - kQuiet^2) kTurn / 4}

/// How the tangent of a cluster's direction falls, over what the law says: for each seed.
Sampled turning(double kappa, bool axes, const Effort& effort, Table* path_of = nullptr) {
  const double time = kTurn / (4 * kappa);
  std::vector<double> rates;
  for (std::uint64_t seed = 0; seed < (effort.quick ? 16U : 100U); ++seed) {
    FlowSetup p{.beta = 4, .noise = kappa, .tokens = 256, .dim = 2};
    if (axes) p.noise_axes = lab::ArrayInput(Array{{2}, {kQuiet, kLoud}});
    p.init = Arrangement::angles;
    p.angles = std::vector<double>(p.tokens, kStart);
    p.seed = seed;
    p.time = time;
    p.step = time / 200;
    p.outputs = path_of ? 30 : 1;
    p.snapshots = path_of ? 31 : 2;
    const FlowRecord record = flow_of(p, effort);
    if (effort.context.stopped()) return {};
    std::vector<double> angle;
    for (const lab::Snapshot& shot : record.snapshots) {
      double x = 0, y = 0;
      for (std::size_t i = 0; i < shot.positions.size(); i += 2)
        x += shot.positions[i], y += shot.positions[i + 1];
      angle.push_back(std::atan2(y, x));
      if (path_of && seed < 3)
        path_of->rows.push_back(
            {kappa, static_cast<double>(seed), shot.time.value(), angle.back()});
    }
    rates.push_back(std::log(std::tan(kStart) / std::tan(angle.back())) /
                    (2 * kappa * (kLoud * kLoud - kQuiet * kQuiet) * time));
  }
  return sampled(rates);
}

PageFigure figure(const Clocks& c, const Table& paths) {
  report::Panel clock{.title = "16 equiangular tokens, β = 2, t = 3",
                      .x = {.label = "clock s"},
                      .y = {.label = "cosine"}};
  report::Series found = dots("multiplicative noise, a seed each", report::kVermillion, 4),
                 exact = line("without noise, at time s", report::kInk);
  const meanfield::EquiangularFlow curve({.tokens = kMany, .beta = kBeta, .cosine0 = kFirstCosine});
  const auto [least, most] = std::minmax_element(c.clock.begin(), c.clock.end());
  for (int k = 0; k <= 100; ++k) {
    const double s = *least + (*most - *least) * k / 100;
    add_point(exact, s, curve.at(std::log(kEarlier + s)).cosine);
  }
  for (std::size_t k = 0; k < c.clock.size(); ++k) add_point(found, c.clock[k], c.cosine[k]);
  clock.series = {exact, found};
  report::Panel turn{.title = "256 tokens, noise 0.5 and 1.5 along the axes",
                     .x = {.label = "κ t"},
                     .y = {.label = "angle to the quiet axis", .low = 0}};
  for (int seed = 0; seed < 3; ++seed) {
    report::Series s = line(seed == 0 ? "clusters" : "", report::kPalette[1], 1.4);
    for (const std::vector<double>& r : paths.rows)
      if (static_cast<int>(r[1]) == seed) add_point(s, r[0] * r[2], r[3]);
    turn.series.push_back(s);
  }
  report::Series law = line("tan Θ falls as the law says", report::kInk, 2, true);
  for (int k = 0; k <= 60; ++k) {
    const double s = kTurn / 4 * k / 60;
    add_point(law, s,
              std::atan(std::tan(kStart) * std::exp(-2 * (kLoud * kLoud - kQuiet * kQuiet) * s)));
  }
  turn.series.push_back(law);
  return figure_of("noises", {std::move(clock), std::move(turn)},
                   "Left: noise of the strength of attention moves tokens along the curve without "
                   "noise. Right: noise with axes turns a cluster to the quiet one.");
}

Finding run(const Effort& effort) {
  Finding finding;
  const Clocks c = clocks(effort);
  const Sampled wave = two_fold(effort);
  Table paths{.name = "clusters",
              .title = "Angle of a cluster to the axis with less noise",
              .columns = {"kappa", "seed", "time", "angle"}};
  const Sampled coarse = turning(0.02, true, effort), fine = turning(0.01, true, effort, &paths),
                even = turning(0.02, false, effort);
  if (effort.context.stopped()) return finding;
  const Sampled clock = sampled(c.found);
  double square = 0;
  for (const double s : c.found) square += (s - kTime) * (s - kTime);
  const auto seeds = static_cast<double>(c.found.size());
  const double spread = square / seeds / (2 * kStrength * kTime);
  const double limit = 2 * fine.mean - coarse.mean,
               limit_error = std::hypot(2 * fine.error, coarse.error);
  finding.checks = {
      at_most("common clock: cosines from the exact curve, largest", c.worst_cosine, 1e-7),
      at_most("mean of the clocks that cosines show, from t, over 3.3 standard errors",
              std::abs(clock.mean - kTime) / (3.3 * clock.error), 1),
      near("their variance over 2 kappa t", spread, 1, 3.3 * std::sqrt(2 / seeds)),
      at_most("own clocks: angles of a pair from the exact law, largest", c.worst_angle, 1e-7),
      at_most("axes 1 and 2, tokens that began uniform: mean of cos 2 theta over 3.3 errors",
              std::abs(wave.mean) / (3.3 * wave.error + 0.004), 1),
      at_least("the same from Stratonovich's -0.169, in standard errors",
               (0.169 + wave.mean) / wave.error, 10),
      near("turning of a cluster over the law, kappa to 0", limit, 1, 3.3 * limit_error),
      near("kappa = 0.01", fine.mean, 1, 0.1),
      near("without axes", even.mean, 0, 3.3 * even.error)};
  finding.answer.headline = fmt::format(
      "Noise of the strength of attention is a random clock: cosines lie on the curve without "
      "noise "
      "to {:.0e}, at times of mean {:.3f} ± {:.3f} (t = 3) and variance {:.2f} of 2κt. Noise with "
      "axes turns clusters to the quiet one, {:.3f} ± {:.3f} as fast as the law.",
      c.worst_cosine, clock.mean, clock.error, spread, limit, limit_error);
  finding.answer.remarks = {
      "The survey asks for both and has no result; the laws are our own. Multiplicative noise "
      "never "
      "keeps tokens from collapsing: it vanishes with their motion."};
  finding.answer.tables.push_back(paths);
  finding.answer.draw = [c, paths] { return std::vector{figure(c, paths)}; };
  return finding;
}

}  // namespace

Entry entry() {
  return {.id = "noise-shapes",
          .title = "Noise with axes, and noise of the strength of attention",
          .source = "arXiv 2512.01868, Section 7 (open questions)",
          .shows =
              "Anisotropic and multiplicative noise are named as open. Multiplicative noise is a "
              "random clock; noise with axes turns clusters towards the axis with less of it.",
          .run = run};
}

}  // namespace attractor::papers::noise_shapes
