#include "attractor/noise/stationary.hpp"

#include <gtest/gtest.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <numbers>

#include "attractor/base/dense.hpp"
#include "attractor/base/error.hpp"
#include "attractor/stability/sphere_spectrum.hpp"
#include "tests/support/rules.hpp"

namespace attractor::meanfield {
namespace {

StationaryState state_at(const NoisyAttention& model, double order) {
  StationarySolver solver(model);
  auto state = solver.at_order(order);
  EXPECT_TRUE(state) << "d " << model.dim << " beta " << model.beta << " R " << order;
  return state ? *state : solver.uniform(1);
}

TEST(Stationary, CriticalNoiseOfTheReference) {
  const struct {
    Rule rule;
    std::size_t dim;
    double beta, noise;
  } cases[] = {
      {kUsa, 2, 1, 0.5651591039925}, {kSa, 2, 1, 0.4463899658965},  {kUsa, 2, 2, 0.7953184273187},
      {kSa, 2, 2, 0.3488873289820},  {kUsa, 2, 4, 2.439866288426},  {kSa, 2, 4, 0.2158806527561},
      {kUsa, 2, 9, 114.5460802797},  {kSa, 2, 9, 0.1047433248600},  {kUsa, 3, 2, 0.4871913717900},
      {kSa, 3, 2, 0.2686573603638},  {kUsa, 8, 2, 0.1521857099375}, {kSa, 8, 2, 0.1192267079500},
  };
  for (const auto& c : cases)
    EXPECT_NEAR(std::exp(log_critical_noise({c.rule, c.dim, c.beta})) / c.noise, 1, 1e-12);
  for (const std::size_t dim : {2UL, 3UL, 50UL})  // Kuramoto
    EXPECT_NEAR(std::exp(log_critical_noise({kUsa, dim, 0})), 1 / static_cast<double>(dim), 1e-15);
  // ln I_1(1e5)/1e5 = 1e5 - ln(2 pi 1e5)/2 - 3/(8e5) - ln 1e5: no overflow.
  EXPECT_NEAR(log_critical_noise({kUsa, 2, 1e5}),
              1e5 - 0.5 * std::log(2 * std::numbers::pi * 1e5) - 3 / 8e5 - std::log(1e5), 1e-9);
}

TEST(Stationary, OrderParametersOfTheReference) {
  const struct {
    Rule rule;
    double beta, ratio, order;
  } cases[] = {
      {kUsa, 0, 0.6, 0.7731296253703}, {kSa, 0, 0.6, 0.7731296253703},
      {kUsa, 1, 0.5, 0.90497698810},   {kUsa, 1, 0.9, 0.51091255756},
      {kUsa, 2, 0.8, 0.80332160877},   {kSa, 1, 0.5, 0.82691850059},
      {kSa, 4, 0.5, 0.90108552665},    {kSa, 4, 0.9, 0.59201807965},
  };
  for (const auto& c : cases) {
    const StationaryState s = state_at({c.rule, 2, c.beta}, c.order);
    EXPECT_LT(s.residual, 1e-13);
    EXPECT_TRUE(s.stable());
    EXPECT_NEAR((s.noise_ratio - c.ratio) / s.slope(), 0, 1e-11) << c.beta;  // error in R
  }
}

/// int g(t) (1-t^2)^{(d-3)/2} dt by the trapezoid rule after t = tanh(sinh-like) substitution.
template <class G>
double zonal_integral(double d, const G& g) {
  double sum = 0;
  const double h = 1.0 / 64;
  for (int k = -300; k <= 300; ++k) {
    const double x = h * k, v = std::numbers::pi / 2 * std::sinh(x), t = std::tanh(v);
    const double one_minus_t2 = 1 / (std::cosh(v) * std::cosh(v));
    const double weight = std::pow(one_minus_t2, (d - 1) / 2) * std::numbers::pi / 2 * std::cosh(x);
    if (weight > 0) sum += h * weight * g(t);
  }
  return sum;
}

// The fixed point of the density itself, with the kernel e^{beta t} never expanded: the field at
// height t is the average of e^{beta <x,y>} over y, whose equatorial part is a Bessel function of
// the dimension below: a second integral.
double direct_order(Rule rule, double d, double beta, double kappa) {
  constexpr std::size_t kNodes = 81;  // of the field, as a polynomial at Chebyshev points
  std::vector<double> at(kNodes), field(kNodes), next(kNodes);
  for (std::size_t k = 0; k < kNodes; ++k)
    at[k] = std::cos(std::numbers::pi * static_cast<double>(k) / (kNodes - 1));
  const auto value = [&](const std::vector<double>& f, double t) {  // barycentric
    double top = 0, bottom = 0;
    for (std::size_t k = 0; k < kNodes; ++k) {
      if (t == at[k]) return f[k];
      const double w = (k % 2 ? -1.0 : 1.0) * (k == 0 || k == kNodes - 1 ? 0.5 : 1) / (t - at[k]);
      top += w * f[k];
      bottom += w;
    }
    return top / bottom;
  };
  // Mean of e^{z cos} over the equator S^{d-2}: lambda_0 of dimension d - 1 at z (d = 3: circle).
  const auto equator = [&](double z) {
    return sphere_spectrum(static_cast<std::size_t>(d) - 1, z, 1).lambda0();
  };
  std::vector<std::vector<double>> kernel(kNodes);
  std::vector<double> heights, weights;
  zonal_integral(d, [&](double t) {
    heights.push_back(t);
    return 0;
  });
  for (std::size_t k = 0; k < kNodes; ++k)
    for (const double t : heights)
      kernel[k].push_back(
          std::exp(beta * at[k] * t) *
          equator(beta * std::sqrt(std::max(0.0, (1 - at[k] * at[k]) * (1 - t * t)))));
  const auto log_density = [&](double t) {
    return rule == kUsa ? value(field, t) / (beta * kappa)
                        : std::log(value(field, t)) / (beta * kappa);
  };
  for (std::size_t k = 0; k < kNodes; ++k) field[k] = std::exp(beta * at[k] * 0.7);
  double order = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<double> f;
    for (const double t : heights) f.push_back(std::exp(log_density(t)));
    std::size_t j = 0;
    const double mass = zonal_integral(d, [&](double) { return f[j++]; });
    j = 0;
    const double before = order;
    order = zonal_integral(d, [&](double t) { return t * f[j++]; }) / mass;
    for (std::size_t k = 0; k < kNodes; ++k) {
      j = 0;
      next[k] = zonal_integral(d, [&](double) { return ++j, f[j - 1] * kernel[k][j - 1]; }) / mass;
    }
    field = next;
    if (std::abs(order - before) < 1e-15) break;
  }
  return order;
}

TEST(Stationary, EqualsADirectFixedPointOnSpheres) {
  const struct {
    Rule rule;
    std::size_t dim;
    double ratio;
  } cases[] = {{kUsa, 3, 0.5}, {kSa, 3, 0.5}, {kUsa, 8, 0.6}, {kSa, 8, 0.4}};
  for (const auto& c : cases) {
    const NoisyAttention model{c.rule, c.dim, 1};
    const double kappa = c.ratio * std::exp(log_critical_noise(model));
    const double order = direct_order(c.rule, static_cast<double>(c.dim), 1, kappa);
    const StationaryState s = state_at(model, order);
    EXPECT_NEAR(s.noise_ratio, c.ratio, 1e-11) << c.dim;
  }
}

TEST(Stationary, KuramotoInEveryDimension) {
  // f = e^{kt}/mass: R = I_{d/2}(k)/I_{d/2-1}(k), kappa = R/k.
  for (const std::size_t dim : {2UL, 3UL, 7UL, 100UL, 1000UL})
    for (const double k : {0.3, 5.0, 40.0}) {
      const double order = sphere_spectrum(dim, k, 2).ratio[1];
      const StationaryState s = state_at({kUsa, dim, 0}, order);
      EXPECT_NEAR(s.noise_ratio / (order / k * static_cast<double>(dim)), 1, 1e-13);
    }
}

TEST(Stationary, DensityHasMassOneAndItsMoments) {
  for (const Rule rule : {kUsa, kSa})
    for (const std::size_t dim : {2UL, 5UL}) {
      StationarySolver solver({rule, dim, 3});
      const auto state = solver.at_order(0.8);
      ASSERT_TRUE(state);
      const auto f = [&](double t) { return std::exp(solver.log_density(*state, t)); };
      const double d = static_cast<double>(dim), all = zonal_integral(d, [](double) { return 1; });
      EXPECT_NEAR(zonal_integral(d, f) / all, 1, 1e-12);
      EXPECT_NEAR(zonal_integral(d, [&](double t) { return t * f(t); }) / all, 0.8, 1e-12);
      EXPECT_NEAR(zonal_integral(d, [&](double t) { return f(t) * std::log(f(t)); }) / all,
                  state->entropy, 1e-12);
    }
}

TEST(Stationary, FreeEnergyFallsByTheEntropy) {  // dF/dkappa = int f ln f along the branch
  for (const auto& [dim, beta, order] :
       {std::tuple{2, 4.0, 0.3}, {2, 4.0, 0.9}, {3, 1.0, 0.5}, {40, 2.0, 0.8}}) {
    const NoisyAttention model{kUsa, static_cast<std::size_t>(dim), beta};
    const auto slope = [&, at = order](double h) {
      const StationaryState a = state_at(model, at - h), b = state_at(model, at + h);
      return (b.excess_energy - a.excess_energy) / (b.noise_ratio - a.noise_ratio);
    };
    const double entropy = state_at(model, order).entropy, h = 5e-4;
    EXPECT_NEAR((4 * slope(h) - slope(2 * h)) / 3 / entropy, 1, 1e-9) << dim << " " << beta;
  }
}

TEST(Stationary, SlopeIsTheDerivative) {
  for (const Rule rule : {kUsa, kSa}) {
    const NoisyAttention model{rule, 4, 2};
    const double h = 1e-4, a = state_at(model, 0.6 - h).noise_ratio,
                 b = state_at(model, 0.6 + h).noise_ratio;
    EXPECT_NEAR((b - a) / (2 * h), state_at(model, 0.6).slope(), 1e-6);
  }
}

TEST(Stationary, ConcentratesAsNoiseVanishes) {
  // Near consensus the potential is t e^beta (USA) or t (SA): 1 - R = (d-1)/2 kappa (e^-beta).
  for (const Rule rule : {kUsa, kSa})
    for (const std::size_t dim : {2UL, 3UL, 20UL}) {
      const NoisyAttention model{rule, dim, 2};
      const auto excess = [&](double missing) {
        const StationaryState s = state_at(model, 1 - missing);
        const double kappa = s.noise_ratio * std::exp(log_critical_noise(model));
        return missing / ((static_cast<double>(dim) - 1) / 2 * kappa *
                          (rule == kUsa ? std::exp(-2.0) : 1)) -
               1;
      };
      EXPECT_NEAR(excess(1e-4), 0, 2e-3) << dim;
      EXPECT_NEAR(excess(1e-3) / excess(1e-4), 10, 0.5) << dim;  // corrections of order 1 - R
    }
}

TEST(Stationary, UniformStateLosesStabilityAtTheCriticalNoise) {
  StationarySolver solver({kUsa, 3, 2});
  EXPECT_EQ(solver.uniform(0.5).gain, 2);
  EXPECT_FALSE(solver.uniform(0.999).stable());
  EXPECT_TRUE(solver.uniform(1.001).stable());
  for (const Rule rule : {kUsa, kSa})  // and the computed gain joins it
    EXPECT_NEAR(state_at({rule, 3, 2}, 1e-4).gain, 1, 1e-7);
}

Eigen::VectorXcd eigenvalues(const Eigen::MatrixXd& A) {
  const std::vector<std::complex<double>> values = general_eigenvalues(A);
  return Eigen::Map<const Eigen::VectorXcd>(values.data(),
                                            static_cast<Eigen::Index>(values.size()));
}

/// Growth rates of even perturbations on the circle: the linearised Fokker-Planck operator in
/// cosines, by differences of its nonlinear right side.
Eigen::VectorXcd growth_rates(const NoisyAttention& model, const StationaryState& state) {
  constexpr int kModes = 40, kGrid = 160;
  const SphereSpectrum spectrum = sphere_spectrum(2, model.beta, kModes + 1);
  const double unit = model.rule == kUsa ? 1 : spectrum.lambda0();  // time in the rule's own
  const double kappa = state.noise_ratio * spectrum.pull[1] * spectrum.lambda0() / unit;
  const auto rate = [&](const Eigen::VectorXd& m) {
    Eigen::VectorXd out = Eigen::VectorXd::Zero(kModes);
    for (int j = 0; j < kGrid; ++j) {
      const double x = 2 * std::numbers::pi * (j + 0.5) / kGrid;
      double f = 1, pull = 0, z = 1;
      for (int k = 1; k <= kModes; ++k) {
        f += 2 * m(k - 1) * std::cos(k * x);
        pull -= 2 * k * spectrum.pull[static_cast<std::size_t>(k)] * m(k - 1) * std::sin(k * x);
        z += 2 * spectrum.ratio[static_cast<std::size_t>(k)] * m(k - 1) * std::cos(k * x);
      }
      const double v = model.rule == kUsa ? pull * spectrum.lambda0() : pull / z;
      for (int k = 1; k <= kModes; ++k) out(k - 1) -= f * v * k * std::sin(k * x) / kGrid;
    }
    for (int k = 1; k <= kModes; ++k) out(k - 1) -= kappa * k * k * m(k - 1);
    return out;
  };
  Eigen::VectorXd m = Eigen::VectorXd::Zero(kModes);
  for (std::size_t k = 1; k < state.moments.size() && k <= kModes; ++k)
    m(static_cast<Eigen::Index>(k) - 1) = state.moments[k];
  EXPECT_LT(rate(m).head(8).cwiseAbs().maxCoeff(), 1e-9);  // it rests
  Eigen::MatrixXd jacobian(kModes, kModes);
  const double h = 1e-5;
  for (int k = 0; k < kModes; ++k) {
    Eigen::VectorXd a = m, b = m;
    a(k) -= h;
    b(k) += h;
    jacobian.col(k) = (rate(b) - rate(a)) / (2 * h);
  }
  return eigenvalues(jacobian);
}

TEST(Stationary, GainDecidesStabilityOfTheFokkerPlanckEquation) {
  const struct {
    Rule rule;
    double beta, order;
  } cases[] = {{kUsa, 1, 0.4}, {kUsa, 4, 0.2}, {kUsa, 4, 0.4}, {kUsa, 4, 0.6},
               {kUsa, 9, 0.5}, {kUsa, 9, 0.8}, {kSa, 1, 0.5},  {kSa, 4, 0.3},
               {kSa, 4, 0.7},  {kSa, 9, 0.2},  {kSa, 9, 0.6},  {kSa, 16, 0.5}};
  for (const auto& c : cases) {
    const NoisyAttention model{c.rule, 2, c.beta};
    const StationaryState state = state_at(model, c.order);
    const Eigen::VectorXcd rates = growth_rates(model, state);
    // The fastest half are modes next to where the series is cut.
    const double resolved = rates.cwiseAbs().maxCoeff() / 2;
    for (const std::complex<double>& rate : rates)
      EXPECT_TRUE(std::abs(rate) > resolved || std::abs(rate.imag()) < 1e-6 * resolved)
          << name(c.rule) << " " << c.beta << " " << c.order << " " << rate;
    EXPECT_EQ(rates.real().maxCoeff() < 0, state.stable())
        << name(c.rule) << " " << c.beta << " " << c.order << " " << rates.real().maxCoeff();
    EXPECT_EQ(state.stable(), state.slope() < 0);
  }
}

TEST(Stationary, GainOfSoftmaxIsTheSecondEigenvalueOfTheAttentionMatrix) {
  const NoisyAttention model{kSa, 2, 3};
  StationarySolver solver(model);
  const auto state = solver.at_order(0.7);
  ASSERT_TRUE(state);
  constexpr int kGrid = 120;  // half a circle: even functions
  Eigen::MatrixXd attention(kGrid, kGrid);
  for (int i = 0; i < kGrid; ++i) {
    const auto angle = [](int k) { return std::numbers::pi * (k + 0.5) / kGrid; };
    for (int j = 0; j < kGrid; ++j)
      attention(i, j) = (std::exp(3 * std::cos(angle(i) - angle(j))) +
                         std::exp(3 * std::cos(angle(i) + angle(j)))) *
                        std::exp(solver.log_density(*state, std::cos(angle(j))));
    attention.row(i) /= attention.row(i).sum();
  }
  Eigen::VectorXd values = eigenvalues(attention).real();
  std::sort(values.data(), values.data() + values.size());
  const double beta_kappa = 3 * state->noise_ratio * std::exp(log_critical_noise(model));
  EXPECT_NEAR(values(kGrid - 1), 1, 1e-12);
  EXPECT_NEAR(values(kGrid - 2) / beta_kappa, state->gain, 1e-10);
}

TEST(Stationary, SymmetricStatesOfTheCircle) {
  // Three-fold symmetric states of beta = 9 are those of the kernel's modes 3, 6, 9, ...
  StationarySolver solver({kUsa, 2, 9, 3});
  const auto state = solver.at_order(0.6);
  ASSERT_TRUE(state);
  const SphereSpectrum s = sphere_spectrum(2, 9, 40);
  const double kappa = state->noise_ratio * s.pull[3];  // over lambda_0
  constexpr int kGrid = 600;
  double mass = 0, moment = 0, first = 0;
  for (int j = 0; j < kGrid; ++j) {
    const double x = 2 * std::numbers::pi * j / kGrid;
    double u = 0;
    for (std::size_t l = 1; l < state->moments.size() && 3 * l < 40; ++l)
      u += 2 * s.pull[3 * l] / kappa * state->moments[l] * std::cos(3 * static_cast<double>(l) * x);
    mass += std::exp(u);
    moment += std::exp(u) * std::cos(3 * x);
    first += std::exp(u) * std::cos(x);
  }
  EXPECT_NEAR(moment / mass, 0.6, 1e-12);
  EXPECT_NEAR(first / mass, 0, 1e-12);
}

TEST(Stationary, RefusesBadInput) {
  EXPECT_THROW(StationarySolver({kUsa, 1, 1}), Error);
  EXPECT_THROW(StationarySolver({kUsa, 2, -1}), Error);
  EXPECT_THROW(StationarySolver({kUsa, 2, 1e6}), Error);  // too many degrees
  EXPECT_THROW(StationarySolver({kUsa, 3, 1, 2}), Error);
  StationarySolver solver({kUsa, 2, 1});
  for (const double order : {0.0, -0.5, 1.0, std::nan("")})
    EXPECT_THROW(solver.at_order(order), Error);
}

}  // namespace
}  // namespace attractor::meanfield
