#include "attractor/lab/flow/flow_setup.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <set>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/lab/json.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string refusal_of_check(const FlowSetup& p) {
  return refusal([&] { check(p); });
}

std::string exact(double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%.17g", x);
  return text;
}

bool is_text(const Parameter& p) { return std::holds_alternative<std::string*>(p.target); }
bool is_whole(const Parameter& p) { return std::holds_alternative<std::uint64_t*>(p.target); }

// A value other than the default that set() takes.
std::string another_value(const Parameter& p) {
  if (!p.choices.empty())
    return p.choices.back() == p.text() ? p.choices.front() : p.choices.back();
  if (is_text(p)) return "another " + p.name;
  if (p.is_flag()) return p.text() == "true" ? "false" : "true";
  if (is_whole(p)) return std::isinf(p.most) ? "18446744073709551615" : exact(p.most - 1);
  const double low = std::isinf(p.least) ? -1 : p.least, high = std::isinf(p.most) ? 1 : p.most;
  return exact(low + (high - low) / 3);
}

TEST(FlowParameterList, NamesEveryParameterOnceWithGroupAndHelp) {
  FlowSetup p;
  std::set<std::string> names;
  std::set<const void*> targets;
  const ParameterList all = list(p);
  for (const Parameter& parameter : all) {
    names.insert(parameter.name);
    std::visit([&](auto* target) { targets.insert(target); }, parameter.target);
    EXPECT_FALSE(parameter.help.empty()) << parameter.name;
    EXPECT_FALSE(parameter.group.empty()) << parameter.name;
    EXPECT_FALSE(parameter.allowed().empty()) << parameter.name;
    EXPECT_EQ(parameter.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
              std::string::npos);
  }
  EXPECT_EQ(names.size(), all.size());
  EXPECT_EQ(targets.size(), all.size()) << "two parameters share a field";
  // Every byte of the struct but padding belongs to a listed field: none was forgotten.
  std::size_t bytes = 0;
  for (const Parameter& parameter : all)
    bytes += is_text(parameter) ? sizeof(std::string) : sizeof(double);
  EXPECT_EQ(bytes, sizeof(FlowSetup));
}

TEST(FlowParameterList, DefaultsAreAllowed) {
  FlowSetup p;
  for (const Parameter& parameter : list(p)) {
    const std::string text = parameter.text();
    EXPECT_EQ(refusal([&] { parameter.set(text); }), "") << parameter.name;
    EXPECT_EQ(parameter.text(), text) << parameter.name;
  }
  EXPECT_EQ(refusal_of_check(p), "");
}

TEST(FlowParameterList, EveryParameterTakesItsTextBackAndTouchesNoOther) {
  FlowSetup p, defaults;
  const ParameterList usual = list(defaults);
  for (std::size_t k = 0; k < usual.size(); ++k) {
    p = FlowSetup{};
    const ParameterList now = list(p);
    const std::string value = another_value(now[k]);
    now[k].set(value);
    EXPECT_NE(now[k].text(), usual[k].text()) << now[k].name;
    FlowSetup copy;
    const ParameterList again = list(copy);
    again[k].set(now[k].text());
    EXPECT_TRUE(again[k].target.index() == now[k].target.index());
    EXPECT_EQ(again[k].json(), now[k].json()) << now[k].name;
    EXPECT_EQ(again[k].text(), now[k].text());
    for (std::size_t other = 0; other < usual.size(); ++other)
      EXPECT_TRUE(other == k || now[other].text() == usual[other].text()) << now[other].name;
  }
}

TEST(FlowParameterList, RangesIncludeTheirEndsAndNothingBeyond) {
  FlowSetup p;
  std::size_t ends = 0;
  for (const Parameter& parameter : list(p)) {
    if (is_text(parameter)) continue;
    const auto expect = [&](double value, bool allowed) {
      ++ends;
      const std::string text = exact(value);
      const std::string message = refusal([&] { parameter.set(text); });
      if (allowed) {
        EXPECT_EQ(message, "");
        EXPECT_EQ(std::strtod(parameter.text().c_str(), nullptr), value) << parameter.name;
      } else {
        EXPECT_EQ(message, parameter.name + " = '" + text +
                               "' is not allowed; allowed: " + parameter.allowed());
      }
    };
    const double step = is_whole(parameter) ? 1 : 0;
    if (std::isfinite(parameter.least)) {
      expect(parameter.least, !parameter.above_least);
      expect(step > 0 ? parameter.least - 1 : std::nextafter(parameter.least, -kInfinity), false);
      expect(step > 0 ? parameter.least + 1 : std::nextafter(parameter.least, kInfinity), true);
    }
    if (std::isfinite(parameter.most)) {
      expect(parameter.most, true);
      expect(step > 0 ? parameter.most + 1 : std::nextafter(parameter.most, kInfinity), false);
      expect(step > 0 ? parameter.most - 1 : std::nextafter(parameter.most, -kInfinity), true);
    }
    if (is_whole(parameter)) expect(-1, false);
    EXPECT_NE(refusal([&] { parameter.set("nan"); }), "") << parameter.name;
  }
  EXPECT_GT(ends, 70U);
}

TEST(FlowParameterList, RefusalsNameTheParameterTheValueAndWhatIsAllowed) {
  FlowSetup p;
  for (const Parameter& parameter : list(p)) {
    if (is_text(parameter) && parameter.choices.empty()) continue;
    const std::string message = refusal([&] { parameter.set("b@d"); });
    EXPECT_SAYS(message, parameter.name + " = 'b@d'");
    EXPECT_SAYS(message, "allowed: " + parameter.allowed());
    for (const std::string& choice : parameter.choices) EXPECT_SAYS(message, choice);
  }
  EXPECT_EQ(refusal([&] { find(list(p), "beta").set("2e6"); }),
            "beta = '2e6' is not allowed; allowed: 0 to 1000000");
  EXPECT_EQ(refusal([&] { find(list(p), "cap-angle").set("0"); }),
            "cap-angle = '0' is not allowed; allowed: above 0 to 3.141592653589793");
}

TEST(FlowParameterCheck, AcceptsTheWordsAndTheRangesOfMixedParameters) {
  for (const char* text : {"auto", "off", "1e-12", "1e-3", "0.01"})
    EXPECT_EQ(refusal_of_check({.merge_radius = text}), "") << text;
  for (const char* text : {"auto", "1e-9", "0.5", "0.999999999"})
    EXPECT_EQ(refusal_of_check({.cluster_cosine = text}), "") << text;
  for (const char* text : {"auto", "2", "9", "1e3", "1000"})
    EXPECT_EQ(refusal_of_check({.snapshots = text}), "") << text;
}

TEST(FlowParameterCheck, RefusesOtherWordsAndNumbersWithWhatIsAllowed) {
  for (const std::string text : {"", "on", "Auto", "0", "9e-13", "0.0101", "-1e-6", "nan", "inf"})
    EXPECT_EQ(refusal_of_check({.merge_radius = text}),
              "merge-radius = '" + text + "' is not allowed; allowed: auto, off, or 1e-12 to 0.01");
  for (const std::string text : {"", "off", "0", "-0.5", "nan", "x"})
    EXPECT_EQ(
        refusal_of_check({.cluster_cosine = text}),
        "cluster-cosine = '" + text + "' is not allowed; allowed: auto, or above 0 and below 1");
  for (const std::string text : {"", "off", "0", "1", "1001", "nan", "-2", "many"})
    EXPECT_EQ(refusal_of_check({.snapshots = text}),
              "snapshots = '" + text +
                  "' is not allowed; allowed: auto, or a whole number from 2 to 1000");
}

TEST(FlowParameterCheck, ARefusalAtAnOpenUpperEndNamesTheValueGiven) {
  for (const std::string text : {"1", "1.0"})
    EXPECT_EQ(
        refusal_of_check({.cluster_cosine = text}),
        "cluster-cosine = '" + text + "' is not allowed; allowed: auto, or above 0 and below 1");
}

TEST(FlowParameterCheck, HalfASnapshotIsRefused) {
  EXPECT_SAYS(refusal_of_check({.snapshots = 2.5}), "snapshots = '2.5' is not allowed");
}

TEST(FlowParameterCheck, NumbersAmongWordsAreSpelledAsEverywhere) {
  // As a real parameter takes and refuses them.
  EXPECT_EQ(refusal_of_check({.snapshots = +5}), "");
  for (const char* text : {"0x10", " 5", "5 ", "\t5"})
    EXPECT_SAYS(refusal_of_check({.snapshots = text}), "is not allowed");
  EXPECT_SAYS(refusal_of_check({.merge_radius = 0x1p-20}), "is not allowed");
  EXPECT_SAYS(refusal_of_check({.cluster_cosine =  0.5}), "is not allowed");
}

TEST(FlowParameterCheck, EndlessTimeNeedsWhatCanEnd) {
  EXPECT_EQ(refusal_of_check({.time = kInfinity}), "");
  EXPECT_EQ(refusal_of_check({.time = kInfinity, .output_spacing = Spacing::steps}), "");
  for (const char* stepper : {"layers", "euler", "rk4"}) {
    const std::string message = refusal_of_check({.time = kInfinity, .stepper = stepper});
    EXPECT_SAYS(message, "time = inf");
    EXPECT_SAYS(message, "adaptive");
    EXPECT_SAYS(message, stepper);
  }
  EXPECT_SAYS(refusal_of_check({.space = depth::Geometry::euclidean, .time = kInfinity}), "--space sphere");
  EXPECT_SAYS(refusal_of_check({.time = kInfinity, .merge_radius = 0}), "--merge-radius off");
  EXPECT_SAYS(refusal_of_check({.time = kInfinity, .output_spacing = Spacing::linear}),
              "output-spacing linear");
  EXPECT_SAYS(refusal_of_check({.time = kInfinity, .output_spacing = Spacing::log}), "output-spacing log");
}

TEST(FlowParameterCheck, FixedStepsMustFitTheTime) {
  for (const char* stepper : {"layers", "euler", "rk4"}) {
    EXPECT_EQ(refusal_of_check({.time = 1, .stepper = stepper, .step = 1}), "");
    EXPECT_EQ(refusal_of_check({.time = 0, .stepper = stepper, .step = 1}), "");
    EXPECT_EQ(refusal_of_check({.time = 1, .stepper = stepper, .step = 1.5}),
              "step = 1.5 is longer than time = 1");
    EXPECT_EQ(refusal_of_check({.time = 1, .stepper = stepper, .step = 0.125, .max_steps = 8}), "");
    const std::string message =
        refusal_of_check({.time = 1, .stepper = stepper, .step = 0.125, .max_steps = 7});
    EXPECT_SAYS(message, "time / step = 8 steps");
    EXPECT_SAYS(message, "max-steps = 7");
  }
  EXPECT_EQ(refusal_of_check({.time = 1, .step = 1.5, .max_steps = 1}), "");  // adaptive
}

TEST(FlowParameterCheck, OffTheSphereTokensStartNormalOrFromAFile) {
  FlowSetup p{.space = depth::Geometry::euclidean};
  EXPECT_EQ(refusal_of_check(p), "");
  p.init = Arrangement::file;
  EXPECT_EQ(refusal_of_check(p), "");
  for (const char* init : {"hemisphere", "cap", "equiangular", "clusters", "circle", "angles"}) {
    p.init = init;
    EXPECT_SAYS(refusal_of_check(p), "init " + std::string(init));
  }
}

TEST(FlowParameterCheck, MoreNumbersThanMemoryAreRefused) {
  EXPECT_EQ(refusal_of_check({.tokens = 1'000'000, .dim = 1000}), "");
  const std::string message = refusal_of_check({.tokens = 1'000'001, .dim = 1000});
  EXPECT_SAYS(message, "1000001 tokens");
  EXPECT_SAYS(message, "dimension 1000");
  EXPECT_SAYS(message, "at most 1e9");
  EXPECT_EQ(refusal_of_check({.init = Arrangement::file, .tokens = 10'000'000, .dim = 65536}), "");
}

TEST(FlowParameterUse, WhatTheStartDoesNotUseIsRefusedWhenGiven) {
  const std::pair<const char*, const char*> uses[] = {
      {"rho", "equiangular"}, {"cap-angle", "cap"}, {"centres", "clusters"},
      {"spread", "clusters"}, {"mode", "circle"},   {"amplitude", "circle"},
      {"phase", "circle"},    {"angles", "angles"}, {"tokens-file", "file"}};
  FlowSetup p;
  const std::vector<std::string> inits = find(list(p), "init").choices;
  for (const auto& [name, user] : uses)
    for (const std::string& init : inits) {
      p.init = init;
      const std::string message = refusal([&] { check_use(p, {"beta", name, "seed"}); });
      EXPECT_EQ(message.empty(), init == user) << name << " with " << init;
      if (init == user) continue;
      EXPECT_SAYS(message, "--" + std::string(name));
      EXPECT_SAYS(message, "--init " + std::string(user));
      EXPECT_SAYS(message, "--init " + init);
    }
  p.init = Arrangement::uniform;
  EXPECT_EQ(refusal([&] { check_use(p, {}); }), "");
  EXPECT_EQ(refusal([&] { check_use(p, {"tokens", "dim", "seed", "init", "time"}); }), "");
}

TEST(FlowSetup, RelativeFilesAreTakenFromADirectory) {
  const FlowSetup p{.query = "q.npy", .key = "/k.npy", .tokens_file = "sub/t.h5:/x"};
  const FlowSetup moved = with_files_from(p, "/runs");
  EXPECT_EQ(moved.query, "/runs/q.npy");
  EXPECT_EQ(moved.key, "/k.npy");
  EXPECT_EQ(moved.value, "");
  EXPECT_EQ(moved.tokens_file, "/runs/sub/t.h5:/x");
  const FlowSetup same = with_files_from(p, "");
  EXPECT_EQ(same.query, "q.npy");
  EXPECT_EQ(same.tokens_file, "sub/t.h5:/x");
}

TEST(FlowSetup, HandEveryFieldOfTheStartOn) {
  const FlowSetup p{.space = depth::Geometry::euclidean,
                         .init = Arrangement::cap,
                         .tokens = 11,
                         .dim = 12,
                         .seed = 13,
                         .rho = 0.14,
                         .cap_angle = 0.15,
                         .centres = 16,
                         .spread = 0.17,
                         .mode = 18,
                         .amplitude = 0.19,
                         .phase = 0.2,
                         .angles = {2, 1},
                         .tokens_file = "22.npy"};
  const Start start = start_of(p);
  EXPECT_EQ(start.arrangement, "cap");
  EXPECT_EQ(start.tokens, 11U);
  EXPECT_EQ(start.dim, 12U);
  EXPECT_EQ(start.seed, 13U);
  EXPECT_FALSE(start.on_sphere);
  EXPECT_EQ(start.rho, 0.14);
  EXPECT_EQ(start.cap_angle, 0.15);
  EXPECT_EQ(start.clusters, 16U);
  EXPECT_EQ(start.spread, 0.17);
  EXPECT_EQ(start.mode, 18U);
  EXPECT_EQ(start.amplitude, 0.19);
  EXPECT_EQ(start.phase, 0.2);
  EXPECT_EQ(start.angles, "2,1");
  EXPECT_EQ(start.file, "22.npy");
  EXPECT_TRUE(start_of(FlowSetup{}).on_sphere);
}

TEST(FlowSetup, SnapshotsDefaultToFewerForManyTokens) {
  EXPECT_EQ(snapshot_count({}, 1), 9U);
  EXPECT_EQ(snapshot_count({}, 1 << 20), 9U);
  EXPECT_EQ(snapshot_count({}, (1 << 20) + 1), 2U);
  EXPECT_EQ(snapshot_count({.snapshots = 5}, std::size_t{1} << 40), 5U);
  EXPECT_EQ(snapshot_count({.snapshots = 1e3}, 1), 1000U);
}

// The arguments a POSIX shell hands to the program.
std::vector<std::string> words(const std::string& command_line) {
  const std::string script = "set -- " + command_line + "\nprintf '%s\\0' \"$@\"";
  std::string quoted = "'";
  for (const char c : script) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  FILE* pipe = ::popen(("/bin/sh -c " + quoted + "'").c_str(), "r");
  std::vector<std::string> all(1);
  for (int c = 0; pipe != nullptr && (c = std::fgetc(pipe)) != EOF;) {
    if (c == 0)
      all.emplace_back();
    else
      all.back() += static_cast<char>(c);
  }
  EXPECT_TRUE(pipe != nullptr && ::pclose(pipe) == 0) << command_line;
  all.pop_back();
  return all;
}

void expect_command_repeats(FlowSetup p) {
  const std::string line = command(p);
  const std::vector<std::string> args = words(line);
  ASSERT_GE(args.size(), 2U);
  EXPECT_EQ(args[0], "attractor");
  EXPECT_EQ(args[1], "flow");
  ASSERT_EQ(args.size() % 2, 0U) << line;
  FlowSetup again;
  const ParameterList repeated = list(again), original = list(p);
  for (std::size_t k = 2; k < args.size(); k += 2) {
    ASSERT_EQ(args[k].substr(0, 2), "--") << line;
    find(repeated, args[k].substr(2)).set(args[k + 1]);
  }
  for (std::size_t k = 0; k < original.size(); ++k)
    EXPECT_EQ(repeated[k].text(), original[k].text()) << original[k].name << " in " << line;
}

TEST(FlowCommand, OfTheDefaultsIsBare) { EXPECT_EQ(command({}), "attractor flow"); }

TEST(FlowCommand, NamesOnlyWhatDiffersAndQuotesOnlyWhatMustBe) {
  EXPECT_EQ(command({.beta = 4.5, .init = Arrangement::cap, .tokens = 1000, .time = kInfinity}),
            "attractor flow --beta 4.5 --init cap --tokens 1000 --time inf");
  EXPECT_EQ(command({.angles = {0, 0.9, 2.2}}), "attractor flow --angles 0,0.9,2.2");
  EXPECT_EQ(command({.tokens_file = "run/a_b-1.h5:/x"}),
            "attractor flow --tokens-file run/a_b-1.h5:/x");
  EXPECT_EQ(command({.tokens_file = "my file.npy"}), "attractor flow --tokens-file 'my file.npy'");
  EXPECT_EQ(command({.tokens_file = "it's"}), "attractor flow --tokens-file 'it'\\''s'");
}

TEST(FlowCommand, RepeatsEveryParameterThroughAShell) {
  FlowSetup p;
  const ParameterList all = list(p);
  for (const Parameter& parameter : all) {
    if (!parameter.stored) continue;
    parameter.set(another_value(parameter));
    expect_command_repeats(p);
  }
}

TEST(FlowCommand, RepeatsTextsThatAShellWouldChange) {
  for (const char* text :
       {"a b",     "it's",   "'",  "''",    "'''",    "a'b'c", "\"x\"", "$HOME",    "`date`",
        "$(date)", "a\\b",   "\\", "*",     "?",      "~",     "a;b",   "a&b",      "a|b",
        "<x>",     "#x",     "!x", "{a,b}", "[a]",    "(a)",   "x=y",   "\xc3\xa4", "%s",
        "-x",      "--beta", " ",  " lead", "trail ", "\\'"})
    expect_command_repeats({.tokens_file = text});
}

TEST(FlowCommand, RepeatsNumbersToTheLastBit) {
  expect_command_repeats({.beta = 0.1 + 0.2,
                          .seed = std::numeric_limits<std::uint64_t>::max(),
                          .rho = -1.0 / 3,
                          .phase = -0.0,
                          .time = 5e-324,
                          .tolerance = std::nextafter(1e-8, 1)});
}

}  // namespace
}  // namespace attractor::lab
