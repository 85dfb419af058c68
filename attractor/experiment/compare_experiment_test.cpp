#include "attractor/experiment/compare_experiment.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/report/hdf5.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::experiment {
namespace {

class CompareTest : public PageTest {
 protected:
  std::string run(const std::string& name, const std::vector<double>& angles,
                  const std::vector<double>& log10_time) {
    Hdf5Writer file;
    file.attribute("/", "command", std::string_view("attractor flow"));
    std::vector<double> positions;
    for (std::size_t k = 0; k < log10_time.size(); ++k)
      for (const double angle : angles) {
        positions.push_back(std::cos(angle));
        positions.push_back(std::sin(angle));
      }
    file.dataset("/snapshots/positions", positions, {log10_time.size(), angles.size(), 2});
    file.dataset("/snapshots/log10_time", log10_time, {log10_time.size()});
    file.commit(directory_ / name);
    return (directory_ / name).string();
  }
};

TEST_F(CompareTest, TurnedTokensAreAsFarAsTheyWereTurned) {
  const double turn = 0.3;
  const std::string a = run("a.h5", {0, 1, 2}, {-INFINITY, 0, 1});
  const std::string b = run("b.h5", {turn, 1 + turn, 2 + turn}, {-INFINITY, 1, 2});
  const Answer answer = ask({.first = a, .second = b}, {});
  ASSERT_EQ(answer.tables[0].rows.size(), 2U);  // t = 0 and t = 10
  EXPECT_EQ(answer.tables[0].rows[0][0], 0);
  const std::vector<double>& row = answer.tables[0].rows[1];
  EXPECT_EQ(row[0], 10);
  EXPECT_NEAR(row[2], 2 * std::sin(turn / 2), 1e-15);
  EXPECT_NEAR(row[3], 2 * std::sin(turn / 2), 1e-15);
  EXPECT_NEAR(row[5], turn, 1e-14);
}

// As sets they are equal, token by token they are not.
TEST_F(CompareTest, PermutedTokensAreEqualAsSets) {
  const std::string a = run("a.h5", {0, 1, 2}, {0}), b = run("b.h5", {1, 2, 0}, {0});
  const Answer answer = ask({.first = a, .second = b}, {});
  EXPECT_NEAR(answer.values["wasserstein"].get<double>(), 0, 1e-15);
  EXPECT_NEAR(answer.values["distance_of_means"].get<double>(), 0, 1e-15);
  EXPECT_NEAR(answer.values["mean_distance"].get<double>(),
              (4 * std::sin(0.5) + 2 * std::sin(1)) / 3, 1e-14);
}

TEST_F(CompareTest, RefusesRunsThatDoNotFit) {
  const std::string a = run("a.h5", {0, 1, 2}, {0}), b = run("b.h5", {1, 2}, {0}),
                    late = run("c.h5", {0, 1, 2}, {3});
  EXPECT_SAYS(refusal([&] { ask({.first = a, .second = b}, {}); }), "equal numbers are needed");
  EXPECT_SAYS(refusal([&] { ask({.first = a, .second = late}, {}); }), "same time");
  EXPECT_SAYS(refusal([&] { ask({.first = a}, {}); }), "second run is missing");
  EXPECT_SAYS(refusal([&] { ask({.first = a, .second = "/nonexistent"}, {}); }), "/nonexistent");
}

}  // namespace
}  // namespace attractor::experiment
