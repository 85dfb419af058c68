#include "attractor/training/prompt_attention.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/space/space.hpp"
#include "tests/support/random_rows.hpp"

namespace attractor::training {
namespace {

TEST(PromptAttention, IsSoftmaxOfTheTokensAndTheHeadOfTheirMean) {
  const std::size_t n = 5, tokens = 4, dim = 3;
  const std::vector<double> x = normals_of("prompt attention test", 1, n * tokens, dim),
                            p{1, -2, 0.5}, v{0.3, 1, -1};
  const PromptAttention seen = prompt_attention(x, tokens, p, v);
  ASSERT_EQ(seen.weight.size(), n * tokens);
  for (std::size_t i = 0; i < n; ++i) {
    double z = 0, f = 0;
    const auto token = [&](std::size_t t) {
      return std::span<const double>(x).subspan((i * tokens + t) * dim, dim);
    };
    for (std::size_t t = 0; t < tokens; ++t) z += std::exp(dot(token(t), p));
    for (std::size_t t = 0; t < tokens; ++t) {
      const double s = std::exp(dot(token(t), p)) / z;
      EXPECT_NEAR(seen.weight[i * tokens + t], s, 1e-15);
      f += s * dot(token(t), v);
    }
    EXPECT_NEAR(seen.output[i], f, 1e-14);
  }
}

}  // namespace
}  // namespace attractor::training
