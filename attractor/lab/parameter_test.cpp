#include "attractor/lab/parameter.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <limits>

#include "attractor/base/error.hpp"
#include "attractor/lab/json.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Seventeen digits: every double has its own text.
std::string exact(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

void expect_refused(const Parameter& parameter, const std::string& text) {
  const std::string before = parameter.text();
  const std::string message = refusal([&] { parameter.set(text); });
  EXPECT_EQ(message,
            parameter.name + " = '" + text + "' is not allowed; allowed: " + parameter.allowed());
  EXPECT_EQ(parameter.text(), before) << "a refused value was stored";
}

TEST(RealParameter, TakesEveryNumberBackFromItsTextExactly) {
  double x = 0;
  const Parameter p{.name = "x", .target = &x};
  for (const double value : {0.0, 1.0, -1.0, 0.1, 1.0 / 3, 1e-300, 5e-324, 1.7976931348623157e308,
                             123456789.123456789, -2.5e-8, 1e22, 1e16, 100000.0}) {
    x = value;
    const std::string text = p.text();
    x = 77;
    p.set(text);
    EXPECT_EQ(x, value) << text;
  }
}

TEST(RealParameter, ReadsTheUsualSpellings) {
  double x = 0;
  const Parameter p{.name = "x", .target = &x};
  const std::pair<const char*, double> spellings[] = {
      {"5", 5}, {"5.", 5}, {".5", 0.5}, {"+5", 5}, {"-5e-1", -0.5}, {"1E3", 1000}, {"+1e+3", 1000}};
  for (const auto& [text, value] : spellings) {
    p.set(text);
    EXPECT_EQ(x, value) << text;
  }
}

TEST(RealParameter, RefusesWhatIsNotANumber) {
  double x = 3;
  const Parameter p{.name = "x", .target = &x};
  for (const char* text : {"", " ", "five", "5x", " 5", "5 ", "1,5", "0x10", "1e", "1e400", "--5",
                           "++5", "+", "-", ".", "nan", "-nan", "1 2", "5\n"})
    expect_refused(p, text);
}

TEST(RealParameter, RefusesTwoSigns) {
  double x = 3;
  const Parameter p{.name = "x", .target = &x};
  expect_refused(p, "+-5");
}

TEST(RealParameter, TakesBothEndsOfItsRangeAndNothingBeyond) {
  double x = 0;
  const Parameter p{.name = "x", .target = &x, .least = -1.5, .most = 0.1};
  for (const double value : {-1.5, -1.0, 0.0, 0.1}) {
    p.set(exact(value));
    EXPECT_EQ(x, value);
  }
  for (const double value : {std::nextafter(-1.5, -2.0), std::nextafter(0.1, 1.0), -1e300, 1e300})
    expect_refused(p, exact(value));
  expect_refused(p, "inf");
  expect_refused(p, "-inf");
  EXPECT_EQ(p.allowed(), "-1.5 to 0.1");
}

TEST(RealParameter, AnOpenEndIsNotAllowedItself) {
  double x = 1;
  const Parameter p{.name = "x", .target = &x, .least = 0, .most = 2, .above_least = true};
  expect_refused(p, "0");
  expect_refused(p, "-0");
  expect_refused(p, "-1e-300");
  p.set("1e-300");
  EXPECT_EQ(x, 1e-300);
  p.set("2");
  EXPECT_EQ(x, 2);
  EXPECT_EQ(p.allowed(), "above 0 to 2");
}

TEST(RealParameter, WithoutAnUpperEndMayBeInfinite) {
  double x = 0;
  const Parameter p{.name = "time", .target = &x, .least = 0};
  for (const char* text : {"inf", "+inf", "infinity"}) {
    x = 0;
    p.set(text);
    EXPECT_EQ(x, kInfinity) << text;
  }
  EXPECT_EQ(p.text(), "inf");
  EXPECT_EQ(p.json(), "inf");
  expect_refused(p, "-inf");
  EXPECT_EQ(p.allowed(), "at least 0");
}

TEST(RealParameter, ThatAllowsAnyFiniteNumberRefusesInfinity) {
  double x = 0;
  const Parameter p{.name = "x", .target = &x};
  ASSERT_EQ(p.allowed(), "any finite number");
  expect_refused(p, "inf");
  expect_refused(p, "-inf");
}

TEST(WholeParameter, TakesEveryNumberBackFromItsTextExactly) {
  std::uint64_t n = 0;
  const Parameter p{.name = "seed", .target = &n};
  for (const std::uint64_t value :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1'000'000}, (std::uint64_t{1} << 53) + 1,
        std::numeric_limits<std::uint64_t>::max()}) {
    n = value;
    const std::string text = p.text();
    n = 77;
    p.set(text);
    EXPECT_EQ(n, value);
    EXPECT_EQ(p.json(), value);
  }
  EXPECT_SAYS(p.allowed(), "whole number, 0 to 2^64 - 1");
}

TEST(WholeParameter, ReadsPowersOfTenToo) {
  std::uint64_t n = 0;
  const Parameter p{.name = "n", .target = &n};
  const std::pair<const char*, std::uint64_t> spellings[] = {
      {"1e6", 1000000}, {"1.5e3", 1500}, {"7.0", 7},
      {"+12", 12},      {"0e5", 0},      {"9e15", 9000000000000000}};
  for (const auto& [text, value] : spellings) {
    p.set(text);
    EXPECT_EQ(n, value) << text;
  }
}

TEST(WholeParameter, RefusesWhatIsNotAWholeNumber) {
  std::uint64_t n = 3;
  const Parameter p{.name = "n", .target = &n};
  for (const char* text : {"", "-1", "1.5", "1e-3", "1e19", "18446744073709551616", "inf", "nan",
                           "0x10", "ten", "5 ", " 5", "1'000", "--1", "1e400"})
    expect_refused(p, text);
}

TEST(WholeParameter, TakesBothEndsOfItsRangeAndNothingBeyond) {
  std::uint64_t n = 0;
  const Parameter p{.name = "n", .target = &n, .least = 2, .most = 1e7};
  p.set("2");
  EXPECT_EQ(n, 2U);
  p.set("1e7");
  EXPECT_EQ(n, 10000000U);
  expect_refused(p, "1");
  expect_refused(p, "10000001");
  EXPECT_EQ(p.allowed(), "whole number, 2 to 10000000");
}

TEST(TextParameter, TakesItsChoicesAndNothingElse) {
  std::string s = "sa";
  const Parameter p{.name = "dynamics", .target = &s, .choices = {"sa", "usa"}};
  p.set("usa");
  EXPECT_EQ(s, "usa");
  EXPECT_EQ(p.text(), "usa");
  EXPECT_EQ(p.json(), "usa");
  EXPECT_EQ(p.allowed(), "sa, usa");
  for (const char* text : {"", "s", "sau", "SA", "sa ", "sa, usa"}) expect_refused(p, text);
}

TEST(TextParameter, WithoutChoicesTakesAnyLine) {
  std::string s;
  const Parameter free{.name = "file", .target = &s};
  const Parameter hinted{.name = "file", .target = &s, .words = ".npy"};
  for (const char* text : {"", "a b", "--x", "'\"\\$", "\xc3\xa4", "\xf0\x9f\x98\x80"}) {
    free.set(text);
    EXPECT_EQ(s, text);
    EXPECT_EQ(free.text(), text);
  }
  EXPECT_EQ(free.allowed(), "text");
  EXPECT_EQ(hinted.allowed(), ".npy");
}

TEST(TextParameter, RefusesControlCharactersAndBrokenUtf8) {
  std::string s = "kept";
  const Parameter p{.name = "file", .target = &s, .words = ".npy"};
  for (const std::string& text : {std::string("a\nb"), std::string("\t"), std::string("a\0b", 3),
                                  std::string("\x1b[0m"), std::string("\x7f"), std::string("\xff"),
                                  std::string("\xc3"), std::string("\xed\xa0\x80")}) {
    const std::string message = refusal([&] { p.set(text); });
    EXPECT_SAYS(message, "file holds a control character or is not UTF-8");
    EXPECT_SAYS(message, "allowed: .npy");
    EXPECT_EQ(s, "kept");
  }
}

TEST(ParameterJson, HoldsNumbersAsNumbers) {
  double x = 0.1;
  EXPECT_EQ((Parameter{.name = "x", .target = &x}.json().dump()), "0.1");
  x = -kInfinity;
  EXPECT_EQ((Parameter{.name = "x", .target = &x}.json().dump()), "\"-inf\"");
}

// A list with one parameter of each kind, and a file to set it from.
class Toml : public ::testing::Test {
 protected:
  Toml() : file_(::testing::TempDir() + "parameter_test_" + std::to_string(::getpid()) + ".toml") {}
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

TEST(ParameterLists, FindByNameOrTellAllNames) {
  double x = 0;
  const ParameterList all{{.name = "first", .target = &x}, {.name = "second", .target = &x}};
  EXPECT_EQ(&find(all, "second"), &all[1]);
  EXPECT_EQ(
      refusal([&] { find(all, "third"); }),
      "'third' is no parameter (run options such as out are flags only); allowed: first, second");
}

}  // namespace
}  // namespace attractor::lab
