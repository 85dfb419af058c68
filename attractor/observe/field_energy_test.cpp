#include "attractor/observe/field_energy.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/observe/observation.hpp"
#include "attractor/space/space.hpp"

namespace attractor::observe {
namespace {

struct FieldCloud {
  std::vector<double> tokens, masses;
};

// Pulled towards the first axis; a few lumps of a hundredth.
FieldCloud field_cloud(std::uint64_t seed, std::size_t n, std::size_t dim, double pull) {
  const Stream stream(seed, "test.field_energy"), mass(seed, "test.field_masses");
  FieldCloud made{std::vector<double>(n * dim), {}};
  for (std::size_t i = 0; i < n; ++i) {
    const auto row = std::span(made.tokens).subspan(i * dim, dim);
    stream.normals(i, row);
    row[0] += pull;
    if (i % 3 == 0 && i > 0)
      for (std::size_t a = 0; a < dim; ++a) row[a] = made.tokens[a] + 0.01 * row[a];
    Sphere(dim).retract(row);
    made.masses.push_back(1 + static_cast<double>(mass.below(3, i, 0)));
  }
  return made;
}

std::optional<Energy> by_field(const Attention& attention, const FieldCloud& c) {
  std::optional<CircleOrder> order;
  if (attention.dim == 2) order = circle_order(c.tokens);
  return field_energy(attention, c.tokens, c.masses, order ? &*order : nullptr);
}

TEST(FieldEnergy, IsThatOfAllRowsWithinItsErrors) {
  for (const std::size_t dim : {2, 3})
    for (const Rule rule : {Rule::softmax, Rule::unnormalised})
      for (const double beta : {0.3, 1.0, 9.0, 60.0, 400.0})
        for (const double pull : {0.0, 2.0}) {
          const FieldCloud c = field_cloud(7, 300, dim, pull);
          const Attention attention{.rule = rule, .beta = beta, .dim = dim};
          const Energy truth = energy(attention, c.tokens, c.masses, 0, 300);
          const auto found = by_field(attention, c);
          ASSERT_TRUE(found.has_value()) << dim << " " << beta;
          const double rounding = 1e-14 * (1 + beta);
          EXPECT_NEAR(found->log_energy, truth.log_energy, found->relative_error + rounding);
          EXPECT_NEAR(found->log_dissipation, truth.log_dissipation,
                      1.01 * found->dissipation_relative_error + rounding);
          EXPECT_NEAR(found->entropy, truth.entropy, found->entropy_error + rounding);
          EXPECT_GT(found->relative_error, 0);
          EXPECT_LT(found->relative_error, 1e-8);
          EXPECT_LT(found->entropy_error, 1e-4);
          EXPECT_FALSE(found->sampled);
        }
}

// Thirty clumps of a hundred tokens.
FieldCloud clumped_cloud(std::size_t dim, double radius) {
  const Stream stream(dim, "test.clumped_energy");
  FieldCloud made{std::vector<double>(3000 * dim), {}};
  std::vector<double> centre(dim);
  for (std::size_t i = 0; i < 3000; ++i) {
    const auto row = std::span(made.tokens).subspan(i * dim, dim);
    stream.normals(i % 30, centre);
    Sphere(dim).retract(centre);
    stream.normals(100 + i, row);
    Sphere(dim).retract(row);
    for (std::size_t a = 0; a < dim; ++a) row[a] = centre[a] + radius * row[a];
    Sphere(dim).retract(row);
    made.masses.push_back(static_cast<double>(1 + i % 4));
  }
  return made;
}

TEST(FieldEnergy, OfClumpsIsThatOfAllRowsWithinItsErrors) {
  for (const std::size_t dim : {5, 16, 64})
    for (const Rule rule : {Rule::softmax, Rule::unnormalised})
      for (const double beta : {0.7, 16.0, 100.0})
        for (const double radius : {1e-6, 1e-4, 3e-4}) {
          const FieldCloud c = clumped_cloud(dim, radius);
          const Attention attention{.rule = rule, .beta = beta, .dim = dim};
          const Energy truth = energy(attention, c.tokens, c.masses, 0, 3000);
          const auto found = clumped_energy(attention, c.tokens, c.masses);
          ASSERT_TRUE(found.has_value()) << dim << " " << beta << " " << radius;
          const double rounding = 1e-14 * (1 + beta);
          EXPECT_NEAR(found->log_energy, truth.log_energy, found->relative_error + rounding);
          EXPECT_NEAR(found->entropy, truth.entropy, found->entropy_error + rounding);
          EXPECT_NEAR(found->log_dissipation, truth.log_dissipation,
                      1.01 * found->dissipation_relative_error + rounding);
          EXPECT_GT(found->relative_error, 0);
          EXPECT_LT(found->relative_error, 1e-6);
          EXPECT_LT(found->entropy_error, 1e-5);
        }
  const FieldCloud spread = field_cloud(3, 3000, 16, 0);
  EXPECT_FALSE(clumped_energy({.beta = 4, .dim = 16}, spread.tokens, spread.masses));
  const FieldCloud c = clumped_cloud(16, 1e-6);
  EXPECT_FALSE(clumped_energy({.beta = 0, .dim = 16}, c.tokens, c.masses));
  EXPECT_FALSE(clumped_energy({.rule = Rule::hardmax, .beta = 4, .dim = 16}, c.tokens, c.masses));
}

TEST(FieldEnergy, ByMomentsIsThatOfAllRowsWithinItsErrors) {
  for (const std::size_t dim : {4, 5, 7})
    for (const Rule rule : {Rule::softmax, Rule::unnormalised})
      for (const double beta : {0.3, 1.0}) {
        const FieldCloud c = field_cloud(11, 2000, dim, 1);
        const Attention attention{.rule = rule, .beta = beta, .dim = dim};
        const Energy truth = energy(attention, c.tokens, c.masses, 0, 2000);
        const auto found = by_field(attention, c);
        ASSERT_TRUE(found.has_value()) << dim << " " << beta;
        EXPECT_NEAR(found->log_energy, truth.log_energy, found->relative_error + 1e-13);
        EXPECT_NEAR(found->log_dissipation, truth.log_dissipation,
                    1.01 * found->dissipation_relative_error + 1e-13);
        EXPECT_NEAR(found->entropy, truth.entropy, found->entropy_error + 1e-13);
        EXPECT_LT(found->relative_error, 1e-6);
      }
  // Rows are quicker, or beta is beyond what moments can do.
  EXPECT_FALSE(by_field({.beta = 20, .dim = 7}, field_cloud(3, 2000, 7, 1)));
  EXPECT_FALSE(by_field({.beta = 200, .dim = 4}, field_cloud(3, 2000, 4, 1)));
}

TEST(FieldEnergy, LeavesToRowsWhatItCannotTell) {
  // Two clusters that approach each other more slowly than the field can see.
  FieldCloud c;
  for (int i = 0; i < 600; ++i) {
    const double angle = i % 2 == 0 ? 0 : 2;
    c.tokens.insert(c.tokens.end(), {std::cos(angle), std::sin(angle)});
    c.masses.push_back(1);
  }
  const Attention attention{.rule = Rule::softmax, .beta = 40, .dim = 2};
  EXPECT_FALSE(by_field(attention, c).has_value());
  const Observation o = observe(attention, attention.logit_bound(), c.tokens, c.masses,
                                flow::Time(1), {.exact_limit = 100}, false);
  const Observation all = observe(attention, attention.logit_bound(), c.tokens, c.masses,
                                  flow::Time(1), {.exact_limit = 600}, false);
  EXPECT_NEAR(o.log_dissipation, all.log_dissipation, 1e-6);
  // Weights, no end of beta, other dimensions.
  const FieldCloud d = field_cloud(1, 40, 3, 0);
  EXPECT_FALSE(by_field({.beta = 1, .dim = 3, .value = std::vector<double>(9, 0.1)}, d));
  EXPECT_FALSE(by_field({.beta = 2e4, .dim = 3}, d));
  EXPECT_FALSE(by_field({.beta = 0, .dim = 3}, d));
}

TEST(FieldEnergy, ManyTokensAreObservedWithoutSampling) {
  for (const std::size_t dim : {2, 3}) {
    const FieldCloud c = field_cloud(5, 5000, dim, 0.5);
    const Attention attention{.rule = Rule::softmax, .beta = 20, .dim = dim};
    const auto observed = [&](std::size_t limit) {
      return observe(attention, attention.logit_bound(), c.tokens, c.masses, flow::Time(1),
                     {.exact_limit = limit}, false);
    };
    const Observation few = observed(1000), all = observed(5000);
    EXPECT_EQ(few.sampled, 0);
    EXPECT_NEAR(few.log_energy, all.log_energy, 1e-9);
    EXPECT_NEAR(few.log_dissipation, all.log_dissipation, 1e-7);
    EXPECT_NEAR(few.attention_entropy, all.attention_entropy, 1e-7);
    EXPECT_EQ(few.clusters, all.clusters);
    EXPECT_EQ(few.largest_cluster, all.largest_cluster);
    if (dim == 2) {
      EXPECT_DOUBLE_EQ(few.pair_fraction, all.pair_fraction);
      EXPECT_NEAR(few.smallest_cosine, all.smallest_cosine, 1e-15);
    }
  }
}

}  // namespace
}  // namespace attractor::observe
