#include "attractor/attention/normalisation.hpp"

#include <set>

#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

TEST(NormalisationNames, AreTakenBack) {
  std::set<std::string_view> names;
  for (const Normalisation n : normalisations()) {
    EXPECT_EQ(normalisation_named(name(n)), n);
    EXPECT_EQ(scheme(n).id, n);  // the row is where its enumerator points
    EXPECT_FALSE(scheme(n).title.empty() || scheme(n).description.empty());
    EXPECT_FALSE(scheme(n).late_law.empty());
    if (!scheme(n).alias.empty()) {
      EXPECT_EQ(normalisation_named(scheme(n).alias), n);
    }
    names.insert(name(n));
  }
  EXPECT_EQ(names.size(), schemes().size());
  for (const std::string& given : normalisation_names())
    EXPECT_NO_THROW(normalisation_named(given)) << given;
}

TEST(NormalisationNames, OthersAreRefusedWithTheChoices) {
  for (const char* text : {"", "Post", "ln_scaling", "pre-norm"}) {
    const std::string sentence = refusal([&] { normalisation_named(text); });
    EXPECT_SAYS(sentence,
                "post, pre, mix, peri, sandwich, ngpt, ln-scaling, damped-post, deepnorm");
  }
}

}  // namespace
}  // namespace attractor
