// The answer of `attractor cluster`: what it says, what it hands out, what it refuses.
#include "attractor/commands/cluster_experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/files/load_inputs.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

class ClusterTest : public testing::Test {
 protected:
  /// Two clouds of 60 and 30 points, 10 apart along the first axis; `bad` replaces one entry.
  static ArrayInput clouds(std::size_t dim, double bad = 0) {
    const Stream stream(1, "cluster test");
    Array points{{90, dim}, std::vector<double>(90 * dim)};
    for (std::size_t k = 0; k < points.data.size(); ++k) points.data[k] = stream.normal(k, 0);
    for (std::size_t i = 60; i < 90; ++i) points.data[i * dim] += 10;
    if (bad != 0) points.data[7 * dim + 1] = bad;
    return called("points.npy", std::move(points));
  }

  static ArrayInput called(const std::string& name, Array points) {
    ArrayInput input(std::move(points));
    input.name = name;
    return input;
  }

  /// What the answer has for a file of this name.
  static Array output(const Result& answer, const std::string& file) {
    for (const Output& one : answer.outputs)
      if (one.file == file) return one.array;
    ADD_FAILURE() << file << " is not among the outputs";
    return {};
  }

  static Result asked(const ClusterSetup& p) { return ask(p, {}); }
};

TEST_F(ClusterTest, FindsTwoCloudsAndHandsThemOut) {
  const ClusterSetup p{
      .points = clouds(3), .bandwidth = 1.5, .labels_out = "labels.npy", .modes_out = "modes.npy"};
  const Result answer = asked(p);
  EXPECT_EQ(answer.values["clusters"], 2);
  EXPECT_EQ(answer.values["sizes"], (std::vector<int>{60, 30}));
  EXPECT_EQ(answer.values["points"], 90);
  EXPECT_EQ(answer.values["dim"], 3);
  EXPECT_EQ(answer.values["seeds"], 90);
  EXPECT_EQ(answer.values["converged"], true);
  EXPECT_GT(answer.values["iterations"], 2);
  EXPECT_NEAR(answer.values["beta"].get<double>(), 1 / 2.25, 1e-15);
  EXPECT_EQ(answer.not_delivered, "");
  EXPECT_TRUE(answer.remarks.empty());
  const Array labels = output(answer, "labels.npy"), modes = output(answer, "modes.npy");
  ASSERT_EQ(labels.shape, std::vector<std::size_t>{90});
  for (std::size_t i = 0; i < 90; ++i) EXPECT_EQ(labels.data[i], i < 60 ? 0 : 1);
  ASSERT_EQ(modes.shape, (std::vector<std::size_t>{2, 3}));
  EXPECT_NEAR(modes.data[0], 0, 0.5);
  EXPECT_NEAR(modes.data[3], 10, 0.6);
  ASSERT_EQ(answer.tables.size(), 2u);
  EXPECT_EQ(answer.tables[0].name, "modes");
  EXPECT_EQ(answer.tables[0].rows[1][0], 30);
  EXPECT_EQ(answer.tables[1].rows[1],
            std::vector<double>(modes.data.begin() + 3, modes.data.end()));
  EXPECT_TRUE(answer.tables[1].only_data);
}

TEST_F(ClusterTest, BetaAndBandwidthSayTheSame) {
  const ArrayInput points = clouds(2);
  const Result a = asked({.points = points, .bandwidth = 0.5});
  const Result b = asked({.points = points, .beta = 4});
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(asked({.points = points}).values["clusters"], 2);
}

TEST_F(ClusterTest, OnTheSphereRowsAreDirections) {
  const ArrayInput points = clouds(4);
  const ClusterSetup p{
      .points = points, .space = PointSpace::sphere, .beta = 3, .modes_out = "modes.npy"};
  const Result answer = asked(p);
  const Array modes = output(answer, "modes.npy");
  EXPECT_GE(answer.values["clusters"], 1);
  for (std::size_t m = 0; m < modes.shape[0]; ++m) {
    double squares = 0;
    for (std::size_t a = 0; a < 4; ++a) squares += std::pow(modes.data[4 * m + a], 2);
    EXPECT_NEAR(squares, 1, 1e-14);
  }
}

TEST_F(ClusterTest, FiguresForEveryDimension) {
  for (const std::size_t dim : {2, 3, 6}) {
    const Result answer = asked({.points = clouds(dim), .bandwidth = 1.2});
    const auto figures = answer.draw();
    ASSERT_EQ(figures.size(), 2u);
    for (const PageFigure& figure : figures) {
      EXPECT_FALSE(figure.caption.empty());
      EXPECT_FALSE(figure.figure.panels[0].x.label.empty());
      EXPECT_FALSE(figure.figure.panels[0].y.label.empty());
    }
    const auto& series = figures[0].figure.panels[0].series;
    EXPECT_EQ(series[0].x.size(), 90u);
    EXPECT_EQ(series[0].colours.size(), 90u);
    EXPECT_EQ(series[2].x.size(), answer.values["clusters"].get<std::size_t>());
    EXPECT_EQ(figures[1].figure.panels[0].series[0].y[0], answer.values["sizes"][0]);
  }
}

TEST_F(ClusterTest, SaysWhatTheReaderMustKnow) {
  const ArrayInput points = clouds(2);
  EXPECT_SAYS(asked({.points = points, .bandwidth = 1, .seeds = 10}).remarks.at(0),
              "10 of 90 points climbed");
  EXPECT_SAYS(asked({.points = points, .bandwidth = 1e-3}).remarks.at(0), "modes of their own");
  const Result few = asked({.points = points, .bandwidth = 1, .iterations = 1});
  EXPECT_EQ(few.values["converged"], false);
  EXPECT_SAYS(few.not_delivered, "had not arrived after 1 iterations");
}

TEST_F(ClusterTest, RefusesWhatItCannotDo) {
  const ArrayInput points = clouds(2);
  const auto refused = [](const ClusterSetup& p) { return refusal([&] { asked(p); }); };
  const auto word = [](const char* name, const char* text) {
    ClusterSetup p;
    return refusal([&] { find(list(p), name).set(text); });
  };
  EXPECT_SAYS(refused({}), "points is empty");
  ClusterSetup missing;
  missing.points.name = "none.npy";
  EXPECT_SAYS(refused(missing), "none.npy was named, but not loaded");
  EXPECT_SAYS(refusal([&] { load_inputs(list(missing), ""); }), "none.npy: no such file");
  EXPECT_SAYS(refused({.points = points, .bandwidth = 0}), "bandwidth = '0' is not allowed");
  EXPECT_SAYS(word("bandwidth", "wide"), "bandwidth = 'wide' is not allowed; allowed: auto, or");
  EXPECT_SAYS(refused({.points = points, .beta = -1}), "beta = '-1' is not allowed");
  EXPECT_SAYS(refused({.points = points, .bandwidth = 1, .beta = 1}), "give one of them");
  EXPECT_SAYS(refused({.points = points, .seeds = 0}), "seeds = '0' is not allowed");
  EXPECT_SAYS(word("seeds", "2.5"), "seeds = '2.5' is not allowed; allowed: all, or whole number");
  EXPECT_SAYS(refused({.points = clouds(2, NAN)}), "row 7, column 1");
  EXPECT_SAYS(refused({.points = clouds(2, 1e200), .bandwidth = 1}), "point 7");
  const Array same{{20, 2}, std::vector<double>(40, 1.0)};
  EXPECT_SAYS(refused({.points = called("same.npy", same)}),
              "same.npy: the points that were looked at coincide, or nearly; give a bandwidth");
}

TEST_F(ClusterTest, NothingIsHandedOutWhenStopped) {
  const ClusterSetup p{.points = clouds(2), .bandwidth = 1, .labels_out = "labels.npy"};
  int asked_for = 0;
  const Result answer = ask(p, {.stop = [&] { return ++asked_for > 2; }});
  EXPECT_EQ(answer.values["converged"], false);
  EXPECT_TRUE(answer.outputs.empty());
}

}  // namespace
}  // namespace attractor::lab
