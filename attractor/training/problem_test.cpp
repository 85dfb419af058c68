#include "attractor/training/problem.hpp"

#include <gtest/gtest.h>

#include "attractor/base/error.hpp"

namespace attractor::training {
namespace {

std::string refusal(const std::string& json) {
  try {
    parse_problem(json, "problem");
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Problem, ReadsShapesAndDefaults) {
  const Problem p = parse_problem(R"({"X": [[[1,2],[3,4],[5,6]]], "Y": [-1], "v": [1, 10]})", "p");
  EXPECT_EQ(p.inputs, 1U);
  EXPECT_EQ(p.tokens, 3U);
  EXPECT_EQ(p.dim, 2U);
  EXPECT_EQ(p.start, (std::vector<double>{0, 0}));
  EXPECT_EQ(keys(p), p.x);
  EXPECT_EQ(scores(p), (std::vector<double>{-21, -43, -65}));
}

TEST(Problem, KeysAreRowsTimesW) {
  const Problem p =
      parse_problem(R"({"X": [[[1,2],[3,4]]], "Y": [1], "v": [1, 0], "W": [[1,2],[3,5]]})", "p");
  EXPECT_EQ(keys(p), (std::vector<double>{7, 12, 15, 26}));
}

TEST(Problem, RefusesWhatDoesNotFit) {
  const std::pair<const char*, const char*> cases[] = {
      {"[1, 2]", "not a JSON object"},
      {R"({"X": [[[1]]], "Y": [1]})", "no \"v\""},
      {R"({"X": [[[1,2]]], "Y": [1], "v": [1,2]})", "at least 2"},
      {R"({"X": [[[1,2],[3]]], "Y": [1], "v": [1,2]})", "1 entries where others have 2"},
      {R"({"X": [[[1,2],[3,4]]], "Y": [1,1], "v": [1,2]})", "Y"},
      {R"({"X": [[[1,2],[3,4]]], "Y": [1], "v": [1]})", "v"},
      {R"({"X": [[[1,2],[3,"x"]]], "Y": [1], "v": [1,2]})", "number"},
      {R"({"X": [[[1,2],[3,1e999]]], "Y": [1], "v": [1,2]})", "problem"},
      {R"({"X": [[[1,2],[3,4]]], "Y": [0], "v": [1,2]})", "label of input 0"},
      {R"({"X": [[[1e200,2],[3,4]]], "Y": [1], "v": [1e200,2]})", "exceeds 1e150"},
      {R"({"X": [], "Y": [1], "v": [1,2]})", "empty"},
      {R"({"X": [[[1,2],[3,4]]], "Y": [1], "v": [1,2], "W": [[1,2]]})", "W"},
  };
  for (const auto& [json, word] : cases)
    EXPECT_NE(refusal(json).find(word), std::string::npos) << json << " -> " << refusal(json);
}

TEST(Problem, NamesTokensThatCannotBeToldApart) {
  const Problem p = parse_problem(
      R"({"X": [[[1,2],[3,4]], [[5,6],[5,7]]], "Y": [1,1], "v": [1,2], "W": [[1,0],[0,0]]})", "p");
  try {
    require_distinct_keys(p, keys(p));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("input 1: tokens 0 and 1"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace attractor::training
