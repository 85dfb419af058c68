#include "apps/command_line.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "apps/help.hpp"
#include "attractor/lab/wrap.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/toy_tools.hpp"

namespace attractor::apps {
namespace {

using lab::columns;
using Words = std::vector<std::string>;

lab::Settings given(const Words& words) { return parse(words, toy_tools(), 80).given; }
std::string refused(const Words& words) {
  return refusal([&] { parse(words, toy_tools(), 80); });
}
std::string printed(const Words& words, std::size_t width = 80) {
  return parse(words, toy_tools(), width).print;
}

TEST(CommandLine, TakesFlagsInBothSpellingsAndInOrder) {
  const lab::Settings settings = {
      {"beta", "4"}, {"points", "x.npy"}, {"causal", "true"}, {"norm", "pre"}};
  EXPECT_EQ(given({"flow", "--beta", "4", "x.npy", "--causal", "--norm=pre"}), settings);
  EXPECT_EQ(parse(Words{"reduce", "pair"}, toy_tools(), 80).tool->name, "reduce pair");
}

TEST(CommandLine, AFlagWithoutAValueMayBeSaidToBeFalse) {
  EXPECT_EQ(given({"flow", "--causal=false"}), (lab::Settings{{"causal", "false"}}));
}

TEST(CommandLine, ValuesMayBeNegativeEmptyOrHoldAnEqualsSign) {
  EXPECT_EQ(given({"flow", "--beta", "-5"}), (lab::Settings{{"beta", "-5"}}));
  EXPECT_EQ(given({"flow", "--out="}), (lab::Settings{{"out", ""}}));
  EXPECT_EQ(given({"flow", "--out=a=b"}), (lab::Settings{{"out", "a=b"}}));
}

TEST(CommandLine, BehindTwoDashesNothingIsAFlag) {
  EXPECT_EQ(given({"flow", "--", "--beta"}), (lab::Settings{{"points", "--beta"}}));
  EXPECT_EQ(given({"flow", "-"}), (lab::Settings{{"points", "-"}}));
}

TEST(CommandLine, SomePositionalParametersTakeMany) {
  EXPECT_EQ(given({"merge", "a", "b", "c"}),
            (lab::Settings{{"from", "a"}, {"from", "b"}, {"from", "c"}}));
  EXPECT_EQ(refused({"flow", "a", "b"}), "'b' was not expected; see attractor flow --help");
}

TEST(CommandLine, UnknownFlagsAreNamedAsTypedWithWhatIsNear) {
  EXPECT_EQ(refused({"flow", "--bet", "4"}),
            "--bet is no option of attractor flow (did you mean --beta?); see attractor flow "
            "--help");
  EXPECT_EQ(refused({"flow", "--bet=4"}).substr(0, 5), "--bet");
  EXPECT_EQ(refused({"flow", "-beta", "4"}),
            "-beta is no option of attractor flow (did you mean --beta?); see attractor flow "
            "--help");
  EXPECT_EQ(refused({"flow", "--one", "--two"}),
            "--one is no option of attractor flow; see attractor flow --help");
  EXPECT_EQ(refused({"flow", "--points", "x"}),
            "--points is no option of attractor flow; see attractor flow --help");
}

TEST(CommandLine, FlagsWithoutTheirValuesAreRefused) {
  EXPECT_EQ(refused({"flow", "--beta"}), "--beta needs a value; see --help");
  EXPECT_EQ(refused({"flow", "--beta", "--causal"}), "--beta needs a value, but --causal follows");
  EXPECT_EQ(refused({"flow", "--beta", "1", "--beta=2"}),
            "--beta is given more than once; see --help");
}

TEST(CommandLine, CommandsThatDoNotExistAreAnsweredWithThoseThatDo) {
  EXPECT_EQ(refused({}), "a command is missing; commands: flow, reduce, merge; see --help");
  EXPECT_EQ(refused({"flwo"}),
            "'flwo' is no command (did you mean flow?); commands: flow, reduce, merge; see --help");
  EXPECT_EQ(refused({"xyz"}), "'xyz' is no command; commands: flow, reduce, merge; see --help");
  EXPECT_EQ(refused({"reduce"}),
            "reduce needs one of: pair, clusters; see attractor reduce --help");
  EXPECT_EQ(refused({"reduce", "cluster"}),
            "'cluster' is no reduction (did you mean clusters?); allowed: pair, clusters");
  EXPECT_EQ(refused({"--beta", "4"}), "--beta is no option of attractor; see attractor --help");
}

TEST(CommandLine, VersionAndHelpAreAskedForInSeveralWays) {
  EXPECT_EQ(printed({"-V"}), printed({"--version"}));
  EXPECT_SAYS(printed({"-V"}), "attractor ");
  EXPECT_EQ(printed({"help"}), program_help(toy_tools(), 80));
  EXPECT_EQ(printed({"--help"}), printed({"help"}));
  const std::string short_text = short_help(toy_tools()[0], 80);
  for (const Words& words : {Words{"help", "flow"},
                             {"flow", "--help"},
                             {"flow", "-h"},
                             {"flow", "--beta", "--help"},
                             {"flow", "--nonsense", "-h"}})
    EXPECT_EQ(printed(words), short_text);
  EXPECT_EQ(printed({"flow", "--help-all"}), long_help(toy_tools()[0], 80));
  EXPECT_EQ(printed({"help", "reduce", "pair"}), short_help(toy_tools()[1], 80));
  EXPECT_EQ(printed({"reduce", "--help"}), family_help("reduce", toy_tools(), 80));
  EXPECT_EQ(parse(Words{"flow", "--help"}, toy_tools(), 80).tool, nullptr);
}

// ---- Help.

void expect_fits(const std::string& text, std::size_t width) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    // Examples are commands to copy: they are not broken.
    if (!line.starts_with("  attractor ")) {
      EXPECT_LE(columns(line), width) << line;
    }
    begin = end + 1;
  }
}

TEST(Help, FitsEveryWidth) {
  for (const std::size_t width : {60U, 80U, 200U}) {
    for (const Tool& tool : toy_tools()) {
      expect_fits(short_help(tool, width), width);
      expect_fits(long_help(tool, width), width);
    }
    expect_fits(program_help(toy_tools(), width), width);
    expect_fits(family_help("reduce", toy_tools(), width), width);
  }
}

TEST(Help, IsShortUnlessAllIsAskedFor) {
  const std::string few = short_help(toy_tools()[0], 80), all = long_help(toy_tools()[0], 80);
  EXPECT_SAYS(few, "Usage: attractor flow [points] [OPTIONS]");
  EXPECT_SAYS(few, "--norm WORD    where layers normalise [post, pre] default post");
  EXPECT_SAYS(few, "--beta X       inverse temperature default 1");
  EXPECT_SAYS(few, "All 9 options, and what they allow: attractor flow --help-all");
  EXPECT_EQ(few.find("--tokens"), few.npos);
  EXPECT_SAYS(all, "--beta X                  inverse temperature [0 to 1000000] default 1");
  EXPECT_SAYS(all, "--tokens N");
  EXPECT_SAYS(all, "--levels LIST");
  EXPECT_SAYS(all, "--causal                  token i sees j <= i\n");
  EXPECT_SAYS(all, "--out DIR");
  EXPECT_SAYS(all, "--config FILE");
  // A tool that has nothing to leave out has one help.
  EXPECT_EQ(short_help(toy_tools()[3], 80), long_help(toy_tools()[3], 80));
}

}  // namespace
}  // namespace attractor::apps
