#include "attractor/files/toml_text.hpp"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/refusal.hpp"

namespace attractor::lab {
namespace {

std::string repeated(const std::string& piece, std::size_t times) {
  std::string all;
  for (std::size_t k = 0; k < times; ++k) all += piece;
  return all;
}

std::string said_of(const std::string& text) {
  return refusal([&] { parse_toml(text, "f"); });
}

TEST(TomlText, RefusesKeysOfManyParts) {
  for (const std::size_t many : {std::size_t{33}, std::size_t{100000}}) {
    const std::string key = repeated("a.", many - 1) + "a";
    for (const std::string& text :
         {key + " = 1", "[" + key + "]", "[[" + key + "]]", "x = {" + key + " = 1}",
          repeated("'a.#' . ", many - 1) + "\"\\\".\" = 1"})
      EXPECT_EQ(said_of("# b\n" + text),
                "f, line 2: a key has more than 32 parts; allowed: at most 32");
  }
}

TEST(TomlText, RefusesListsAndTablesWithinEachOther) {
  for (const char* piece : {"[", "{a = ", "[{a = "})
    EXPECT_EQ(said_of("x = " + repeated(piece, 100000)),
              "f, line 1: lists and tables are nested deeper than 32 levels; allowed: at most 32");
}

TEST(TomlText, ReadsWhatIsWithinTheLimits) {
  const std::string key = repeated("a.", 31) + "a";
  EXPECT_EQ(said_of(key + " = 1"), "");
  EXPECT_EQ(said_of("x = " + repeated("[", 32) + repeated("]", 32)), "");
  EXPECT_EQ(said_of("x = [" + repeated("1.5, ", 1000) + "]\n" + repeated("[[a.b]]\n", 1000)), "");
  EXPECT_EQ(said_of("# " + repeated("a.[", 100)), "");
  for (const char* quotes : {"'", "\"", "'''", "\"\"\""})
    EXPECT_EQ(said_of("x = " + (quotes + repeated("a.[{#", 100)) + quotes), "");
  EXPECT_EQ(said_of("x = \"\\\"" + repeated("[", 100) + "\""), "");
  EXPECT_EQ(said_of("x = \"\"\"\n\"\"" + repeated("[", 100) + "\"\"\""), "");
}

// The deepest that two limits allow together: every level of brackets has a key of 32 parts.
TEST(TomlText, TheDeepestTextIsParsed) {
  const std::string key = repeated("a.", 31) + "a";
  EXPECT_EQ(said_of("[" + key + "]\n" + key + " = " + repeated("{" + key + " = ", 32) + "1" +
                    repeated("}", 32)),
            "");
}

}  // namespace
}  // namespace attractor::lab
