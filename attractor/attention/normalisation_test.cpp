#include "attractor/attention/normalisation.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

TEST(NormalisationNames, AreTakenBack) {
  std::set<std::string_view> names;
  for (const Normalisation n : every<Normalisation>()) {
    EXPECT_EQ(named<Normalisation>("norm", name(n)), n);
    EXPECT_EQ(scheme(n).id, n);  // the row is where its enumerator points
    EXPECT_FALSE(scheme(n).title.empty() || scheme(n).description.empty());
    EXPECT_FALSE(scheme(n).late_law.empty());
    if (!scheme(n).alias.empty()) {
      EXPECT_EQ(std::ranges::count(aliases(n), std::pair(scheme(n).alias, n)), 1);
    }
    names.insert(name(n));
  }
  EXPECT_EQ(names.size(), schemes().size());
  for (const auto& [alias, n] : aliases(Normalisation{})) EXPECT_TRUE(names.insert(alias).second);
}

TEST(NormalisationNames, OthersAreRefusedWithTheChoices) {
  for (const char* text : {"", "Post", "ln_scaling", "pre-norm"}) {
    const std::string sentence = refusal([&] { named<Normalisation>("norm", text); });
    EXPECT_SAYS(sentence,
                "post, pre, mix, peri, sandwich, ngpt, ln-scaling, damped-post, deepnorm");
  }
}

TEST(NormalisationNames, SayWhichSchemesHaveAParameter) {
  EXPECT_EQ(schemes_with("alpha"), std::vector<std::string>{"ngpt"});
  EXPECT_EQ(schemes_with("switch-time"), std::vector<std::string>{"mix"});
  EXPECT_TRUE(schemes_with("beta").empty());
}

}  // namespace
}  // namespace attractor
