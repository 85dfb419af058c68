#include "attractor/lab/parameter.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>

#include "attractor/attention/normalisation.hpp"
#include "attractor/attention/rule.hpp"
#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/lab/json.hpp"
#include "attractor/lab/number_list.hpp"
#include "attractor/training/problem.hpp"
#include "tests/support/exact_text.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

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
                           "++5", "+", "-", ".", "nan", "-nan", "1 2"})
    expect_refused(p, text);
  EXPECT_SAYS(refusal([&] { p.set("5\n"); }), "x holds a control character");
  EXPECT_EQ(x, 3);
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

// 128k is the name of a context of 131072 tokens; powers of ten are written 1e3.
TEST(CountParameter, ReadsContextLengthsByTheirNames) {
  std::uint64_t n = 0;
  double tokens = 0;
  ParameterList l;
  l.add("n", n, "");
  l.add("tokens", tokens, "").within(2, 1e300).counts();
  const std::pair<const char*, std::uint64_t> spellings[] = {
      {"8k", 8192},  {"128k", 131072},  {"128K", 131072},   {"1M", 1048576}, {"1.5k", 1536},
      {"+2k", 2048}, {"10M", 10485760}, {"1G", 1073741824}, {"1e1k", 10240}, {"1.k", 1024}};
  for (const auto& [text, value] : spellings) {
    l[0].set(text);
    EXPECT_EQ(n, value) << text;
    l[1].set(text);
    EXPECT_EQ(tokens, static_cast<double>(value)) << text;
    EXPECT_EQ(l[1].text(), l[0].text()) << text;
  }
  for (const char* text : {"k", "-1k", "1m", "1kk", "1 k", "1ki", "k1", "infk", "nank", "1e400k"}) {
    expect_refused(l[0], text);
    expect_refused(l[1], text);
  }
  expect_refused(l[0], "1.3k");  // 1331.2 things
  expect_refused(l[0], "1e16k");
  expect_refused(l[1], "1e300k");
}

TEST(CountParameter, OnlyCountsHaveLetters) {
  double beta = 1;
  ParameterList l;
  expect_refused(l.add("beta", beta, "").within(0, 1e6), "1k");
  Numbers particles, times;
  const Parameter counts = l.add("particles", particles, "").within(2, 1e6).counts();
  counts.set("64,1k,2k:4k:3");
  EXPECT_EQ(particles.values, (std::vector<double>{64, 1024, 2048, 3072, 4096}));
  EXPECT_EQ(counts.text(), "64,1024,2048,3072,4096");
  const Parameter no_counts = l.add("times", times, "").within(0, 1e6);
  EXPECT_SAYS(refusal([&] { no_counts.set("1,2k"); }), "times holds '2k'");
  EXPECT_TRUE(has_count_letter("128k"));
  for (const char* text : {"mask", "k", "", "128", "K"})
    EXPECT_FALSE(has_count_letter(text)) << text;
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

// ---- Optional numbers.

TEST(OptionalParameter, TakesNumbersAndTheWordForNone) {
  std::optional<double> x = 3;
  ParameterList l;
  const Parameter& p = l.add("x", x, "").within(0.5, 2);
  EXPECT_EQ(p.allowed(), "auto, or 0.5 to 2");
  p.set("auto");
  EXPECT_EQ(x, std::nullopt);
  EXPECT_EQ(p.text(), "auto");
  EXPECT_EQ(p.json(), "auto");
  for (const double value : {0.5, 1.0 / 3 + 0.5, 2.0}) {
    p.set(exact(value));
    EXPECT_EQ(x, value);
    EXPECT_EQ(p.json(), value);
    const std::string text = p.text();
    x.reset();
    p.set(text);
    EXPECT_EQ(x, value) << text;
  }
  for (const char* text : {"", "Auto", "0.4", "2.1", "nan", "inf", "none", "auto ", "1,2"})
    expect_refused(p, text);
}

TEST(OptionalParameter, OfWholeNumbersTakesNoOthers) {
  std::optional<std::uint64_t> n;
  ParameterList l;
  const Parameter& p = l.add("n", n, "").within(2, 1000).otherwise("all");
  EXPECT_EQ(p.allowed(), "all, or whole number, 2 to 1000");
  EXPECT_EQ(p.text(), "all");
  p.set("1e3");
  EXPECT_EQ(n, 1000U);
  EXPECT_EQ(p.text(), "1000");
  EXPECT_EQ(p.json(), 1000);
  for (const char* text : {"", "auto", "1", "1001", "2.5", "-2", "many"}) expect_refused(p, text);
  p.set("all");
  EXPECT_EQ(n, std::nullopt);
}

TEST(OptionalParameter, MayHaveNoWordForNone) {
  std::optional<double> x = 3;
  ParameterList l;
  const Parameter& p = l.add("x", x, "").within(-5, 5).otherwise("");
  EXPECT_EQ(p.allowed(), "-5 to 5");
  p.set("");
  EXPECT_EQ(x, std::nullopt);
  EXPECT_EQ(p.text(), "");
  expect_refused(p, "auto");
}

TEST(SpecialValues, AreNumbersByName) {
  std::optional<double> radius;
  ParameterList l;
  const Parameter& p =
      l.add("merge-radius", radius, "").within(1e-12, 0.01).special_value("off", 0);
  EXPECT_EQ(p.allowed(), "auto, off, or 1e-12 to 0.01");
  p.set("off");
  EXPECT_EQ(radius, 0);
  EXPECT_EQ(p.text(), "off");
  EXPECT_EQ(p.json().dump(), "\"off\"") << "run.toml and --config speak as the command line";
  p.set("1e-3");
  EXPECT_EQ(radius, 1e-3);
  EXPECT_EQ(p.json().dump(), "0.001");
  p.set("auto");
  EXPECT_EQ(radius, std::nullopt);
  for (const char* text : {"0", "on", "Off", "0.02"}) expect_refused(p, text);  // by its name only

  double seconds = 1;
  ParameterList other;
  const Parameter& plain =
      other.add("seconds", seconds, "").within(1, 9).special_value("never", -1);
  EXPECT_EQ(plain.allowed(), "never, or 1 to 9");
  plain.set("never");
  EXPECT_EQ(seconds, -1);
  EXPECT_EQ(plain.text(), "never");
  expect_refused(plain, "-1");
}

TEST(RealParameter, MayExcludeBothEnds) {
  std::optional<double> x;
  ParameterList l;
  const Parameter& p = l.add("x", x, "").between(0, 1);
  EXPECT_EQ(p.allowed(), "auto, or above 0 and below 1");
  for (const char* text : {"0", "1", "1.0", "-0"}) expect_refused(p, text);
  p.set(exact(std::nextafter(1.0, 0.0)));
  EXPECT_LT(*x, 1);
  EXPECT_EQ(refusal([&] { p.check_value(); }), "");
}

// ---- Enumerators.

TEST(EnumParameter, TakesItsNamesAndNothingElse) {
  Rule rule = Rule::softmax;
  ParameterList l;
  const Parameter& p = l.add("dynamics", rule, "");
  EXPECT_EQ(p.allowed(), "sa, usa, hardmax, sinkhorn, linear, relu, radial");
  for (const Rule one : every<Rule>()) {
    p.set(name(one));
    EXPECT_EQ(rule, one);
    EXPECT_EQ(p.text(), name(one));
    EXPECT_EQ(p.json(), std::string(name(one)));
  }
  for (const char* text : {"", "SA", "softmax", "sa ", "auto", "0"}) expect_refused(p, text);
}

TEST(EnumParameter, AmongSomeTakesNoOthers) {
  Rule rule = Rule::softmax;
  ParameterList l;
  const Parameter& p = l.add("dynamics", rule, "").among({Rule::unnormalised, Rule::softmax});
  EXPECT_EQ(p.allowed(), "usa, sa");
  p.set("usa");
  EXPECT_EQ(rule, Rule::unnormalised);
  expect_refused(p, "relu");
  EXPECT_EQ(refusal([&] { p.check_value(); }), "");
  rule = Rule::relu;
  EXPECT_EQ(refusal([&] { p.check_value(); }),
            "dynamics = 'relu' is not allowed; allowed: usa, sa");
}

TEST(EnumParameter, TakesOtherNamesToo) {
  Normalisation norm = Normalisation::post;
  ParameterList l;
  const Parameter& p = l.add("norm", norm, "");
  EXPECT_SAYS(p.allowed(), "damped-post");
  EXPECT_SAYS(p.allowed(), "sqrt-scaling");
  p.set("sqrt-scaling");
  EXPECT_EQ(norm, Normalisation::damped_post);
  EXPECT_EQ(p.text(), "damped-post");
  EXPECT_EQ(refusal([&] { p.check_value(); }), "");
  expect_refused(p, "sqrt_scaling");
}

TEST(OptionalEnumParameter, TakesTheWordForNone) {
  std::optional<Rule> rule = Rule::relu;
  ParameterList l;
  const Parameter& p = l.add("dynamics", rule, "").among({Rule::relu, Rule::linear});
  EXPECT_EQ(p.allowed(), "auto, relu, linear");
  EXPECT_EQ(p.text(), "relu");
  p.set("auto");
  EXPECT_EQ(rule, std::nullopt);
  EXPECT_EQ(p.text(), "auto");
  EXPECT_EQ(p.json(), "auto");
  EXPECT_EQ(refusal([&] { p.check_value(); }), "");
  p.set("linear");
  EXPECT_EQ(rule, Rule::linear);
  for (const char* text : {"", "sa", "Auto", "none"}) expect_refused(p, text);
  rule = Rule::softmax;
  EXPECT_SAYS(refusal([&] { p.check_value(); }), "dynamics = 'sa' is not allowed");
}

// ---- Lists of numbers.

TEST(NumbersParameter, KeepsItsSpelling) {
  Numbers levels = {0.25, 1};
  ParameterList l;
  const Parameter& p = l.add("levels", levels, "").within(0, 1);
  EXPECT_EQ(p.allowed(), "comma-separated numbers from 0 to 1, or from:to:count");
  EXPECT_EQ(p.text(), "0.25,1");
  const std::pair<const char*, std::vector<double>> spellings[] = {
      {"0.50, 1e-1", {0.5, 0.1}}, {"0:1:5", {0, 0.25, 0.5, 0.75, 1}}, {"", {}}, {"1", {1}}};
  for (const auto& [text, values] : spellings) {
    p.set(text);
    EXPECT_EQ(levels.values, values) << text;
    EXPECT_EQ(p.text(), text);
    EXPECT_EQ(p.json(), text);
  }
  p.set("0:1:5");
  levels = {0.1, 1.0 / 3};  // by a program: number by number, and taken back exactly
  const std::string text = p.text();
  EXPECT_EQ(text.substr(0, 6), "0.1,0.");
  p.set(text);
  EXPECT_EQ(levels.values, (std::vector<double>{0.1, 1.0 / 3}));
  levels = spaced_numbers(0, 1, 3);
  EXPECT_EQ(p.text(), "0:1:3");
  EXPECT_EQ(levels.values, (std::vector<double>{0, 0.5, 1}));
}

TEST(NumbersParameter, RefusesWithTheItem) {
  Numbers levels = {0.5};
  ParameterList l;
  const Parameter& p = l.add("levels", levels, "").within(0, 1);
  const auto sentence = [](const std::string& item) {
    return "levels holds '" + item +
           "', which is not allowed; allowed: comma-separated numbers from 0 to 1, or "
           "from:to:count";
  };
  const std::pair<const char*, const char*> wrong[] = {
      {"0.5,2", "2"},   {"x", "x"},       {"0.1,,1", ""},    {"0:2:3", "0:2:3"},
      {"0,inf", "inf"}, {"nan,0", "nan"}, {"0:1:1", "0:1:1"}};
  for (const auto& w : wrong) {
    EXPECT_EQ(refusal([&] { p.set(w.first); }), sentence(w.second));
    EXPECT_EQ(levels.values, std::vector<double>{0.5}) << "a refused list was stored";
  }
  EXPECT_EQ(refusal([&] { p.check_value(); }), "");
  levels = {0.5, 3};
  EXPECT_EQ(refusal([&] { p.check_value(); }), sentence("3"));
  levels = {std::nan("")};
  EXPECT_EQ(refusal([&] { p.check_value(); }), sentence("nan"));
}

TEST(NumbersParameter, WithoutARangeTakesFiniteNumbers) {
  Numbers angles;
  ParameterList l;
  const Parameter& p = l.add("angles", angles, "");
  p.set("-1e300,0,7");
  EXPECT_EQ(angles.size(), 3U);
  EXPECT_SAYS(refusal([&] { p.set("0,inf"); }), "angles holds 'inf'");
  EXPECT_SAYS(refusal([&] { p.set("0,east"); }), "comma-separated finite numbers");
  angles = {kInfinity};
  EXPECT_SAYS(refusal([&] { p.check_value(); }), "angles holds 'inf'");
}

TEST(RowsParameter, TakesListsOneAfterTheOther) {
  Rows starts;
  ParameterList l;
  const Parameter& p = l.add("starts", starts, "").within(-5, 5);
  EXPECT_EQ(p.text(), "");
  p.set("0,1;0.5,-2");
  EXPECT_EQ(starts.values, (std::vector<std::vector<double>>{{0, 1}, {0.5, -2}}));
  EXPECT_EQ(p.text(), "0,1;0.5,-2");
  starts.values = {{0.1, 1.0 / 3}, {4}};
  const std::string text = p.text();
  const auto before = starts.values;
  p.set("");
  EXPECT_TRUE(starts.empty());
  p.set(text);
  EXPECT_EQ(starts.values, before);
  for (const char* wrong : {"x", "0,1;y", "0,6", "0,1;;a"}) {
    EXPECT_SAYS(refusal([&] { p.set(wrong); }), "starts holds '");
    EXPECT_EQ(starts.values, before) << wrong;
  }
  EXPECT_EQ(refusal([&] { p.check_value(); }), "");
  starts.values = {{0}, {1, 9}};
  EXPECT_SAYS(refusal([&] { p.check_value(); }), "starts holds '9', which is not allowed");
}

// ---- Inputs.

TEST(FileParameter, KeepsItsNameUntilItIsLoaded) {
  ArrayInput tokens;
  ParameterList l;
  const Parameter& p = l.add("tokens-file", tokens, "");
  EXPECT_EQ(p.allowed(), ".npy, .npz[:/name], .safetensors[:/name] or HDF5[:/dataset]");
  EXPECT_EQ(p.text(), "");
  EXPECT_FALSE(tokens.given());
  p.set("a b.h5:/x");
  EXPECT_TRUE(tokens.given());
  EXPECT_EQ(p.text(), "a b.h5:/x");
  EXPECT_EQ(tokens.what(), "a b.h5:/x");
  EXPECT_EQ(refusal([&] { (void)tokens.get(); }), "a b.h5:/x was named, but not loaded");
  tokens = Array{{1}, {7}};
  EXPECT_EQ(p.text(), "(an array)");
  EXPECT_EQ(tokens.what(), "the array");
  EXPECT_EQ(tokens.get().data, std::vector<double>{7});
  p.set("other.npy");  // a new name is another array
  EXPECT_EQ(tokens.array, nullptr);
  EXPECT_SAYS(refusal([&] { p.set("a\nb"); }), "control character");
}

TEST(ProblemParameter, IsAProblemOrItsName) {
  ProblemInput data;
  ParameterList l;
  const Parameter& p = l.add("data", data, "").allow("a file, a directory or example:NAME");
  EXPECT_SAYS(refusal([&] { (void)data.get(); }), "the problem is missing");
  p.set("example:multi");
  EXPECT_EQ(p.text(), "example:multi");
  EXPECT_SAYS(refusal([&] { (void)data.get(); }), "example:multi was named, but not loaded");
  data = {.problem = std::make_shared<const training::Problem>()};
  EXPECT_EQ(p.text(), "(a problem)");
  EXPECT_EQ(&data.get(), data.problem.get());
}

TEST(WeightParameter, IsAKindOrAFile) {
  WeightInput value;
  ParameterList l;
  const Parameter& p = l.add("value", value, "");
  EXPECT_EQ(p.text(), "");
  EXPECT_TRUE(value.identity());
  for (const WeightKind kind : every<WeightKind>()) {
    p.set(name(kind));
    EXPECT_EQ(value.kind, kind);
    EXPECT_FALSE(value.is_given());
    EXPECT_EQ(p.text(), name(kind));
    EXPECT_EQ(p.json(), std::string(name(kind)));
  }
  for (const char* file : {"v.npy", "dir/v", "v.h5:/x"}) {
    p.set(file);
    EXPECT_EQ(value.kind, std::nullopt);
    EXPECT_TRUE(value.is_given());
    EXPECT_EQ(value.given.name, file);
    EXPECT_EQ(p.text(), file);
  }
  p.set("");
  EXPECT_TRUE(value.identity());
  for (const char* text : {"gauss", "Goe", "goe ", "file", "b@d"}) expect_refused(p, text);
  EXPECT_EQ(p.allowed(),
            "identity, gaussian, goe, wigner, orthogonal, psd, qk, minus-qk, or a file: .npy, "
            ".npz[:/name], .safetensors[:/name] or "
            "HDF5[:/dataset]");
}

TEST(WeightParameter, AmongSomeTakesNoOthers) {
  WeightInput query;
  ParameterList l;
  const Parameter& p = l.add("query", query, "").among({"identity", "goe"});
  p.set("goe");
  expect_refused(p, "qk");
  p.set("q.npy");
  EXPECT_EQ(refusal([&] { p.check_value(); }), "");
  query = WeightKind::qk;
  EXPECT_EQ(refusal([&] { p.check_value(); }),
            "query = 'qk' is not allowed; allowed: identity, goe, or a file: .npy, .npz[:/name], "
            ".safetensors[:/name] or "
            "HDF5[:/dataset]");
}

TEST(WeightInputs, SayWhetherASeedMatters) {
  EXPECT_FALSE(WeightInput().random());
  for (const WeightKind kind : {WeightKind::identity, WeightKind::qk, WeightKind::minus_qk})
    EXPECT_FALSE(WeightInput(kind).random()) << name(kind);
  for (const WeightKind kind : {WeightKind::gaussian, WeightKind::goe, WeightKind::wigner,
                                WeightKind::orthogonal, WeightKind::psd})
    EXPECT_TRUE(WeightInput(kind).random()) << name(kind);
  const WeightInput given(Array{{2, 2}, {1, 0, 0, 1}});
  EXPECT_FALSE(given.random() || given.identity());
}

// ---- Words.

TEST(WordsParameter, CollectsWhatItIsGiven) {
  std::vector<std::string> names;
  double x = 0;
  ParameterList l;
  l.add("names", names, "").first();
  l.add("x", x, "");
  EXPECT_TRUE(l[0].many());
  EXPECT_FALSE(l[1].many());
  EXPECT_EQ(l[0].text(), "");
  l[0].set("one");
  l[0].set("two");
  EXPECT_EQ(names, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(l[0].text(), "one two");
  EXPECT_SAYS(refusal([&] { l[0].set("a\nb"); }), "names holds a control character");
  EXPECT_EQ(names.size(), 2U);
}

TEST(TextParameter, MayHaveToBeAName) {
  std::string out = "kept";
  ParameterList l;
  const Parameter& p = l.add("out", out, "").not_empty();
  EXPECT_EQ(refusal([&] { p.set(""); }), "out is empty; it needs a name");
  EXPECT_EQ(out, "kept");
  p.set("run");
  EXPECT_EQ(out, "run");
}

// ---- Lists.

// A setup with one parameter of each kind that others depend on.
struct NoisySetup {
  Rule dynamics = Rule::softmax;
  RadialKernel kernel = RadialKernel::gaussian;
  std::optional<Rule> engine{};
  double accuracy = 1e-8, noise = 0;
  std::uint64_t substeps = 1;
  std::string title = "plain";
};

ParameterList list(NoisySetup& s) {
  ParameterList l;
  l.group("Model");
  l.add("dynamics", s.dynamics, "rule").among({Rule::softmax, Rule::linear, Rule::radial});
  l.add("kernel", s.kernel, "of radial").used_by("dynamics", {"radial"});
  l.add("engine", s.engine, "how");
  l.add("accuracy", s.accuracy, "of engines")
      .within(1e-12, 1e-4)
      .used_by("engine", {"relu", "linear", "sa"});
  l.group("Noise");
  l.add("noise", s.noise, "kappa").within(0, 1e6);
  l.add("noise-substeps", s.substeps, "finer").within(1, 1e6).used_if(s.noise > 0, "noise");
  l.add("title", s.title, "text").among({"plain", "fancy"});
  return l;
}

TEST(ParameterLists, HaveHeadings) {
  NoisySetup s;
  const ParameterList l = list(s);
  EXPECT_EQ(find(l, "kernel").group, "Model");
  EXPECT_EQ(find(l, "title").group, "Noise");
  EXPECT_EQ(find(l, "title").help, "text");
  ParameterList both;
  both.append(l);
  both.append(l);
  EXPECT_EQ(both.size(), 2 * l.size());
}

TEST(ParameterLists, SayWhatMostUsersWant) {
  double beta = 1, tolerance = 1, rate = 1;
  std::string data;
  ParameterList l;
  l.add("data", data, "").first();
  l.add("beta", beta, "");
  l.add("tolerance", tolerance, "");
  EXPECT_TRUE(l[2].common);  // all, where nothing is said
  l.short_help({"beta"});
  l.add("rate", rate, "");
  EXPECT_TRUE(l[0].common);
  EXPECT_TRUE(l[1].common);
  EXPECT_FALSE(l[2].common);
  EXPECT_TRUE(l[3].common);
}

TEST(ParameterUse, OfWhatHasNoEffectIsRefusedWhenGiven) {
  NoisySetup s;
  const auto said = [&](const std::vector<std::string>& given) {
    return refusal([&] { check_use(list(s), given); });
  };
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({"dynamics", "engine", "noise", "title"}), "");
  EXPECT_EQ(said({"noise", "kernel"}),
            "kernel is used by dynamics radial only, not by dynamics sa");
  EXPECT_EQ(said({"accuracy"}),
            "accuracy is used by engine relu, linear or sa only, not by engine auto");
  EXPECT_EQ(said({"noise-substeps"}), "noise-substeps has no effect without noise");
  EXPECT_SAYS(said({"nonsense"}), "'nonsense' is no parameter");
  s.dynamics = Rule::radial;
  s.engine = Rule::linear;
  s.noise = 0.1;
  EXPECT_EQ(said({"kernel", "accuracy", "noise-substeps"}), "");
}

TEST(ParameterUse, OfTwoValuesSaysEither) {
  Rule rule = Rule::softmax;
  double x = 0;
  ParameterList l;
  l.add("rule", rule, "");
  l.add("x", x, "").used_by("rule", {"relu", "linear"});
  EXPECT_EQ(refusal([&] { check_use(l, {"x"}); }),
            "x is used by rule relu or linear only, not by rule sa");
}

TEST(ParameterValues, OfAProgramAreHeldAgainstTheList) {
  const auto said = [](NoisySetup s) { return refusal([&] { check_values(list(s)); }); };
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({.dynamics = Rule::relu}),
            "dynamics = 'relu' is not allowed; allowed: sa, linear, radial");
  EXPECT_EQ(said({.accuracy = 1}), "accuracy = '1' is not allowed; allowed: 1e-12 to 0.0001");
  EXPECT_EQ(said({.noise = -1}), "noise = '-1' is not allowed; allowed: 0 to 1000000");
  EXPECT_SAYS(said({.noise = std::nan("")}), "noise = 'nan' is not allowed");
  EXPECT_SAYS(said({.noise = kInfinity}), "noise = 'inf' is not allowed");
  EXPECT_SAYS(said({.substeps = 0}), "noise-substeps = '0' is not allowed");
  EXPECT_EQ(said({.title = "bold"}), "title = 'bold' is not allowed; allowed: plain, fancy");
  EXPECT_EQ(said({.title = ""}), "title = '' is not allowed; allowed: plain, fancy");
}

TEST(ParameterValues, OfAProgramMayBeNoneOrHaveAName) {
  std::optional<double> radius;
  std::optional<std::uint64_t> count;
  ParameterList l;
  l.add("radius", radius, "").within(1, 2).special_value("off", 0);
  l.add("count", count, "").within(2, 9);
  const auto said = [&] { return refusal([&] { check_values(l); }); };
  EXPECT_EQ(said(), "");
  radius = 0;
  EXPECT_EQ(said(), "");
  radius = 0.5;
  EXPECT_EQ(said(), "radius = '0.5' is not allowed; allowed: auto, off, or 1 to 2");
  radius = 1;
  count = 1;
  EXPECT_EQ(said(), "count = '1' is not allowed; allowed: auto, or whole number, 2 to 9");
}

TEST(ParameterSetups, CountWhatDiffersFromTheDefaultAsGiven) {
  NoisySetup now{.engine = Rule::relu, .noise = 2}, usual;
  EXPECT_EQ(differing(list(now), list(usual)), (std::vector<std::string>{"engine", "noise"}));
  EXPECT_TRUE(differing(list(usual), list(usual)).empty());
  const auto said = [](const NoisySetup& s) { return refusal([&] { check_setup(s); }); };
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({.kernel = RadialKernel::cauchy}),
            "kernel is used by dynamics radial only, not by dynamics sa");
  EXPECT_EQ(said({.dynamics = Rule::radial, .kernel = RadialKernel::cauchy}), "");
  EXPECT_EQ(said({.substeps = 3}), "noise-substeps has no effect without noise");
  EXPECT_EQ(said({.noise = 1, .substeps = 3}), "");
  EXPECT_SAYS(said({.noise = -1}), "noise = '-1' is not allowed");
}

TEST(ParameterLists, MakeTheCommandLineOfWhatDiffers) {
  NoisySetup now{.engine = Rule::relu, .accuracy = 1e-6}, usual;
  EXPECT_EQ(command_line("attractor x", list(now), list(usual)),
            "attractor x --engine relu --accuracy 1e-06");
  EXPECT_EQ(command_line("attractor x", list(usual), list(usual)), "attractor x");
  ArrayInput points, none;
  bool flag = true, no_flag = false;
  Numbers levels = {1, 2}, no_levels;
  const auto of = [](ArrayInput& a, bool& b, Numbers& n) {
    ParameterList l;
    l.add("flag", b, "");
    l.add("levels", n, "").not_stored();
    l.add("points", a, "").first();
    return l;
  };
  points.name = "my points.npy";
  EXPECT_EQ(command_line("attractor y", of(points, flag, levels), of(none, no_flag, no_levels)),
            "attractor y 'my points.npy' --flag");
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
