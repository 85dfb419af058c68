// Tokens approach the density like n^{-1/2}: slopes within their own errors, and at time zero the
// closed variance of a mean.
#include "attractor/mean_field/particle_comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/flow/run.hpp"

namespace attractor::meanfield {
namespace {

WeightedPoints moved_circle(const CircleLaw& law, const CircleAttention& attention, double time) {
  WeightedPoints density = circle_markers(law, 2048);
  CircleTokens flow(attention, density.weights);
  flow::Progress progress{.state = density.points};
  EXPECT_EQ(run(flow, flow::dormand_prince(), {.end = flow::Time(time)}, progress, {}),
            flow::Status::complete);
  density.points = progress.state;
  return density;
}

TEST(ParticleComparison, OnTheCircleFallsLikeTheRootOfN) {
  const CircleLaw law = labelled_map(0.5);
  for (const Rule rule : {Rule::softmax, Rule::unnormalised}) {
    const CircleAttention attention{.rule = rule, .beta = 1};
    const WeightedPoints density = moved_circle(law, attention, 1);
    const Comparison result =
        compare_circle(law, attention, flow::Time(1), density,
                       {.tokens = {64, 256, 1024}, .replicates = 64, .seed = 1, .tolerance = 1e-6});
    ASSERT_TRUE(result.complete);
    EXPECT_LT(result.moment_slope.error, 0.05);
    EXPECT_NEAR(result.moment_slope.value, -0.5, 3 * result.moment_slope.error) << name(rule);
    EXPECT_NEAR(result.w1_slope.value, -0.5, 0.1) << name(rule);
  }
}

TEST(ParticleComparison, AtTimeZeroIsTheVarianceOfAMean) {
  // E |m_1^(n) - m_1|^2 = (1 - |m_1|^2)/n on the circle, (1 - R^2)/n on any sphere.
  const CircleLaw law = circle_bumps({{.concentration = 2}});
  const ComparisonPlan plan{.tokens = {50, 200}, .replicates = 250, .seed = 3};
  const Comparison circle = compare_circle(law, {}, flow::Time(0), moved_circle(law, {}, 0), plan);
  const ZonalLaw zonal_law = zonal_bump(4, 2);
  const Comparison zonal =
      compare_zonal(zonal_law, {.dim = 4}, flow::Time(0), zonal_markers(zonal_law, 256), plan);
  const double circle_order = law.moments(2)[1].real();
  const double zonal_order = zonal_law.coefficients(2)[1] / 2;
  for (std::size_t k = 0; k < 2; ++k) {
    const double n = static_cast<double>(plan.tokens[k]);
    EXPECT_NEAR(circle.rows[k].rms_moment, std::sqrt((1 - circle_order * circle_order) / n),
                4 * circle.rows[k].rms_error);
    EXPECT_NEAR(zonal.rows[k].rms_moment, std::sqrt((1 - zonal_order * zonal_order) / n),
                4 * zonal.rows[k].rms_error);
    EXPECT_LT(zonal.rows[k].rms_error, 0.05 * zonal.rows[k].rms_moment);
  }
}

TEST(ParticleComparison, OnSpheresFallsLikeTheRootOfN) {
  const ZonalAttention attention{.dim = 3, .beta = 2};
  const ZonalLaw law = zonal_bump(3, 1);
  WeightedPoints density = zonal_markers(law, 256);
  ZonalLabels flow(attention, density.weights);
  flow::Progress progress{.state = density.points};
  ASSERT_EQ(run(flow, flow::dormand_prince(), {.end = flow::Time(0.5)}, progress, {}),
            flow::Status::complete);
  density.points = progress.state;
  const Comparison result =
      compare_zonal(law, attention, flow::Time(0.5), density,
                    {.tokens = {32, 256}, .replicates = 48, .seed = 2, .tolerance = 1e-5});
  EXPECT_LT(result.moment_slope.error, 0.08);
  EXPECT_NEAR(result.moment_slope.value, -0.5, 3 * result.moment_slope.error);
}

TEST(ParticleComparison, DoesNotDependOnTheThreads) {
  const CircleLaw law = wrapped_cauchy(0.3);
  const WeightedPoints density = circle_markers(law, 256);
  const auto rms = [&](std::size_t count) {
    const std::size_t before = threads();
    set_threads(count);
    const Comparison result = compare_circle(law, {.beta = 2}, flow::Time(0.1), density,
                                             {.tokens = {1500}, .replicates = 5});
    set_threads(before);
    return result.rows[0].rms_moment;
  };
  EXPECT_EQ(rms(1), rms(3));
}

TEST(ParticleComparison, StopsWhenAsked) {
  const CircleLaw law = wrapped_cauchy(0.3);
  const Comparison result =
      compare_circle(law, {}, flow::Time(1), circle_markers(law, 256),
                     {.tokens = {10}, .replicates = 2, .stop = [] { return true; }});
  EXPECT_FALSE(result.complete);
  EXPECT_TRUE(result.rows.empty());
}

TEST(LogSlope, IsThatOfAPowerLaw) {
  const std::vector<double> n = {10, 100, 1000}, values = {1, 0.1, 0.01},
                            errors = {0.1, 0.01, 1e-3};
  const Slope slope = log_slope(n, values, errors);
  EXPECT_NEAR(slope.value, -1, 1e-14);
  // Relative errors of 0.1 at ln n = -ln 10, 0, ln 10 around the mean.
  EXPECT_NEAR(slope.error, 0.1 / (std::log(10) * std::sqrt(2)), 1e-14);
  EXPECT_TRUE(std::isnan(log_slope(std::span(n).first(1), values, errors).value));
}

TEST(ParticleComparison, RefusesTooLittle) {
  const CircleLaw law = wrapped_cauchy(0.3);
  const WeightedPoints density = circle_markers(law, 64);
  EXPECT_THROW(compare_circle(law, {}, flow::Time(0), density, {.tokens = {10}, .replicates = 1}),
               Error);
  EXPECT_THROW(compare_circle(law, {}, flow::Time(0), density, {.tokens = {1}}), Error);
}

}  // namespace
}  // namespace attractor::meanfield
