#include "attractor/long_context/iid_keys.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "attractor/tokens/generators.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::meanfield {
namespace {

TEST(IidKeys, FewKeysAgreeWithQuadratureOverTheirCosines) {
  // mpmath: E p and its deviation from the definition, integrated over one or two other keys.
  const struct {
    IidKeys keys;
    double mean, deviation;
  } rows[] = {{{2, 5, 7}, 0.9787650151217, 0.05623197105991},
              {{3, 3, 2}, 0.7065995392847, 0.1527278799845},
              {{3, 5, 3}, 0.8376995282591, 0.1197194235735}};
  for (const auto& row : rows) {
    const OwnWeight own = own_weight(row.keys);
    EXPECT_NEAR(own.mean, row.mean, 1e-11) << row.keys.tokens;
    EXPECT_NEAR(own.deviation, row.deviation, 1e-9) << row.keys.tokens;
  }
  // d = 3: w is uniform. E p = ln((1 + e^{2 beta}) / 2) / (2 beta) of two tokens.
  EXPECT_NEAR(own_weight({2, 3, 1}).mean, std::log((1 + std::exp(2.0)) / 2) / 2, 1e-12);
}

TEST(IidKeys, DrawsHaveTheExactMeanAndDeviation) {
  const Stream stream(1, "iid keys test");
  for (const IidKeys& keys :
       {IidKeys{1e3, 3, 400}, IidKeys{1e9, 5, 36'000}, IidKeys{1e9, 9, 470}}) {
    const int draws = 100;
    double mean = 0, square = 0;
    for (std::uint64_t k = 0; k < draws; ++k) {
      const double p = draw_own_weight(keys, stream, k);
      mean += p / draws, square += p * p / draws;
    }
    const OwnWeight own = own_weight(keys);
    EXPECT_NEAR(mean, own.mean, 4 * own.deviation / std::sqrt(draws)) << keys.dim;
    // The deviation of a deviation: at most 1/sqrt(2 draws) of it for laws in [0, 1] like these.
    EXPECT_NEAR(std::sqrt(square - mean * mean) / own.deviation, 1, 4 / std::sqrt(2.0 * draws));
  }
}

TEST(IidKeys, DrawsAreThoseOfExplicitKeys) {
  // 300 sets of 64 keys in R^4, each with one query, against draws by order statistics.
  const double beta = half_scale(64, 4);
  double mean = 0;
  const int sets = 300;
  for (int k = 0; k < sets; ++k) {
    const TokenSet keys =
        make_tokens({.tokens = 64, .dim = 4, .seed = static_cast<std::uint64_t>(k)});
    double sum = 0;
    for (std::size_t j = 0; j < 64; ++j) {
      double cosine = 0;
      for (std::size_t c = 0; c < 4; ++c) cosine += keys.data[c] * keys.data[j * 4 + c];
      sum += std::exp(beta * (cosine - 1));
    }
    mean += 1 / sum / sets;
  }
  const OwnWeight own = own_weight({64, 4, beta});
  EXPECT_NEAR(own.mean, 0.5, 1e-10);
  EXPECT_NEAR(mean, own.mean, 4 * own.deviation / std::sqrt(sets));
}

TEST(IidKeys, TheHalfScaleIsAPowerOrALogarithm) {
  for (const double dim : {3.0, 5.0, 9.0})
    EXPECT_NEAR(std::log(half_scale(1e200, dim) / half_scale(1e100, dim)) / std::log(1e100),
                2 / (dim - 1), 1e-4);
  EXPECT_NEAR(half_scale(1e300, 1 + 2 * std::log(1e300)) / std::log(1e300), log_law_constant(2),
              1 / std::log(1e300));
  EXPECT_NEAR(log_law_constant(1e9), 1, 1e-8);  // orthogonal keys: ln n
}

TEST(IidKeys, RefuseWhatIsNoContext) {
  EXPECT_SAYS(refusal([] { own_weight({1, 3, 1}); }), "the number of tokens is 1");
  EXPECT_SAYS(refusal([] { own_weight({10, 2, 1}); }), "the dimension is 2; allowed: 3");
  EXPECT_SAYS(refusal([] { own_weight({10, 3, 0}); }), "beta is 0");
  EXPECT_SAYS(refusal([] { half_scale(2, 3); }), "of 2 tokens each has half");
  EXPECT_SAYS(refusal([] { log_law_constant(0); }), "0 dimensions");
}

}  // namespace
}  // namespace attractor::meanfield
