#include "attractor/attention/logit_scale.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace attractor {
namespace {

/// Logits of two vectors, computed as the architecture does; their cosine is 0.28.
double logit(const LogitScale& s) {
  const std::vector<double> q = {3, 4, 0, 0}, k = {-0.5 * 3, 0.5 * 4, 0, 0};
  const double dot = q[0] * k[0] + q[1] * k[1], d = 4;
  const double q_rms = 5 / std::sqrt(d), k_rms = 2.5 / std::sqrt(d);
  switch (s.norm) {
    case QueryNorm::l2:
      return s.query_gain * s.key_gain * dot / (5 * 2.5) / s.temperature;
    case QueryNorm::rms:
      return (s.query_gain / q_rms) * (s.key_gain / k_rms) * dot / std::sqrt(d) / s.temperature;
    default:
      return dot / std::sqrt(d) / s.temperature;
  }
}

TEST(LogitScale, IsTheSlopeOfLogitsAgainstCosines) {
  for (const QueryNorm norm : {QueryNorm::none, QueryNorm::l2, QueryNorm::rms})
    for (const double temperature : {1.0, 0.25}) {
      const LogitScale s{.norm = norm,
                         .query_gain = 1.5,
                         .key_gain = 3,
                         .query_length = 5,
                         .key_length = 2.5,
                         .head_dim = 4,
                         .temperature = temperature};
      EXPECT_NEAR(logit(s), beta_of(s) * 0.28, 1e-12);
    }
}

TEST(LogitScale, AGainGivesTheBetaItWasFoundFor) {
  for (const QueryNorm norm : {QueryNorm::l2, QueryNorm::rms}) {
    LogitScale s{.norm = norm, .head_dim = 128, .temperature = 2};
    const double g = gain_for(9, s);
    s.query_gain = g;
    s.key_gain = norm == QueryNorm::rms ? g : 1;
    EXPECT_NEAR(beta_of(s), 9, 1e-12);
  }
}

}  // namespace
}  // namespace attractor
