#include "attractor/lab/wrap.hpp"

#include <gtest/gtest.h>

namespace attractor::lab {
namespace {

TEST(Wrap, BreaksBetweenWordsAndIndents) {
  EXPECT_EQ(wrapped("one two three", 2, 9), "one two\n  three");
  EXPECT_EQ(wrapped("β β β β", 0, 3), "β β\nβ β");  // letters count, not bytes
  EXPECT_EQ(wrapped("unbreakable", 4, 5), "unbreakable");
  EXPECT_EQ(wrapped("one two three", 2, 0), "one two three");
  EXPECT_EQ(wrapped("", 4, 5), "");
}

TEST(Wrap, ShortensByColumns) {
  EXPECT_EQ(columns("10³⁰"), 4U);
  EXPECT_EQ(shortened("10³⁰ tokens", 20), "10³⁰ tokens");
  EXPECT_EQ(shortened("10³⁰ tokens", 5), "10³⁰…");
  EXPECT_EQ(shortened("abc", 0), "");
  EXPECT_EQ(columns(shortened("abcdef", 3)), 3U);
}

}  // namespace
}  // namespace attractor::lab
