#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "attractor/long_context/long_context.hpp"
#include "tests/support/context_layers.hpp"

// The closed form against the textbook layer on tokens, for small n, and against differences.
namespace attractor::meanfield {
namespace {

using Real = long double;
using Rows = std::vector<std::vector<Real>>;

// Rows with the Gram matrix (1-rho) 1 + rho 11^T (Cholesky factor), in R^dim, times `length`.
Rows cholesky_tokens(std::size_t n, std::size_t dim, Real rho, Real length) {
  Rows x(n, std::vector<Real>(dim, 0));
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      Real sum = i == j ? 1 : rho;
      for (std::size_t k = 0; k < j; ++k) sum -= x[i][k] * x[j][k];
      x[i][j] = i == j ? std::sqrt(sum) : sum / x[j][j];
    }
  for (auto& row : x)
    for (Real& v : row) v *= length;
  return x;
}

Real product(const std::vector<Real>& a, const std::vector<Real>& b) {
  Real sum = 0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

struct Brute {
  Real beta, residual = 0, attention = 1;
  bool normalise_input = false, normalise_output = false;

  Rows operator()(Rows x) const {
    const Rows raw = x;
    if (normalise_input) scale_to_one(x);
    Rows out(x.size(), std::vector<Real>(x[0].size(), 0));
    for (std::size_t i = 0; i < x.size(); ++i) {
      Real total = 0;
      for (std::size_t j = 0; j < x.size(); ++j) {
        const Real weight = std::exp(beta * product(x[i], x[j]));
        total += weight;
        for (std::size_t k = 0; k < out[i].size(); ++k) out[i][k] += weight * x[j][k];
      }
      for (std::size_t k = 0; k < out[i].size(); ++k)
        out[i][k] = attention * out[i][k] / total + residual * raw[i][k];
    }
    if (normalise_output) scale_to_one(out);
    return out;
  }
  static void scale_to_one(Rows& rows) {
    for (auto& row : rows) {
      const Real length = std::sqrt(product(row, row));
      for (Real& v : row) v /= length;
    }
  }
};

Real cosine(const Rows& x) {
  return product(x[0], x[1]) / std::sqrt(product(x[0], x[0]) * product(x[1], x[1]));
}

// Central difference of sixth order.
template <class F>
auto derivative(const F& f, Real h = 5e-4L) {
  return (45 * (f(h) - f(-h)) - 9 * (f(2 * h) - f(-2 * h)) + (f(3 * h) - f(-3 * h))) / (60 * h);
}

TEST(LongContextBrute, ForwardOnTokens) {
  const std::size_t n = 7;
  for (const double rho : {-0.1, 0.0, 0.3, 0.8})
    for (const double g : {0.0, 0.5, 1 / 0.7, 3.0})
      for (const auto& [a, b] : {std::pair{0.0, 1.0}, {1.0, 1.0}, {1.0, 0.5}}) {
        const ContextLayer layer{
            .tokens = 7, .rho = rho, .exponent = g, .residual = a, .attention = b};
        const ContextState s = context_state(layer);
        const Real beta = g * std::log(7.0L);
        const Rows x = cholesky_tokens(n, n, rho, 1);
        const Rows out = Brute{.beta = beta, .residual = a, .attention = b}(x);
        const Real own = std::exp(beta), other = std::exp(beta * rho), total = own + 6 * other;
        const Real entropy =
            -own / total * std::log(own / total) - 6 * other / total * std::log(other / total);
        expect_close(s.output_cosine, static_cast<double>(cosine(out)), 1e-13, label(layer));
        EXPECT_NEAR(s.gap, static_cast<double>(1 - cosine(out)), 1e-15) << label(layer);
        expect_close(s.output_norm, static_cast<double>(std::sqrt(product(out[2], out[2]))), 1e-14,
                     label(layer));
        expect_close(s.self_weight, static_cast<double>(own / total), 1e-14, label(layer));
        expect_close(s.entropy, static_cast<double>(entropy), 1e-14, label(layer));
        EXPECT_NEAR(s.angle_ratio,
                    static_cast<double>(std::acos(cosine(out)) / std::acos(Real(rho))),
                    1e-8)  // what acos makes of a cosine close to 1
            << label(layer);
      }
}

TEST(LongContextBrute, SlopeIsTheDerivativeOfTheCosine) {
  for (const double n : {2.0, 5.0, 9.0})
    for (const double rho : {-0.06, 0.1, 0.6})
      for (const double g : {0.4, 1.3, 4.0})
        for (const double a : {0.0, 0.7}) {
          const ContextLayer layer{
              .tokens = n, .rho = rho, .exponent = g, .residual = a, .attention = 1.5};
          const Brute brute{.beta = g * std::log(Real(n)), .residual = a, .attention = 1.5};
          const auto count = static_cast<std::size_t>(n);
          const Real slope = derivative(
              [&](Real h) { return cosine(brute(cholesky_tokens(count, count, rho + h, 1))); });
          expect_close(context_state(layer).slope, static_cast<double>(slope), 1e-9, label(layer));
        }
}

TEST(LongContextBrute, GainsOfPerturbationsOutOfTheSpan) {
  const std::size_t n = 7;
  const std::array<Real, 7> zero_mean = {1, -2, 0.5, 0.5, 1, -1, 0};
  for (const double g : {0.5, 1 / 0.7, 3.0})
    for (const bool normalised : {false, true}) {
      const Brute brute{.beta = g * std::log(7.0L), .normalise_output = normalised};
      const auto moved = [&](Real h) {
        Rows x = cholesky_tokens(n, n + 1, 0.3L, 1);
        for (std::size_t i = 0; i < n; ++i) x[i][n] = h * zero_mean[i];
        return brute(x)[1][n] / zero_mean[1];
      };
      const ContextState s = context_state({.tokens = 7, .rho = 0.3, .exponent = g});
      expect_close(normalised ? s.normalised_gain : s.value_gain,
                   static_cast<double>(derivative(moved)), 1e-10, "gain");
    }
}

// |dX'/dX|_F^2 / (n d) by differences.
double brute_backward(const Brute& brute, const Rows& x) {
  Real sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < x[0].size(); ++k) {
      const auto moved = [&](Real h) {
        Rows y = x;
        y[i][k] += h;
        return brute(y);
      };
      const Real h = 2e-3L;
      std::array<Rows, 6> f = {moved(h),      moved(-h),    moved(2 * h),
                               moved(-2 * h), moved(3 * h), moved(-3 * h)};
      for (std::size_t r = 0; r < x.size(); ++r)
        for (std::size_t c = 0; c < x[0].size(); ++c) {
          const Real d = (45 * (f[0][r][c] - f[1][r][c]) - 9 * (f[2][r][c] - f[3][r][c]) +
                          (f[4][r][c] - f[5][r][c])) /
                         (60 * h);
          sum += d * d;
        }
    }
  return static_cast<double>(sum / static_cast<Real>(x.size() * x[0].size()));
}

TEST(LongContextBrute, BackwardNorm) {
  struct Case {
    std::size_t n, dim;
    double rho;
  };
  for (const auto& [n, dim, rho] : {Case{6, 9, 0.4}, {2, 2, 0.7}, {2, 3, -0.5}, {5, 5, 0.0}})
    for (const double g : {0.7, 1 / 0.6, 2.5})
      for (const double alpha : {0.0, 0.8}) {
        const double q = 2;
        const Brute brute{.beta = g * std::log(static_cast<Real>(n)),
                          .residual = alpha,
                          .attention = 1.25,
                          .normalise_input = true};
        const double truth =
            brute_backward(brute, cholesky_tokens(n, dim, rho, std::sqrt(Real(q))));
        const ContextLayer layer{.tokens = static_cast<double>(n),
                                 .rho = rho,
                                 .exponent = g,
                                 .residual = alpha * std::sqrt(q),
                                 .attention = 1.25};
        expect_close(backward_norm(layer, static_cast<double>(dim), q), truth, 1e-9, label(layer));
      }
}

}  // namespace
}  // namespace attractor::meanfield
