// On one rank it is AttentionFlow; on several: tests/mpi.
#include "attractor/depth/distributed_flow.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/depth/attention_flow.hpp"
#include "attractor/flow/run.hpp"
#include "attractor/tokens/generators.hpp"

namespace attractor::depth {
namespace {

std::vector<double> start(std::size_t n, std::size_t dim) {
  return make_tokens({.tokens = n, .dim = dim, .seed = 4}).data;
}

std::vector<double> some_matrix(std::size_t dim, double salt) {
  std::vector<double> m(dim * dim);
  for (std::size_t k = 0; k < m.size(); ++k) m[k] = std::sin(salt + 1.7 * static_cast<double>(k));
  return m;
}

// Every kind of logits and values, in both rules and spaces.
std::vector<Attention> every_attention(std::size_t dim) {
  std::vector<Attention> all;
  for (const Rule rule : {Rule::softmax, Rule::unnormalised})
    for (const bool on_sphere : {true, false})
      for (const bool general : {false, true})
        for (const bool value : {false, true}) {
          Attention a{.rule = rule, .beta = 2.5, .dim = dim, .on_sphere = on_sphere};
          if (general) a.query = some_matrix(dim, 1), a.key = some_matrix(dim, 2);
          if (value) a.value = some_matrix(dim, 3);
          all.push_back(a);
        }
  return all;
}

TEST(DistributedFlow, OnOneRankMovesAsAttentionFlow) {
  const std::size_t n = 70, dim = 5;
  const auto tokens = start(n, dim);
  for (const Attention& attention : every_attention(dim)) {
    const DistributedFlow shared(attention, n);
    const AttentionFlow plain(attention, n, 0);
    ASSERT_EQ(shared.log_unit(), plain.log_unit());
    for (const double unit : {shared.log_unit(), shared.log_unit() + 1.25}) {
      std::vector<double> a(n * dim), b(n * dim);
      const auto expect_same = [&] {
        for (std::size_t k = 0; k < a.size(); ++k) ASSERT_NEAR(a[k], b[k], 1e-13);
      };
      shared.drift(tokens, unit, a);
      plain.drift(tokens, unit, b);
      expect_same();
      shared.increment(tokens, unit, a);
      plain.increment(tokens, unit, b);
      expect_same();
    }
    EXPECT_NEAR(shared.fitting_log_unit(tokens, 0), plain.fitting_log_unit(tokens, 0), 1e-13);
  }
}

TEST(DistributedFlow, OnOneRankRunsAsAttentionFlow) {
  const std::size_t n = 90, dim = 3;
  const Attention attention{.beta = 6, .dim = dim};
  const auto end = [&](flow::Flow& flow) {
    flow::Progress progress{.state = start(n, dim)};
    const flow::Status status = flow::run(flow, flow::dormand_prince(),
                                          {.end = flow::Time(2), .tolerance = 1e-9}, progress, {});
    EXPECT_EQ(status, flow::Status::complete);
    return progress;
  };
  DistributedFlow shared(attention, n);
  AttentionFlow plain(attention, n, 0);
  const flow::Progress a = end(shared), b = end(plain);
  EXPECT_EQ(a.steps, b.steps);
  for (std::size_t k = 0; k < n * dim; ++k) ASSERT_NEAR(a.state[k], b.state[k], 1e-13);
}

TEST(DistributedFlow, OneTokenIsAtRest) {
  const std::vector<double> token = {0.6, 0.8};
  EXPECT_TRUE(DistributedFlow({.dim = 2}, 1).at_rest(token));
  EXPECT_FALSE(DistributedFlow({.dim = 2, .value = {0, 1, 1, 0}}, 1).at_rest(token));
  EXPECT_FALSE(DistributedFlow({.dim = 2}, 2).at_rest(start(2, 2)));
}

TEST(TokenBlocks, CoverAllTokensInOrderAndDifferByOneAtMost) {
  for (std::size_t tokens : {1, 7, 64, 1000, 50'000})
    for (std::size_t ranks : {1, 2, 3, 4, 7, 64}) {
      std::size_t next = 0;
      for (std::size_t rank = 0; rank < ranks; ++rank) {
        const TokenBlock block = block_of(tokens, rank, ranks);
        EXPECT_EQ(block.begin, next);
        EXPECT_GE(block.size(), tokens / ranks);
        EXPECT_LE(block.size(), (tokens + ranks - 1) / ranks);
        next = block.end;
      }
      EXPECT_EQ(next, tokens);
    }
}

// The flow of two who share a state: what each sees of the other goes through largest() only.
class HalfFlow final : public flow::Flow {
 public:
  HalfFlow(double own_speed, double other_speed) : own_(own_speed), other_(other_speed) {}
  const Space& space() const override { return space_; }
  void drift(std::span<const double>, double, std::span<double> out) const override {
    out[0] = own_;
  }
  double largest(double local) const override {
    return std::isnan(other_) ? other_ : std::max(local, other_);
  }

 private:
  Euclidean space_{1};
  double own_, other_;
};

TEST(SharedState, IsJudgedByAllWhoShareIt) {
  struct Case {
    double own, other;
    bool asks;
    flow::Status status;
    std::uint64_t steps, rejected;
  };
  const Case cases[] = {
      {0, 0, true, flow::Status::at_equilibrium, 0, 0},
      {0, 1, true, flow::Status::interrupted, 0, 0},      // the other one was asked to stop
      {0, 1, false, flow::Status::too_many_steps, 0, 5},  // its error is too large
      {1, 0, false, flow::Status::too_many_steps, 5, 0},
      {1, NAN, false, flow::Status::not_finite, 0, 0},
  };
  for (const Case& c : cases) {
    HalfFlow flow(c.own, c.other);
    flow::Progress progress{.state = {1.0}};
    flow::Hooks hooks;
    if (c.asks) hooks.stop = [] { return false; };
    const flow::Status status =
        flow::run(flow, flow::dormand_prince(), {.max_steps = 5}, progress, hooks);
    EXPECT_EQ(name(status), name(c.status));
    EXPECT_EQ(progress.steps, c.steps);
    EXPECT_EQ(progress.rejected, c.rejected);
  }
}

}  // namespace
}  // namespace attractor::depth
