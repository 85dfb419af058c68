// Every array of every kind of result has dimensions with names that fit together.
#include "attractor/commands/array_facts.hpp"

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <set>

#include "attractor/commands/registry.hpp"
#include "attractor/report/collected_arrays.hpp"
#include "tests/support/random_model.hpp"

namespace attractor::lab {
namespace {

/// What would be read from files.
void set_model(const ParameterList& list) {
  *std::get<ModelInput*>(find(list, "model").target) = {
      .name = "random",
      .model =
          std::make_shared<const models::Model>(models::random_model(models::Family::albert, 3))};
  *std::get<TextInput*>(find(list, "text").target) = TextInput("1 2 3 4 5\n6 7 8 9\n");
}

std::unique_ptr<CollectedArrays> arrays_of(const std::string& command, const Settings& settings,
                                           std::string& format) {
  const Command& found = command_named(command);
  const std::unique_ptr<Request> request = request_of(found, settings), usual = found.make();
  std::vector<std::string> given;
  for (const auto& [name, text] : settings) given.push_back(name);
  if (command == "inspect") set_model(request->parameters());
  prepare(*request, given);
  const Result result = request->run({});
  format = result.format;
  auto arrays = std::make_unique<CollectedArrays>();
  archive(result, call_of(found, *request, *usual), *arrays);
  return arrays;
}

struct Example {
  std::string command;
  Settings settings;
};

const Example kExamples[] = {
    {"flow",
     {{"tokens", "8"},
      {"dim", "4"},
      {"time", "2"},
      {"outputs", "5"},
      {"query", "gaussian"},
      {"key", "gaussian"},
      {"heads", "2"},
      {"rank", "3"},
      {"norm", "pre"},
      {"output", "gaussian"},
      {"feed-forward", "gelu"},
      {"redraw", "1"},
      {"value", "gaussian"}}},
    {"flow", {{"tokens", "12"}, {"beta", "20"}, {"time", "inf"}}},
    {"flow", {{"tokens", "6"}, {"dynamics", "hardmax"}, {"time", "1"}}},
    {"select",
     {{"data", "example:multi"},
      {"steps", "20"},
      {"outputs", "10"},
      {"local", "true"},
      {"path", "1,10"},
      {"basins", "true"},
      {"basins-samples", "5"},
      {"basins-side", "3"},
      {"exact", "true"}}},
    {"select",
     {{"data", "example:joint-tight"}, {"train", "v,p"}, {"steps", "20"}, {"outputs", "10"}}},
    {"select", {{"data", "example:self-attention"}, {"train", "W"}, {"steps", "20"}}},
    {"bridge",
     {{"data", "example:authors-like"}, {"log10-time", "3"}, {"tokens", "10"}, {"time", "1"}}},
    {"stability", {{"dim", "2"}, {"beta", "4"}}},
    {"inspect", {{"ids", "true"}, {"depth", "3"}}},
};

TEST(ArrayFacts, EveryDimensionOfEveryArrayHasANameOfOneLength) {
  for (const Example& example : kExamples) {
    SCOPED_TRACE(example.command);
    std::string format;
    const auto arrays = arrays_of(example.command, example.settings, format);
    ASSERT_FALSE(arrays->arrays.empty());
    std::map<std::string, std::size_t> length;
    for (const auto& [path, data] : arrays->arrays) {
      const ArrayFacts facts = array_facts(format, path, data.shape.size());
      ASSERT_EQ(facts.dimensions.size(), data.shape.size()) << path;
      std::set<std::string> different(facts.dimensions.begin(), facts.dimensions.end());
      EXPECT_EQ(different.size(), data.shape.size()) << path;
      for (std::size_t k = 0; k < data.shape.size(); ++k) {
        const auto [at, is_new] = length.emplace(facts.dimensions[k], data.shape[k]);
        EXPECT_EQ(at->second, data.shape[k]) << path << " " << facts.dimensions[k];
      }
    }
  }
}

TEST(ArrayFacts, SayWhatAnArrayIs) {
  const ArrayFacts positions = array_facts("attractor flow 1", "/snapshots/positions", 3);
  EXPECT_EQ(positions.dimensions, (std::vector<std::string>{"snapshot", "token", "axis"}));
  const ArrayFacts entropy = array_facts("attractor flow 1", "/series/attention_entropy", 1);
  EXPECT_EQ(entropy.unit, "nat");
  EXPECT_FALSE(entropy.meaning.empty());
  EXPECT_EQ(array_facts("attractor answer 1", "/checks/ours", 1).dimensions,
            (std::vector<std::string>{"checks"}));
  EXPECT_EQ(array_facts("attractor answer 1", "/a/b/c", 2).dimensions,
            (std::vector<std::string>{"a_b", "a_b_c_1"}));
  EXPECT_EQ(array_facts("attractor answer 1", "/alone", 2).dimensions,
            (std::vector<std::string>{"alone_0", "alone_1"}));
}

}  // namespace
}  // namespace attractor::lab
