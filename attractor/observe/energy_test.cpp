// Below beta = 0 far pairs weigh most: the energy against the sum as it is written.
#include "attractor/observe/energy.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attractor/observe/observation.hpp"
#include "attractor/space/space.hpp"
#include "attractor/tokens/generators.hpp"

namespace attractor::observe {
namespace {

TEST(Energy, AtNegativeBetaIsTheSumOverAllPairs) {
  for (const double beta : {-0.5, -6.0, -20.0})
    for (const std::size_t n : {5u, 700u}) {
      const std::vector<double> x = make_tokens({.tokens = n, .dim = 3, .seed = 4}).data;
      const std::vector<double> masses(n, 1.0);
      long double sum = 0;
      for (std::size_t i = 0; i < n; ++i)
        for (std::size_t j = 0; j < n; ++j)
          sum +=
              std::exp(beta * dot(std::span(x).subspan(3 * i, 3), std::span(x).subspan(3 * j, 3)));
      const auto size = static_cast<double>(n);
      const double truth = static_cast<double>(sum) / (2 * beta * size * size);
      const Attention attention{.beta = beta, .dim = 3};
      const Observation o = observe(attention, attention.logit_bound(), x, masses, flow::Time(0),
                                    {.exact_limit = 16}, false);
      EXPECT_NEAR(o.energy, truth, 1e-12 * std::abs(truth)) << beta << n;
      EXPECT_NEAR(o.log_energy, std::log(-truth), 1e-12 * (1 + std::abs(std::log(-truth))));
      EXPECT_NEAR(o.energy_ratio, truth * 2 * beta * std::exp(-beta), 1e-12 * o.energy_ratio);
      EXPECT_EQ(o.energy_relative_error, 0);
    }
}

}  // namespace
}  // namespace attractor::observe
