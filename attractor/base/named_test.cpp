#include "attractor/base/named.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tests/support/refusal.hpp"

namespace attractor {
namespace {

enum class Colour { red, dark_blue, green };
[[maybe_unused]] std::span<const std::string_view> names(Colour) {
  static constexpr std::string_view kNames[] = {"red", "dark-blue", "green"};
  return kNames;
}
enum class Nameless { one };

TEST(NamedEnums, AreThoseThatHaveNames) {
  static_assert(NamedEnum<Colour>);
  static_assert(!NamedEnum<Nameless>);
  static_assert(!NamedEnum<int>);
}

TEST(NamedEnums, GoBothWays) {
  EXPECT_EQ(every<Colour>(), (std::vector<Colour>{Colour::red, Colour::dark_blue, Colour::green}));
  for (const Colour colour : every<Colour>()) {
    EXPECT_EQ(named<Colour>("colour", name(colour)), colour);
    EXPECT_EQ(find_named<Colour>(name(colour)), colour);
  }
  EXPECT_EQ(name(Colour::dark_blue), "dark-blue");
}

TEST(NamedEnums, OtherNamesAreRefusedWithTheChoices) {
  for (const char* text : {"", "Red", "red ", "dark_blue", "blue"}) {
    EXPECT_EQ(find_named<Colour>(text), std::nullopt);
    EXPECT_EQ(refusal([&] { named<Colour>("colour", text); }),
              fmt::format("colour '{}' is unknown; allowed: red, dark-blue, green", text));
  }
}

TEST(NamedEnums, HaveAPlaceInTheirList) {
  EXPECT_EQ(place_of("green", names(Colour{})), 2U);
  EXPECT_EQ(place_of("grey", names(Colour{})), std::nullopt);
}

TEST(NamedEnums, AreWrittenByTheirNames) {
  EXPECT_EQ(fmt::format("{} and {:>6}", Colour::dark_blue, Colour::red), "dark-blue and    red");
}

}  // namespace
}  // namespace attractor
