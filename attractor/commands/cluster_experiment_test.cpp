// The answer of `attractor cluster`: what it says, what it writes, what it refuses.
#include "attractor/commands/cluster_experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "attractor/base/random.hpp"
#include "attractor/files/npy.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

class ClusterTest : public PageTest {
 protected:
  std::string at(const std::string& name) const { return (directory_ / name).string(); }

  /// Two clouds of 60 and 30 points, 10 apart along the first axis; `bad` replaces one entry.
  std::string clouds(std::size_t dim, double bad = 0) {
    const Stream stream(1, "cluster test");
    Array points{{90, dim}, std::vector<double>(90 * dim)};
    for (std::size_t k = 0; k < points.data.size(); ++k) points.data[k] = stream.normal(k, 0);
    for (std::size_t i = 60; i < 90; ++i) points.data[i * dim] += 10;
    if (bad != 0) points.data[7 * dim + 1] = bad;
    write_npy(at("points.npy"), points);
    return at("points.npy");
  }

  static Result asked(const ClusterSetup& p) { return ask(p, {}); }
};

TEST_F(ClusterTest, FindsTwoCloudsAndWritesThem) {
  const ClusterSetup p{.points = clouds(3),
                            .bandwidth = 1.5,
                            .labels_out = at("labels.npy"),
                            .modes_out = at("modes.npy")};
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
  const Array labels = read_npy(at("labels.npy")), modes = read_npy(at("modes.npy"));
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
  const std::string points = clouds(2);
  const Result a = asked({.points = points, .bandwidth = 0.5});
  const Result b = asked({.points = points, .beta = "4"});
  EXPECT_EQ(a.values, b.values);
  EXPECT_EQ(asked({.points = points}).values["clusters"], 2);
}

TEST_F(ClusterTest, OnTheSphereRowsAreDirections) {
  const std::string points = clouds(4);
  const ClusterSetup p{
      .points = points, .space = depth::Geometry::sphere, .beta = "3", .modes_out = at("modes.npy")};
  const Result answer = asked(p);
  const Array modes = read_npy(at("modes.npy"));
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
  const std::string points = clouds(2);
  EXPECT_SAYS(asked({.points = points, .bandwidth = 1, .seeds = 10}).remarks.at(0),
              "10 of 90 points climbed");
  EXPECT_SAYS(asked({.points = points, .bandwidth = 1e-3}).remarks.at(0), "modes of their own");
  const Result few = asked({.points = points, .bandwidth = 1, .iterations = 1});
  EXPECT_EQ(few.values["converged"], false);
  EXPECT_SAYS(few.not_delivered, "had not arrived after 1 iterations");
}

TEST_F(ClusterTest, RefusesWhatItCannotDo) {
  const std::string points = clouds(2);
  const auto refused = [](const ClusterSetup& p) { return refusal([&] { asked(p); }); };
  EXPECT_SAYS(refused({}), "points is empty");
  EXPECT_SAYS(refused({.points = at("none.npy")}), "no such file");
  EXPECT_SAYS(refused({.points = points, .bandwidth = 0}), "bandwidth = '0' is not allowed");
  EXPECT_SAYS(refused({.points = points, .bandwidth = wide}), "or auto");
  EXPECT_SAYS(refused({.points = points, .beta = "-1"}), "beta = '-1' is not allowed");
  EXPECT_SAYS(refused({.points = points, .bandwidth = 1, .beta = "1"}), "give one of them");
  EXPECT_SAYS(refused({.points = points, .seeds = 0}), "seeds = '0' is not allowed");
  EXPECT_SAYS(refused({.points = points, .seeds = 2.5}), "whole number");
  EXPECT_SAYS(refused({.points = points, .labels_out = at("")}), "directory");
  EXPECT_SAYS(refused({.points = points, .labels_out = at("no/where.npy")}), "no/where.npy");
  EXPECT_SAYS(refused({.points = points, .labels_out = points}), "another file of this run");
  EXPECT_SAYS(refused({.points = points, .labels_out = at("a"), .modes_out = at("a")}),
              "another file of this run");
  EXPECT_FALSE(fs::exists(at("a")));
  EXPECT_SAYS(refused({.points = clouds(2, NAN)}), "row 7, column 1");
  EXPECT_SAYS(refused({.points = clouds(2, 1e200), .bandwidth = 1}), "point 7");
  write_npy(at("same.npy"), {{20, 2}, std::vector<double>(40, 1.0)});
  EXPECT_SAYS(refused({.points = at("same.npy")}), "coincide, or nearly; give --bandwidth");
}

TEST_F(ClusterTest, NothingIsWrittenWhenStopped) {
  const ClusterSetup p{.points = clouds(2), .bandwidth = 1, .labels_out = at("labels.npy")};
  int asked_for = 0;
  const Result answer = ask(p, {.stop = [&] { return ++asked_for > 2; }});
  EXPECT_EQ(answer.values["converged"], false);
  EXPECT_FALSE(fs::exists(at("labels.npy")));
}

}  // namespace
}  // namespace attractor::lab
