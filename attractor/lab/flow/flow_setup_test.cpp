#include "attractor/lab/flow/flow_setup.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "attractor/base/error.hpp"
#include "attractor/base/numbers.hpp"
#include "attractor/lab/json.hpp"
#include "tests/support/exact_text.hpp"
#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

constexpr flow::Method kFixedSteps[] = {flow::Method::layers, flow::Method::euler,
                                        flow::Method::rk4};

std::string refusal_of_check(const FlowSetup& p) {
  return refusal([&] { check(p); });
}

// What a word of the command line makes of the parameter, and then the check of all of them.
std::string refusal_of_word(const std::string& name, const std::string& text) {
  FlowSetup p;
  return refusal([&] {
    find(list(p), name).set(text);
    check(p);
  });
}

ArrayInput file_called(const std::string& name) {
  ArrayInput file;
  file.name = name;
  return file;
}

template <class T>
bool is_a(const Parameter& p) {
  return std::holds_alternative<T>(p.target);
}

bool is_file(const Parameter& p) { return is_a<ArrayInput*>(p); }
bool is_whole(const Parameter& p) {
  return is_a<std::uint64_t*>(p) || is_a<std::optional<std::uint64_t>*>(p);
}
bool is_number(const Parameter& p) {
  return is_whole(p) || is_a<double*>(p) || is_a<std::optional<double>*>(p);
}

// A value other than the default that set() takes.
std::string another_value(const Parameter& p) {
  if (!p.choices.empty())
    return p.choices.back() == p.text() ? p.choices.front() : p.choices.back();
  if (is_file(p)) return "another " + p.name;
  if (is_a<Numbers*>(p)) return "0.25, 3:4:5";
  if (p.is_flag()) return p.text() == "true" ? "false" : "true";
  if (is_whole(p)) return std::isinf(p.most) ? "18446744073709551615" : exact(p.most - 1);
  const double low = std::isinf(p.least) ? -1 : p.least, high = std::isinf(p.most) ? 1 : p.most;
  return exact(low + (high - low) / 3);
}

struct Address {
  const void* operator()(const EnumSlot& slot) const { return slot.target; }
  const void* operator()(const void* target) const { return target; }
};

// How many fields an aggregate has: as many as it can be made of.
struct AnyField {
  template <class T>
  operator T() const {
    throw Error("asked for its type alone");
  }
};
template <class T, std::size_t... Field>
constexpr bool can_be_made_of(std::index_sequence<Field...>) {
  return requires { T{(static_cast<void>(Field), AnyField{})...}; };
}
template <class T, std::size_t Count = 1>
constexpr std::size_t field_count() {
  if constexpr (can_be_made_of<T>(std::make_index_sequence<Count + 1>()))
    return field_count<T, Count + 1>();
  else
    return Count;
}

TEST(FlowParameterList, NamesEveryParameterOnceWithGroupAndHelp) {
  FlowSetup p;
  std::set<std::string> names;
  std::set<const void*> targets;
  const ParameterList all = list(p);
  for (const Parameter& parameter : all) {
    names.insert(parameter.name);
    targets.insert(std::visit(Address{}, parameter.target));
    EXPECT_FALSE(parameter.help.empty()) << parameter.name;
    EXPECT_FALSE(parameter.group.empty()) << parameter.name;
    EXPECT_FALSE(parameter.allowed().empty()) << parameter.name;
    EXPECT_EQ(parameter.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-"),
              std::string::npos);
  }
  EXPECT_EQ(names.size(), all.size());
  EXPECT_EQ(targets.size(), all.size()) << "two parameters share a field";
  EXPECT_EQ(all.size(), field_count<FlowSetup>()) << "a field was forgotten";
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
    if (!is_number(parameter) && !parameter.is_flag()) continue;
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
      expect(parameter.most, !parameter.below_most);
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
    if (is_file(parameter)) continue;  // any text is a name
    const std::string message = refusal([&] { parameter.set("b@d"); });
    if (is_a<Numbers*>(parameter)) {
      EXPECT_SAYS(message, parameter.name + " holds 'b@d', which is not allowed; allowed: comma");
      continue;
    }
    EXPECT_SAYS(message, parameter.name + " = 'b@d'");
    EXPECT_SAYS(message, "allowed: " + parameter.allowed());
    for (const std::string& choice : parameter.choices) EXPECT_SAYS(message, choice);
  }
  EXPECT_EQ(refusal([&] { find(list(p), "beta").set("2e6"); }),
            "beta = '2e6' is not allowed; allowed: -20 to 1000000");
  EXPECT_EQ(refusal([&] { find(list(p), "cap-angle").set("0"); }),
            "cap-angle = '0' is not allowed; allowed: above 0 to 3.141592653589793");
}

TEST(FlowParameterCheck, AcceptsTheWordsAndTheRangesOfMixedParameters) {
  for (const char* text : {"auto", "off", "1e-12", "1e-3", "0.01"})
    EXPECT_EQ(refusal_of_word("merge-radius", text), "") << text;
  for (const char* text : {"auto", "1e-9", "0.5", "0.999999999"})
    EXPECT_EQ(refusal_of_word("cluster-cosine", text), "") << text;
  for (const char* text : {"auto", "2", "9", "1e3", "1000"})
    EXPECT_EQ(refusal_of_word("snapshots", text), "") << text;
}

TEST(FlowParameterCheck, RefusesOtherWordsAndNumbersWithWhatIsAllowed) {
  for (const std::string text : {"", "on", "Auto", "0", "9e-13", "0.0101", "-1e-6", "nan", "inf"})
    EXPECT_EQ(refusal_of_word("merge-radius", text),
              "merge-radius = '" + text + "' is not allowed; allowed: auto, off, or 1e-12 to 0.01");
  for (const std::string text : {"", "off", "0", "-0.5", "nan", "x"})
    EXPECT_EQ(
        refusal_of_word("cluster-cosine", text),
        "cluster-cosine = '" + text + "' is not allowed; allowed: auto, or above 0 and below 1");
  for (const std::string text : {"", "off", "0", "1", "1001", "nan", "-2", "many"})
    EXPECT_EQ(
        refusal_of_word("snapshots", text),
        "snapshots = '" + text + "' is not allowed; allowed: auto, or whole number, 2 to 1000");
}

TEST(FlowParameterCheck, RefusesTheSameNumbersFromAProgram) {
  EXPECT_EQ(refusal_of_check({.merge_radius = 0, .cluster_cosine = 0.5, .snapshots = 2}), "");
  EXPECT_EQ(refusal_of_check({.merge_radius = 0.02}),
            "merge-radius = '0.02' is not allowed; allowed: auto, off, or 1e-12 to 0.01");
  EXPECT_EQ(refusal_of_check({.cluster_cosine = 1}),
            "cluster-cosine = '1' is not allowed; allowed: auto, or above 0 and below 1");
  EXPECT_EQ(refusal_of_check({.snapshots = 1}),
            "snapshots = '1' is not allowed; allowed: auto, or whole number, 2 to 1000");
  EXPECT_EQ(refusal_of_check({.beta = -21}),
            "beta = '-21' is not allowed; allowed: -20 to 1000000");
  for (WeightInput FlowSetup::*matrix : {&FlowSetup::query, &FlowSetup::key, &FlowSetup::output}) {
    FlowSetup p;
    p.*matrix = WeightKind::minus_qk;
    EXPECT_SAYS(refusal_of_check(p), " = 'minus-qk' is not allowed; allowed: identity, gaussian");
  }
  EXPECT_EQ(refusal_of_check({.value = WeightKind::minus_qk}), "");
}

TEST(FlowParameterCheck, NegativeBetaIsForLayersAlone) {
  EXPECT_EQ(refusal_of_check({.beta = -3}), "");
  EXPECT_EQ(engine_of({.beta = -3}, 64, 3), std::nullopt);
  EXPECT_EQ(refusal_of_check({.beta = -3, .engine = depth::Engine::sphere}),
            "engine sphere needs beta from 0 on, not -3");
  EXPECT_EQ(refusal_of_check({.beta = -3, .engine = depth::Engine::dense}),
            "engine dense needs beta from 0 on, not -3; leave the engine out");
  EXPECT_EQ(refusal_of_check({.beta = -3, .time = kInfinity}),
            "time = inf needs beta from 0 on, not -3; below, tokens may rest in several clusters "
            "for ever");
  EXPECT_EQ(refusal_of_check({.beta = -3, .merge_radius = 1e-3}),
            "merge-radius needs beta from 0 on, not -3; leave it out or off");
  EXPECT_EQ(refusal_of_check({.beta = -3, .precision = Precision::f32}),
            "precision single needs beta from 0 on, not -3; take double");
  EXPECT_EQ(refusal_of_check({.dynamics = Rule::radial, .beta = -3}),
            "dynamics radial needs beta from 0 on, not -3; its kernels fall with the distance");
}

TEST(FlowParameterCheck, EachNoiseHasItsStepper) {
  constexpr flow::NoiseKind kClock = flow::NoiseKind::multiplicative;
  EXPECT_EQ(refusal_of_check({.noise = 1, .noise_kind = kClock}), "");
  EXPECT_EQ(
      refusal_of_check({.noise = 1, .noise_kind = kClock, .stepper = flow::Method::euler_maruyama}),
      "multiplicative noise needs stepper rk4, not euler-maruyama");
  FlowSetup axes{.noise_axes = ArrayInput(Array{{3}, {1, 1, 2}})};
  EXPECT_EQ(refusal_of_check(axes), "noise-axes need additive noise or common-noise above 0");
  axes.common_noise = 1;
  EXPECT_EQ(refusal_of_check(axes), "");
  axes.noise_kind = kClock;
  EXPECT_EQ(refusal_of_check(axes), "noise-axes need additive noise or common-noise above 0");
}

TEST(FlowParameterCheck, SelfAndSinkAreForLayersAlone) {
  EXPECT_EQ(engine_of({.self = SelfAttention::exclude}, 64, 3), std::nullopt);
  EXPECT_EQ(refusal_of_check({.self = SelfAttention::exclude, .engine = depth::Engine::sphere}),
            "engine sphere needs self include, not exclude");
  EXPECT_EQ(refusal_of_check({.sink_mass = 4}),
            "sink-mass = 4 needs mask causal, not full: there no token is first");
  EXPECT_EQ(refusal_of_check({.sink_fixed = true}),
            "sink-fixed needs mask causal, not full: there no token is first");
  EXPECT_EQ(refusal_of_check({.mask = MaskKind::causal, .sink_mass = 4, .sink_fixed = true}), "");
  EXPECT_EQ(refusal_of_check({.dynamics = Rule::hardmax, .mask = MaskKind::causal, .sink_mass = 4}),
            "sink-mass = 4 needs dynamics sa or usa, not hardmax");
  EXPECT_EQ(refusal_of_check({.mask = MaskKind::causal, .sink_fixed = true, .noise = 1}),
            "sink-fixed needs noise = 0: noise moves every token");
  EXPECT_EQ(refusal_of_check({.rope = RotaryLayout::pairs, .dim = 5}),
            "rope pairs needs queries and keys of even dimension (dim or rank), not 5");
  EXPECT_EQ(refusal_of_check({.rope = RotaryLayout::halves, .dim = 6}), "");
  EXPECT_EQ(
      refusal_of_check({.qk_norm = QueryKeyNorm::l2, .dim = 2, .engine = depth::Engine::circle}),
      "engine circle needs qk-norm none and no gains, not normed or weighted queries and keys");
  EXPECT_EQ(
      refusal_of_check({.rope = RotaryLayout::pairs, .dim = 2, .engine = depth::Engine::circle}),
      "engine circle needs rope none, not pairs");
}

TEST(FlowParameterCheck, ARefusalAtAnOpenUpperEndNamesTheValueGiven) {
  for (const std::string text : {"1", "1.0"})
    EXPECT_EQ(
        refusal_of_word("cluster-cosine", text),
        "cluster-cosine = '" + text + "' is not allowed; allowed: auto, or above 0 and below 1");
}

TEST(FlowParameterCheck, HalfASnapshotIsRefused) {
  EXPECT_SAYS(refusal_of_word("snapshots", "2.5"), "snapshots = '2.5' is not allowed");
}

TEST(FlowParameterCheck, NumbersAmongWordsAreSpelledAsEverywhere) {
  // As a real parameter takes and refuses them.
  EXPECT_EQ(refusal_of_word("snapshots", "+5"), "");
  for (const char* text : {"0x10", " 5", "5 "})
    EXPECT_SAYS(refusal_of_word("snapshots", text), "is not allowed");
  EXPECT_SAYS(refusal_of_word("snapshots", "\t5"), "holds a control character");
  EXPECT_SAYS(refusal_of_word("merge-radius", "0x1p-20"), "is not allowed");
  EXPECT_SAYS(refusal_of_word("cluster-cosine", " 0.5"), "is not allowed");
}

TEST(FlowAngles, AreReadInTheUsualSpellings) {
  FlowSetup p;
  for (const char* text : {"0,0.9,-2.25,1e3", " 0, .9 ,-2.25 ,+1000"}) {
    find(list(p), "angles").set(text);
    EXPECT_EQ(p.angles.values, (std::vector<double>{0, 0.9, -2.25, 1e3}));
  }
}

TEST(FlowAngles, BadTextIsRefusedAndNamed) {
  for (const std::string bad :
       {"x", "1 2", "0.9x", "1e400", "nan", "inf", "-inf", "0;1", "1.2.3", "--1"})
    for (const std::string& text : {bad, "0.5," + bad + ",1"})
      EXPECT_EQ(refusal_of_word("angles", text),
                "angles holds '" + bad +
                    "', which is not allowed; allowed: comma-separated finite numbers, or "
                    "from:to:count");
  EXPECT_SAYS(refusal_of_word("angles", "1\n2"), "angles holds a control character");
  for (const char* hole : {",", ",1", "0,,1", "0, ,1", "0,1,"})
    EXPECT_SAYS(refusal_of_word("angles", hole), "angles holds '', which is not allowed");
}

TEST(FlowParameterCheck, EndlessTimeNeedsWhatCanEnd) {
  EXPECT_EQ(refusal_of_check({.time = kInfinity}), "");
  EXPECT_EQ(refusal_of_check({.time = kInfinity, .output_spacing = Spacing::steps}), "");
  for (const flow::Method stepper : kFixedSteps) {
    const std::string message = refusal_of_check({.time = kInfinity, .stepper = stepper});
    EXPECT_SAYS(message, "time = inf");
    EXPECT_SAYS(message, "adaptive");
    EXPECT_SAYS(message, name(stepper));
  }
  EXPECT_SAYS(refusal_of_check({.space = depth::Geometry::euclidean, .time = kInfinity}),
              "space sphere");
  EXPECT_SAYS(refusal_of_check({.time = kInfinity, .merge_radius = 0}),
              "leave out merge-radius off");
  EXPECT_SAYS(refusal_of_check({.time = kInfinity, .output_spacing = Spacing::linear}),
              "output-spacing linear");
  EXPECT_SAYS(refusal_of_check({.time = kInfinity, .output_spacing = Spacing::log}),
              "output-spacing log");
}

TEST(FlowParameterCheck, FixedStepsMustFitTheTime) {
  for (const flow::Method stepper : kFixedSteps) {
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
  using enum Arrangement;
  for (const Arrangement init : {hemisphere, cap, equiangular, clusters, circle, angles}) {
    p.init = init;
    EXPECT_SAYS(refusal_of_check(p), "init " + std::string(name(init)));
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
  using enum Arrangement;
  const std::pair<std::string, Arrangement> uses[] = {
      {"rho", equiangular}, {"cap-angle", cap}, {"centres", clusters},
      {"spread", clusters}, {"mode", circle},   {"amplitude", circle},
      {"phase", circle},    {"angles", angles}, {"tokens-file", file}};
  FlowSetup p;
  for (const auto& use : uses)
    for (const Arrangement init : every<Arrangement>()) {
      p.init = init;
      const std::string message = refusal([&] { check_use(list(p), {"beta", use.first, "seed"}); });
      if (init == use.second)
        EXPECT_EQ(message, "");
      else
        EXPECT_EQ(message, fmt::format("{} is used by init {} only, not by init {}", use.first,
                                       use.second, init));
    }
  p.init = uniform;
  EXPECT_EQ(refusal([&] { check_use(list(p), {}); }), "");
  EXPECT_EQ(refusal([&] { check_use(list(p), {"tokens", "dim", "seed", "init", "time"}); }), "");
}

TEST(FlowParameterUse, WhatOthersDoNotUseIsRefusedWhenGiven) {
  const auto said = [](FlowSetup p, const std::string& own) {
    return refusal([&] { check_use(list(p), {own}); });
  };
  EXPECT_EQ(said({}, "kernel"), "kernel is used by dynamics radial only, not by dynamics sa");
  EXPECT_EQ(said({.dynamics = Rule::radial}, "kernel"), "");
  for (const std::string own :
       {"width", "strength", "feed-forward-in", "feed-forward-bias", "feed-forward-out"}) {
    EXPECT_EQ(said({}, own),
              own + " is used by feed-forward relu or gelu only, not by feed-forward none");
    EXPECT_EQ(said({.feed_forward = depth::Activation::gelu}, own), "");
  }
  EXPECT_EQ(
      said({}, "accuracy"),
      "accuracy is used by engine circle, sphere, moments or clumps only, not by engine auto");
  EXPECT_EQ(said({.engine = depth::Engine::sphere}, "accuracy"), "");
  EXPECT_EQ(said({}, "noise-substeps"), "noise-substeps has no effect without noise");
  EXPECT_EQ(said({.common_noise = 1}, "noise-substeps"), "");
  EXPECT_EQ(said({}, "noise-kind"), "noise-kind has no effect without noise");
  EXPECT_EQ(said({}, "switch-time"), "switch-time is used by norm mix only, not by norm post");
  EXPECT_EQ(said({.norm = Normalisation::mix}, "switch-time"), "");
}

TEST(FlowSetup, HandEveryFieldOfTheStartOn) {
  ArrayInput given(Array{{1, 2}, {3, 4}});
  given.name = "22.npy";
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
                    .tokens_file = given};
  const Start start = start_of(p);
  EXPECT_EQ(start.arrangement, Arrangement::cap);
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
  EXPECT_EQ(start.angles, (std::vector<double>{2, 1}));
  ASSERT_NE(start.given, nullptr);
  EXPECT_EQ(start.given->data, (std::vector<double>{3, 4}));
  EXPECT_EQ(start.given_name, "22.npy");
  EXPECT_TRUE(start_of(FlowSetup{}).on_sphere);
  EXPECT_EQ(start_of(FlowSetup{}).given, nullptr);
}

TEST(FlowSetup, SnapshotsDefaultToFewerForManyTokens) {
  EXPECT_EQ(snapshot_count({}, 1, 1), 9U);
  EXPECT_EQ(snapshot_count({}, 4096, 256), 9U);
  EXPECT_EQ(snapshot_count({}, 4097, 2), 5U);
  EXPECT_EQ(snapshot_count({}, 1 << 18, 4), 5U);
  EXPECT_EQ(snapshot_count({}, (1 << 18) + 1, 4), 2U);
  EXPECT_EQ(snapshot_count({.snapshots = 6}, std::size_t{1} << 40, 2), 6U);
  EXPECT_EQ(snapshot_count({.snapshots = 1000}, 1, 1), 1000U);
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
  FlowSetup again;
  const ParameterList repeated = list(again), original = list(p);
  for (std::size_t k = 2; k < args.size(); ++k) {
    ASSERT_EQ(args[k].substr(0, 2), "--") << line;
    const Parameter& given = find(repeated, args[k].substr(2));
    if (is_a<bool*>(given)) {  // a flag has no value
      given.set("true");
      continue;
    }
    ASSERT_LT(++k, args.size()) << line;
    given.set(args[k]);
  }
  for (std::size_t k = 0; k < original.size(); ++k)
    EXPECT_EQ(repeated[k].text(), original[k].text()) << original[k].name << " in " << line;
}

TEST(FlowCommand, OfTheDefaultsIsBare) { EXPECT_EQ(command({}), "attractor flow"); }

TEST(FlowCommand, NamesOnlyWhatDiffersAndQuotesOnlyWhatMustBe) {
  EXPECT_EQ(command({.beta = 4.5, .init = Arrangement::cap, .tokens = 1000, .time = kInfinity}),
            "attractor flow --beta 4.5 --init cap --tokens 1000 --time inf");
  EXPECT_EQ(command({.angles = {0, 0.9, 2.2}}), "attractor flow --angles 0,0.9,2.2");
  EXPECT_EQ(command({.tokens_file = file_called("run/a_b-1.h5:/x")}),
            "attractor flow --tokens-file run/a_b-1.h5:/x");
  EXPECT_EQ(command({.tokens_file = file_called("my file.npy")}),
            "attractor flow --tokens-file 'my file.npy'");
  EXPECT_EQ(command({.tokens_file = file_called("it's")}),
            "attractor flow --tokens-file 'it'\\''s'");
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
    expect_command_repeats({.tokens_file = file_called(text)});
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
