#include "attractor/commands/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/commands/flow/flow_result.hpp"
#include "attractor/lab/flow/flow_experiment.hpp"
#include "attractor/report/collected_arrays.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

TEST(Commands, HaveAllThatHelpShows) {
  std::set<std::string> names;
  for (const Command& command : commands()) {
    EXPECT_TRUE(names.insert(command.name).second) << command.name;
    EXPECT_FALSE(command.about.empty()) << command.name;
    EXPECT_NE(command.examples.find("  attractor " + command.name), std::string::npos)
        << command.name;
    EXPECT_EQ(&command_named(command.name), &command);
  }
  EXPECT_GE(names.size(), 15U);
  EXPECT_SAYS(refusal([] { command_named("flaw"); }), "command 'flaw' cannot");
}

TEST(Commands, TakeTheirOwnDefaultsBack) {
  for (const Command& command : commands()) {
    const std::unique_ptr<Request> request = command.make();
    std::set<std::string> names;
    for (const Parameter& p : request->parameters()) {
      EXPECT_TRUE(names.insert(p.name).second) << command.name << " " << p.name;
      EXPECT_FALSE(p.help.empty()) << command.name << " " << p.name;
      const std::string text = p.text();
      p.set(text);
      EXPECT_EQ(p.text(), text) << command.name << " " << p.name;
    }
  }
}

// What most users want: some of it, and never what only a few do.
TEST(Commands, SayWhatShortHelpShows) {
  for (const Command& command : commands()) {
    const std::unique_ptr<Request> request = command.make();
    const ParameterList list = request->parameters();
    const auto shown =
        std::count_if(list.begin(), list.end(), [](const Parameter& p) { return p.common; });
    EXPECT_GE(shown, 2) << command.name;
    EXPECT_LE(shown, 13) << command.name;
  }
}

TEST(Commands, RepeatWhatWasSetAndNothingElse) {
  const Command& command = command_named("cluster");
  const auto now =
      request_of(command, {{"beta", "20"}, {"points", "my points.npy"}, {"space", "sphere"}});
  const auto usual = command.make();
  EXPECT_EQ(call_of(command, *now, *usual).command(),
            "attractor cluster 'my points.npy' --space sphere --beta 20");
  EXPECT_EQ(call_of(command, *usual, *usual).command(), "attractor cluster");
}

TEST(Commands, FlowMeasuresWhatItsCallerAdds) {
  const Command& command = command_named("flow");
  const auto request = request_of(command, {{"tokens", "20"}, {"beta", "20"}, {"time", "50"}});
  std::vector<std::size_t> originals;
  request->observe(
      {"first", "the first coordinate of the first token", [&](const observe::TokenView& v) {
         originals.push_back(v.originals().size());
         return v.originals()[0];
       }});
  prepare(*request, {"tokens", "beta", "time"});
  const Result result = request->run({});
  CollectedArrays all;
  result.arrays(all);
  std::vector<double> measured, positions;
  for (const auto& [path, data] : all.arrays) {
    if (path == "/series/first") measured = std::get<std::vector<double>>(data.values);
    if (path == "/snapshots/positions") positions = std::get<std::vector<double>>(data.values);
  }
  ASSERT_EQ(measured.size(), 101U);
  EXPECT_EQ(measured.front(), positions.front());
  EXPECT_EQ(measured.back(), positions[positions.size() - 60]);
  // Tokens coalesce on the way; who measures sees all of them.
  EXPECT_LT(result.values.at("distinct_tokens").get<int>(), 20);
  for (const std::size_t numbers : originals) EXPECT_EQ(numbers, 60U);
  EXPECT_EQ(result.values.at("first").get<double>(), measured.back());
  const auto again = request_of(command, {});
  again->observe({"clusters", "", [](const observe::TokenView&) { return 0.0; }});
  EXPECT_SAYS(refusal([&] { prepare(*again, {}); }), "'clusters' exists already");
  EXPECT_SAYS(refusal([] {
                command_named("stability").make()->observe({"mine", "", {}});
              }),
              "'mine' cannot be measured");
}

TEST(Commands, AFlowThatWasStoppedShowsHowFarItCame) {
  const auto request = request_of(command_named("flow"), {{"time", "1000"}});
  prepare(*request, {"time"});
  int asked = 0;
  const Result result = request->run({.stop = [&] { return ++asked > 300; }});
  EXPECT_SAYS(result.interrupted, "at t = ");
  EXPECT_EQ(result.not_delivered, "");
  EXPECT_EQ(result.values.at("status").get<std::string>(), "interrupted");
  CollectedArrays all;
  result.arrays(all);
  for (const auto& [path, data] : all.arrays)
    if (path == "/series/time") {
      const auto& times = std::get<std::vector<double>>(data.values);
      EXPECT_GT(times.back(), 0);
      EXPECT_LT(times.back(), 1000);
      EXPECT_EQ(times.back(), result.values.at("time").get<double>());
    }
}

TEST(Commands, ThatOnlyTestARunAreNotPartOfIt) {
  const Command& command = command_named("flow");
  const auto now = request_of(command, {{"verify", "true"}, {"tokens", "9"}});
  const auto usual = command.make();
  EXPECT_EQ(call_of(command, *now, *usual).command(), "attractor flow --tokens 9");
}

TEST(Commands, RefuseWhatHasNoEffectAndWhatIsNotAllowed) {
  const auto said = [](const char* command, const Settings& settings) {
    const std::unique_ptr<Request> request = request_of(command_named(command), settings);
    std::vector<std::string> given;
    for (const auto& [name, text] : settings) given.push_back(name);
    return refusal([&] { prepare(*request, given); });
  };
  EXPECT_EQ(said("flow", {{"rho", "0"}}),
            "rho is used by init equiangular only, not by init uniform");
  EXPECT_EQ(said("flow", {{"rho", "0"}, {"init", "equiangular"}, {"tokens", "3"}}), "");
  EXPECT_EQ(said("reduce equiangular", {{"step", "1"}}), "step has no effect without layers");
  EXPECT_EQ(said("reduce pair", {{"beta", "2"}}), "");
  EXPECT_SAYS(refusal([] {
                request_of(command_named("flow"), {{"beta", "-21"}});
              }),
              "beta = '-21' is not allowed");
  EXPECT_SAYS(refusal([] {
                request_of(command_named("flow"), {{"bta", "1"}});
              }),
              "'bta' is no parameter");
}

TEST(Commands, RefuseMoreNumbersThanAreAllowedBeforeMemory) {
  const auto said = [](const char* tokens, const char* dim) {
    const std::unique_ptr<Request> request =
        request_of(command_named("flow"), {{"tokens", tokens}, {"dim", dim}});
    return refusal([&] { prepare(*request, {"tokens", "dim"}); });
  };
  EXPECT_SAYS(said("1e7", "65536"), "at most 1e9");
}

// A caller's observable stands beside ours, in the record and in what is written of it.
TEST(FlowRun, MeasuresWhatItsCallerAdds) {
  FlowSetup p;
  p.tokens = 8;
  p.time = 2;
  p.outputs = 4;
  FlowRun run(p);
  run.observe({"first_coordinate", "mean of x_1", [](const observe::TokenView& view) {
                 double sum = 0, mass = 0;
                 for (std::size_t i = 0; i < view.masses.size(); ++i) {
                   sum += view.masses[i] * view.tokens[i * view.dim];
                   mass += view.masses[i];
                 }
                 return sum / mass;
               }});
  EXPECT_SAYS(refusal([&] { run.observe({"energy", "", {}}); }), "'energy' exists");
  const FlowRecord record = std::move(run).run({});
  ASSERT_EQ(record.observables.back().name, "first_coordinate");
  double mean = 0;
  for (std::size_t i = 0; i < 8; ++i) mean += record.snapshots.back().positions[3 * i] / 8;
  EXPECT_NEAR(record.series.back().more.back(), mean, 1e-12);
  EXPECT_DOUBLE_EQ(flow_result(record).values["first_coordinate"].get<double>(),
                   record.series.back().more.back());
}

}  // namespace
}  // namespace attractor::lab
