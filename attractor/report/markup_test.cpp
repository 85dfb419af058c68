#include "attractor/report/markup.hpp"

#include <gtest/gtest.h>

namespace attractor::report {
namespace {

TEST(Markup, EscapesAndRaises) {
  EXPECT_EQ(html_text("<b a=\"x\" c='y'>&"), "&lt;b a=&quot;x&quot; c=&#39;y&#39;&gt;&amp;");
  EXPECT_EQ(html_markup("2<10^{3}"), "2&lt;10<sup>3</sup>");
  EXPECT_EQ(html_markup("10^{3"), "10^{3");
  EXPECT_EQ(html_markup("m_{1}^{2} < a_b"), "m<sub>1</sub><sup>2</sup> &lt; a_b");
  EXPECT_EQ(html_markup("^{<i>}"), "<sup>&lt;i&gt;</sup>");
}

// Names of files may hold any bytes; a document may not.
TEST(Markup, WhatIsNoTextIsReplaced) {
  EXPECT_EQ(html_text("β ≥ 1, 中, 😀"), "β ≥ 1, 中, 😀");
  EXPECT_EQ(html_text("a\xff"
                      "b"),
            "a\ufffdb");
  EXPECT_EQ(html_text("\xc3"), "\ufffd");              // cut short
  EXPECT_EQ(html_text("\xc0\xaf"), "\ufffd\ufffd");    // longer than need be
  EXPECT_EQ(html_text("\xed\xa0\x80"), "\ufffd");      // half a pair
  EXPECT_EQ(html_text("\xf4\x90\x80\x80"), "\ufffd");  // beyond Unicode
  EXPECT_EQ(html_text(std::string("a\0b\x1b", 4)), "a\ufffdb\ufffd");
  EXPECT_EQ(html_text("tab\tand\nline"), "tab\tand\nline");
  for (int byte = 0; byte < 256; ++byte)  // never longer than what came in allows, never endless
    EXPECT_LE(html_text(std::string(3, static_cast<char>(byte))).size(), 18u);
}

}  // namespace
}  // namespace attractor::report
