#include "attractor/commands/compare_experiment.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "attractor/base/file.hpp"
#include "attractor/files/arrays/hdf5.hpp"
#include "attractor/files/load_inputs.hpp"
#include "tests/support/page_test.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

class CompareTest : public PageTest {
 protected:
  std::string file(const std::string& name, const std::vector<double>& positions,
                   const std::vector<std::size_t>& shape, const std::vector<double>& log10_time,
                   const std::vector<double>& lengths = {}) {
    Hdf5Writer out;
    out.attribute("/", "command", std::string_view("attractor flow"));
    out.dataset("/snapshots/positions", positions, shape);
    out.dataset("/snapshots/log10_time", log10_time, {log10_time.size()});
    if (!lengths.empty()) out.dataset("/snapshots/norms", lengths, {1, lengths.size()});
    out.commit(directory_ / name);
    return (directory_ / name).string();
  }

  static Result asked(const std::string& first, const std::string& second) {
    CompareSetup p;
    p.first.name = first;
    p.second.name = second;
    load_inputs(list(p), "");
    return ask(p, {});
  }

  std::string run(const std::string& name, const std::vector<double>& angles,
                  const std::vector<double>& log10_time, const std::vector<double>& lengths = {}) {
    std::vector<double> positions;
    for (std::size_t k = 0; k < log10_time.size(); ++k)
      for (const double angle : angles) {
        positions.push_back(std::cos(angle));
        positions.push_back(std::sin(angle));
      }
    return file(name, positions, {log10_time.size(), angles.size(), 2}, log10_time, lengths);
  }
};

TEST_F(CompareTest, TurnedTokensAreAsFarAsTheyWereTurned) {
  const double turn = 0.3;
  const std::string a = run("a.h5", {0, 1, 2}, {-INFINITY, 0, 1});
  const std::string b = run("b.h5", {turn, 1 + turn, 2 + turn}, {-INFINITY, 1, 2});
  const Result answer = asked(a, b);
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
  const Result answer = asked(a, b);
  EXPECT_NEAR(answer.values["wasserstein"].get<double>(), 0, 1e-15);
  EXPECT_NEAR(answer.values["distance_of_means"].get<double>(), 0, 1e-15);
  EXPECT_NEAR(answer.values["mean_distance"].get<double>(),
              (4 * std::sin(0.5) + 2 * std::sin(1)) / 3, 1e-14);
}

// One number that is none, anywhere: refused with the file, the token and the snapshot.
TEST_F(CompareTest, RefusesPositionsThatAreNotFinite) {
  const std::string good = run("good.h5", {0, 1, 2}, {0, 1});
  for (const double wrong : {double(NAN), double(INFINITY), -double(INFINITY)})
    for (const std::size_t at : {0, 3, 11}) {
      std::vector<double> positions(12, 0.5);
      positions[at] = wrong;
      const std::string bad = file("bad.h5", positions, {2, 3, 2}, {0, 1});
      const std::string place = fmt::format(
          "bad.h5 holds the position {} of token {} in snapshot {}", wrong, at / 2 % 3, at / 6);
      EXPECT_SAYS(refusal([&] { asked(good, bad); }), place);
      EXPECT_SAYS(refusal([&] { asked(bad, good); }), place);
      EXPECT_SAYS(refusal([&] { asked(bad, bad); }), place);
    }
}

TEST_F(CompareTest, RefusesTimesThatAreNone) {
  const std::vector<double> positions(12, 0.5);
  for (const std::vector<double>& times : {std::vector<double>{0, NAN}, {0, INFINITY}, {NAN, NAN}})
    EXPECT_SAYS(refusal([&] {
                  const std::string bad = file("bad.h5", positions, {2, 3, 2}, times);
                  asked(bad, bad);
                }),
                "log10_time");
  const std::string turned = file("turned.h5", positions, {2, 3, 2}, {1, 0});
  EXPECT_SAYS(refusal([&] { asked(turned, turned); }), "order of time");
  const std::string cut = file("cut.h5", positions, {2, 3, 2}, {0});
  EXPECT_SAYS(refusal([&] { asked(cut, cut); }), "1 times for 2 snapshots");
}

TEST_F(CompareTest, RefusesWhatIsNoSetOfSnapshots) {
  const std::string good = run("good.h5", {0, 1, 2}, {0, 1});
  const std::string flat = file("flat.h5", std::vector<double>(12, 0.5), {6, 2}, {0, 1});
  EXPECT_SAYS(refusal([&] { asked(good, flat); }), "no snapshots of tokens");
  const std::string none = file("none.h5", {}, {0, 3, 2}, {});
  EXPECT_SAYS(refusal([&] { asked(none, good); }), "no snapshots of tokens");
  Hdf5Writer other;
  other.dataset("/path/radius", std::vector<double>{1}, {1});
  other.commit(directory_ / "select.h5");
  EXPECT_SAYS(refusal([&] { asked(good, (directory_ / "select.h5").string()); }),
              "two runs of flow with their results are needed");
  const std::string whole = read_file(good, 1 << 20);
  for (const std::size_t size : {whole.size() / 3, whole.size() - 40}) {
    write_file(directory_ / "short.h5", std::string_view(whole).substr(0, size));
    EXPECT_SAYS(refusal([&] { asked(good, (directory_ / "short.h5").string()); }), "short.h5");
  }
}

// Tokens that have lengths are compared with them; lengths that are none are refused.
TEST_F(CompareTest, LengthsCount) {
  const std::string a = run("a.h5", {0, 1}, {0}, {1, 2}), b = run("b.h5", {0, 1}, {0}, {1, 5});
  EXPECT_NEAR(asked(a, b).values["largest_distance"].get<double>(), 3, 1e-15);
  const std::string unit = run("unit.h5", {0, 1}, {0});
  const Result mixed = asked(a, unit);
  EXPECT_EQ(mixed.values["largest_distance"].get<double>(), 0);
  ASSERT_EQ(mixed.remarks.size(), 1U);
  EXPECT_SAYS(mixed.remarks[0], "directions");
  for (const double wrong : {double(NAN), double(INFINITY), -1.0}) {
    const std::string bad = run("bad.h5", {0, 1}, {0}, {1, wrong});
    EXPECT_SAYS(refusal([&] { asked(a, bad); }), "bad.h5 holds the length");
  }
  const std::string few = run("few.h5", {0, 1}, {0}, {1});
  EXPECT_SAYS(refusal([&] { asked(few, a); }), "lengths of other tokens");
}

TEST_F(CompareTest, SaysWhenDistancesOverflow) {
  const std::string far = file("far.h5", {1e200, 0, -1e200, 0}, {1, 2, 2}, {0});
  const std::string near = run("near.h5", {0, 1}, {0});
  EXPECT_SAYS(asked(far, near).not_delivered, "double precision");
}

TEST_F(CompareTest, RefusesRunsThatDoNotFit) {
  const std::string a = run("a.h5", {0, 1, 2}, {0}), b = run("b.h5", {1, 2}, {0}),
                    late = run("c.h5", {0, 1, 2}, {3});
  EXPECT_SAYS(refusal([&] { asked(a, b); }), "equal numbers are needed");
  EXPECT_SAYS(refusal([&] { asked(a, late); }), "same time");
  EXPECT_SAYS(refusal([&] { asked(a, ""); }), "second run is missing");
  EXPECT_SAYS(refusal([&] { asked(a, "/nonexistent"); }), "/nonexistent");
}

}  // namespace
}  // namespace attractor::lab
