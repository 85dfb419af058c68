// Parameters in TOML files.
#include "attractor/files/parameter_file.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "attractor/attention/rule.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

// A list with one parameter of each kind, and a file to set it from.
class Toml : public ::testing::Test {
 protected:
  Toml()
      : file_(::testing::TempDir() + "parameter_file_test_" + std::to_string(::getpid()) +
              ".toml") {}
  ~Toml() override { std::remove(file_.c_str()); }

  std::string refusal_of(const std::string& text) {
    std::ofstream(file_, std::ios::binary) << text;
    return refusal([&] { set_from_toml(list_, file_); });
  }

  const std::string file_;
  double beta_ = 1;
  std::uint64_t tokens_ = 64;
  std::string init_ = "uniform", path_;
  const ParameterList list_{
      {.name = "beta", .target = &beta_, .least = 0},
      {.name = "tokens", .target = &tokens_, .least = 1, .most = 1e7},
      {.name = "init", .target = &init_, .choices = {"uniform", "cap"}},
      {.name = "tokens-file", .target = &path_},
  };
};

TEST_F(Toml, SetsEveryKindOfParameter) {
  EXPECT_EQ(refusal_of("# a comment\nbeta = 2.5\ntokens = 100\ninit = \"cap\"\n"
                       "tokens-file = 'C:\\a b'\r\n"),
            "");
  EXPECT_EQ(beta_, 2.5);
  EXPECT_EQ(tokens_, 100U);
  EXPECT_EQ(init_, "cap");
  EXPECT_EQ(path_, "C:\\a b");
}

TEST_F(Toml, LeavesOutWhatItDoesNotName) {
  EXPECT_EQ(refusal_of("tokens = 7"), "");
  EXPECT_EQ(tokens_, 7U);
  EXPECT_EQ(beta_, 1);
  EXPECT_EQ(refusal_of(""), "");
  EXPECT_EQ(tokens_, 7U);
}

TEST_F(Toml, TakesNumbersInEverySpelling) {
  EXPECT_EQ(refusal_of("beta = 3\ntokens = 1e6"), "");
  EXPECT_EQ(beta_, 3);
  EXPECT_EQ(tokens_, 1000000U);
  EXPECT_EQ(refusal_of("beta = inf\ntokens = 1_000"), "");
  EXPECT_EQ(beta_, kInfinity);
  EXPECT_EQ(tokens_, 1000U);
  EXPECT_EQ(refusal_of("beta = '0.1'\ntokens = 0x10"), "");
  EXPECT_EQ(beta_, 0.1);
  EXPECT_EQ(tokens_, 16U);
  EXPECT_EQ(refusal_of("beta = 0.30000000000000004"), "");
  EXPECT_EQ(beta_, 0.1 + 0.2);
}

TEST_F(Toml, RefusesAnUnknownKeyWithItsLineAndListsTheKnownOnes) {
  const std::string message = refusal_of("beta = 1\nbta = 2");
  EXPECT_SAYS(message, file_ + ", line 2: 'bta' is no parameter");
  EXPECT_SAYS(message, "beta, tokens, init, tokens-file");
  EXPECT_SAYS(refusal_of("[flow]\nbeta = 2"), "'flow' is no parameter");
  EXPECT_SAYS(refusal_of("tokens_file = 'x'"), "'tokens_file' is no parameter");
  EXPECT_SAYS(refusal_of("\"\" = 1"), "'' is no parameter");
}

TEST_F(Toml, RefusesTheWrongType) {
  for (const char* value : {"true", "[1, 2]", "{ a = 1 }", "1979-05-27", "07:32:00"})
    EXPECT_SAYS(refusal_of("\nbeta = " + std::string(value)),
                file_ + ", line 2: beta must be a number or a text");
  EXPECT_SAYS(refusal_of("beta.x = 1"), "beta must be a number or a text");
}

TEST_F(Toml, RefusesBadValuesWithTheLineAndTheSentenceOfTheParameter) {
  const auto expect = [&](const std::string& text, const std::string& sentence) {
    EXPECT_EQ(refusal_of("\n\n" + text), file_ + ", line 3: " + sentence);
  };
  expect("beta = -1", "beta = '-1' is not allowed; allowed: at least 0");
  expect("beta = nan", "beta = 'nan' is not allowed; allowed: at least 0");
  expect("tokens = 2.5", "tokens = '2.5' is not allowed; allowed: whole number, 1 to 10000000");
  expect("tokens = -3", "tokens = '-3' is not allowed; allowed: whole number, 1 to 10000000");
  expect("init = 'cup'", "init = 'cup' is not allowed; allowed: uniform, cap");
  expect("init = 5", "init = '5' is not allowed; allowed: uniform, cap");
}

TEST_F(Toml, ReturnsWhereTheRunWasStarted) {
  std::ofstream(file_) << "started-in = '/some where'\nbeta = 2";
  EXPECT_EQ(set_from_toml(list_, file_), "/some where");
  EXPECT_EQ(beta_, 2);
  std::ofstream(file_) << "beta = 3";
  EXPECT_EQ(set_from_toml(list_, file_), "");
  EXPECT_SAYS(refusal_of("started-in = 5"), "started-in");
}

TEST_F(Toml, PassesOverWhatRunDirectoriesKeep) {
  EXPECT_EQ(refusal_of("command = 'flow'\nbeta = 4\n[inputs]\n'a b.npy' = '00'"), "");
  EXPECT_EQ(beta_, 4);
  EXPECT_SAYS(refusal_of("command = 5"), "command");
  EXPECT_SAYS(refusal_of("inputs = 5"), "inputs");
}

TEST_F(Toml, TellsTheLineOfASyntaxError) {
  EXPECT_SAYS(refusal_of("beta = 1\ntokens = \ninit = 'cap'"), file_ + ", line 2: ");
  EXPECT_SAYS(refusal_of("beta = 1\n\n\nbeta = 2"), ", line 4: ");
  EXPECT_SAYS(refusal_of("beta 1"), ", line 1: ");
  EXPECT_SAYS(refusal_of("beta = 1\ninit = 'cap"), ", line 2: ");
  EXPECT_SAYS(refusal_of("tokens = 18446744073709551615"), ", line 1: ");
  EXPECT_SAYS(refusal_of("init = '\xff\xfe'"), ", line 1: ");
  EXPECT_SAYS(refusal_of(std::string("beta = 1\n\0", 10)), ", line 2: ");
  EXPECT_NE(refusal_of("beta = " + std::string(100000, '[')), "");
}

TEST_F(Toml, RefusesAMissingOrHugeFile) {
  EXPECT_SAYS(refusal([&] { set_from_toml(list_, file_ + ".missing"); }), "no such file");
  EXPECT_SAYS(refusal([&] { set_from_toml(list_, ::testing::TempDir()); }), "not a file");
  EXPECT_SAYS(refusal_of("#" + std::string(1 << 20, 'x')), "at most");
}

// Typed parameters take numbers and texts of a file as they take words.
TEST(TypedToml, SetsEveryKindOfParameter) {
  const std::string file =
      ::testing::TempDir() + "typed_toml_test_" + std::to_string(::getpid()) + ".toml";
  std::optional<double> radius;
  std::optional<std::uint64_t> snapshots;
  Rule rule = Rule::softmax;
  std::optional<Rule> other;
  Numbers levels;
  Rows starts;
  ArrayInput tokens;
  WeightInput value;
  ParameterList l;
  l.add("radius", radius, "").within(1e-12, 0.01).special_value("off", 0);
  l.add("snapshots", snapshots, "").within(2, 1000);
  l.add("dynamics", rule, "");
  l.add("other", other, "");
  l.add("levels", levels, "").within(0, 1);
  l.add("starts", starts, "");
  l.add("tokens-file", tokens, "");
  l.add("value", value, "");
  std::ofstream(file) << "radius = 0.001\nsnapshots = 7\ndynamics = 'usa'\nother = 'relu'\n"
                         "levels = '0.5,0.9'\nstarts = '0,1;2'\ntokens-file = 'x.npy'\n"
                         "value = 'goe'\n";
  set_from_toml(l, file);
  EXPECT_EQ(radius, 0.001);
  EXPECT_EQ(snapshots, 7U);
  EXPECT_EQ(rule, Rule::unnormalised);
  EXPECT_EQ(other, Rule::relu);
  EXPECT_EQ(levels.values, (std::vector<double>{0.5, 0.9}));
  EXPECT_EQ(starts.values, (std::vector<std::vector<double>>{{0, 1}, {2}}));
  EXPECT_EQ(tokens.name, "x.npy");
  EXPECT_EQ(value.kind, WeightKind::goe);
  std::ofstream(file) << "radius = 'off'\nsnapshots = 'auto'\nother = 'auto'\nlevels = 0.5\n";
  set_from_toml(l, file);
  EXPECT_EQ(radius, 0);
  EXPECT_EQ(snapshots, std::nullopt);
  EXPECT_EQ(other, std::nullopt);
  EXPECT_EQ(levels.values, std::vector<double>{0.5});
  for (const char* wrong : {"radius = 0", "snapshots = 2.5", "dynamics = 3", "levels = 2",
                            "value = 'go'", "other = true"}) {
    std::ofstream(file) << wrong;
    EXPECT_SAYS(refusal([&] { set_from_toml(l, file); }), file + ", line 1: ") << wrong;
  }
  std::remove(file.c_str());
}

}  // namespace
}  // namespace attractor::lab
