#include "attractor/kernels/batch/system_batch.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "attractor/base/random.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/stepper.hpp"
#include "attractor/observe/pairs.hpp"
#include "attractor/space/space.hpp"
#include "tests/support/simd_targets.hpp"

namespace attractor::kernels {
namespace {

struct Systems {
  std::size_t tokens, dim;
  bool softmax;
  std::vector<double> betas, sizes, x;

  SystemBatch batch() const { return {tokens, dim, softmax, betas}; }
  std::span<const double> system(std::size_t s) const {
    return std::span(x).subspan(s * tokens * dim, tokens * dim);
  }
};

const std::vector<double> kBetas = {0, 0.1, 1, 4, 9, 60, 1e4};

void normalise_rows(std::vector<double>& x, std::size_t dim) {
  for (std::size_t i = 0; i < x.size(); i += dim) {
    const auto row = std::span(x).subspan(i, dim);
    const double length = norm(row);
    for (double& c : row) c /= length;
  }
}

// Every system has its own beta and step. With spread > 0 tokens lie in three clusters.
Systems random_systems(std::size_t count, std::size_t tokens, std::size_t dim, bool softmax,
                       double spread = 0) {
  Systems s{tokens, dim, softmax, {}, {}, std::vector<double>(count * tokens * dim)};
  const Stream stream(tokens + 100 * dim, "batch test");
  for (std::size_t k = 0; k < count; ++k) {
    s.betas.push_back(kBetas[k % kBetas.size()]);
    s.sizes.push_back(0.05 + 0.9 * stream.uniform(k, 1u << 20));
    for (std::size_t i = 0; i < tokens; ++i) {
      std::vector<double> centre(dim);
      stream.normals(1000000 + k * 3 + i % 3, centre);
      const double scale = 1 / norm(centre);
      for (std::size_t a = 0; a < dim; ++a) {
        const double own = stream.normal(k * tokens + i, a);
        s.x[(k * tokens + i) * dim + a] = spread > 0 ? scale * centre[a] + spread * own : own;
      }
    }
  }
  normalise_rows(s.x, dim);
  return s;
}

// The same by the flow of one system.
depth::AttentionFlow flow_of(const Systems& s, std::size_t k) {
  Attention attention;
  attention.rule = s.softmax ? Rule::softmax : Rule::unnormalised;
  attention.beta = s.betas[k];
  attention.dim = s.dim;
  return {attention, s.tokens, 0};
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    if (!std::isfinite(a[k])) return a[k];
    largest = std::max(largest, std::abs(a[k] - b[k]));
  }
  return largest;
}

void expect_velocities(const Systems& s, double tolerance) {
  std::vector<double> velocity(s.x.size()), expected(s.tokens * s.dim);
  batch_velocity(s.batch(), s.x, velocity);
  for (std::size_t k = 0; k < s.betas.size(); ++k) {
    const depth::AttentionFlow flow = flow_of(s, k);
    flow.drift(s.system(k), flow.log_unit(), expected);
    const auto got = std::span(velocity).subspan(k * expected.size(), expected.size());
    EXPECT_LE(largest_difference(got, expected), tolerance)
        << "n " << s.tokens << " d " << s.dim << " beta " << s.betas[k];
  }
}

std::vector<double> advanced(const Systems& s, const BatchSteps& steps) {
  std::vector<double> x = s.x, close(s.betas.size() * steps.counted.size());
  batch_advance(s.batch(), steps, x, close);
  return x;
}

void expect_steps(const Systems& s, BatchMethod method, const flow::Tableau& tableau,
                  double tolerance) {
  const std::vector<double> x = advanced(s, {.method = method, .sizes = s.sizes, .count = 2});
  for (std::size_t k = 0; k < s.betas.size(); ++k) {
    const depth::AttentionFlow flow = flow_of(s, k);
    std::vector<double> state(s.system(k).begin(), s.system(k).end());
    for (int repeat = 0; repeat < 2; ++repeat) {
      flow::Stepper stepper(tableau);
      stepper.attempt(flow, {}, state, s.sizes[k], flow.log_unit());
      state.assign(stepper.next().begin(), stepper.next().end());
    }
    const auto got = std::span(x).subspan(k * state.size(), state.size());
    EXPECT_LE(largest_difference(got, state), tolerance)
        << tableau.name << " n " << s.tokens << " d " << s.dim << " beta " << s.betas[k];
  }
}

class SystemBatchEveryTarget : public OnOneTarget {};

TEST_P(SystemBatchEveryTarget, VelocityIsThatOfTheSingleFlowAtOddSizes) {
  for (const std::size_t tokens : {1, 2, 3, 4, 5, 31})
    for (const std::size_t dim : {2, 3, 4, 5, 6, 7, 8, 11, 16, 17})
      for (const bool softmax : {true, false})
        expect_velocities(random_systems(9, tokens, dim, softmax), 1e-13);
}

TEST_P(SystemBatchEveryTarget, StepsAreThoseOfTheSingleFlow) {
  for (const std::size_t tokens : {1, 2, 7})
    for (const std::size_t dim : {2, 3, 4, 9})
      for (const bool softmax : {true, false}) {
        const Systems s = random_systems(7, tokens, dim, softmax);
        expect_steps(s, BatchMethod::layers, flow::layers(), 1e-13);
        expect_steps(s, BatchMethod::euler, flow::euler(), 1e-13);
        expect_steps(s, BatchMethod::rk4, flow::rk4(), 1e-13);
      }
}

TEST_P(SystemBatchEveryTarget, LargeDimsGoThroughInChunks) {
  for (const std::size_t dim : {63, 64, 65, 130, 1024})
    expect_velocities(random_systems(3, 6, dim, true), 1e-13);
}

INSTANTIATE_TEST_SUITE_P(Kernels, SystemBatchEveryTarget, testing::ValuesIn(every_target()),
                         target_name);

TEST(SystemBatch, ClusteredAndCollapsedTokensKeepTheirAccuracy) {
  for (const std::size_t dim : {2, 3, 10})
    for (const double spread : {1e-2, 1e-5, 1e-9, 1e-300})
      for (const bool softmax : {true, false})
        expect_velocities(random_systems(14, 12, dim, softmax, spread), 1e-13);
}

// The weight of a neighbour as seen in the velocity of two tokens at a given angle:
// |v| = w sin(angle) / (1 + w).
TEST(SystemBatch, WeightsFollowTheExponentialDownToUnderflow) {
  std::vector<double> angles, betas;
  for (double logit = 0; logit < 706; logit += 0.7) {
    betas.push_back(logit + 1e-3);
    angles.push_back(logit < 300 ? 1.1 : 2.4);
  }
  Systems s{2, 2, true, betas, {}, {}};
  for (const double angle : angles) s.x.insert(s.x.end(), {1, 0, std::cos(angle), std::sin(angle)});
  std::vector<double> velocity(s.x.size());
  batch_velocity(s.batch(), s.x, velocity);
  for (std::size_t k = 0; k < angles.size(); ++k) {
    const long double half = std::sin(0.5L * static_cast<long double>(angles[k]));
    const long double w = std::exp(-2 * static_cast<long double>(betas[k]) * half * half);
    const long double exact = w * std::sin(static_cast<long double>(angles[k])) / (1 + w);
    // The exponent is rounded to double: 3 ulp of it.
    const double slack = 6e-16 * (1 + 2 * betas[k]);
    if (exact > 1e-307L) {
      EXPECT_NEAR(static_cast<double>(velocity[4 * k + 1] / exact), 1, slack) << betas[k];
    }
  }
}

TEST(SystemBatch, BitsDependOnNeitherTheSplitNorTheThreads) {
  for (const std::size_t dim : {2, 3, 5, 16})
    for (const BatchMethod method : {BatchMethod::layers, BatchMethod::rk4})
      for (const std::size_t count : {1, 2, 7, 8, 9, 33}) {
        const Systems all = random_systems(count, 11, dim, true);
        const BatchSteps steps{.method = method, .sizes = all.sizes, .count = 5};
        const std::vector<double> whole = advanced(all, steps);
        for (const std::size_t threads : {1, 2, 3}) {
          set_threads(threads);
          EXPECT_EQ(advanced(all, steps), whole) << threads << " threads";
        }
        set_threads(0);
        for (const std::size_t part : {1, 3, 8}) {
          std::vector<double> joined;
          for (std::size_t begin = 0; begin < count; begin += part) {
            const std::size_t size = std::min(part, count - begin), stride = 11 * dim;
            Systems some = all;
            some.betas = {all.betas.data() + begin, all.betas.data() + begin + size};
            some.sizes = {all.sizes.data() + begin, all.sizes.data() + begin + size};
            some.x = {all.x.data() + begin * stride, all.x.data() + (begin + size) * stride};
            BatchSteps own = steps;
            own.sizes = some.sizes;
            const std::vector<double> x = advanced(some, own);
            joined.insert(joined.end(), x.begin(), x.end());
          }
          EXPECT_EQ(joined, whole) << "parts of " << part;
        }
      }
}

#ifdef HWY_AVX2
TEST(SystemBatch, BitsDoNotDependOnTheVectorLengthWithFma) {
  if (!(hwy::SupportedTargets() & HWY_AVX2))
    GTEST_SKIP() << "this processor has no AVX2: there is no second vector length with FMA";
  for (const std::size_t dim : {2, 9, 70}) {
    const Systems s = random_systems(11, 13, dim, true);
    const BatchSteps steps{.sizes = s.sizes, .count = 4};
    const std::vector<double> widest = advanced(s, steps);
    hwy::SetSupportedTargetsForTest(HWY_AVX2);
    EXPECT_EQ(advanced(s, steps), widest);
    hwy::SetSupportedTargetsForTest(0);
  }
}
#endif

TEST(SystemBatch, ClosePairsAreThoseOfPairStatisticsAtEveryCountedStep) {
  const std::vector<std::uint64_t> counted = {0, 1, 3, 8};
  for (const std::size_t tokens : {1, 2, 3, 13})
    for (const std::size_t dim : {2, 3, 4, 6})
      for (const double threshold : {0.999, 0.2, -0.5}) {
        const Systems s = random_systems(9, tokens, dim, true, tokens == 13 ? 0.03 : 0.0);
        std::vector<double> x = s.x, close(9 * counted.size(), -1.0);
        const BatchSteps steps{
            .sizes = s.sizes, .count = 8, .counted = counted, .threshold = threshold};
        batch_advance(s.batch(), steps, x, close);
        const std::vector<double> masses(tokens, 1.0);
        for (std::size_t c = 0; c < counted.size(); ++c) {
          const std::vector<double> then = advanced(s, {.sizes = s.sizes, .count = counted[c]});
          for (std::size_t k = 0; k < 9; ++k) {
            const auto tokens_then = std::span(then).subspan(k * tokens * dim, tokens * dim);
            const double expected =
                observe::pair_statistics(tokens_then, dim, masses, threshold, 1).fraction;
            EXPECT_DOUBLE_EQ(close[k * counted.size() + c], expected)
                << "n " << tokens << " d " << dim << " step " << counted[c];
          }
        }
      }
}

TEST(SystemBatch, TokensStayOnTheSphereAndConsensusStays) {
  Systems s = random_systems(8, 10, 3, true);
  for (std::size_t k = 3; k < s.x.size(); k += 3) std::copy_n(s.x.begin(), 3, s.x.begin() + k);
  const std::vector<double> consensus = advanced(s, {.sizes = s.sizes, .count = 100});
  EXPECT_LE(largest_difference(consensus, s.x), 1e-14);
  const Systems r = random_systems(8, 10, 5, false);
  const std::vector<double> x =
      advanced(r, {.method = BatchMethod::rk4, .sizes = r.sizes, .count = 100});
  for (std::size_t i = 0; i < x.size(); i += 5)
    EXPECT_NEAR(norm(std::span(x).subspan(i, 5)), 1, 1e-15);
}

}  // namespace
}  // namespace attractor::kernels
