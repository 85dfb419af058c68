#include "apps/manual.hpp"

#include <gtest/gtest.h>

#include "apps/completion.hpp"
#include "apps/parameter_words.hpp"
#include "tests/support/refusal.hpp"
#include "tests/support/toy_tools.hpp"

namespace attractor::apps {
namespace {

using lab::Json;

const lab::Parameter& parameter(const lab::ParameterList& list, const std::string& name) {
  return lab::find(list, name);
}

TEST(ParameterWords, SayWhatAShellMayOffer) {
  ToyCall call;
  const lab::ParameterList list = call.parameters();
  const struct {
    const char *name, *value;
    Offer offer;
    std::vector<std::string> words;
  } cases[] = {{"points", "FILE", Offer::files, {}},
               {"norm", "WORD", Offer::nothing, {"post", "pre"}},
               {"beta", "X", Offer::nothing, {}},
               {"tokens", "N", Offer::nothing, {}},
               {"levels", "LIST", Offer::nothing, {}},
               {"merge-radius", "X", Offer::nothing, {"auto", "off"}},
               {"causal", "", Offer::nothing, {}},
               {"out", "DIR", Offer::directories, {}},
               {"config", "FILE", Offer::files, {}}};
  for (const auto& c : cases) {
    const lab::Parameter& p = parameter(list, c.name);
    EXPECT_EQ(value_name(p), c.value) << c.name;
    EXPECT_EQ(offer_of(p), c.offer) << c.name;
    EXPECT_EQ(offered_words(p), c.words) << c.name;
  }
  EXPECT_EQ(spelling(parameter(list, "points")), "points");
  EXPECT_EQ(spelling(parameter(list, "causal")), "--causal");
  EXPECT_EQ(headings(list), (std::vector<std::string>{"Model", "Run"}));
}

TEST(ManPage, SaysEverythingInRoff) {
  const std::string page = man_page(toy_tools()[0]);
  EXPECT_SAYS(page, ".TH ATTRACTOR\\-FLOW 1 ");
  EXPECT_SAYS(page, "attractor\\-flow \\- tokens flowing through attention\n");
  EXPECT_SAYS(page, "\\fB\\-\\-merge\\-radius\\fR \\fIX\\fR\n");
  EXPECT_SAYS(page, "attractor flow x.npy \\-\\-causal\n");
  EXPECT_SAYS(page, "\n\\&.Theory: 'a' \\e b.\n");  // no request, whatever it begins with
  EXPECT_SAYS(page, ".SH EXIT STATUS");
  const std::string all = man_overview(toy_tools());
  for (const Tool& tool : toy_tools()) EXPECT_SAYS(all, ".TP\n\\fB" + tool.name + "\\fR\n");
  EXPECT_SAYS(all, "\\fBattractor\\-reduce\\-pair\\fR(1)");
}

TEST(ManPage, HasItsName) {
  EXPECT_EQ(page_name(""), "attractor");
  EXPECT_EQ(page_name("reduce pair"), "attractor-reduce-pair");
}

TEST(MarkdownPage, HasARowForEachOption) {
  const std::string page = markdown_page(toy_tools()[0]);
  EXPECT_SAYS(page, "# attractor flow\n");
  EXPECT_SAYS(page, "    attractor flow x.npy --causal\n");
  EXPECT_SAYS(page, "| `--causal` | token i sees j &lt;= i |  |  |\n");
  EXPECT_SAYS(page, "| `--beta` | inverse temperature | 0 to 1000000 | `1` |\n");
  EXPECT_SAYS(page, "## Run\n");
}

TEST(ManualJson, HoldsEveryToolAndParameter) {
  const Json all = manual_json(toy_tools());
  ASSERT_EQ(all.size(), toy_tools().size());
  EXPECT_EQ(all[0U]["name"].get<std::string>(), "flow");
  ASSERT_EQ(all[0U]["parameters"].size(), 9U);
  EXPECT_EQ(all[0U]["parameters"].at(2)["default"].get<std::string>(), "1");
  EXPECT_EQ(all[0U]["examples"].size(), 2U);
  EXPECT_EQ(all[0U]["examples"].at(0).get<std::string>(), "attractor flow x.npy --beta 4");
}

TEST(Completion, KnowsEveryOptionInEveryShell) {
  for (const Shell shell : {Shell::bash, Shell::zsh, Shell::fish}) {
    const std::string script = completion(shell, toy_tools());
    for (const char* word : {"merge-radius", "reduce", "clusters", "post pre", "auto off"})
      EXPECT_SAYS(script, word) << name(shell);
  }
  EXPECT_SAYS(completion(Shell::zsh, toy_tools()),
              "'--levels=[cosines\\: it'\\''s a \\[list\\]]:LIST: '");
  EXPECT_SAYS(completion(Shell::fish, toy_tools()), "-d 'cosines: it\\'s a [list]'");
}

}  // namespace
}  // namespace attractor::apps
