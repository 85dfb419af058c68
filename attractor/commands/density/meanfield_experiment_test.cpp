#include "attractor/commands/density/meanfield_experiment.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "attractor/base/error.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/stability/sphere_spectrum.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/result_table.hpp"

namespace attractor::lab {
namespace {

double value(const Result& answer, const char* name) {
  return answer.values.at(name).is_null() ? std::nan("") : answer.values[name].get<double>();
}

ArrayInput file_called(const std::string& name) {
  ArrayInput file;
  file.name = name;
  return file;
}

TEST(MeanfieldExperiment, GivesTheNumbersOfTheoryA2InBothForms) {
  struct Case {
    Rule dynamics;
    double beta, time, order;
  };
  for (const DensityForm form : every<DensityForm>())
    for (const Case& c : {Case{Rule::softmax, 0, 1, 0.3715773138682},
                          {Rule::softmax, 1, 1, 0.3575110455509},
                          {Rule::unnormalised, 1, 1, 0.3967536386277},
                          {Rule::softmax, 4, 1, 0.2958528176843},
                          {Rule::unnormalised, 4, 0.1, 0.3093931020249}}) {
      const Result answer = ask({.dynamics = c.dynamics,
                                 .beta = c.beta,
                                 .start = StartLaw::map,
                                 .amplitude = 0.5,
                                 .time = c.time,
                                 .outputs = 4,
                                 .tolerance = 1e-12,
                                 .form = form},
                                {});
      EXPECT_NEAR(value(answer, "order_parameter"), c.order, 1e-10)
          << name(form) << " " << name(c.dynamics);
      EXPECT_NEAR(value(answer, "mass"), 1, 1e-12);
      EXPECT_LT(value(answer, "order_error"), 1e-9);
      EXPECT_EQ(value(answer, "smallest_density") > 0, form == DensityForm::spectral);
      EXPECT_EQ(answer.values["moments"][0], answer.values["order_parameter"]);
      EXPECT_TRUE(answer.not_delivered.empty());
      EXPECT_EQ(table(answer, "history").rows.size(), 5U);
    }
}

TEST(MeanfieldExperiment, MeasuresTheLinearGrowth) {
  for (const std::uint64_t dim : {2U, 3U, 8U})
    for (const Rule dynamics : {Rule::softmax, Rule::unnormalised})
      for (const double noise : {0.0, 0.05}) {
        const Result answer = ask({.dynamics = dynamics,
                                   .dim = dim,
                                   .noise = noise,
                                   .mode = 3,
                                   .amplitude = 1e-6,
                                   .outputs = 3,
                                   .tolerance = 1e-14},
                                  {});
        EXPECT_NEAR(value(answer, "growth_measured") / value(answer, "growth_linear"), 1, 2e-6)
            << dim << " " << name(dynamics) << " " << noise;
      }
}

TEST(MeanfieldExperiment, FormsAndSymmetriesAgree) {
  const MeanfieldSetup bump{.dynamics = Rule::unnormalised,
                            .dim = 3,
                            .beta = 2,
                            .start = StartLaw::vmf,
                            .concentration = {1},
                            .time = 0.1,
                            .outputs = 2,
                            .tolerance = 1e-11};
  MeanfieldSetup labels = bump, general = bump;
  labels.form = DensityForm::labels;
  general.symmetry = Symmetry::none;
  const Result spectral = ask(bump, {}), label = ask(labels, {}), grid = ask(general, {});
  for (const char* name : {"order_parameter", "log_energy"}) {
    EXPECT_NEAR(value(label, name), value(spectral, name), 1e-9) << name;
    EXPECT_NEAR(value(grid, name), value(spectral, name), 1e-9) << name;
  }
  EXPECT_EQ(spectral.values["form"], "spectral");
  EXPECT_EQ(grid.values["form"], "labels");
  MeanfieldSetup circle{.time = 0.3, .tolerance = 1e-12}, zonal = circle;
  zonal.symmetry = Symmetry::zonal;
  EXPECT_NEAR(value(ask(circle, {}), "order_parameter"), value(ask(zonal, {}), "order_parameter"),
              1e-10);
}

TEST(MeanfieldExperiment, NoiseLowersTheFreeEnergyToTheStationaryState) {
  const double critical =
      meanfield::sphere_spectrum(2, 1, 2).pull[1] * meanfield::sphere_spectrum(2, 1, 2).lambda0();
  const Result answer = ask({.dynamics = Rule::unnormalised,
                             .beta = 1,
                             .noise = 0.5 * critical,
                             .amplitude = 0.4,
                             .time = 60},
                            {});
  EXPECT_NEAR(value(answer, "order_parameter"), 0.90497698810, 1e-8) << answer.not_delivered;
  const Table& history = table(answer, "history");
  for (std::size_t k = 1; k < history.rows.size(); ++k)
    EXPECT_LE(history.rows[k][5], history.rows[k - 1][5] + 1e-9);
}

TEST(MeanfieldExperiment, ComparesWithTokens) {
  const Result answer = ask({.beta = 1,
                             .start = StartLaw::map,
                             .amplitude = 0.5,
                             .compare_particles = {64, 512},
                             .replicates = 48},
                            {});
  EXPECT_NEAR(value(answer, "slope"), -0.5, 3 * value(answer, "slope_error"));
  EXPECT_LT(value(answer, "slope_error"), 0.08);
  EXPECT_EQ(table(answer, "particles").rows.size(), 2U);
}

TEST(MeanfieldExperiment, SaysWhenTheDensityIsTooSharp) {
  const Result answer = ask({.beta = 4, .amplitude = 0.9, .time = 20, .modes = 32}, {});
  EXPECT_NE(answer.not_delivered.find("or form labels"), std::string::npos);
  EXPECT_TRUE(answer.values["order_parameter"].is_null());
  EXPECT_LT(value(answer, "reached_time"), 20);
  const Result labels = ask({.beta = 4,
                             .amplitude = 0.9,
                             .time = 20,
                             .outputs = 5,
                             .tolerance = 1e-8,
                             .form = DensityForm::labels,
                             .modes = 512},
                            {});
  EXPECT_TRUE(labels.not_delivered.empty());
  EXPECT_GT(value(labels, "order_parameter"), 0.99);
}

TEST(MeanfieldExperiment, AnsweredDensitiesAreResolved) {
  // Densities of m-fold symmetry: few modes are excited, and the last ones never.
  struct Case {
    MeanfieldSetup p;
    std::uint64_t few, many;
  };
  const Case cases[] = {
      {{.beta = 18, .mode = 6, .time = 4, .outputs = 8}, 16, 400},
      {{.beta = 30, .mode = 9, .amplitude = 0.3, .time = 2.5, .outputs = 8}, 24, 400},
      {{.dynamics = Rule::unnormalised,
        .beta = 9,
        .mode = 5,
        .amplitude = -0.4,
        .time = 1e-3,
        .outputs = 8},
       16,
       200},
      {{.dim = 3, .beta = 12, .mode = 4, .amplitude = 0.5, .time = 2, .outputs = 8}, 12, 100},
      {{.dim = 2, .beta = 18, .mode = 6, .time = 3, .outputs = 8, .symmetry = Symmetry::zonal},
       16,
       150}};
  for (const auto& [p, few, many] : cases) {
    MeanfieldSetup less = p, more = p;
    less.modes = few;
    more.modes = many;
    more.tolerance = 1e-11;
    const Result usual = ask(p, {}), truth = ask(more, {}), poor = ask(less, {});
    EXPECT_TRUE(usual.not_delivered.empty()) << p.beta << usual.not_delivered;
    EXPECT_SAYS(poor.not_delivered, "more modes");
    EXPECT_TRUE(poor.values["energy"].is_null()) << p.beta;
    EXPECT_LT(value(poor, "reached_time"), p.time);
    EXPECT_NEAR(value(usual, "log_energy"), value(truth, "log_energy"),
                value(usual, "energy_error"));
    const double peak = value(truth, "largest_density");
    EXPECT_NEAR(value(usual, "largest_density") / peak, 1, value(usual, "density_error"));
    EXPECT_LT(value(usual, "density_error"), 1e-6) << p.beta;
    EXPECT_LE(value(usual, "modes"), 256) << p.beta;
  }
}

TEST(MeanfieldExperiment, TakesNoMoreModesThanItNeeds) {
  EXPECT_LE(value(ask({.start = StartLaw::map}, {}), "modes"), 64);
  EXPECT_LE(value(ask({.start = StartLaw::map, .amplitude = 0.5}, {}), "modes"), 128);
  // Loose steps leave noise of their tolerance in the last modes, which more modes would not cure.
  for (const double tolerance : {1e-4, 1e-6, 1e-8})
    EXPECT_LE(
        value(
            ask({.beta = 9, .start = StartLaw::vmf, .concentration = {100}, .tolerance = tolerance},
                {}),
            "modes"),
        256)
        << tolerance;
}

TEST(MeanfieldExperiment, ErrorsAreTheWorstOfTheRun) {
  // The order parameter of labels errs on the way and not at the end, when all are on one point.
  const Result answer = ask({.beta = 4,
                             .amplitude = 0.9,
                             .time = 20,
                             .outputs = 20,
                             .form = DensityForm::labels,
                             .modes = 256},
                            {});
  EXPECT_NEAR(value(answer, "order_parameter"), 1, 1e-9);
  EXPECT_GT(value(answer, "order_error"), 1e-6);
}

TEST(MeanfieldExperiment, AGrowthLostInTheErrorIsTold) {
  // An amplitude far below the tolerance: one long step, and as long a one at any tolerance.
  for (const double beta : {4.0, 16.0}) {
    const MeanfieldSetup p{
        .beta = beta, .mode = 3, .amplitude = 1e-9, .outputs = 2, .tolerance = 1e-4};
    const Result lost = ask(p, {});
    const double off = std::abs(value(lost, "growth_measured") - value(lost, "growth_linear"));
    EXPECT_GT(off, 1e-8);  // one part in 10^9 is not linear
    EXPECT_LT(off, value(lost, "growth_error") + 1e-8);
    EXPECT_LT(value(lost, "growth_error"), 20 * off);
  }
}

TEST(MeanfieldExperiment, AStartTooSharpIsNoAnswer) {
  const MeanfieldSetup cases[] = {
      {.start = StartLaw::vmf, .concentration = {1e6}, .time = 0},
      {.start = StartLaw::vmf, .concentration = {3e5}, .time = 0.01, .modes = 300},
      {.start = StartLaw::wrapped_cauchy, .order = 0.995, .time = 0},
      {.dim = 3, .start = StartLaw::vmf, .concentration = {1e6}, .time = 0},
      {.dim = 3, .start = StartLaw::vmf, .concentration = {1e5}, .symmetry = Symmetry::none},
      {.dynamics = Rule::unnormalised,
       .dim = 3,
       .start = StartLaw::vmf,
       .concentration = {3e3},
       .symmetry = Symmetry::none}};
  for (const MeanfieldSetup& c : cases) {
    const Result answer = ask(c, {});
    EXPECT_SAYS(answer.not_delivered, "too sharp for");
    EXPECT_SAYS(answer.not_delivered, "more modes");
    EXPECT_TRUE(answer.values["order_parameter"].is_null());
  }
  const Result enough =
      ask({.start = StartLaw::vmf, .concentration = {1e6}, .time = 0, .modes = 8192}, {});
  EXPECT_TRUE(enough.not_delivered.empty());
  EXPECT_GT(value(enough, "smallest_density"), -1e-9);
  // Equal angles may all miss a sharp start; equal weights do not.
  const Result labels = ask({.dynamics = Rule::unnormalised,
                             .start = StartLaw::vmf,
                             .concentration = {1e5},
                             .time = 0,
                             .form = DensityForm::labels,
                             .modes = 64},
                            {});
  EXPECT_TRUE(labels.not_delivered.empty()) << labels.not_delivered;
  EXPECT_NEAR(value(labels, "order_parameter"), 1, 1e-5);
}

TEST(MeanfieldExperiment, OnlyUnnormalisedAttentionHasAFreeEnergy) {
  const Result softmax = ask({.noise = 0.1, .time = 0.1}, {});
  EXPECT_TRUE(softmax.values["free_energy"].is_null());
  ASSERT_EQ(softmax.remarks.size(), 1U);
  EXPECT_SAYS(softmax.remarks[0], "no free energy");
  const Result labels = ask(
      {.dynamics = Rule::unnormalised, .beta = 1, .time = 0.1, .form = DensityForm::labels}, {});
  EXPECT_EQ(value(labels, "free_energy"), -value(labels, "energy"));  // without noise
}

TEST(MeanfieldExperiment, StartsWithModesBeyondTheFirstTry) {
  for (const std::uint64_t dim : {2U, 3U}) {
    const Result answer = ask(
        {.dim = dim, .beta = 1000, .mode = 60, .amplitude = 1e-4, .time = 0.1, .outputs = 2}, {});
    EXPECT_NEAR(value(answer, "growth_measured") / value(answer, "growth_linear"), 1, 1e-3) << dim;
    const Result cut = ask({.dim = dim, .mode = 60, .modes = 32}, {});
    EXPECT_FALSE(cut.not_delivered.empty()) << dim;
    EXPECT_TRUE(cut.values["order_parameter"].is_null()) << dim;
  }
}

TEST(MeanfieldExperiment, RefusesWordsThatDoNotGoTogether) {
  const std::pair<MeanfieldSetup, const char*> cases[] = {
      {{.dim = 3, .start = StartLaw::map}, "circle"},
      {{.start = StartLaw::tokens}, "tokens-file"},
      {{.start = StartLaw::tokens, .form = DensityForm::spectral}, "labels"},
      {{.noise = 0.1, .form = DensityForm::labels}, "noise"},
      {{.noise = 0.1, .compare_particles = {10}}, "noise"},
      {{.compare_particles = {10.5}}, "whole"},
      {{.compare_particles = {1}}, "compare-particles"},
      {{.dim = 5, .symmetry = Symmetry::none}, "dim = 5"},
      {{.dim = 3, .start = StartLaw::vmf, .centres = {1, 0}}, "centres"},
      {{.start = StartLaw::vmf, .concentration = {1, 2}}, "concentration"},
      {{.start = StartLaw::vmf, .concentration = {-1}}, "concentration"},
      {{.start = StartLaw::vmf, .centres = {0, 1}, .symmetry = Symmetry::zonal}, "axis"},
      {{.start = StartLaw::map, .amplitude = 1}, "amplitude"},
      {{.modes = 1}, "modes"},
      {{.form = DensityForm::labels, .modes = 2}, "16 to"},
      {{.mode = 30, .form = DensityForm::labels, .modes = 64}, "120 to"},
      {{.dim = 3, .symmetry = Symmetry::none, .modes = 4}, "8 to 100"},
      {{.dim = 3, .symmetry = Symmetry::none, .modes = 100'000}, "8 to 100"},
      {{.order = 0.5}, "wrapped-cauchy"},
      {{.tokens_file = file_called("x.npy")}, "start tokens"},
      {{.replicates = 7}, "compare-particles"},
      {{.start = StartLaw::vmf, .mode = 3}, "start perturbed"},
      {{.start = StartLaw::vmf, .amplitude = 0.3}, "start perturbed"},
      {{.concentration = {3}}, "start vmf"},
      {{.centres = {3}}, "start vmf"},
      {{.weights = {3}}, "start vmf"},
      {{.dim = 3, .compare_particles = {100000}}, "2 to 31622"},
  };
  for (const auto& [parameters, word] : cases) {
    try {
      ask(parameters, {});
      ADD_FAILURE() << "accepted, though " << word;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find(word), std::string::npos) << error.what();
    }
  }
}

TEST(MeanfieldExperiment, TellsTheSmallestDensityInAnyDimensionOrNone) {
  for (const std::uint64_t dim : {3U, 30U, 1000U, 10'000U}) {
    const Result start = ask({.dim = dim, .time = 0}, {});
    EXPECT_NEAR(value(start, "smallest_density"), 0.9, 1e-12) << dim;
    const Result bump =
        ask({.dim = dim, .start = StartLaw::vmf, .concentration = {1}, .time = 0}, {});
    const double mean = meanfield::sphere_spectrum(dim, 1, 2).lambda0();  // of e^{t}
    EXPECT_NEAR(value(bump, "smallest_density"), std::exp(-1) / mean, 1e-10) << dim;
    const Result later = ask({.dim = dim}, {});
    const double smallest = value(later, "smallest_density");
    if (dim > 30) {
      EXPECT_TRUE(std::isnan(smallest)) << dim;
      EXPECT_EQ(later.remarks.size(), 1U) << dim;
    } else {
      // More of them would be lost to rounding at the poles of dimension 30.
      const Result other = ask({.dim = dim, .tolerance = 1e-13, .modes = 24}, {});
      EXPECT_NEAR(smallest, value(other, "smallest_density"), 1e-5) << dim;
      EXPECT_GT(smallest, 0) << dim;
    }
  }
}

TEST(MeanfieldExperiment, GivesUpWhereTheEndIsOutOfReach) {
  const Result labels = ask(
      {.dynamics = Rule::unnormalised, .beta = 100, .form = DensityForm::labels, .modes = 128}, {});
  EXPECT_SAYS(labels.not_delivered, "2.69e+43 of them");
  EXPECT_SAYS(labels.not_delivered, "shorten time");
  EXPECT_TRUE(labels.values["order_parameter"].is_null());
  const Result spectral = ask({.dynamics = Rule::unnormalised, .beta = 1000}, {});
  EXPECT_SAYS(spectral.not_delivered, "natural units e^-beta; time = 1 is 10^434 of them");
}

TEST(MeanfieldExperiment, StopsBetweenReplicates) {
  std::atomic<int> asked = 0;
  const Result answer = ask({.compare_particles = {100000}, .replicates = 10'000},
                            {.stop = [&] { return ++asked > 5000; }});
  EXPECT_SAYS(answer.interrupted, "at t = ");
}

TEST(MeanfieldExperiment, StopsWhenAsked) {
  const Result answer = ask({.time = 100}, {.stop = [] { return true; }});
  EXPECT_SAYS(answer.interrupted, "at t = ");
}

TEST(MeanfieldExperiment, MovesGivenTokens) {
  const Array file{.shape = {2, 2}, .data = {1, 0, std::cos(2.0), std::sin(2.0)}};
  const Result answer =
      ask({.beta = 0, .start = StartLaw::tokens, .tokens_file = file, .time = 1.5}, {});
  EXPECT_NEAR(value(answer, "order_parameter"), std::cos(0.6689000994797 / 2), 1e-10);
  EXPECT_LT(value(answer, "order_error"), 1e-8);  // of the steps; tokens are what they are
  EXPECT_TRUE(answer.values["density_error"].is_null());
  EXPECT_THROW(ask({.dim = 3, .start = StartLaw::tokens, .tokens_file = file}, {}), Error);
}

class MeanfieldPage : public PageTest {};

TEST_F(MeanfieldPage, ShowsItsFigures) {
  const Result answer = ask({.dynamics = Rule::unnormalised,
                             .beta = 2,
                             .time = 0.2,
                             .outputs = 5,
                             .compare_particles = {20, 80},
                             .replicates = 4},
                            {});
  const std::vector<PageFigure> figures = answer.draw();
  ASSERT_EQ(figures.size(), 5U);
  for (const PageFigure& f : figures) {
    EXPECT_FALSE(f.caption.empty());
    for (const report::Panel& panel : f.figure.panels) {
      EXPECT_FALSE(panel.x.label.empty());
      EXPECT_FALSE(panel.y.label.empty());
    }
  }
  MeanfieldSetup now, usual;
  const std::string page = written([&] {
    write_result(answer, {"attractor meanfield", list(now), list(usual)}, 0, directory_);
  });
  EXPECT_TRUE(has(page, "order parameter"));
}

}  // namespace
}  // namespace attractor::lab
