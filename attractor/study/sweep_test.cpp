// Journals, schedules, measures and the sweep itself.
#include "attractor/study/sweep.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "attractor/base/error.hpp"
#include "attractor/base/file.hpp"
#include "attractor/base/threads.hpp"
#include "attractor/drawing/page_file.hpp"
#include "attractor/files/arrays/npy.hpp"
#include "attractor/study/measure.hpp"
#include "attractor/study/sweep_result.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

namespace fs = std::filesystem;

class SweepTest : public testing::Test {
 protected:
  SweepTest()
      : directory_(fs::temp_directory_path() /
                   ("sweep_" + std::to_string(::getpid()) + "_" +
                    testing::UnitTest::GetInstance()->current_test_info()->name())) {
    fs::create_directories(directory_);
  }
  ~SweepTest() override { fs::remove_all(directory_); }
  fs::path directory_;
};

UnitResult made_up(std::size_t unit, double value) {
  return {.unit = unit, .measures = {{"x", {value}}, {"list", {1, value, 0.1}}}};
}

TEST_F(SweepTest, AJournalGivesBackExactNumbers) {
  const double odd = 0.1 + 0.2, none = std::numeric_limits<double>::quiet_NaN();
  {
    Journal journal(directory_, "a");
    journal.append(made_up(3, odd));
    journal.append({.unit = 1, .failure = "a \"reason\"\n"});
    journal.append(made_up(0, none));
  }
  const auto units = read_journals(directory_, 4);
  ASSERT_EQ(units.size(), 3U);
  EXPECT_EQ(units.at(3).measures.at("x")[0], odd);
  EXPECT_EQ(units.at(3).measures.at("list"), (std::vector<double>{1, odd, 0.1}));
  EXPECT_TRUE(std::isnan(units.at(0).measures.at("x")[0]));
  EXPECT_EQ(units.at(1).failure, "a \"reason\"\n");
  EXPECT_NE(refusal([&] { read_journals(directory_, 3); }).find("another study"),
            std::string::npos);
}

// Cut at every byte: only whole lines survive, and writing goes on after them.
TEST_F(SweepTest, AHalfLineIsLost) {
  const std::string first = journal_line(made_up(0, 1)), second = journal_line(made_up(1, 2));
  const std::string content = first + "\n" + second + "\n";
  for (std::size_t cut = 0; cut <= content.size(); ++cut) {
    fs::remove_all(directory_ / "units");
    fs::create_directories(directory_ / "units");
    std::ofstream(directory_ / "units" / "a.jsonl", std::ios::binary) << content.substr(0, cut);
    const std::size_t whole = cut > first.size() ? (cut == content.size() ? 2 : 1) : 0;
    EXPECT_EQ(read_journals(directory_, 9).size(), whole) << cut;
    { Journal(directory_, "a").append(made_up(5, 3)); }
    const auto units = read_journals(directory_, 9);
    EXPECT_EQ(units.size(), whole + 1) << cut;
    EXPECT_TRUE(units.contains(5)) << cut;
  }
}

TEST_F(SweepTest, ADamagedLineIsNotBelieved) {
  std::string line = journal_line(made_up(0, 1));
  UnitResult result;
  EXPECT_TRUE(parse_journal_line(line, result));
  for (std::size_t k = 0; k < line.size(); ++k) {
    std::string damaged = line;
    damaged[k] = static_cast<char>(damaged[k] ^ 1);
    EXPECT_FALSE(parse_journal_line(damaged, result)) << k;
  }
}

TEST(MeasureTest, FollowsPaths) {
  const Json json = Json::parse(
      R"({"a": 1.5, "flag": true, "none": null, "list": [1, 2], "word": "x",
          "inner": {"b": 3}, "table": [{"c": 1}, {"c": 4}], "wall_seconds": 3})");
  EXPECT_EQ(measure(json, "a"), std::vector<double>{1.5});
  EXPECT_EQ(measure(json, "flag"), std::vector<double>{1});
  EXPECT_TRUE(std::isnan(measure(json, "none")[0]));
  EXPECT_EQ(measure(json, "list"), (std::vector<double>{1, 2}));
  EXPECT_EQ(measure(json, "inner.b"), std::vector<double>{3});
  EXPECT_EQ(measure(json, "table.c"), (std::vector<double>{1, 4}));
  EXPECT_EQ(plain_measures(json), (std::vector<std::string>{"a", "flag", "none"}));
  EXPECT_NE(refusal([&] { measure(json, "inner.z"); }).find("no 'z'"), std::string::npos);
  EXPECT_NE(refusal([&] { measure(json, "word"); }).find("is no number"), std::string::npos);
}

// For 2 degrees of freedom Student's quantile is (2p - 1) sqrt(2 / (4p (1 - p))).
TEST(IntervalTest, IsStudents) {
  const Interval i = interval({1, 2, std::nan(""), 6});
  EXPECT_EQ(i.count, 3U);
  EXPECT_DOUBLE_EQ(i.mean, 3);
  EXPECT_NEAR(i.deviation, std::sqrt(7.0), 1e-15);
  EXPECT_NEAR(i.half_width, 0.95 * std::sqrt(2 / 0.0975) * std::sqrt(7.0 / 3), 1e-12);
  EXPECT_TRUE(std::isnan(interval({1}).half_width));
  EXPECT_TRUE(std::isnan(interval({}).mean));
}

Study stopping_study() {
  return parse_study(R"(
replicates = 12
measure = ["x"]
[grid]
beta = [1, 2]
[stop]
measure = "x"
half_width = 0.5
round = 4
)",
                     "s");
}

/// All units in the order a schedule gives them to `workers` that finish last-in first-out.
std::set<std::size_t> played(const Study& study, std::size_t workers,
                             double (*value)(std::size_t)) {
  Schedule schedule(study, {}, {});
  std::vector<std::size_t> flying;
  std::set<std::size_t> done;
  while (!schedule.done()) {
    while (flying.size() < workers)
      if (const auto unit = schedule.next())
        flying.push_back(*unit);
      else
        break;
    EXPECT_FALSE(flying.empty());
    if (flying.empty()) break;
    schedule.finished(made_up(flying.back(), value(flying.back())));
    EXPECT_TRUE(done.insert(flying.back()).second);
    flying.pop_back();
  }
  EXPECT_TRUE(flying.empty());
  return done;
}

// Point 0 is quiet and stops after one round, point 1 is noisy and needs all.
TEST(ScheduleTest, StopsAPointThatIsKnownWellEnough) {
  const Study study = stopping_study();
  const auto value = [](std::size_t unit) {
    return unit < 12 ? 0.1 * static_cast<double>(unit % 2) : static_cast<double>(unit % 2) * 10;
  };
  const std::set<std::size_t> one = played(study, 1, value);
  EXPECT_EQ(one.size(), 4U + 12U);
  EXPECT_TRUE(one.contains(3) && !one.contains(4));
  for (const std::size_t workers : {2U, 3U, 7U, 100U})
    EXPECT_EQ(played(study, workers, value), one);
}

TEST(ScheduleTest, GoesOnWhereItWas) {
  const Study study = stopping_study();
  std::map<std::size_t, UnitResult> before;
  for (const std::size_t unit : {0U, 1U, 2U, 3U, 13U}) before[unit] = made_up(unit, 0);
  Schedule schedule(study, {}, before);
  EXPECT_EQ(schedule.completed(), 5U);
  std::vector<std::size_t> rest;
  while (const auto unit = schedule.next()) rest.push_back(*unit);
  EXPECT_EQ(rest, (std::vector<std::size_t>{12, 14, 15}));
}

TEST(ScheduleTest, ShardsShareThePoints) {
  const Study study = parse_study("replicates = 3\n[grid]\nbeta = [1, 2, 3, 4, 5]\n", "s");
  std::multiset<std::size_t> all;
  for (std::size_t k = 0; k < 3; ++k) {
    Schedule schedule(study, {k, 3}, {});
    while (const auto unit = schedule.next()) all.insert(*unit);
  }
  EXPECT_EQ(all.size(), 15U);
  for (std::size_t unit = 0; unit < 15; ++unit) EXPECT_EQ(all.count(unit), 1U);
}

const char* const kPairs = R"(
command = "reduce pair"
measure = ["log10_merge_time"]
[grid]
beta = [2, 9, 40]
dynamics = ["sa", "usa"]
)";

/// result.h5 of the finished sweep.
std::string bytes(const Study& study, const fs::path& directory) {
  const auto units = read_journals(directory, study.units());
  write_result(result_of(study, units), {.program = "x", .now = {}, .usual = {}}, 0, directory);
  return read_file(directory / "result.h5", 1 << 24);
}

TEST_F(SweepTest, IsTheSameForAnyNumberOfThreadsAndAfterAnyStop) {
  const Study study = parse_study(R"(
replicates = 3
measure = ["clusters", "mean_cosine", "series.mean_cosine"]
[fixed]
tokens = 12
dim = 2
time = 2
outputs = 3
[grid]
beta = [1, 5]
)",
                                  "s");
  const std::size_t usual = threads();
  set_threads(1);
  ASSERT_TRUE(run_sweep(study, {.directory = directory_ / "one"}));
  set_threads(3);
  ASSERT_TRUE(run_sweep(study, {.directory = directory_ / "three"}));
  int calls = 0, stops = 0;
  bool complete = false;
  for (int patience = 10; patience < 100'000 && !complete; patience += patience / 4) {
    calls = 0;
    complete = run_sweep(study, {.directory = directory_ / "stopped", .workers = 1, .stop = [&] {
                                   return ++calls > patience;
                                 }});
    stops += complete ? 0 : 1;
  }
  set_threads(usual);
  ASSERT_TRUE(complete);
  EXPECT_GT(stops, 5);
  const std::string one = bytes(study, directory_ / "one");
  EXPECT_EQ(one, bytes(study, directory_ / "three"));
  EXPECT_EQ(one, bytes(study, directory_ / "stopped"));
}

TEST_F(SweepTest, StatisticsAreThoseOfTheUnits) {
  const Study study =
      parse_study("replicates = 4\nmeasure = [\"x\", \"list\"]\n[grid]\nbeta = [1, 2]\n", "s");
  std::map<std::size_t, UnitResult> units;
  for (std::size_t u = 0; u < 8; ++u) units[u] = made_up(u, static_cast<double>(u));
  units[6] = {.unit = 6, .failure = "too hot"};
  const SweepRecord record = collect(study, units);
  EXPECT_DOUBLE_EQ(record.points[0].mean.at("x")[0], 1.5);
  EXPECT_DOUBLE_EQ(record.points[1].mean.at("x")[0], 16.0 / 3);
  EXPECT_DOUBLE_EQ(record.points[1].mean.at("list")[1], 16.0 / 3);
  EXPECT_EQ(record.points[1].failed, 1U);
  const Result answer = result_of(study, units);
  EXPECT_EQ(answer.values["failed_count"], 1U);
  EXPECT_NE(answer.remarks.at(0).find("Unit 6 failed: too hot"), std::string::npos);
}

// Every measure is drawn without being asked for: against words too, and lists against their times.
TEST_F(SweepTest, EveryMeasureIsDrawn) {
  const Study study = parse_study(
      "replicates = 2\nmeasure = [\"x\", \"run.list\", \"run.time\"]\n[grid]\n"
      "dynamics = [\"sa\", \"usa\"]\ntokens = [4, 6]\n",
      "s");
  std::map<std::size_t, UnitResult> units;
  for (std::size_t u = 0; u < 8; ++u)
    units[u] = {
        .unit = u,
        .measures = {
            {"x", {static_cast<double>(u)}}, {"run.list", {1, 2, 3}}, {"run.time", {10, 20, 30}}}};
  const std::vector<PageFigure> figures = sweep_figures(study, collect(study, units));
  ASSERT_EQ(figures.size(), 2U);
  const report::Panel &plain = figures[0].figure.panels[0], &lists = figures[1].figure.panels[0];
  EXPECT_EQ(plain.x.names, (std::vector<std::string>{"sa", "usa"}));
  EXPECT_EQ(lists.x.label, "run time");
  EXPECT_EQ(lists.series.size(), 4U);
  EXPECT_EQ(lists.series[0].x, (std::vector<double>{10, 20, 30}));
  EXPECT_EQ(lists.series[0].title, "dynamics sa, tokens 4");
  EXPECT_EQ(result_of(study, units).headline.find("x goes from 0.5"),
            0 + result_of(study, units).title.size() + 2);
}

TEST_F(SweepTest, AMapHasItsCurvesOverIt) {
  const Study study = parse_study(
      "measure = [\"run.list\", \"run.time\", \"x\"]\n[grid]\nbeta = [1, 2, 3]\n[[figure]]\n"
      "x = \"beta\"\ny = \"run.time\"\nz = \"run.list\"\noverlay = [\"x\"]\n",
      "s");
  std::map<std::size_t, UnitResult> units;
  for (std::size_t u = 0; u < 3; ++u)
    units[u] = {.unit = u, .measures = {{"x", {12}}, {"run.list", {1, 2}}, {"run.time", {10, 20}}}};
  const report::Panel panel = sweep_figures(study, collect(study, units))[0].figure.panels[0];
  ASSERT_TRUE(panel.heat);
  EXPECT_EQ(panel.series[0].x, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(panel.series[0].y, (std::vector<double>{12, 12, 12}));
}

TEST(StudyTest, ValuesOfARangeAreWhatWasMeant) {
  const Study study =
      parse_study("[grid]\nbeta = {from = 1, to = 64, count = 7, spacing = \"log\"}\n", "s");
  EXPECT_EQ(study.axes[0].values, (std::vector<std::string>{"1", "2", "4", "8", "16", "32", "64"}));
}

TEST_F(SweepTest, AFailingUnitIsRecordedAndOthersGoOn) {
  // Words of the second axis suit the first parameter only for one of its values.
  const Study study = parse_study(R"(
command = "flow"
measure = ["clusters"]
[fixed]
tokens = 8
dim = 3
time = 1
[grid]
space = ["sphere", "euclidean"]
norm = ["post", "pre"]
)",
                                  "s");
  ASSERT_TRUE(run_sweep(study, {.directory = directory_}));
  const auto units = read_journals(directory_, 4);
  ASSERT_EQ(units.size(), 4U);
  std::size_t failed = 0;
  for (const auto& [unit, result] : units) failed += result.failure.empty() ? 0 : 1;
  EXPECT_GE(failed, 1U);
  EXPECT_LE(failed, 2U);
}

TEST_F(SweepTest, AMeasureThatDoesNotExistIsRefused) {
  const Study study = parse_study("command = \"reduce pair\"\nmeasure = [\"nothing\"]\n", "s");
  EXPECT_NE(refusal([&] { run_sweep(study, {.directory = directory_}); }).find("no 'nothing'"),
            std::string::npos);
}

TEST_F(SweepTest, AnswersOfTheoryCanBeSwept) {
  const Study study = parse_study(kPairs, "s");
  ASSERT_TRUE(run_sweep(study, {.directory = directory_}));
  const SweepRecord record = collect(study, read_journals(directory_, 6));
  // The lifetime of two clusters grows with beta.
  for (std::size_t p : {0U, 2U})
    EXPECT_LT(record.points[p].mean.at("log10_merge_time")[0],
              record.points[p + 2].mean.at("log10_merge_time")[0]);
}

TEST_F(SweepTest, FiguresOfUnknownThingsAreRefused) {
  Study study = parse_study(kPairs, "s");
  study.figures.resize(1);
  study.figures[0].x = "beta";
  study.figures[0].y = "nonsense";
  std::map<std::size_t, UnitResult> units;
  for (std::size_t u = 0; u < 6; ++u)
    units[u] = {.unit = u, .measures = {{"log10_merge_time", {1}}}};
  EXPECT_NE(refusal([&] { sweep_figures(study, collect(study, units)); }).find("'nonsense'"),
            std::string::npos);
  study.figures[0].y = "dynamics";
  study.figures[0].z = "log10_merge_time";
  EXPECT_NE(refusal([&] { sweep_figures(study, collect(study, units)); }).find("needs numbers"),
            std::string::npos);
}

// Without a list of measures the first unit says what there is; the others are not begun.
TEST_F(SweepTest, FiguresOfUnknownThingsEndASweepAtItsFirstUnit) {
  Study study = parse_study(kPairs, "s");
  study.measures.clear();
  study.figures = {{.x = "beta", .y = "nonsense"}};
  EXPECT_NE(refusal([&] {
              run_sweep(study, {.directory = directory_, .workers = 1});
            }).find("'nonsense'"),
            std::string::npos);
  EXPECT_TRUE(read_journals(directory_, 6).empty());
}

// Units that read a file: when it changes between two of them, the first stands, the second does
// not, and nothing is mixed. The way out is the old file, or another directory.
TEST_F(SweepTest, AFileThatChangesEndsTheSweep) {
  const auto write_rows = [&](double angle) {
    write_npy(directory_ / "rows.npy",
              {{3, 2}, {1, 0, std::cos(angle), std::sin(angle), 0.6, 0.8}});
  };
  write_rows(1);
  const Study study = parse_study(
      "measure = ['mean_cosine']\n[fixed]\ninit = 'file'\ntokens-file = 'rows.npy'\ntime = 1\n"
      "[grid]\nbeta = [1, 2, 3, 4]",
      "x");
  ASSERT_EQ(study_files(study), std::vector<std::string>{"rows.npy"});
  const InputFiles inputs(study_files(study), directory_.string());
  const auto run = [&](const fs::path& directory, const std::function<void()>& after_the_first) {
    return run_sweep(study, {.directory = directory,
                             .files_from = directory_.string(),
                             .inputs = inputs,
                             .workers = 1,
                             .report = [&](std::size_t done, std::size_t) {
                               if (done == 1) after_the_first();
                             }});
  };
  fs::create_directories(directory_ / "whole");
  ASSERT_TRUE(run(directory_ / "whole", [] {}));
  EXPECT_SAYS(refusal([&] { run(directory_, [&] { write_rows(2); }); }), "rows.npy has changed");
  EXPECT_EQ(read_journals(directory_, 4).size(), 1U);
  EXPECT_SAYS(refusal([&] { run(directory_, [] {}); }), "rows.npy has changed");
  EXPECT_EQ(read_journals(directory_, 4).size(), 1U);
  write_rows(1);
  ASSERT_TRUE(run(directory_, [] {}));
  const auto ours = read_journals(directory_, 4), whole = read_journals(directory_ / "whole", 4);
  ASSERT_EQ(ours.size(), 4U);
  for (const auto& [unit, result] : whole)
    EXPECT_EQ(ours.at(unit).measures, result.measures) << unit;
}

TEST(StudyFiles, AreThoseThatSettingsName) {
  const auto files = [](const std::string& text) { return study_files(parse_study(text, "x")); };
  using Names = std::vector<std::string>;
  EXPECT_EQ(files("[grid]\nbeta = [1, 2]"), Names{});
  EXPECT_EQ(files("[fixed]\nquery = 'gaussian'\nvalue = './v.npy'\n[grid]\nkey = ['goe', 'k.npy']"),
            (Names{"./v.npy", "k.npy"}));
  EXPECT_EQ(files("[fixed]\ninit = 'file'\n[grid]\ntokens-file = ['b', 'a', 'b']"),
            (Names{"a", "b"}));
  EXPECT_EQ(files("[fixed]\nfeed-forward = 'relu'\nfeed-forward-in = 'i'\nfeed-forward-out = 'o'\n"
                  "feed-forward-bias = 'b'\ngain = 'g'"),
            (Names{"b", "g", "i", "o"}));
  EXPECT_EQ(files("command = 'select'\n[fixed]\ndata = 'example:multi'"), Names{});
  EXPECT_EQ(files("command = 'select'\n[fixed]\ndata = 'd.json'"), Names{"d.json"});
  EXPECT_EQ(files("command = 'meanfield'\n[fixed]\ntokens-file = 't.npy'\nstart = 'tokens'"),
            Names{"t.npy"});
}

}  // namespace
}  // namespace attractor::lab
